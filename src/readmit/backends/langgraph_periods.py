"""Tracks which state of a LangGraph thread was written since its agent came back, in our own ledger.

A label in the thread is not enough: anyone who can write to the checkpoint database could write the label too.
So the ledger holds a digest of every checkpoint and pending write that went through readmit, under the period it was
written in. Before an agent's first departure nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from readmit.backends.langgraph_presence import NEVER_LEFT, presence
from readmit.ports.backend import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from readmit.backends.langgraph_presence import Presence
    from readmit.ports.store import Log
    from readmit.records.identity import Identity

_plain = JsonPlusSerializer()


class Periods:
    """The state of an agent's threads by period of work."""

    def __init__(self, log: Log, identity: Identity, serde: SerializerProtocol) -> None:
        self._log = log
        self._identity = identity
        self.serde = serde
        self._name = f"langgraph-threads:{_short(identity.agent)}"

    def now(self) -> Presence:
        """The agent's presence."""
        return presence(self._log, self._identity)

    def file_state(self, config: RunnableConfig, checkpoint: Any) -> None:
        """Record a written checkpoint."""
        self._file(config, lambda: [_state(checkpoint, self._settled)])

    def file_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str) -> None:
        """Record pending writes."""
        self._file(config, lambda: [_write(task, channel, self._settled(value)) for channel, value in writes])

    def holds(self, saved: CheckpointTuple, now: Presence) -> bool:
        """Whether a checkpoint is of the current period and unchanged."""
        return now == NEVER_LEFT or self._filed(saved.config, _state(saved.checkpoint, _encoded), now)

    def checked(self, saved: CheckpointTuple, now: Presence) -> CheckpointTuple:
        """A checkpoint of the current period, without pending writes that bypassed this saver."""
        if now == NEVER_LEFT:
            return saved
        kept = [
            one
            for one in saved.pending_writes or []
            if self._filed(saved.config, _write(one[0], one[1], _encoded(one[2])), now)
        ]
        return saved._replace(pending_writes=kept)

    def forget(self, thread: str) -> None:
        """Forget a deleted thread."""
        start = f"{_short(thread)}/"
        gone = [one for one in self._log.sources.entries(self._name) if one.startswith(start)]
        self._log.sources.write(self._name, (), drop=gone)

    def _file(self, config: RunnableConfig, digests: Callable[[], Iterable[str]]) -> None:
        now = self.now()
        # State that an agent writes while it is away is not handed back to it.
        if now != NEVER_LEFT and (now.back or now.reset):
            by = self._identity.principal
            entries = [
                Entry(record=self._key(config, one, now), text=one, bindings=(), by=by)
                for one in dict.fromkeys(digests())
            ]
            self._log.sources.write(self._name, entries)

    def _filed(self, config: RunnableConfig, digest: str, now: Presence) -> bool:
        return self._log.sources.entry(self._name, self._key(config, digest, now)) is not None

    def _key(self, config: RunnableConfig, digest: str, now: Presence) -> str:
        place = config["configurable"]
        parts = [now.period, place.get("checkpoint_ns", ""), place["checkpoint_id"], digest]
        return f"{_short(str(place['thread_id']))}/{_short(json.dumps(parts))}"

    def _settled(self, value: Any) -> bytes:
        """A value's bytes after a round trip through storage."""
        return _encoded(self.serde.loads_typed(self.serde.dumps_typed(value)))


def _state(checkpoint: Any, encode: Callable[[Any], bytes]) -> str:
    """One digest over every part of a checkpoint that reaches a node or decides which node runs."""
    order = [checkpoint["channel_versions"], checkpoint["versions_seen"]]
    hashed = hashlib.sha256(json.dumps(order, sort_keys=True).encode())
    for channel, value in sorted(checkpoint["channel_values"].items()):
        body = encode(value)
        hashed.update(json.dumps([channel, len(body)]).encode() + body)
    return hashed.hexdigest()


def _write(task: str, channel: str, body: bytes) -> str:
    return hashlib.sha256(json.dumps([task, channel]).encode() + body).hexdigest()


def _encoded(value: Any) -> bytes:
    # Not the saver's own serializer: an encrypting one gives different bytes each time.
    kind, body = _plain.dumps_typed(value)
    return kind.encode() + b"\0" + body


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
