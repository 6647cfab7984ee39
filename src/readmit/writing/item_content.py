"""From the arguments of ``record``, ``oblige`` and ``progress`` to the content of an item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from readmit.records.acts.event import EventKind
from readmit.records.arguments import check_fields
from readmit.records.base import Moment, listed, nfc, require_digest, require_flag, require_id, utc
from readmit.records.canonical import digest
from readmit.records.error_types import ConflictError, RecordError
from readmit.records.identity import made_id
from readmit.records.items import Drafted, Interval, Obligation, Receipt, Scope
from readmit.writing.nfc_names import all_nfc
from readmit.writing.rights import item_for, known_to
from readmit.writing.supersede_check import ending, over

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.policy import Policy


def scope_of(
    workspace: str, task: str | None, roles: Sequence[str], principals: Sequence[str], *, private: bool = False
) -> Scope:
    """Who may see something."""
    if private and not principals:
        raise RecordError("principals: name at least one whom the item is private to")
    return Scope(
        workspace=workspace,
        task=None if task is None else nfc(task),
        roles=all_nfc(listed("roles", roles)),
        principals=all_nfc(listed("principals", principals)),
        visibility="private" if require_flag("private", private) else "team",
    )


StatementKind: TypeAlias = Literal["fact", "role_constraint", "interface_constraint"]
"""The kinds of item that ``record`` makes."""
STATEMENT_KINDS = get_args(StatementKind)


class UseFields(TypedDict, total=False):
    """Who may see an item, when it is true, and what it may be used for."""

    task: str | None
    """The one task whose agents may see it."""
    roles: Sequence[str]
    principals: Sequence[str]
    private: bool
    """Whether it is private to ``principals``."""
    valid_from: Moment | None
    valid_until: Moment | None
    purposes: Sequence[str]
    """Its purposes; any if none is named."""
    applies_to: Sequence[str]
    """The tasks that it applies to; all of them if none is named."""


class ItemFields(UseFields, total=False):
    """What ``record``, ``oblige`` and ``progress`` take besides arguments of their own."""

    slot: str | None
    """What the item is about. A later item in the same slot replaces it, and the current one meets that name."""
    supports: Sequence[str]
    """Further dependencies that it is evidence for."""
    depends_on: Sequence[str]
    """Its premises: it falls with them."""
    receipts: Sequence[Receipt]
    """Evidence for the statement, or for single references that it makes; ``sources`` bind all of them."""
    drafted: Drafted | None
    """Which model wrote it, if one did."""


def content_of(
    verb: Callable[..., object], workspace: str, by: str, sources: Sequence[str], fields: ItemFields
) -> dict[str, Any]:
    """What all kinds of items share. Every source binds the statement and all its references."""
    check_fields(verb, fields, ItemFields)
    content: dict[str, Any] = {**fields}
    supports = listed("supports", content.pop("supports", ()))
    premises = listed("depends_on", content.pop("depends_on", ()))
    evidence = [require_digest(f"sources[{n}]", one) for n, one in enumerate(listed("sources", sources))]
    receipts = listed("receipts", content.pop("receipts", ())) + tuple(
        Receipt(evidence=one, binds=("item", *premises, *supports)) for one in evidence
    )
    scope = scope_of(
        workspace,
        content.pop("task", None),
        content.pop("roles", ()),
        content.pop("principals", ()),
        private=content.pop("private", False),
    )
    named: dict[str, Any] = {
        field: all_nfc(listed(field, content.pop(field))) for field in ("purposes", "applies_to") if field in content
    }
    valid = _interval(content.pop("valid_from", None), content.pop("valid_until", None))
    return {
        "by": by, "scope": scope, "valid": valid, "depends_on": premises, "supports": supports, "receipts": receipts,
        **named, **content,
    }  # fmt: skip


def _interval(start: Moment | None, end: Moment | None) -> Interval:
    first = None if start is None else utc(start, field="valid_from")
    last = None if end is None else utc(end, field="valid_until")
    if first is not None and last is not None and last <= first:
        raise RecordError("valid_until must be later than valid_from")
    return Interval(start=first, end=last)


def id_of(log: Log, content: dict[str, Any], number: int = 1) -> str:
    """The default id of an item: the same content has the same id. ``number``: of those with this content."""
    name = f"m{log.keyed(digest(content))[:16]}"
    if number > 1:
        name = f"m{digest((name, number))[:16]}"
    return made_id(content["by"], name, content["scope"].principals)


def inherited(
    log: Log,
    id: str | None,
    *,
    by: str,
    supersedes: str | None,
    sources: Sequence[str],
    fields: ItemFields,
    policy: Callable[[], Policy],
) -> tuple[str, ...]:
    """What a replacement also supports: everything that the item did which it supersedes."""
    if not sources and not fields.get("receipts"):
        raise RecordError(
            "inherits: without evidence of its own a statement proves nothing that another one did; give sources"
        )
    if fields.get("drafted") is not None:
        raise RecordError("inherits: a draft takes over nothing; record it without, and link it in your own name")
    if supersedes is None:
        raise RecordError("inherits: give supersedes too, the item whose support it takes over")
    own = listed("supports", fields.get("supports", ()))
    # If it was recorded before under this id, it took over its predecessor's support then.
    before = None if id is None or log.named(EventKind.RECORD, id) is None else log.item(id)
    before = before or item_for(log, supersedes, by, policy)
    return tuple(dict.fromkeys((*own, *before.supports)))


def opened_as(log: Log, id: str | None, content: dict[str, Any], policy: Callable[[], Policy], now: datetime) -> str:
    """The id of a duty. By default that of the open one with the same content, or a new one if all are over.

    The id of a duty that is over is refused: it would count as settled, and nobody would owe it.
    """
    if id is not None:
        duty = None if log.named(EventKind.OPEN, require_id("id", id)) is None else log.item(id)
        known = isinstance(duty, Obligation) and known_to(duty, content["by"], policy)
        if known and (end := ending(log, id, now)) is not None:
            raise ConflictError(f"id: {over(id, end)}; leave id out to open a new one, or choose another id")
        return id
    name, number = id_of(log, content), 1
    while log.named(EventKind.RECORD, name) is not None and ending(log, name, now) is not None:
        number += 1
        name = id_of(log, content, number)
    return name
