"""Tracks which state of a LangGraph thread was written since its agent came back, in our own ledger.

A label in the thread is not enough: anyone who can write to the checkpoint database could write the label too.
So the ledger has a row for every checkpoint and pending write that went through readmit, under the period it was
written in. Before an agent's first departure nothing is kept. Rows are written before the state: after a crash in
between, the ledger knows state that does not exist, never the other way round.

A saver need not hand back what was put. Some store a channel only when its version changes and load it by that version,
so a value comes back although the checkpoint that names the version does not have it: a key that a redeployed graph no
longer has, the last snapshot of a ``DeltaChannel``. A row therefore also has the values of its parent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.backends.langgraph.digest import frame_digest, short, value_digest
from readmit.backends.langgraph.presence import NEVER_LEFT, presence
from readmit.ports.backend import Entry
from readmit.records.canonical import digest
from readmit.records.errors import QuarantineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from readmit.backends.langgraph.presence import Presence
    from readmit.ports.store import Log
    from readmit.records.identity import Identity


class Filed(msgspec.Struct, frozen=True):
    """What the ledger knows of a checkpoint: digests of its frame and of each channel's value at its version."""

    frame: str
    parent: str
    must: dict[str, str]
    """Values that were put, and that the saver has: they must come back."""
    may: dict[str, str]
    """Values that were put but perhaps not stored, or stored by an earlier put."""

    def vouches(self, saved: CheckpointTuple) -> bool:
        """Whether a checkpoint is the one that was put."""
        values, versions = saved.checkpoint["channel_values"], saved.checkpoint["channel_versions"]
        known = self.must | self.may
        return (
            frame_digest(saved.checkpoint) == self.frame
            and _named(saved.parent_config) == self.parent
            and self.must.keys() <= values.keys()
            and all(known.get(one) == _cell(one, versions, value) for one, value in values.items())
        )


_decode = msgspec.json.Decoder(Filed).decode


