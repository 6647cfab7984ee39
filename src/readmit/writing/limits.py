"""How much one writer may end, and open for others, within the policy's window.

The window ends at the writer's clock, and events count from the log's last moment when they were written: a clock that
is behind, or was set back, counts more and never less.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from readmit.records.error_types import RateError
from readmit.records.items import Obligation
from readmit.records.policy import OWNER, Policy
from readmit.text.english import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft


def check_limits(log: Log, draft: Draft, policy: Callable[[], Policy], now: datetime) -> None:
    """Refuse an event that would take its writer beyond a limit."""
    if ends := log.ends(draft):
        _check_ends(log, draft, ends, policy(), now)
    if isinstance(draft.payload, Obligation) and set(draft.payload.scope.principals) != {draft.by}:
        _check_duties(log, draft.by, policy(), now)


def _check_ends(log: Log, draft: Draft, ends: int, rules: Policy, now: datetime) -> None:
    limit = rules.limits.invalidations
    if ends <= limit and (ended := log.ended(draft.by, since=_since(rules, now))) + ends <= limit:
        return
    before = "" if ends > limit else f", and it has ended {ended}"
    raise RateError(
        f"this {draft.kind} would end {counted(ends, 'thing')}{before}; "
        f"{draft.by!r} may end {limit} within {_window(rules)} (the policy's limits.invalidations): "
        f"{'' if ends > limit else 'wait, or '}let {overseers(rules)} raise the limit"
    )


def _check_duties(log: Log, by: str, rules: Policy, now: datetime) -> None:
    limit = rules.limits.duties
    if log.duties_opened(by, since=_since(rules, now)) < limit:
        return
    raise RateError(
        f"{by!r} opened {counted(limit, 'duty')} for others within {_window(rules)}, as many as it may "
        f"(the policy's limits.duties): wait, or let {overseers(rules)} raise the limit"
    )


def overseers(rules: Policy) -> str:
    """Who may raise a limit, by name."""
    return f"an overseer ({', '.join(rules.evidence.overseers)})" if rules.evidence.overseers else f"{OWNER!r}"


def _since(rules: Policy, now: datetime) -> datetime:
    return now - timedelta(seconds=rules.limits.window_seconds)


def _window(rules: Policy) -> str:
    return f"{rules.limits.window_seconds} s"
