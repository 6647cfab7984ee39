"""From the arguments of ``record``, ``oblige`` and ``progress`` to the content of an item.

Names in one spelling: "José" in NFC and in NFD is one principal.

Applied to everything that comes in. What is stored is never rewritten, so that digests and signatures hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, get_args

from msgspec.structs import replace

from readmit.records.acts.event import Checkpoint, EventKind
from readmit.records.acts.operation import Reassign, WriterKey
from readmit.records.arguments import check_fields
from readmit.records.base import Moment, listed, nfc, require_digest, require_flag, require_id, utc
from readmit.records.canonical import digest
from readmit.records.error_types import ConflictError, RecordError
from readmit.records.evidence import Evidence, Experience
from readmit.records.identity import Identity, made_id
from readmit.records.items import Drafted, Interval, Item, Obligation, Receipt, Scope
from readmit.records.policy import EvidenceRules, Policy
from readmit.records.verdicts import Examine
from readmit.writing.rights import item_for, known_to
from readmit.writing.supersede_check import ending, over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from readmit.log.log import Log


T = TypeVar("T")


def all_nfc(names: Iterable[str]) -> tuple[str, ...]:
    """Several names."""
    return tuple(map(nfc, names))


def who(identity: Identity) -> Identity:
    """An identity in NFC, except the workspace's name, which stays as it is."""
    return replace(identity, principal=nfc(identity.principal), role=nfc(identity.role), task=nfc(identity.task))


def normal(value: T) -> T:
    """A checked record with every name of a principal, role, task or purpose in NFC."""
    match value:
        case Item(by=by, scope=scope, purposes=purposes, applies_to=tasks):
            return replace(
                value, by=nfc(by), scope=_reach(scope), purposes=all_nfc(purposes), applies_to=all_nfc(tasks)
            )
        case Evidence(by=by, scope=scope):
            return replace(value, by=nfc(by), scope=_reach(scope))
        case Experience(owner=owner):
            return replace(value, owner=nfc(owner))
        case Checkpoint(identity=identity):
            return replace(value, identity=who(identity))
        case Examine(identity=identity, purpose=purpose):
            return replace(value, identity=who(identity), purpose=_optional(purpose))
        case Reassign(principal=principal, task=task, was=was, role=role):
            return replace(value, principal=nfc(principal), task=nfc(task), was=_optional(was), role=nfc(role))
        case WriterKey(principal=principal):
            return replace(value, principal=nfc(principal))
        case Policy(evidence=evidence):
            return replace(value, evidence=_whose_word(evidence))
    return value


def _whose_word(rules: EvidenceRules) -> EvidenceRules:
    ranked = all_nfc(rules.ranks) or rules.on_concurrent
    return replace(rules, writers=all_nfc(rules.writers), overseers=all_nfc(rules.overseers), on_concurrent=ranked)


def _reach(scope: Scope) -> Scope:
    return replace(scope, task=_optional(scope.task), principals=all_nfc(scope.principals), roles=all_nfc(scope.roles))


def _optional(name: str | None) -> str | None:
    return None if name is None else nfc(name)


def scope_of(
    workspace: str, task: str | None, roles: Sequence[str], principals: Sequence[str], *, private: bool = False
) -> Scope:
    """The scope of an item: its readers."""
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
    """The readers of an item, the time at which it is true, and its uses."""

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
    """The arguments that ``record``, ``oblige`` and ``progress`` share."""

    slot: str | None
    """The subject of the item. A later item in the same slot replaces it, and the current one meets that name."""
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
    """The fields that all kinds of items share. Every source binds the statement and all its references."""
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
    """The support that a replacement takes over: everything that the superseded item supported."""
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
