"""Adapter for Memobase, through its client.

Its server turns chats into profile slots and events, merges later chats into slots, and forgets the chats. The
only link from a slot back to a text is the answer of a synchronous flush, which the client throws away: here the
endpoint is called directly, and only the records it names are bound (``memobase_flush``). Both slots and events are
records, so an event about a superseded fact is withheld like any other.

Every bank is two Memobase users. One chats. The other one never does, so that no model rewrites its slots: it holds the
verbatim memories. Memobase ranks events alone and hands profiles out whole, so slots are ordered here, by the embedder.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Self

import msgspec

from readmit.backends.adapters.memobase_flush import SessionEvent, Slot, changes, outdated, vanished
from readmit.backends.adapters.memobase_server import (
    Flushed,
    Server,
    event_text,
    event_topics,
    place,
    sendable,
    user_id,
)
from readmit.backends.admission import unaltered
from readmit.backends.id_escape import escape_id, unescaped
from readmit.backends.port import Change, Hit, Material, Stored, require_limit, unknown_record
from readmit.log.ledger import TEAM, Entry, SourceLedger
from readmit.plugins import require_package
from readmit.records.base import require_name
from readmit.records.canonical import decode
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from readmit.backends.store_lines import Site
    from readmit.models.protocols import Embedder

# The kinds of records: a slot and an event of the user that chats, a slot of the one that does not.
_SLOT, _EVENT, _NOTE = "profile", "event", "note"
_TOPIC, _FROM_EVENT = "readmit", "event"
_NEWEST = 20


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
        self._owners = {TEAM}
        self._read: tuple[int, Mapping[tuple[str, str], Sequence[Entry]]] | None = None
        self._odd: dict[str, frozenset[str]] = {}

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
        require_package("memobase", "memobase", BackendError)
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
        """The ``MemoBaseClient`` itself. A record written with it has no source."""
        return self._server.client

    def user(self, owner: str = TEAM, *, verbatim: bool = False) -> str:
        """The id of the Memobase user that holds a bank's chats, or its verbatim memories."""
        return user_id(self.workspace, self.name, owner, *(("verbatim",) if verbatim else ()))

    def form(self, material: Material) -> list[Change]:
        """One verbatim slot, or the slots and the event that Memobase draws from a chat message."""
        sendable("text", material.text)
        if material.verbatim:
            made = self._write(material.owner, material.text, _TOPIC, material.key)
            return [Change(kind="added", record=made)]
        self._owners.add(material.owner)
        user = self.user(material.owner)
        self._server.ensure(user)
        # A flush processes everything in a user's buffer. ``BoundBackend`` holds the bank's lock from here until the
        # sources are filed, so what is there now is left over from a call that did not end, or from elsewhere.
        self._server.await_flush(user)
        before = self._slots(material.owner)
        flushed = self._server.flush(user, material.text)
        return self._bindable(material.owner, before, flushed)

    def _write(self, owner: str, text: str, topic: str, sub_topic: str) -> Stored:
        self._owners.add(owner)
        user = self.user(owner, verbatim=True)
        self._server.ensure(user)
        return _stored(owner, _NOTE, self._server.add_profile(user, text, topic, sub_topic), text)

    def _bindable(self, owner: str, before: Mapping[str, Slot], flushed: Flushed) -> list[Change]:
        """The changes of a flush, unless some of them cannot be attributed: then none is bound."""
        user = self.user(owner)
        after = self._listed(owner, _SLOT, user)
        if outdated(before, after, flushed):
            self._server.refresh(user)
            after = self._listed(owner, _SLOT, user)
        events = self._made(owner, flushed)
        found = changes(before, after, events, flushed)
        gone = vanished(before, after, flushed)
        for name, slot in before.items():
            if name in gone or name in flushed.updated:
                self._disown_altered(slot.record)
        unseen = sorted({*flushed.added, *flushed.events} - after.keys() - events.keys())
        if flushed.alone and not unseen:
            return found
        self._ledger.write(self.name, (), drop=[one.record.id for one in found])
        why = (
            f"the server does not list {', '.join(unseen)}, which the flush of user {user} made"
            if unseen
            else f"chats from elsewhere were in the buffer of user {user}; write through readmit alone"
        )
        raise BackendError(f"{self.name}: {why}. What was formed stays without a source; form it again")

    def _made(self, owner: str, flushed: Flushed) -> dict[str, SessionEvent]:
        """The events that a flush made: the newest ones, unless others came in between."""
        if not flushed.events:
            return {}
        found = self._server.events(self.user(owner), _NEWEST)
        if not {*flushed.events} <= {one["id"] for one in found}:
            found = self._server.events(self.user(owner))
        return {
            one["id"]: SessionEvent(_stored(owner, _EVENT, one["id"], event_text(one)), event_topics(one))
            for one in found
            if one["id"] in flushed.events
        }

    def _disown_altered(self, record: Stored) -> None:
        """A record that was changed natively and is merged now does not get its former sources back."""
        entry = self._ledger.entry(self.name, record.id)
        if entry is not None and not unaltered(entry, record.text):
            self._ledger.write(self.name, (), drop=(record.id,))

    def search(
        self, query: str, *, limit: int, reader: str | None = None, among: Collection[str] | None = None
    ) -> list[Hit]:
        require_limit(limit)
        owners = self._known_owners() if reader is None else {TEAM, reader}
        hits: list[Hit] = []
        for owner in sorted(owners):
            events = {one.id: one for one in self._events(owner)}
            scores = self._server.likeness(self.user(owner), query, len(events)) if events else {}
            named = {_stored(owner, _EVENT, name, "").id: score for name, score in scores.items()}
            hits += [Hit(id=name, text=one.text, score=named[name]) for name, one in events.items() if name in named]
            # The server has no vector of events that it formed without embeddings: they are ordered like slots.
            others = [*self._all_slots(owner), *(one for name, one in events.items() if name not in named)]
            hits += self._ranked(query, [one for one in others if among is None or one.id in among])
        return sorted(hits, key=lambda hit: -hit.score)[:limit]

    def _ranked(self, query: str, records: Sequence[Stored]) -> list[Hit]:
        texts = {one.text for one in records}
        missing = [text for text in dict.fromkeys([query, *sorted(texts)]) if text not in self._vectors]
        made = dict(zip(missing, self._embedder.embed(missing), strict=True)) if missing else {}
        known = self._vectors | made
        # Deleted texts and queries are not kept.
        self._vectors = {text: known[text] for text in self._vectors.keys() | texts if text in known}
        return [Hit(id=one.id, text=one.text, score=float(known[one.text] @ known[query])) for one in records]

    def records(self) -> Iterator[Stored]:
        for owner in sorted(self._known_owners()):
            yield from self._all_slots(owner)
            yield from self._events(owner)

    def export(self) -> Iterator[Stored]:
        for owner in sorted(self._known_owners()):
            for slot in (*self._slots(owner, verbatim=True).values(), *self._slots(owner).values()):
                native = msgspec.json.encode(_Native(slot.topic, slot.sub_topic))
                yield msgspec.structs.replace(slot.record, native=native)
            yield from self._events(owner)

    def load(self, records: Sequence[Stored]) -> list[str]:
        """Records get new ids. All come in as slots that no model rewrites: Memobase makes events from chats alone."""
        for record in records:
            sendable(f"record {record.id!r}: text", record.text)
        loaded: list[str] = []
        for record in records:
            native = decode(record.native, _Native, what=f"record {record.id!r}") if record.native else None
            topic, sub_topic = (native.topic, native.sub_topic) if native else (_TOPIC, _FROM_EVENT)
            sendable(f"record {record.id!r}: topic", f"{topic} {sub_topic}")
            loaded.append(self._write(record.owner, record.text, topic, sub_topic).id)
        return loaded

    def update(self, record: str, text: str) -> list[Change]:
        """Replace a slot's text. An event becomes a slot: Memobase would keep its former gists and its vector."""
        sendable("text", text)
        owner, kind, native = self._known(record)
        if kind == _EVENT:
            made = self._write(owner, text, _TOPIC, _FROM_EVENT)
            self._server.delete(self.user(owner), _EVENT, native)
            gone = Change(kind="deleted", record=_stored(owner, kind, native, ""))
            return [gone, Change(kind="added", record=made)]
        self._server.update_profile(self.user(owner, verbatim=kind == _NOTE), native, text)
        return [Change(kind="replaced", record=_stored(owner, kind, native, text))]

    def delete(self, record: str) -> None:
        owner, kind, native = self._known(record)
        self._server.delete(self.user(owner, verbatim=kind == _NOTE), _EVENT if kind == _EVENT else _SLOT, native)

    def lost(self) -> Iterator[str]:
        """The bound records of users that were deleted from the server."""
        for (owner, kind), bound in self._bound().items():
            if not self._server.has(self.user(owner, verbatim=kind == _NOTE)):
                yield from (entry.record for entry in bound)

    def mend(self, owners: Iterable[str] = ()) -> Iterator[str]:
        """Delete the chats of every bank in which a flush has not ended within the timeout.

        If the server was stopped while it processed them, they would stay so, and the bank could not be written.
        """
        for owner in sorted(self._known_owners().union(owners)):
            user = self.user(owner)
            if self._server.has(user) and (count := self._server.abandon(user)):
                yield f"deleted {count} chat(s) of user {user}, whose flush had not ended: form them again"

    def close(self) -> None:
        self._server.close()

    def _all_slots(self, owner: str) -> list[Stored]:
        return [slot.record for verbatim in (True, False) for slot in self._slots(owner, verbatim=verbatim).values()]

    def _slots(self, owner: str, *, verbatim: bool = False) -> dict[str, Slot]:
        """The slots of a user by native id, listed again if the server's cached list lacks bound slots."""
        kind, user = (_NOTE if verbatim else _SLOT), self.user(owner, verbatim=verbatim)
        bound = self._bound().get((owner, kind), ())
        found = self._listed(owner, kind, user)
        odd = _odd(found.values(), bound)
        # What is odd in a fresh list too was changed natively: asking again would not help.
        if not odd or odd == self._odd.get(user):
            return found
        self._server.refresh(user)
        found = self._listed(owner, kind, user)
        if not found:
            self._check_there(user, bound)
        self._odd[user] = _odd(found.values(), bound)
        return found

    def _check_there(self, user: str, bound: Sequence[Entry]) -> None:
        """Tell an emptied bank from a deleted one: the server's list is empty for both."""
        if bound and not self._server.has(user):
            raise BackendError(
                f"{self.name}: user {user} is gone from the server, with memories that have sources ({len(bound)}); "
                "restore the server, load an archive into a store with another name, or accept it with "
                "adopt(…, gone=True) or `readmit backends adopt --gone`"
            )

    def _listed(self, owner: str, kind: str, user: str) -> dict[str, Slot]:
        return {
            one["id"]: Slot(_stored(owner, kind, one["id"], one["content"]), *place(one))
            for one in self._server.profiles(user)
        }

    def _bound(self) -> Mapping[tuple[str, str], Sequence[Entry]]:
        """The ledger's entries by owner and kind, read again when they change."""
        version = self._ledger.version(self.name)
        if self._read is None or self._read[0] != version:
            groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
            for entry in self._ledger.entries(self.name).values():
                groups[_parts(entry.record)[:2]].append(entry)
            self._read = version, groups
        return self._read[1]

    def _events(self, owner: str) -> list[Stored]:
        user = self.user(owner)
        found = [_stored(owner, _EVENT, one["id"], event_text(one)) for one in self._server.events(user)]
        if not found:
            self._check_there(user, self._bound().get((owner, _EVENT), ()))
        return found

    def _known_owners(self) -> set[str]:
        return self._owners | {owner for owner, _ in self._bound()}

    def _known(self, record: str) -> tuple[str, str, str]:
        owner, kind, native = _parts(record)
        listed: Sequence[Stored] = ()
        if kind in (_SLOT, _NOTE):
            listed = [slot.record for slot in self._slots(owner, verbatim=kind == _NOTE).values()]
        elif kind == _EVENT:
            listed = self._events(owner)
        if all(one.id != record for one in listed):
            raise unknown_record(self, record)
        return owner, kind, native


def _odd(found: Iterable[Slot], bound: Iterable[Entry]) -> frozenset[str]:
    """The bound records that a list does not have, or has with another text."""
    texts = {one.record.id: one.record.text for one in found}
    return frozenset(one.record for one in bound if one.record not in texts or not unaltered(one, texts[one.record]))


def _stored(owner: str, kind: str, native: str, text: str) -> Stored:
    return Stored(id=f"{kind}/{native}/{escape_id(owner)}", text=text, owner=owner)


def _parts(record: str) -> tuple[str, str, str]:
    kind, _, rest = record.partition("/")
    native, _, owner = rest.partition("/")
    return unescaped(owner), kind, native
