"""Many raw observations made ready for the log at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from readmit.records.base import Id, Name, Record, Text, Time, utc
from readmit.records.canonical import convert
from readmit.records.errors import RecordError
from readmit.records.events import EventKind, draft
from readmit.records.evidence import Evidence
from readmit.records.items import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from readmit.records.events import Draft


class Observed(Record, kw_only=True):
    """What ``observe`` takes, as one value."""

    text: Text
    by: Name
    id: Id | None = None
    at: Time | None = None
    source: Literal["message", "tool_result", "document"] = "message"
    task: Name | None = None
    roles: tuple[Name, ...] = ()
    principals: tuple[Name, ...] = ()


def drafts(
    workspace: str, observations: Iterable[object], shared: Mapping[str, Any], *, now: datetime
) -> Iterator[Draft]:
    """Observations as events. ``shared`` says what an observation does not say itself."""
    for field in ("id", "text"):
        if field in shared:
            raise RecordError(f"{field}: each observation has its own; give it as {{'text': …, 'id': …}}")
    if isinstance(observations, str | Mapping):
        raise RecordError("observations: give a list; for a single one there is observe")
    alike: Evidence | None = None
    for number, given in enumerate(observations):
        try:
            if isinstance(given, str):
                # What texts have in common is checked with the first; each text with the event that carries it.
                if alike is None:
                    alike = _evidence(workspace, _observed({**shared, "text": given}), now)
                evidence, name = msgspec.structs.replace(alike, text=given), None
            else:
                observed = _observed({**shared, **given} if isinstance(given, Mapping) else given)
                evidence, name = _evidence(workspace, observed, now), observed.id
            yield draft(EventKind.OBSERVE, evidence, id=name, by=evidence.by, at=evidence.at)
        except RecordError as error:
            raise RecordError(f"observations[{number}]: {error}") from None


def _observed(given: object) -> Observed:
    return convert(given, Observed, what="observe")


def _evidence(workspace: str, observed: Observed, now: datetime) -> Evidence:
    scope = Scope(workspace=workspace, task=observed.task, roles=observed.roles, principals=observed.principals)
    moment = now if observed.at is None else utc(observed.at, field="at")
    return Evidence(text=observed.text, by=observed.by, at=moment, source=observed.source, scope=scope)
