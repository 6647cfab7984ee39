"""LangGraph's stores as a memory backend: which namespace belongs to whom, and records to and from store items.

Any ``BaseStore`` will do. Its ``put`` overwrites and has no place for sources, so every value written here also goes
into our history, and its sources into the ledger. A record's text is its whole value: changing any field natively
unbinds it.
"""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.store.base import BaseStore, GetOp, IndexConfig, PutOp, SearchItem, SearchOp

from readmit.backends.id_escape import unescaped
from readmit.backends.langgraph.graph_places import GraphPlace, Namespace, label, record_id, unlabel
from readmit.backends.langgraph.twins import Steps, drive, step
from readmit.backends.port import Change, Hit, Material, Stored, require_limit, unknown_record
from readmit.log.ledger import TEAM
from readmit.log.memory_records import MemoryRecords, MemoryVersion, NewMemory
from readmit.records.base import require_name
from readmit.records.error_types import BackendError, RecordError
from readmit.state.authority import host_time

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from readmit.models.protocols import Embedder

_OURS = "readmit"
_NOTES = ("notes",)
_PAGE = 1_000
_BATCH = 256


class FoundRecord(NamedTuple):
    """An item that a store found, and the record it is."""

    item: SearchItem
    record: Stored


class LangGraphMemory:
    """A LangGraph store in one workspace: the team's namespaces, and a private bank for each principal."""

    def __init__(
        self,
        store: BaseStore,
        workspace: str,
        *,
        history: MemoryRecords,
        namespace: Namespace | None = None,
        name: str = "main",
        clock: Callable[[], datetime] = host_time,
    ) -> None:
        """``history`` is the workspace's ``log.memories``.

        ``namespace`` puts readmit in front of existing data: the namespaces below it are the team's, under their own
        names. Without one, the workspace gets its own part of the store.
        """
        if not isinstance(store, BaseStore):
            raise BackendError(f"store: {type(store).__name__} is not a LangGraph store; pass a BaseStore")
        if namespace is not None and (not namespace or namespace[0] == _OURS):
            raise BackendError(f"namespace: {namespace!r} must name a part of the store, and not one below {_OURS!r}")
        self.store = store
        self.workspace = require_name("workspace", workspace)
        self._name = require_name("name", name)
        self._history = history
        self._clock = clock
        self._team = (_OURS, label(workspace), "team") if namespace is None else namespace
        self._hidden = len(self._team) if namespace is None else 0
        self._private = (_OURS, label(workspace), "private")

    @property
    def name(self) -> str:
        return f"langgraph:{self._name}"

    # Locations.

    def native(self, place: GraphPlace) -> Namespace:
        """The store's own namespace for a place."""
        if place.owner != TEAM:
            return (*self._private, label(place.owner), *place.namespace)
        if self._hidden:
            return (*self._team, *place.namespace)
        if not self.holds(place):
            raise RecordError(
                f"namespace: {place.namespace!r} is not below {self._team!r}, the team's part of the store"
            )
        return place.namespace

    def holds(self, place: GraphPlace) -> bool:
        """Whether a place is in the workspace's part of the store."""
        return bool(place.owner or self._hidden) or place.namespace[: len(self._team)] == self._team

    def below(self, owner: str, prefix: Namespace) -> Namespace | None:
        """The store's native prefix for an owner's records below a prefix, or ``None`` if there can be none."""
        if owner != TEAM or self._hidden:
            return self.native(GraphPlace(owner, prefix, ""))
        shared = min(len(prefix), len(self._team))
        return None if prefix[:shared] != self._team[:shared] else max(prefix, self._team, key=len)

    def place(self, namespace: Namespace, key: str) -> GraphPlace | None:
        """The place of a native item; ``None`` if it is not of this workspace.

        Stores may match a prefix as a string, so that ``team`` finds ``teamwork`` too: labels are compared here.
        """
        depth = len(self._private)
        if namespace[:depth] == self._private and len(namespace) > depth:
            return GraphPlace(unlabel(namespace[depth]), namespace[depth + 1 :], key)
        if namespace[: len(self._team)] == self._team:
            return GraphPlace(TEAM, namespace[self._hidden :], key)
        return None

    def stored(self, item: Any) -> Stored | None:
        """A store's item as a record, if it is one of this workspace."""
        place = self.place(tuple(item.namespace), item.key)
        if place is None:
            return None
        return Stored(id=record_id(place), text=value_text(item.value), owner=place.owner)

    # Steps, for both interfaces of a store.

    def putting(
        self, place: GraphPlace, value: Mapping[str, Any] | None, *, index: Any = None, ttl: float | None = None
    ) -> Steps[Stored]:
        """Write or delete a value, and file its sources."""
        record = as_record(place, value)
        value = None if value is None else dict(value)
        yield step("batch", [PutOp(self.native(place), place.key, value, index, ttl)])
        if value is None:
            self._history.remove(self.name, record.id, self._now())
        else:
            self._history.write(self.name, [NewMemory(record.id, place.owner, record.text, "", self._now(), {})])
        return record

    def searching(self, owner: str | None, op: SearchOp, keep: Callable[[Stored], bool]) -> Steps[list[FoundRecord]]:
        """The first ``offset + limit`` items of an owner that are to be kept, in the store's order."""
        prefix = self._private if owner is None else self.below(owner, op.namespace_prefix)
        if prefix is None:
            return []
        needed = op.offset + op.limit
        wanted = needed + 4
        while True:
            asked = op._replace(namespace_prefix=prefix, offset=0, limit=wanted, refresh_ttl=False)
            items: list[SearchItem]
            (items,) = yield step("batch", [asked])
            within = (one for one in items if tuple(one.namespace)[: len(prefix)] == prefix)
            records = ((one, self.stored(one)) for one in within)
            kept = [FoundRecord(one, record) for one, record in records if record is not None and keep(record)]
            if len(kept) >= needed or len(items) < wanted:
                return kept[:needed]
            wanted *= 4

    def listing(self, owner: str, keep: Callable[[Stored], bool]) -> Steps[list[GraphPlace]]:
        """The places of an owner's records that are to be kept and have not expired."""
        prefix = self.below(owner, ()) or ()
        found: list[GraphPlace] = []
        at = 0
        while True:
            items: list[SearchItem]
            (items,) = yield step("batch", [SearchOp(prefix, None, _PAGE, at, None, refresh_ttl=False)])
            for item in items:
                place, record = self.place(tuple(item.namespace), item.key), self.stored(item)
                if place is not None and place.owner == owner and record is not None and keep(record):
                    found.append(place)
            if len(items) < _PAGE:
                return found
            at += _PAGE

    # The port.

    writes_apart = True

    def form(self, material: Material) -> list[Change]:
        """One item below ``notes``, verbatim."""
        place = GraphPlace(material.owner, self._notes(material.owner), secrets.token_hex(12))
        steps = self.putting(place, {"text": material.text}, ttl=self._default_ttl)
        return [Change(kind="added", record=drive(self.store, steps))]

    @property
    def _default_ttl(self) -> float | None:
        """The store's default time to live."""
        return (self.store.ttl_config or {}).get("default_ttl")

    def _notes(self, owner: str) -> Namespace:
        return (*self._team, *_NOTES) if owner == TEAM and not self._hidden else _NOTES

    def search(
        self,
        query: str,
        *,
        limit: int,
        reader: str | None = None,
        among: Collection[str] | None = None,  # noqa: ARG002 - a BaseStore cannot rank some records alone
    ) -> list[Hit]:
        require_limit(limit)
        op = SearchOp((), None, limit, 0, query)
        steps = [self.searching(owner, op, lambda _: True) for owner in (TEAM, reader)]
        found = merged(one for part in steps for one in drive(self.store, part))[:limit]
        scores = [one.item.score for one in found if one.item.score is not None]
        # Unranked results come after ranked ones.
        unranked = min(0.0, *scores) if scores else 0.0
        return [
            Hit(id=record.id, text=record.text, score=unranked if item.score is None else item.score)
            for item, record in found
        ]

    def records(self) -> Iterator[Stored]:
        return (record for record, _ in self._every())

    def export(self) -> Iterator[Stored]:
        for record, item in self._every():
            yield Stored(id=record.id, text=record.text, owner=record.owner, native=self._archived(item))

    def _archived(self, item: SearchItem) -> bytes:
        place = self.place(tuple(item.namespace), item.key)
        assert place is not None  # noqa: S101 - a record has one
        kept = {"namespace": place.namespace, "key": place.key, "value": item.value}
        return json.dumps(kept, sort_keys=True, default=repr).encode()

    def _every(self) -> Iterator[tuple[Stored, SearchItem]]:
        for prefix in (self._team, self._private):
            at = 0
            while True:
                found = self.store.search(prefix, limit=_PAGE, offset=at, refresh_ttl=False)
                for item in found:
                    record = self.stored(item)
                    if record is not None and tuple(item.namespace)[: len(prefix)] == prefix:
                        yield record, item
                if len(found) < _PAGE:
                    break
                at += _PAGE

    def load(self, records: Sequence[Stored]) -> list[str]:
        """Records keep their ids; one from another kind of store becomes a note with that id as its key."""
        loaded: list[str] = []
        ops: dict[str, PutOp] = {}
        versions: list[NewMemory] = []
        for record in records:
            place, value = self._restored(record)
            loaded.append(record_id(place))
            # InMemoryStore fails on two equal texts in one batch.
            if record.text in ops or len(ops) == _BATCH:
                self.store.batch(list(ops.values()))
                ops.clear()
            ops[record.text] = PutOp(self.native(place), place.key, value, ttl=self._default_ttl)
            versions.append(NewMemory(loaded[-1], place.owner, record.text, "", self._now(), {}))
        self.store.batch(list(ops.values()))
        self._history.write(self.name, versions)
        return loaded

    def _restored(self, record: Stored) -> tuple[GraphPlace, dict[str, Any]]:
        """The place that an archived record goes to, and its value."""
        kept = json.loads(record.native) if record.native else {}
        place, value = (
            GraphPlace(record.owner, tuple(kept.get("namespace", ())), str(kept.get("key", ""))),
            kept.get("value"),
        )
        if record_id(place) != record.id or not self.holds(place):
            place = GraphPlace(record.owner, self._notes(record.owner), record.id)
        # The archive's text was bound, so a value that differs from it must not be imported.
        return place, value if isinstance(value, dict) and value_text(value) == record.text else {"text": record.text}

    def update(self, record: str, text: str) -> list[Change]:
        steps = self.putting(self._known(record), {"text": text}, ttl=self._default_ttl)
        return [Change(kind="replaced", record=drive(self.store, steps))]

    def delete(self, record: str) -> None:
        drive(self.store, self.putting(self._known(record), None))

    def history(self, record: str) -> list[MemoryVersion]:
        """Every value that was written here under a record's id, oldest first; a deletion has no text."""
        return self._history.history(self.name, record)

    def close(self) -> None:
        """Nothing to close: the store belongs to its owner."""

    def _known(self, record: str) -> GraphPlace:
        """The place of a known record."""
        owner, *rest = (unescaped(part) for part in record.split("/"))
        if rest:
            place = GraphPlace(owner, tuple(rest[:-1]), rest[-1])
            if self.holds(place) and record_id(place) == record:
                (item,) = self.store.batch([GetOp(self.native(place), place.key, refresh_ttl=False)])
                if item is not None:
                    return place
        else:
            # A digest: only the store knows what it stands for.
            for held, item in self._every():
                found = self.place(tuple(item.namespace), item.key) if held.id == record else None
                if found is not None:
                    return found
        raise unknown_record(self, record)

    def _now(self) -> str:
        return self._clock().astimezone(UTC).isoformat()


