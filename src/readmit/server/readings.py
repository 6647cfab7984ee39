"""Readings of a workspace for those who may inspect it: listings, reasons, proofs and keys."""

from __future__ import annotations

import base64
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from readmit.diagnosis.export import json_lines
from readmit.diagnosis.item_states import read_items
from readmit.diagnosis.verification.head_proofs import proof_of, signed_head
from readmit.records.base import require_id, shown
from readmit.records.decisions import Returned
from readmit.records.error_types import RecordError, UnknownError
from readmit.remote.given_bodies import LARGEST
from readmit.remote.wire_values import (
    AgentEntry,
    EventEntry,
    HeadAnswer,
    ItemEntry,
    ItemHistory,
    KeyEntry,
    ListPage,
    PastReturn,
    ReturnEntry,
)
from readmit.state.absence import is_away
from readmit.trust.commit_record import row_leaf
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from readmit.diagnosis.checkup import Checkup
    from readmit.diagnosis.history import Explanation, Replay
    from readmit.diagnosis.item_states import ListedItem
    from readmit.diagnosis.symptoms import Diagnosis
    from readmit.records.acts.event import Event
    from readmit.records.items import Drafted
    from readmit.records.policy import Policy
    from readmit.workspace.workspace import Workspace
    from readmit.writing.passed_plans import Notice

T = TypeVar("T")
LIMIT = 100
"""Entries of a page, if the caller names no other number."""


def _page(entries: Iterable[tuple[int, T]], limit: int) -> ListPage[T]:
    """The first entries, each with its position, and where the next page begins if there are more."""
    found = list(islice(entries, limit + 1))
    more = str(found[limit - 1][0]) if len(found) > limit else None
    return ListPage(entries=tuple(one for _, one in found[:limit]), next=more)


def _agents(workspace: Workspace) -> tuple[AgentEntry, ...]:
    log = desk_of(workspace).log
    return tuple(
        AgentEntry(departure=one, away=is_away(log, one.identity.principal, one.identity.task)) for one in log.agents()
    )


def _returns(workspace: Workspace, *, after: int = 0, limit: int = LIMIT) -> ListPage[ReturnEntry]:
    found = (event for event in _tail(workspace, after) if isinstance(event.payload, Returned))
    return _page(((event.epoch, _return_entry(event)) for event in found), limit)


def _return_entry(event: Event) -> ReturnEntry:
    returned: Any = event.payload
    return ReturnEntry(
        id=event.name, epoch=event.epoch, at=event.at, identity=returned.request.identity, kind=returned.kind
    )


def _returned(workspace: Workspace, id: str) -> PastReturn:
    found = workspace.returned(id)
    return PastReturn(request=found.request, decision=found.decision, dispositions=found.dispositions)


def _explain(workspace: Workspace, id: str, item: str) -> Explanation:
    return workspace.returned(id).explain(item)


def _why(workspace: Workspace, id: str) -> Diagnosis:
    return workspace.returned(id).why()


def _drafts(workspace: Workspace, id: str) -> dict[str, Drafted]:
    return workspace.returned(id).drafts()


def _replay(workspace: Workspace, id: str) -> Replay:
    return workspace.returned(id).replay()


def _items(
    workspace: Workspace,
    *,
    after: int = 0,
    limit: int = LIMIT,
    slot: str | None = None,
    task: str | None = None,
    text: str = "",
) -> ListPage[ItemEntry]:
    desk = desk_of(workspace)
    found = (
        one
        for one in read_items(desk.log, desk.policy, desk.writer.now()).items.values()
        if one.epoch > after
        and slot in (None, one.item.slot)
        and task in (None, one.item.scope.task)
        and text.casefold() in one.item.text.casefold()
    )
    return _page(((one.epoch, _item_entry(one)) for one in found), limit)


def _item_entry(one: ListedItem) -> ItemEntry:
    item: Any = one.item
    return ItemEntry(item=item, epoch=one.epoch, state=one.state, causes=one.causes)


