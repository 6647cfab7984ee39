"""The moment a return is judged at, and the check for a clock that lags the log too far."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.records.acts.operation import Jump
    from readmit.records.policy import Policy


def later(now: datetime, learnt: datetime | None) -> datetime:
    """The later of the clock and the last moment that the log has learnt."""
    return now if learnt is None else max(now, learnt)


def lag(now: datetime, learnt: datetime | None, policy: Policy, jump: Jump | None) -> str:
    """Why the clock cannot be right, and what to do; empty if it does not lag beyond the policy's limit."""
    behind = 0.0 if learnt is None else (learnt - now).total_seconds()
    if learnt is None or behind <= policy.returns.max_clock_skew:
        return ""
    return (
        f"the clock says {now.isoformat()}, but the log has learnt something at {learnt.isoformat()}, "
        f"{behind:.0f} s later, and the policy allows {policy.returns.max_clock_skew} s (max_clock_skew): set the "
        f"clock right{'' if jump is None else _voiding(jump, policy)}"
    )


def _voiding(jump: Jump, policy: Policy) -> str:
    """Which event to void, and how."""
    who = f"--by {shlex.quote(policy.evidence.overseers[0])}" if policy.evidence.overseers else "--as-owner"
    return (
        f", or, if it is right, that of the host was ahead from which {jump.by!r} wrote event {jump.epoch} "
        f"({jump.kind}): `readmit admin void {jump.epoch} {who}` voids the date of that event, never its effect"
    )
