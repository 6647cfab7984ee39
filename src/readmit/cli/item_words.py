"""Items, observations and events of a workspace: as plain values for JSON, and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit.cli.decision_words import ground, short
from readmit.cli.output import shown, table
from readmit.records.acts.event import Checkpoint
from readmit.records.acts.held_back import Wait
from readmit.records.acts.kinds import sentence
from readmit.records.acts.leases import Lease
from readmit.records.decisions import Returned
from readmit.records.evidence import Evidence
from readmit.records.items import Item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.table import Table

    from readmit.diagnosis.listing import ListedItem
    from readmit.records.acts.event import Event
    from readmit.records.identity import Identity

STANDS = "stands"


def state(one: ListedItem) -> str:
    """The state of an item, in one word."""
    return STANDS if one.state is None else str(one.state)


def item(one: ListedItem) -> dict[str, Any]:
    """An item with its fields, its epoch, and why it does not stand."""
    return {
        **msgspec.to_builtins(one.item),
        "epoch": one.epoch,
        "state": state(one),
        "because": [ground(cause) for cause in one.causes],
    }


def observation(event: Event) -> dict[str, Any]:
    """An observation with its digest."""
    fields = msgspec.to_builtins(event.payload)
    return {"digest": event.digest, "id": event.id.partition(":")[2], "epoch": event.epoch, **fields}


def event(one: Event) -> dict[str, Any]:
    """One event of the log."""
    return {
        "epoch": one.epoch,
        "kind": str(one.kind),
        "id": one.id.partition(":")[2],
        "by": one.by,
        "at": one.at.isoformat(),
        "given": one.given,
        "learnt": one.learnt.isoformat(),
        "payload": msgspec.to_builtins(one.payload),
    }


def item_table(found: list[ListedItem]) -> Table:
    """Items, one to a row."""
    columns = ["item", "kind", "state", "slot", "text"]
    rows = [[one.item.id, str(one.item.kind), state(one), one.item.slot or "", one.item.text] for one in found]
    if not any(one.item.slot for one in found):
        del columns[3]
        for row in rows:
            del row[3]
    return table(columns, rows, prose="text")


def log_table(events: list[Event]) -> Table:
    """Events, one to a row."""
    rows = [
        (str(one.epoch), one.at.isoformat(timespec="seconds"), str(one.kind), one.by, in_words(one)) for one in events
    ]
    return table(("epoch", "at", "kind", "by", "what"), rows, prose="what")


def in_words(one: Event) -> str:
    """What an event says, on one line."""
    match one.payload:
        case Evidence(text=text):
            return f"{short(one.digest)} “{shown(text)}”"
        case Item(id=name, text=text):
            return f"{name} “{shown(text)}”"
        case Returned(request=request, kind=kind):
            return f"{request.return_id}: {kind}"
        case Checkpoint(identity=identity, reason=""):
            return f"{identity.role} on {identity.task}"
        case Checkpoint(identity=identity, reason=why):
            return f"{agent(identity)}: {why}"
        case Lease(identity=identity, until=until):
            return f"{agent(identity)} until {until.isoformat(timespec='seconds')}"
        case Wait(limit=limit):
            return f"{one.name}: {shown(limit)}"
        case payload if one.kind.wording is not None:
            why = getattr(payload, "reason", "")
            return sentence(one.kind, payload) + (f": {why}" if why else "")
        case payload:
            return ", ".join(f"{name} {shown(value)}" for name, value in _flat(msgspec.to_builtins(payload)))


def _flat(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", text) for inner, text in _flat(value))
        elif isinstance(value, list | tuple):
            yield name, " ".join(map(str, value))
        else:
            yield name, short(str(value))


def agent(identity: Identity) -> str:
    """Who acts, in which role, on which task."""
    return f"{identity.principal} ({identity.role}, {identity.task})"


def item_lines(one: ListedItem, evidence: list[Event], holders: list[str], relying: tuple[str, ...]) -> Iterator[str]:
    """An item in full, without its history."""
    said = one.item
    yield f"{said.id}: {said.kind}, {state(one)}"
    yield f"“{shown(said.text)}”"
    about = {
        "slot": said.slot,
        "task": said.scope.task,
        "supports": " ".join(said.supports),
        "depends on": " ".join(said.depends_on),
        "requires": " ".join(getattr(said, "required", ())),
        "critical": " ".join(getattr(said, "critical", ())),
        "obligation": getattr(said, "obligation", ""),
        "roles": " ".join(said.scope.roles),
        "principals": " ".join(said.scope.principals),
        "valid from": said.valid.start and said.valid.start.isoformat(),
        "valid until": said.valid.end and said.valid.end.isoformat(),
        "drafted by": said.drafted and said.drafted.model,
    }
    yield f"Written by {shown(said.by)} at epoch {one.epoch}"
    yield from (f"{name}: {shown(value)}" for name, value in about.items() if value)
    yield from (f"Does not stand: {ground(cause)}" for cause in one.causes)
    yield ""
    yield "Evidence:" if evidence else "Evidence: none"
    yield from (f"  {in_words(seen)}, {shown(seen.by)}, epoch {seen.epoch}" for seen in evidence)
    yield f"Relied on by: {', '.join(relying) or 'no other item'}"
    yield f"Handed over to: {shown(', '.join(holders)) or 'no agent that still works with it'}"


def observation_lines(seen: Event, items: tuple[str, ...]) -> Iterator[str]:
    """An observation in full."""
    evidence = seen.payload
    text, source = (evidence.text, evidence.source) if isinstance(evidence, Evidence) else ("", "")
    yield f"{seen.digest}: {source}"
    yield f"“{shown(text)}”"
    yield f"Observed by {shown(seen.by)}, {seen.at.isoformat(timespec='seconds')}, epoch {seen.epoch}"
    yield f"Evidence for: {', '.join(items) or 'no item yet'}"
