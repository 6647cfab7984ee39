"""New events: the one place that makes them ready for the log, observations by the thousand included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeAlias, TypedDict, get_args

import msgspec

from readmit.records.acts.draft import Draft, draft, draft_alike
from readmit.records.acts.event import EventKind
from readmit.records.arguments import check_fields
from readmit.records.base import Id, Moment, Name, Record, Text, Time, nfc, require_choice, shown, utc
from readmit.records.canonical import convert
from readmit.records.error_types import RecordError
from readmit.records.evidence import Evidence
from readmit.writing.item_content import normal, scope_of

if TYPE_CHECKING:
    from readmit.log.log import Log
    from readmit.records.acts.kinds import DeclaredKind
    from readmit.records.probes import Probe


Source: TypeAlias = Literal["message", "tool_result", "document"]
"""The kind of place that an observation is from."""
_SOURCES = get_args(Source)


def new_event(
    kind: DeclaredKind,
    payload: object,
    *,
    by: str,
    at: datetime,
    id: str | None = None,
    given: bool = False,
    about: tuple[str, ...] | None = None,
) -> Draft:
    """An event that is checked and encoded, with every name in one spelling. ``given``: the writer gave ``at``."""
    made = draft(kind, payload, id=id, by=by, at=at, given=given, about=about)
    if not made.body.isascii() and (plain := normal(made.payload)) != made.payload:
        return draft(kind, plain, id=id, by=by, at=at, given=given, about=about)
    return made


def append_own(
    log: Log, kind: DeclaredKind, payload: object, *, id: str, by: str, at: datetime, now: datetime | None = None
) -> int:
    """Append an event that readmit itself writes, without limits or rights to check. Returns its epoch."""
    entry = draft(kind, payload, id=id, by=by, at=at, given=now is not None)
    (epoch,) = append_drafts(log, [entry], now=at if now is None else now)
    return epoch


def append_drafts(log: Log, drafts: Sequence[Draft], *, now: datetime) -> list[int]:
    """Append events that readmit itself writes and that are drafted already. Returns their epochs."""
    return log.append(drafts, now=now)


class ObservationFields(TypedDict, total=False):
    """The arguments that observations of one call may share."""

    by: str
    at: Moment | None
    source: Source
    task: str | None
    roles: Sequence[str]
    principals: Sequence[str]


class ObservationEntry(ObservationFields):
    """One observation of several: what ``observe`` takes."""

    text: str
    id: NotRequired[str | None]


class Observed(Record, kw_only=True):
    """The arguments of ``observe`` as one value."""

    text: Text
    by: Name
    id: Id | None = None
    at: Time | None = None
    source: Source = "message"
    task: Name | None = None
    roles: tuple[Name, ...] = ()
    principals: tuple[Name, ...] = ()


def drafts(
    verb: Callable[..., object],
    workspace: str,
    observations: Iterable[object],
    shared: Mapping[str, Any],
    *,
    now: datetime,
) -> Iterator[Draft]:
    """Observations as events. ``shared`` supplies fields that an observation leaves out."""
    for field in ("id", "text"):
        if field in shared:
            raise RecordError(f"{field}: each observation has its own; give it as {{'text': …, 'id': …}}")
    check_fields(verb, shared, ObservationFields)
    if isinstance(observations, str | Mapping):
        raise RecordError("observations: give a list; for a single one there is observe")
    if not isinstance(observations, Iterable):
        raise RecordError(f"observations: {shown(observations)} is not a list; give one")
    first: Draft | None = None
    for number, given in enumerate(observations):
        try:
            if not isinstance(given, str):
                yield _draft(workspace, {**shared, **given} if isinstance(given, Mapping) else given, now)
            elif first is None:
                # Shared fields are checked with the first text.
                first = _draft(workspace, {**shared, "text": str(given)}, now)
                yield first
            else:
                yield draft_alike(first, str(given), first.at, given=first.given)
        except RecordError as error:
            raise RecordError(f"observations[{number}]: {error}") from None


class Observer:
    """Prepares observations one by one, as ``observe`` takes them.

    In a long loop each differs from the last only in text and moment, so only these are checked.
    """

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._last: tuple[tuple[object, ...], Draft] | None = None

    def draft(
        self,
        text: str,
        at: datetime,
        *,
        given: bool,
        by: str,
        id: str | None,
        source: Source,
        task: str | None,
        roles: tuple[str, ...],
        principals: tuple[str, ...],
    ) -> Draft:
        """One observation as an event."""
        shared = (by, source, task, roles, principals)
        last = self._last
        if id is None and last is not None and last[0] == shared and type(text) is str and type(at) is datetime:
            return draft_alike(last[1], text, at, given=given)
        require_choice("source", source, _SOURCES)
        author, scope = nfc(by), scope_of(self._workspace, task, roles, principals)
        evidence = Evidence(text=text, by=author, at=at, source=source, scope=scope)
        entry = draft(EventKind.OBSERVE, evidence, id=id, by=author, at=at, given=given)
        self._last = shared, entry
        return entry


def captured(
    workspace: str, text: str, probe: Probe, *, by: str, now: datetime, id: str | None, **fields: object
) -> Draft:
    """A text that was read from a place just now, with the probe that leads back to it, as an event."""
    plain = _draft(workspace, {**fields, "text": text, "by": by, "id": id}, now)
    assert isinstance(plain.payload, Evidence)  # noqa: S101 - of the kind
    evidence = msgspec.structs.replace(plain.payload, probe=probe)
    return draft(EventKind.OBSERVE, evidence, id=id, by=plain.by, at=plain.at, given=plain.given)


def _draft(workspace: str, given: object, now: datetime) -> Draft:
    if isinstance(given, Mapping) and isinstance(at := given.get("at"), str):
        given = {**given, "at": utc(at, field="at")}
    observed = convert(given, Observed, what="observe")
    scope = scope_of(workspace, observed.task, observed.roles, observed.principals)
    moment, by = now if observed.at is None else utc(observed.at, field="at"), nfc(observed.by)
    evidence = Evidence(text=observed.text, by=by, at=moment, source=observed.source, scope=scope)
    return draft(EventKind.OBSERVE, evidence, id=observed.id, by=by, at=moment, given=observed.at is not None)
