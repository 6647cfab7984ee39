"""Lists of a workspace: its agents, returns, items and events, and the chain that signs them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from readmit.diagnosis.history import newest_returns
from readmit.diagnosis.item_states import read_items
from readmit.diagnosis.verification.audit_check import audit
from readmit.diagnosis.verification.head_proofs import signed_head, verifier_key
from readmit.pages.item_entries import PRIVATE, Sight
from readmit.pages.page_values import Happening, happening
from readmit.records.acts.event import EventKind
from readmit.records.acts.kinds import targets_of
from readmit.records.base import shown
from readmit.records.error_types import ReadmitError, RecordError
from readmit.records.evidence import Evidence
from readmit.records.identity import Identity
from readmit.records.items import Item
from readmit.server.inspector.site import page_of
from readmit.state.absence import last_absence, tenure
from readmit.state.past_returns import recorded
from readmit.trust.notes import LogCheckpoint, verify_note
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from readmit.diagnosis.item_states import Listing
    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint, Event
    from readmit.server.inspector.site import Visit

ROWS = 50
"""Rows of one page of a list."""
_FRESH = 5.0
"""Seconds for which a listing of an unchanged log is used again: dates alone end items too."""
_KEPT = 8
_LONGEST_NUMBER = 15


class AgentRow(NamedTuple):
    """An agent, and whether it is away."""

    departed: Checkpoint
    is_away: bool
    back: Event | None
    """The exposure or the reset that ended its absence."""
    lease: datetime | None


class ReturnRow(NamedTuple):
    """A past return."""

    seq: int
    id: str
    kind: str
    agent: Identity
    at: datetime
    epoch: int
    missing: tuple[str, ...]
    exposed: int | None
    """The epoch at which it was handed over."""


class Listings:
    """The items of workspaces with their states, read once while their logs do not move."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[int, float, Listing]] = OrderedDict()

    def of(self, workspace: Workspace) -> Listing:
        """The items of a workspace as they are now."""
        desk = desk_of(workspace)
        key, epoch, now = (desk.log.store_id, workspace.name), desk.log.head, time.monotonic()
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept[0] == epoch and now - kept[1] < _FRESH:
            return kept[2]
        listing = read_items(desk.log, desk.policy, desk.writer.now())
        with self._lock:
            self._kept[key] = (epoch, now, listing)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return listing


LISTINGS = Listings()


def number(visit: Visit, name: str, default: int | None = None) -> int | None:
    """A number of the query; refused if it is none."""
    given = visit.query.get(name, "")
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) <= _LONGEST_NUMBER):
        raise RecordError(f"{name}: {shown(given)} is not a number; give one, or leave it out")
    return int(given)


def workspace_page(workspace: Workspace, visit: Visit) -> str:
    """Who is away and since when, and the newest returns."""
    log = desk_of(workspace).log
    with log.reading():
        agents = sorted(_agents(log), key=lambda row: (not row.is_away, row.departed.at))
        returns = list(islice(return_rows(log), 10))
    return page_of("workspace.html", visit, epoch=log.head, agents=agents, returns=returns)


def _agents(log: Log) -> Iterator[AgentRow]:
    for departed in log.agents():
        absence, presence = last_absence(log, departed.identity), tenure(log, departed.identity.agent)
        back = None if absence is None else absence.end
        yield AgentRow(departed, back is None, back, None if presence is None else presence.lease.until)


def return_rows(log: Log, *, before: int | None = None) -> Iterator[ReturnRow]:
    """Past returns, the newest first."""
    for seq, name in newest_returns(log, before=before):
        returned, decision = recorded(log, name)
        exposed, request = log.named(EventKind.EXPOSE, name), returned.request
        yield ReturnRow(
            seq, name, decision.kind, request.identity, request.now, request.epoch, decision.missing,
            None if exposed is None else exposed.epoch,
        )  # fmt: skip


