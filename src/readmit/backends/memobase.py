"""Memobase behind the port, through its client.

Its server turns chats into profile slots and events, merges into slots what comes later, and forgets the chats. The
only link from a slot back to a text is the answer of a synchronous flush, which the client throws away: here the
endpoint is called directly. A slot that a flush updates holds the union of its sources; an event those of its flush.
Both are records, so an event about something superseded is withheld like any other.

Every bank is a Memobase user of its own. A verbatim memory is a profile slot written as it is, without a model.
Memobase ranks events alone and hands profiles out whole, so slots are ordered here, by the embedder.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Self

import msgspec

from readmit.backends.admission import unaltered
from readmit.backends.memobase_server import EVENT, PROFILE, Flushed, Server, event_text
from readmit.backends.opening import need
from readmit.ports.backend import TEAM, Change, Hit, Precision, Stored
from readmit.records.base import require_name
from readmit.records.canonical import decode
from readmit.records.errors import BackendError, RecordError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from readmit.backends.opening import Site
    from readmit.ports.backend import Material, SourceLedger
    from readmit.ports.models import Embedder

_TOPIC, _FROM_EVENT = "readmit", "event"
_MOST_EVENTS = 10_000


class _Native(msgspec.Struct, frozen=True):
    topic: str
    sub_topic: str


class _Options(msgspec.Struct, forbid_unknown_fields=True):
    key_env: str = "MEMOBASE_API_KEY"


class Memobase:
    """A Memobase project, as one workspace uses it."""

    def __init__(
        self, server: Server, workspace: str, *, ledger: SourceLedger, embedder: Embedder, name: str = "main"
    ) -> None:
        self.workspace = require_name("workspace", workspace)
        self.name = f"memobase:{require_name('name', name)}"
        self._server = server
        self._ledger = ledger
        self._embedder = embedder
        self._vectors: dict[str, NDArray[np.float32]] = {}
        # A flush processes everything in a user's buffer: with two at once, the texts could not be attributed.
        self._lock = threading.RLock()
        self._owners = {TEAM}

    @classmethod
    def open(
        cls,
        url: str,
        workspace: str,
        *,
        api_key: str,
        ledger: SourceLedger,
        embedder: Embedder,
        name: str = "main",
        timeout: float = 60.0,
    ) -> Self:
        """A project on a running server. ``ledger`` is the workspace's ``log.sources``."""
        need("memobase", "memobase")
        return cls(Server(url, api_key, timeout), workspace, ledger=ledger, embedder=embedder, name=name)

    @classmethod
    def at(cls, site: Site) -> Self:
        """The project that a line names: ``memobase:URL?key_env=NAME``."""
        url, variable = site.line.target, site.options(_Options).key_env
        key = os.environ.get(variable)
        if not url or not key:
            raise BackendError(f"backend memobase: name a server, as memobase:URL, and put its key into {variable}")
        return cls.open(url, site.workspace, api_key=key, ledger=site.log.sources, embedder=site.needed_embedder())

    @property
    def native(self) -> Any:
        """The ``MemoBaseClient`` itself. What is written with it has no source."""
        return self._server.client

    def user(self, owner: str = TEAM) -> str:
        """The id of the Memobase user that holds a bank."""
        return self._server.user(self.workspace, self.name, owner)

    def form(self, material: Material) -> list[Change]:
        """A slot written as it is, or whatever slots and event Memobase makes of a chat message."""
        with self._lock:
            self._owners.add(material.owner)
            user = self.user(material.owner)
            self._server.ensure(user)
            if material.verbatim:
                made = self._server.add_profile(user, material.text, _TOPIC, material.key)
                return [Change(kind="added", record=_stored(material.owner, PROFILE, made, material.text))]
            before = {one.id: one.text for one in self._profiles(material.owner)}
            flushed = self._server.flush(user, material.text)
            return self._changes(material.owner, before, flushed)

    def _changes(self, owner: str, before: dict[str, str], flushed: Flushed) -> list[Change]:
        after = {one.id: one for one in self._profiles(owner)}
        touched = [_id(owner, PROFILE, one) for one in (*flushed.added, *flushed.updated)]
        # Whatever the answer says, a slot whose text changed contains something of this flush.
        touched += [name for name, one in after.items() if before.get(name) != one.text]
        changes: list[Change] = []
        for name in dict.fromkeys(touched):
            if name not in after:
                continue
            if name in before:
                self._disown_altered(name, before[name])
            changes.append(
                Change(
                    kind="merged" if name in before else "added",
                    record=after[name],
                    precision=Precision.CONSERVATIVE,
                )
            )
        changes += [
            Change(kind="deleted", record=Stored(id=name, text=text, owner=owner))
            for name, text in before.items()
            if name not in after
        ]
        for one in self._events(owner):
            if one.id in {_id(owner, EVENT, event) for event in flushed.events}:
                changes.append(Change(kind="added", record=one, precision=Precision.CONSERVATIVE))
        if not flushed.alone:
            # Someone else's chat was processed along with ours, so nothing it made has known sources.
            self._ledger.write(self.name, (), drop=[one.record.id for one in changes])
            raise BackendError(
                f"{self.name}: chats from elsewhere were in the buffer of user {self.user(owner)}; what was formed "
                "with them stays without a source. Write through readmit alone, then form again"
            )
        return changes

    def _disown_altered(self, record: str, text: str) -> None:
        """A record that was changed natively and is merged now does not get its former sources back."""
        entry = self._ledger.entry(self.name, record)
        if entry is not None and not unaltered(entry, text):
            self._ledger.write(self.name, (), drop=(record,))

    def search(
        self, query: str, *, limit: int, reader: str | None = None, among: Collection[str] | None = None
    ) -> list[Hit]:
        if limit < 1:
            raise RecordError(f"limit: {limit} must be at least 1")
        owners = self._known_owners() if reader is None else {TEAM, reader}
        hits: list[Hit] = []
        for owner in sorted(owners):
            slots = [one for one in self._profiles(owner) if among is None or one.id in among]
            hits += self._ranked(query, slots)
            for event in self._server.search_events(self.user(owner), query, limit):
                hits.append(Hit(id=_id(owner, EVENT, event["id"]), text=event_text(event), score=event["similarity"]))
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    def _ranked(self, query: str, slots: Sequence[Stored]) -> list[Hit]:
        texts = {one.text for one in slots}
        missing = [text for text in dict.fromkeys([query, *sorted(texts)]) if text not in self._vectors]
        made = dict(zip(missing, self._embedder.embed(missing), strict=True)) if missing else {}
        known = self._vectors | made
        # Deleted texts and queries are not kept.
        self._vectors = {text: known[text] for text in self._vectors.keys() | texts if text in known}
        return [Hit(id=one.id, text=one.text, score=float(known[one.text] @ known[query])) for one in slots]

    def records(self) -> Iterator[Stored]:
        for owner in sorted(self._known_owners()):
            yield from self._profiles(owner)
            yield from self._events(owner)

    def export(self) -> Iterator[Stored]:
        for owner in sorted(self._known_owners()):
            for one in self._server.profiles(self.user(owner)):
                native = _Native(one["attributes"].get("topic", ""), one["attributes"].get("sub_topic", ""))
                record = _stored(owner, PROFILE, one["id"], one["content"])
                yield msgspec.structs.replace(record, native=msgspec.json.encode(native))
            yield from self._events(owner)

    def load(self, records: Sequence[Stored]) -> list[str]:
        """Records get new ids. An event comes in as a slot: Memobase makes events from chats alone."""
        loaded: list[str] = []
        with self._lock:
            for record in records:
                native = decode(record.native, _Native, what=f"record {record.id!r}") if record.native else None
                topic, sub_topic = (native.topic, native.sub_topic) if native else (_TOPIC, _FROM_EVENT)
                self._owners.add(record.owner)
                user = self.user(record.owner)
                self._server.ensure(user)
                made = self._server.add_profile(user, record.text, topic, sub_topic)
                loaded.append(_id(record.owner, PROFILE, made))
        return loaded

    def update(self, record: str, text: str) -> list[Change]:
        owner, kind, native = self._known(record)
        user = self.user(owner)
        if kind == PROFILE:
            self._server.update_profile(user, native, text)
        else:
            self._server.update_event(user, native, text)
        return [Change(kind="replaced", record=_stored(owner, kind, native, text))]

    def delete(self, record: str) -> None:
        owner, kind, native = self._known(record)
        self._server.delete(self.user(owner), kind, native)

    def close(self) -> None:
        self._server.close()

    def _profiles(self, owner: str) -> list[Stored]:
        return [_stored(owner, PROFILE, one["id"], one["content"]) for one in self._server.profiles(self.user(owner))]

    def _events(self, owner: str) -> list[Stored]:
        found = self._server.events(self.user(owner), _MOST_EVENTS)
        return [_stored(owner, EVENT, one["id"], event_text(one)) for one in found]

    def _known_owners(self) -> set[str]:
        return self._owners | {entry.owner for entry in self._ledger.entries(self.name).values()}

    def _known(self, record: str) -> tuple[str, str, str]:
        owner, kind, native = _parts(record)
        listed: dict[str, Callable[[str], list[Stored]]] = {PROFILE: self._profiles, EVENT: self._events}
        if kind not in listed or all(one.id != record for one in listed[kind](owner)):
            raise UnknownError(f"no record {record!r} in {self.name} of workspace {self.workspace!r}; list them first")
        return owner, kind, native


def _stored(owner: str, kind: str, native: str, text: str) -> Stored:
    return Stored(id=_id(owner, kind, native), text=text, owner=owner)


def _id(owner: str, kind: str, native: str) -> str:
    return f"{kind}/{native}/{owner.encode().hex()}"


def _parts(record: str) -> tuple[str, str, str]:
    kind, _, rest = record.partition("/")
    native, _, owner = rest.partition("/")
    try:
        return bytes.fromhex(owner).decode(), kind, native
    except ValueError:
        return TEAM, "", native
