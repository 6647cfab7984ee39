"""From the arguments of ``record``, ``oblige`` and ``progress`` to the content of an item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.records.base import listed, nfc, utc
from readmit.records.canonical import digest
from readmit.records.errors import RecordError, UnknownError
from readmit.records.events import EventKind
from readmit.records.items import Interval, Item, Receipt, Scope
from readmit.workspace.naming import all_nfc
from readmit.workspace.replacing import is_over
from readmit.workspace.rights import item_for, known_to

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from readmit.ports.store import Log
    from readmit.records.policy import Policy


def scope_of(
    workspace: str, task: str | None, roles: Sequence[str], principals: Sequence[str], *, private: bool = False
) -> Scope:
    """Who may see something."""
    return Scope(
        workspace=workspace,
        task=None if task is None else nfc(task),
        roles=all_nfc(listed("roles", roles)),
        principals=all_nfc(listed("principals", principals)),
        visibility="private" if private else "team",
    )


def content_of(workspace: str, by: str, sources: Sequence[str], fields: dict[str, Any]) -> dict[str, Any]:
    """What all kinds of items share. Every source binds the statement and all its references."""
    supports = listed("supports", fields.pop("supports", ()))
    premises = listed("depends_on", fields.pop("depends_on", ()))
    receipts = tuple(fields.pop("receipts", ())) + tuple(
        Receipt(evidence=one, binds=("item", *premises, *supports)) for one in listed("sources", sources)
    )
    scope = scope_of(
        workspace,
        fields.pop("task", None),
        fields.pop("roles", ()),
        fields.pop("principals", ()),
        private=fields.pop("private", False),
    )
    start, end = fields.pop("valid_from", None), fields.pop("valid_until", None)
    valid = Interval(
        start=None if start is None else utc(start, field="valid_from"),
        end=None if end is None else utc(end, field="valid_until"),
    )
    named: dict[str, Any] = {
        field: all_nfc(listed(field, fields.pop(field))) for field in ("purposes", "tasks") if field in fields
    }
    return {
        "by": by, "scope": scope, "valid": valid, "depends_on": premises, "supports": supports, "receipts": receipts,
        **named, **fields,
    }  # fmt: skip


def id_of(content: dict[str, Any]) -> str:
    """The id of an item that was given none: the same content has the same."""
    return f"m{digest(content)[:16]}"


def inherited(
    log: Log,
    id: str | None,
    *,
    by: str,
    supersedes: str | None,
    sources: Sequence[str],
    fields: dict[str, Any],
    policy: Callable[[], Policy],
) -> tuple[str, ...]:
    """What a replacement supports besides its own: all that its predecessor did.

    That is the item it supersedes, or else the last one recorded in its slot for the same task.
    """
    if not sources and not fields.get("receipts"):
        raise RecordError(
            "inherits: without evidence of its own a statement proves nothing that another one did; give sources"
        )
    if fields.get("drafted") is not None:
        raise RecordError("inherits: a draft takes over nothing; record it without, and link it in your own name")
    own = listed("supports", fields.get("supports", ()))
    # Recorded before under this id, it took over then what there was to take over.
    before = None if id is None or log.named(EventKind.RECORD, id) is None else log.item(id)
    before = before or _predecessor(log, by, supersedes, fields, policy)
    return tuple(dict.fromkeys((*own, *before.supports)))


def _predecessor(
    log: Log, by: str, supersedes: str | None, fields: dict[str, Any], policy: Callable[[], Policy]
) -> Item:
    if supersedes is not None:
        return item_for(log, supersedes, by, policy)
    slot, task = fields.get("slot"), fields.get("task")
    if slot is not None:
        rows = reversed(log.in_slot(None if task is None else nfc(task), slot, until=log.head))
        for item in (event.payload for event in rows):
            if isinstance(item, Item) and known_to(item, by, policy):
                return item
    raise UnknownError(
        "inherits: nothing to take over; name what this replaces with supersedes, or a slot that is taken"
    )


def open_again(log: Log, content: dict[str, Any], now: datetime) -> str:
    """The id of a duty that was given none: the open one of the same content, or a new one if all of them are over.

    Otherwise what is owed once more would pass for what was settled.
    """
    first = name = id_of(content)
    number = 1
    while log.named(EventKind.RECORD, name) is not None and is_over(log, name, now):
        number += 1
        name = f"m{digest((first, number))[:16]}"
    return name