def returns_page(workspace: Workspace, visit: Visit) -> str:
    """Every past return, newest first, by page."""
    log, wanted = desk_of(workspace).log, {name: visit.query.get(name, "") for name in ("kind", "agent")}
    with log.reading():
        rows = (
            row
            for row in return_rows(log, before=number(visit, "before"))
            if wanted["kind"] in ("", row.kind) and wanted["agent"].casefold() in row.agent.principal.casefold()
        )
        found = list(islice(rows, ROWS + 1))
    more = found[ROWS - 1].seq if len(found) > ROWS else None
    return page_of("returns.html", visit, returns=found[:ROWS], more=more, wanted=wanted)


def items_page(workspace: Workspace, visit: Visit) -> str:
    """The items, newest first, by text, slot, task, author and state."""
    wanted = {name: visit.query.get(name, "") for name in ("text", "slot", "task", "by", "state")}
    listing, sight = LISTINGS.of(workspace), operators_sight(workspace)
    states = sorted({str(one.state) for one in listing.items.values() if one.state is not None})
    found = [
        one
        for one in reversed(listing.items.values())
        if wanted["slot"] in ("", one.item.slot)
        and wanted["task"] in ("", one.item.scope.task)
        and wanted["by"] in ("", one.item.by)
        and wanted["state"] in ("", "stands" if one.state is None else str(one.state))
        and (not wanted["text"] or wanted["text"].casefold() in f"{one.item.id} {sight.says(one.item)}".casefold())
    ]
    first = number(visit, "from", 0) or 0
    return page_of(
        "items.html", visit, items=found[first : first + ROWS], many=len(found), first=first, rows=ROWS,
        wanted=wanted, states=states, says=sight.says,
    )  # fmt: skip


def operators_sight(workspace: Workspace) -> Sight:
    """Items as an operator sees them: the texts of those that are private to others stay theirs."""
    reader = Identity(workspace=workspace.name, principal="", role="", task="")
    return Sight(desk_of(workspace).log, reader, {}, {})


def log_page(workspace: Workspace, visit: Visit) -> str:
    """Events, newest first, by page. Their epochs are those of ``readmit log`` and of the audit."""
    log = desk_of(workspace).log
    last = min(log.head, number(visit, "until", log.head) or log.head)
    first = max(1, last - ROWS + 1)
    sight = operators_sight(workspace)
    with log.reading():
        events = list(log.tail(since=first - 1, until=last)) if last else []
        rows = [(event, _worded(sight, event)) for event in events]
    return page_of("log.html", visit, events=rows[::-1], older=first - 1, head=log.head)


def _worded(sight: Sight, event: Event) -> Happening:
    if isinstance(event.payload, Item) or targets_of(event.payload):
        return sight.worded(event)
    said = happening(event)
    if isinstance(event.payload, Evidence) and event.payload.scope.principals:
        return replace(said, text=PRIVATE)
    return said


def chain_page(workspace: Workspace, visit: Visit) -> str:
    """The signed head of the log, its keys, and on request a check of everything that is signed."""
    desk = desk_of(workspace)
    log, now = desk.log, desk.writer.clock()
    keys = desk.keys.trusted(now)
    values: dict[str, Any] = {"note": "", "fault": "", "signers": [], "head": None}
    try:
        note = signed_head(log)
        signers = {verifier_key(log, public): key for key, public in keys.items()}
        text, found = verify_note(note, signers)
        values |= {
            "note": note.decode(), "head": LogCheckpoint.from_text(text),
            "signers": [signers[one.key] for one in found],
        }  # fmt: skip
    except ReadmitError as error:
        values["fault"] = str(error)
    report = audit(log) if visit.query.get("verify") else None
    pinned = desk.keys.pin.head()
    vkeys = [(key, verifier_key(log, public).vkey) for key, public in keys.items()]
    return page_of("chain.html", visit, epoch=log.head, keys=vkeys, report=report, pinned=pinned, **values)
