"""``items``, ``show``, ``log``: the items, one item or observation in full, and the events."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import click

from readmit.cli.command import Invocation, command
from readmit.cli.item_words import agent_in_words, item_lines, item_table, listed_json, standing
from readmit.cli.log_lines import event_json, event_line, event_table, observation_json, observation_lines
from readmit.cli.output import emit, progress, show
from readmit.cli.references import Found, Reference, resolve_id
from readmit.diagnosis.item_states import ListedItem, Listing, read_items
from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.kinds import KINDS, load_declared_elsewhere
from readmit.records.error_types import UnknownError
from readmit.records.reasons import PRECEDENCE, State
from readmit.text.english import counted
from readmit.text.escapes import one_line
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Iterator


_ITEM_KINDS = ("fact", "obligation", "frontier", "role_constraint", "interface_constraint")
# States that only a return puts an item in.
_OF_A_RETURN = frozenset({State.ADMITTED, State.NOT_NEEDED, State.WITHHELD, State.UNAUTHORIZED, State.NOT_APPLICABLE})
_STATES = ("stands", *(str(state) for state in PRECEDENCE if state not in _OF_A_RETURN))
_FIRST = 'Record one: readmit record "…" --by NAME --source "…"'


@command(
    "items",
    examples=("readmit items", "readmit items --slot hotel --state stands", "readmit items --text booked --json"),
)
@click.option("--slot", metavar="ID", help="Only those about this slot.")
@click.option("--task", metavar="NAME", help="Only those of this task.")
@click.option("--kind", type=click.Choice(_ITEM_KINDS), help="Only those of this kind.")
@click.option(
    "--state", type=click.Choice(_STATES), metavar="STATE",
    help="Only those in this state: stands, revoked, superseded, expired, disputed and so on.",
)  # fmt: skip
@click.option("--by", metavar="NAME", help="Only those that this principal wrote.")
@click.option("--text", metavar="TEXT", help="Only those whose text holds this, in any case.")
def list_items(invocation: Invocation, /, **wanted: str | None) -> None:
    """List items with their texts, and whether each stands now.

    An item stands if there is no cause against it. Whether an agent may act on it also depends on the agent: its return
    decides that, and `readmit explain` explains it.
    """
    with invocation.open() as workspace:
        listing = _listing(workspace)
    found = [one for one in listing.items.values() if _wanted(one, wanted)]
    if invocation.json:
        emit({"items": [listed_json(one) for one in found]})
    elif not listing.items:
        show(f"No items yet. {_FIRST}")
    elif not found:
        show(f"None of {counted(len(listing.items), 'item')} is like that.")
    else:
        show(item_table(found), "", counted(len(found), "item"))


def _listing(workspace: Workspace) -> Listing:
    with progress("Reading the log", workspace.epoch) as watch:
        return read_items(desk_of(workspace).log, workspace.admin.policy, desk_of(workspace).writer.now(), watch=watch)


def _wanted(one: ListedItem, wanted: dict[str, str | None]) -> bool:
    item = one.item
    said = {"slot": item.slot, "task": item.scope.task, "kind": item.kind, "state": standing(one), "by": item.by}
    if any(wanted[name] not in (None, value) for name, value in said.items()):
        return False
    return (wanted["text"] or "").casefold() in item.text.casefold()


@command("show", examples=("readmit show h0", "readmit show 3f2a91"))
@click.argument("id", type=Reference("item", "evidence", "observe"))
def show_one(invocation: Invocation, /, *, id: str) -> None:
    """Show an item or an observation in full: its text, its evidence, its history, and what relies on it."""
    with invocation.open() as workspace:
        found = resolve_id(workspace, ("item", "evidence", "observe"), id, label="ID")
        if found is None:
            raise UnknownError(f"ID: no item and no observation {id!r}; `readmit items` and `readmit log` list them")
        listing = _listing(workspace)
        if found.space == "item":
            _show_item(invocation, workspace, listing, found.name)
        else:
            _show_observation(invocation, listing, _observed(workspace, found))


def _show_item(invocation: Invocation, workspace: Workspace, listing: Listing, name: str) -> None:
    log, one = desk_of(workspace).log, listing.items[name]
    evidence = [log.evidence(bound.evidence) for bound in one.item.receipts if log.evidence_id(bound.evidence)]
    history = log.about([name], until=log.head)
    holding = [who for who, return_id in listing.exposed if name in _items_of(workspace, return_id)]
    holders, relying = [agent_in_words(who) for who in holding], listing.resting_on(name)
    if invocation.json:
        emit(
            {
                **listed_json(one),
                "evidence": [observation_json(event) for event in evidence],
                "history": [event_json(event) for event in history],
                "relied_on_by": list(relying),
                "handed_over_to": holders,
            }
        )
    else:
        show(*item_lines(one), "", "Evidence:" if evidence else "Evidence: none")
        show(*(f"  {event_line(seen)}, {one_line(seen.by)}, epoch {seen.epoch}" for seen in evidence))
        show(f"Relied on by: {', '.join(relying) or 'no other item'}")
        show(f"Handed over to: {one_line(', '.join(holders)) or 'no agent that still works with it'}")
        show("", event_table(history))


def _show_observation(invocation: Invocation, listing: Listing, event: Event) -> None:
    items = listing.drawn_from(event.digest)
    invocation.say({**observation_json(event), "evidence_for": list(items)}, *observation_lines(event, items))


def _observed(workspace: Workspace, found: Found) -> Event:
    event = None if found.space == "evidence" else desk_of(workspace).log.named(EventKind.OBSERVE, found.name)
    return desk_of(workspace).log.evidence(found.name) if event is None else event


def _items_of(workspace: Workspace, return_id: str) -> set[str]:
    view = workspace.returned(return_id).decision.view
    return set() if view is None else {item.id for item in view.items}


@command(
    "log", examples=("readmit log --limit 20", "readmit log --item h0", "readmit log --kind revoke --by A2 --since 40")
)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only events of this kind. Repeatable.")
@click.option("--by", metavar="NAME", help="Only those that this principal wrote.")
@click.option("--item", type=Reference("item"), metavar="ITEM", help="Only those about this item.")
@click.option("--since", type=click.IntRange(min=0), default=0, metavar="EPOCH", help="Only those after this epoch.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="The newest N of them."
)
def show_log(
    invocation: Invocation, /, *, kinds: tuple[str, ...], by: str | None, item: str | None, since: int, limit: int
) -> None:
    """List events of the log, the newest last."""
    load_declared_elsewhere()
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise click.UsageError(f"--kind: {unknown[0]!r} is none of {', '.join(KINDS)}")
    with invocation.open() as workspace:
        head = workspace.epoch
        events = (
            event
            for event in _events(workspace, item, since, None if by or kinds else limit)
            if (not kinds or event.kind in kinds) and (by is None or event.by == by)
        )
        found = deque(events, maxlen=limit)
    if invocation.json:
        emit({"epoch": head, "events": [event_json(event) for event in found]})
    elif not found:
        show("Nothing has happened yet." if head == 0 else f"None of {counted(head, 'event')} is like that.")
    else:
        show(event_table(list(found)))


def _events(workspace: Workspace, item: str | None, since: int, newest: int | None) -> Iterator[Event]:
    log = desk_of(workspace).log
    if item is not None:
        log.item(item)
        yield from (event for event in log.about([item], until=log.head) if event.epoch > since)
    else:
        # Without a filter the newest are at the end, and nothing before them has to be read.
        yield from log.tail(since=since if newest is None else max(since, log.head - newest))
