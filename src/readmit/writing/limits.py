"""How much one writer may end, and open for others, within the policy's window.

The window ends at the writer's clock, and events count from the log's last moment when they were written: a clock that
is behind, or was set back, counts more and never less.

What hit its writer's limit waits for an overseer: filed as it was written, without effect until it is approved.
"""

from __future__ import annotations

import secrets
import shlex
from base64 import b64decode, b64encode
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from readmit.records.acts.draft import Draft
from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.kinds import kind_named
from readmit.records.acts.operation import ERASED_SALT, HeldBack, Wait
from readmit.records.canonical import digest_of
from readmit.records.error_types import ConflictError, RateError, UnknownError
from readmit.records.items import Obligation
from readmit.records.policy import OWNER, Policy
from readmit.text.english import counted
from readmit.writing.new_event import append_own
from readmit.writing.rights import concerned_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from readmit.log.log import Log


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
    """The principals who may raise a limit, by name."""
    return f"an overseer ({', '.join(rules.evidence.overseers)})" if rules.evidence.overseers else f"{OWNER!r}"


def _since(rules: Policy, now: datetime) -> datetime:
    return now - timedelta(seconds=rules.limits.window_seconds)


def _window(rules: Policy) -> str:
    return f"{rules.limits.window_seconds} s"


# Like departures, which seal what was visible at the time, these would mean something else later.
_AT_ONCE = frozenset(
    {EventKind.GOVERN, EventKind.APPROVE, EventKind.DECLINE, EventKind.REASSIGN, EventKind.VOID, EventKind.FORGET}
)
MOST = 20
"""How many acts of one writer may wait. A flood must not become one for the overseers, nor fill the log."""


def file(log: Log, drafts: Sequence[Draft], limit: RateError, *, by: str, policy: Policy, now: datetime) -> RateError:
    """File events that hit a limit of a writer, and return the error that says how they go on."""
    if any(one.kind in _AT_ONCE or not one.kind.is_work for one in drafts):
        return RateError(f"{limit}. It does not wait for that together with a departure, a policy or an answer")
    with log.atomic():
        own = [one for one in waiting(log) if one.by == by]
        # A repeated attempt does not wait twice.
        name = next((one.name for one in own if _repeats(one, drafts)), None)
        if name is None and len(own) >= MOST:
            return RateError(f"{limit}. It does not wait for that: {MOST} other acts of {by!r} do already")
        if name is None:
            # Random: an id that is derived from a content would confirm a guess of it.
            name, held = secrets.token_hex(8), tuple(map(_held_back, drafts))
            append_own(log, EventKind.WAIT, Wait(events=held, limit=str(limit)[:2_000]), id=name, by=by, at=now)
    who = f"--by {shlex.quote(policy.evidence.overseers[0])}" if policy.evidence.overseers else "--as-owner"
    return RateError(f"{limit}. It waits as {name}: `readmit admin approve {name} {who}` lets it through")


def waiting(log: Log) -> list[Event]:
    """The waits for an overseer, in order."""
    return [event for event in log.milestones(EventKind.WAIT) if answer(log, event.name) is None]


def answer(log: Log, name: str) -> Event | None:
    """The approval or the refusal of what waits under a name."""
    return log.named(EventKind.APPROVE, name)


def held_back(log: Log, name: str) -> Iterator[Draft]:
    """The events that wait under a name, as they were written. Each may refer to the events appended before it."""
    event = log.named(EventKind.WAIT, name)
    if event is None or not isinstance(event.payload, Wait):
        raise UnknownError(f"nothing waits as {name!r} in workspace {log.workspace!r}; see `readmit doctor`")
    return (_as_written(log, one) for one in event.payload.events)


def _repeats(waits: Event, drafts: Sequence[Draft]) -> bool:
    """Whether events with the same content wait."""
    assert isinstance(waits.payload, Wait)  # noqa: S101 - of the kind
    held = [(one.kind, one.by, one.body.encode()) for one in waits.payload.events]
    return held == [(str(one.kind), one.by, one.body) for one in drafts]


def _held_back(one: Draft) -> HeldBack:
    return HeldBack(
        kind=str(one.kind),
        id=one.id,
        by=one.by,
        at=one.at,
        body=one.body.decode(),
        salt=one.salt.hex(),
        named=one.named,
        given=one.given,
        signature=b64encode(one.signature or b"").decode(),
    )


def _as_written(log: Log, one: HeldBack) -> Draft:
    if one.salt == ERASED_SALT:
        raise ConflictError("what waits was forgotten, so there is nothing to approve; decline it")
    kind, body, salt = kind_named(one.kind), one.body.encode(), bytes.fromhex(one.salt)
    payload = kind.decode(body)
    return Draft(
        id=one.id,
        kind=kind,
        by=one.by,
        at=one.at,
        payload=payload,
        body=body,
        salt=salt,
        digest=digest_of(salt + body),
        named=one.named,
        given=one.given,
        signature=b64decode(one.signature) or None,
        about=concerned_by(log, payload),
    )