def _item(workspace: Workspace, id: str) -> ItemHistory:
    desk = desk_of(workspace)
    listed = read_items(desk.log, desk.policy, desk.writer.now()).items.get(require_id("id", id))
    if listed is None:
        raise UnknownError(f"no item {id!r} in workspace {workspace.name!r}; record it first")
    events = desk.log.about([id], until=desk.log.head)
    return ItemHistory(item=_item_entry(listed), events=tuple(map(_event_entry, events)))


def _log(workspace: Workspace, *, after: int = 0, limit: int = LIMIT) -> ListPage[EventEntry]:
    return _page(((event.epoch, _event_entry(event)) for event in _tail(workspace, after)), limit)


def _tail(workspace: Workspace, after: int) -> Iterable[Event]:
    log = desk_of(workspace).log
    return log.tail(since=after) if after < log.head else ()


def _event_entry(event: Event) -> EventEntry:
    return EventEntry(
        epoch=event.epoch,
        id=event.name,
        kind=str(event.kind),
        by=event.by,
        at=event.at,
        learnt=event.learnt,
        digest=event.digest,
        payload=event.payload,
        given=event.given,
    )


def _audit(workspace: Workspace, *, after: int = 0, limit: int = LIMIT) -> ListPage[Any]:
    audit = desk_of(workspace).log.audit
    last = audit.last
    rows = audit.rows(first=after + 1, last=min(last, after + limit)) if after < last else ()
    entries = tuple(
        {
            "seq": row.seq,
            "return": row.return_id,
            "kind": row.kind,
            "item": row.item,
            "body": msgspec.Raw(row.body),
            "leaf": row_leaf(*row).hex(),
        }
        for row in rows
    )
    return ListPage(entries=entries, next=str(after + limit) if after + limit < last else None)


def _audit_export(workspace: Workspace) -> Iterator[bytes]:
    return json_lines(desk_of(workspace).log)


def _proof(workspace: Workspace, epoch: str) -> msgspec.Raw:
    log = desk_of(workspace).log
    if not (epoch.isascii() and epoch.isdigit() and 0 < int(epoch) <= LARGEST):
        raise RecordError(f"epoch: {shown(epoch)} is not a position of the log; give a number from 1")
    log.event(int(epoch))
    return msgspec.Raw(proof_of(log, int(epoch), signed_head(log)))


def _head(workspace: Workspace) -> HeadAnswer:
    return HeadAnswer(workspace=workspace.name, note=signed_head(desk_of(workspace).log).decode())


def _keys(workspace: Workspace) -> tuple[KeyEntry, ...]:
    desk = desk_of(workspace)
    trusted = desk.keys.trusted(desk.writer.clock())
    return tuple(KeyEntry(key=key, public=base64.b64encode(raw).decode()) for key, raw in trusted.items())


def _doctor(
    workspace: Workspace, *, principal: str | None = None, role: str | None = None, task: str | None = None
) -> Checkup:
    if principal is None and role is None and task is None:
        return workspace.doctor()
    if principal is None or role is None or task is None:
        raise RecordError("principal: name an agent by principal, role and task, or give none of the three")
    return workspace.doctor(workspace.agent(principal, role=role, task=task))


def _policy(workspace: Workspace) -> Policy:
    return workspace.admin.policy


def _waiting(workspace: Workspace) -> tuple[EventEntry, ...]:
    return tuple(map(_event_entry, workspace.admin.waiting()))


def _notices(workspace: Workspace) -> tuple[Notice, ...]:
    return workspace.as_owner().admin.notices()


READINGS: Mapping[str, Callable[..., Any]] = {
    "agents": _agents,
    "returns": _returns,
    "returned": _returned,
    "explain": _explain,
    "why": _why,
    "drafts": _drafts,
    "replay": _replay,
    "items": _items,
    "item": _item,
    "log": _log,
    "audit": _audit,
    "audit_export": _audit_export,
    "proof": _proof,
    "head": _head,
    "keys": _keys,
    "doctor": _doctor,
    "policy": _policy,
    "waiting": _waiting,
    "notices": _notices,
}
"""The readings by the names of their verbs."""
