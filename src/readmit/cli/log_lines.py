"""Events and observations of the log: as plain values for JSON, and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.cli.item_words import agent_in_words
from readmit.cli.output import plain, table
from readmit.records.acts.event import Checkpoint, Event
from readmit.records.acts.kinds import sentence
from readmit.records.acts.operation import Lease, Wait
from readmit.records.decisions import Returned
from readmit.records.evidence import Evidence
from readmit.records.items import Item
from readmit.text.escapes import one_line, shorten_digests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.table import Table


def observation_json(event: Event) -> dict[str, Any]:
    """An observation with its digest."""
    return {"digest": event.digest, "id": event.name, "epoch": event.epoch, **plain(event.payload)}


def event_json(one: Event) -> dict[str, Any]:
    """One event of the log."""
    return {
        "epoch": one.epoch,
        "kind": str(one.kind),
        "id": one.name,
        "by": one.by,
        "at": one.at.isoformat(),
        "given": one.given,
        "learnt": one.learnt.isoformat(),
        "payload": one.payload,
    }


def event_table(events: list[Event]) -> Table:
    """Events, one to a row."""
    rows = [
        (str(one.epoch), one.at.isoformat(timespec="seconds"), str(one.kind), one.by, event_line(one)) for one in events
    ]
    return table(("epoch", "at", "kind", "by", "what"), rows, prose="what")


def event_line(one: Event) -> str:
    """The content of an event, on one line."""
    match one.payload:
        case Evidence(text=text):
            return f"{shorten_digests(one.digest)} “{one_line(text)}”"
        case Item(id=name, text=text):
            return f"{name} “{one_line(text)}”"
        case Returned(request=request, kind=kind):
            return f"{request.return_id}: {kind}"
        case Checkpoint(identity=identity, reason=""):
            return f"{identity.role} on {identity.task}"
        case Checkpoint(identity=identity, reason=why):
            return f"{agent_in_words(identity)}: {why}"
        case Lease(identity=identity, until=until):
            return f"{agent_in_words(identity)} until {until.isoformat(timespec='seconds')}"
        case Wait(limit=limit):
            return f"{one.name}: {one_line(limit)}"
        case payload if one.kind.wording is not None:
            why = getattr(payload, "reason", "")
            return sentence(one.kind, payload) + (f": {why}" if why else "")
        case payload:
            return ", ".join(f"{name} {one_line(value)}" for name, value in _flat(msgspec.to_builtins(payload)))


def _flat(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", text) for inner, text in _flat(value))
        elif isinstance(value, list | tuple):
            yield name, " ".join(map(str, value))
        else:
            yield name, shorten_digests(one_line(str(value)))


def observation_lines(seen: Event, items: tuple[str, ...]) -> Iterator[str]:
    """An observation in full."""
    evidence = seen.payload
    text, source = (evidence.text, evidence.source) if isinstance(evidence, Evidence) else ("", "")
    yield f"{seen.digest}: {source}"
    yield f"“{one_line(text)}”"
    yield f"Observed by {one_line(seen.by)}, {seen.at.isoformat(timespec='seconds')}, epoch {seen.epoch}"
    yield f"Evidence for: {', '.join(items) or 'no item yet'}"