class Periods:
    """The state of an agent's threads by period of work."""

    def __init__(self, log: Log, identity: Identity, serde: SerializerProtocol) -> None:
        self._log = log
        self._identity = identity
        self._serde = serde
        self._name = f"langgraph-threads:{short(identity.agent)}"

    def reading_with(self, serde: SerializerProtocol) -> Periods:
        """The same ledger for a saver with another serializer."""
        return Periods(self._log, self._identity, serde)

    def now(self) -> Presence:
        """The agent's presence."""
        return presence(self._log, self._identity)

    def file_state(self, config: RunnableConfig, checkpoint: Any, new: Any, now: Presence) -> None:
        """Record a checkpoint that is about to be written. ``config`` names its parent."""
        if not _kept(now):
            return
        parent, versions = _named(config), checkpoint["channel_versions"]
        before = self._checkpoint(config, parent, now) if parent else None
        if parent and before is None:
            raise QuarantineError(
                "this run began before its agent's last departure, so its state is not written; run the thread again"
            )
        inherited = {} if before is None else before.must | before.may
        values = {
            one: _cell(one, versions, self._settled(value)) for one, value in checkpoint["channel_values"].items()
        }
        must = {one: cell for one, cell in values.items() if one in new or inherited.get(one) == cell}
        filed = Filed(
            frame_digest(checkpoint), parent, must, {k: v for k, v in (inherited | values).items() if k not in must}
        )
        self._write([(self._key(config, now, checkpoint["id"]), msgspec.json.encode(filed).decode())])

    def file_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str) -> None:
        """Record pending writes that are about to be written."""
        now = self.now()
        if _kept(now):
            digests = [_write(task, channel, self._settled(value)) for channel, value in writes]
            self._write([(self._key(config, now, _named(config), one), "") for one in dict.fromkeys(digests)])

    def holds(self, saved: CheckpointTuple, now: Presence) -> bool:
        """Whether a checkpoint is of the current period and unchanged."""
        if now == NEVER_LEFT:
            return True
        filed = self._checkpoint(saved.config, _named(saved.config), now)
        return filed is not None and filed.vouches(saved)

    def knows(self, saved: CheckpointTuple, now: Presence) -> bool:
        """Whether a checkpoint of this name was written in the current period, whatever it holds now."""
        return self._checkpoint(saved.config, _named(saved.config), now) is not None

    def checked(self, saved: CheckpointTuple, now: Presence) -> CheckpointTuple:
        """A checkpoint of the current period, without pending writes that bypassed this saver."""
        if now == NEVER_LEFT:
            return saved
        place, id_ = saved.config, _named(saved.config)
        kept = [one for one in saved.pending_writes or [] if self._has(self._key(place, now, id_, _write(*one)))]
        return saved._replace(pending_writes=kept)

    # Whole threads.

    def forget(self, thread: str) -> None:
        """Forget a deleted thread."""
        self._log.sources.write(self._name, (), drop=list(self._of(thread)))

    def copy(self, source: str, target: str) -> None:
        """A copied thread holds what its original holds. No key names the thread itself."""
        rows = [(_place(target) + one.removeprefix(_place(source)), row.note) for one, row in self._of(source).items()]
        self._write(rows)

    def narrow(self, thread: str, survivors: Iterable[CheckpointTuple]) -> None:
        """Forget what is no longer stored of a pruned thread. A checkpoint whose parent is gone has none."""
        now = self.now()
        held = self._of(thread)
        left, orphans = set(), []
        for saved in survivors:
            id_ = _named(saved.config)
            key = self._key(saved.config, now, id_)
            left |= {key, *(self._key(saved.config, now, id_, _write(*one)) for one in saved.pending_writes or [])}
            if key in held and saved.parent_config is None:
                orphan = msgspec.structs.replace(_decode(held[key].note), parent="")
                orphans.append((key, msgspec.json.encode(orphan).decode()))
        self._write(orphans, drop=[one for one in held if one not in left])

    # Rows.

    def _of(self, thread: str) -> dict[str, Entry]:
        rows = self._log.sources.entries(self._name)
        return {one: row for one, row in rows.items() if one.startswith(_place(thread))}

    def _checkpoint(self, config: RunnableConfig, id_: str, now: Presence) -> Filed | None:
        row = self._log.sources.entry(self._name, self._key(config, now, id_))
        return None if row is None else _decode(row.note)

    def _has(self, key: str) -> bool:
        return self._log.sources.entry(self._name, key) is not None

    def _write(self, rows: Iterable[tuple[str, str]], *, drop: Sequence[str] = ()) -> None:
        by = self._identity.principal
        entries = [Entry(record=key, text=digest(note), bindings=(), by=by, note=note) for key, note in rows]
        self._log.sources.write(self._name, entries, drop=drop)

    def _key(self, config: RunnableConfig, now: Presence, *parts: str) -> str:
        place = config["configurable"]
        named = json.dumps([now.period, place.get("checkpoint_ns", ""), *parts])
        return _place(place["thread_id"]) + short(named)

    def _settled(self, value: Any) -> Any:
        """A value as it is after a round trip through storage."""
        return self._serde.loads_typed(self._serde.dumps_typed(value))


def _kept(now: Presence) -> bool:
    # State that an agent writes while it is away is not handed back to it.
    return now != NEVER_LEFT and not now.away


def _place(thread: object) -> str:
    # LangGraph takes numbers as thread ids too, and stores them as texts.
    return f"{short(str(thread))}/"


def _named(config: RunnableConfig | None) -> str:
    return (config or {}).get("configurable", {}).get("checkpoint_id") or ""


def _cell(channel: str, versions: Any, value: Any) -> str:
    """One digest over a channel's version and its value there."""
    return short(json.dumps([channel, versions.get(channel), value_digest(f"channel {channel!r}", value)]))


def _write(task: str, channel: str, value: Any) -> str:
    return short(json.dumps([task, channel, value_digest(f"channel {channel!r}", value)]))