def merged(found: Iterable[FoundRecord]) -> list[FoundRecord]:
    """Merge several rankings of one store: by score, unscored results last, in their order."""
    return sorted(found, key=lambda one: (one.item.score is None, -(one.item.score or 0.0)))


def value_text(value: Any) -> str:
    """The bound text of a value: the note's own text, or the whole value in canonical form."""
    if isinstance(value, dict) and value.keys() == {"text"} and isinstance(value["text"], str):
        return value["text"]
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=repr)


def as_record(place: GraphPlace, value: Mapping[str, Any] | None) -> Stored:
    """The record that a value becomes when it is put, or that is deleted."""
    return Stored(id=record_id(place), text="" if value is None else bound_text(value), owner=place.owner)


def bound_text(value: Any) -> str:
    """The text of a value that is about to be bound. A value that a store could return changed is refused."""
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise RecordError(f"value: {error}; a LangGraph store keeps JSON objects") from None
    return value_text(value)


def index_with(embedder: Embedder) -> IndexConfig:
    """A store's ``index`` setting that ranks with one of readmit's embedders."""

    def embed(texts: Sequence[str]) -> list[list[float]]:
        rows: list[list[float]] = embedder.embed(list(texts)).tolist()
        return rows

    return {"dims": embedder.dimensions, "embed": embed, "fields": ["$"]}
