"""Tells which state of a LangGraph thread was written since its agent came back.

A label in the thread is not enough: anyone who can write to the checkpoint database could write the label too. So every
checkpoint and pending write that goes through readmit gets a seal: the signature of a key that its process made, and
whose public half our own ledger has for the period of work. Before an agent's first departure there are none. A seal is
written with the state, or before it: after a crash in between there is a seal of state that does not exist, never the
other way round.

A saver need not hand back what was put. Some store a channel only when its version changes and load it by that version,
so a value comes back although the checkpoint that names the version does not have it: a key that a redeployed graph no
longer has, the last snapshot of a ``DeltaChannel``. A seal therefore also has the values of its parent.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from readmit.backends.langgraph.carried_state import Loss
from readmit.backends.langgraph.digest import frame_digest, short_digest, value_digest
from readmit.backends.langgraph.thread_presence import NEVER_LEFT, Presence
from readmit.log.ledger import Entry
from readmit.records.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from readmit.log.log import Log
    from readmit.records.identity import Identity

SEAL = "readmit_seal"
"""The metadata of a checkpoint, and the channel of a write, that has a seal."""
_RECENT = 512
# The kinds of rows in the ledger.
_KEY, _ALIAS, _CLEARED = "key", "alias", "cleared"
# Made by each process and kept nowhere. What several processes wrote has the seals of each.
_own = Ed25519PrivateKey.generate()
_OWN_NAME = _own.public_key().public_bytes_raw().hex()
_NAME, _SEAL = len(_OWN_NAME), len(_OWN_NAME) * 3


class Filed(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of a checkpoint's seal, with digests of its frame and of each channel's value at its version."""

    period: str = ""
    frame: str = ""
    parent: str = ""
    must: dict[str, str] = {}
    """Values that were put, and that the saver has: they must come back."""
    may: dict[str, str] = {}
    """Values that were put but perhaps not stored, or stored by an earlier put."""
    from_before: bool = False
    """The thread is older than the period."""
    behind: tuple[str, ...] = ()
    """Keys that the return left behind, and that no node has written since."""
    loss: Loss = Loss()
    """The state that the thread's work lacks."""
    original: str = ""
    """The checkpoint that holds the keys left behind. Set only in the checkpoint that a return writes."""

    @property
    def heir(self) -> Filed:
        """The fields that the next checkpoint inherits."""
        return msgspec.structs.replace(self, loss=Loss(), original="")

    def vouches(self, saved: CheckpointTuple) -> bool:
        """Whether a checkpoint is the one that was put. Its parent does not matter."""
        values, versions = saved.checkpoint["channel_values"], saved.checkpoint["channel_versions"]
        known = self.must | self.may
        return (
            frame_digest(saved.checkpoint) == self.frame
            and self.must.keys() <= values.keys()
            and all(known.get(one) == _cell(one, versions, value) for one, value in values.items())
        )


_decode = msgspec.json.Decoder(Filed).decode


class Cleared(msgspec.Struct, frozen=True):
    """The checkpoints of a thread up to ``until`` that count since some of them were deleted."""

    until: str = ""
    kept: list[str] = []


class Periods:
    """The state of an agent's threads by period of work."""

    def __init__(self, log: Log, identity: Identity, serde: SerializerProtocol) -> None:
        self._log = log
        self._identity = identity
        self._serde = serde
        self._name = f"langgraph-threads:{short_digest(identity.agent)}"
        self._made: dict[str, bytes] = {}
        self._read: tuple[int, Mapping[str, str]] = -1, {}
        self._recent: dict[str, Filed] = {}

    def reading_with(self, serde: SerializerProtocol) -> Periods:
        """Periods of the same agent for a saver with another serializer."""
        return Periods(self._log, self._identity, serde)

    # Writing.

    def filed_before(self, config: RunnableConfig, now: Presence) -> Filed | None:
        """The seal of a checkpoint of this period that went through here lately. ``config`` names it."""
        return self._recent.get(_label(now.period, config))

    def file(self, config: RunnableConfig, checkpoint: Any, new: Any, now: Presence, before: Filed) -> str:
        """The seal of a checkpoint that is about to be written. It inherits from ``before``."""
        inherited, versions = before.must | before.may, checkpoint["channel_versions"]
        values = {
            one: _cell(one, versions, self._stored_form(value)) for one, value in checkpoint["channel_values"].items()
        }
        must = {one: cell for one, cell in values.items() if one in new or inherited.get(one) == cell}
        filed = msgspec.structs.replace(
            before,
            period=now.period,
            frame=frame_digest(checkpoint),
            parent=checkpoint_id(config),
            must=must,
            may={one: cell for one, cell in (inherited | values).items() if one not in must},
            behind=tuple(one for one in before.behind if one not in values),
        )
        place = at(config, checkpoint["id"])
        self._remember(place, filed)
        body = msgspec.json.encode(filed).decode()
        return self._seal(now.period, place, body) + body

    def seal_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str, now: Presence) -> str:
        """The seal of pending writes that are about to be written."""
        body = json.dumps([_write(task, channel, self._stored_form(value)) for channel, value in writes])
        return self._seal(now.period, config, body) + body

    # Reading.

    def filed(self, saved: CheckpointTuple | None) -> Filed | None:
        """The content of a checkpoint's seal, of any period; None without a seal of ours."""
        seal: Any = None if saved is None else saved.metadata.get(SEAL)
        if saved is None or not isinstance(seal, str):
            return None
        try:
            filed = _decode(seal[_SEAL:])
        except msgspec.DecodeError:
            return None
        if not self._is_ours(seal, filed.period, saved.config):
            return None
        self._remember(saved.config, filed)
        return filed

    def holds(self, saved: CheckpointTuple, filed: Filed | None, now: Presence) -> bool:
        """Whether a checkpoint is of the current period and unchanged."""
        if now == NEVER_LEFT:
            return True
        if filed is None or filed.period != now.period or now.away or not filed.vouches(saved):
            return False
        cleared, parent = self._cleared(_thread(saved.config)), checkpoint_id(saved.parent_config)
        if cleared.until < checkpoint_id(saved.config):
            return parent == filed.parent
        return _spot(saved) in cleared.kept and parent in ("", filed.parent)

    def checked(self, saved: CheckpointTuple, now: Presence) -> CheckpointTuple:
        """A checkpoint of the current period, without its seals and without writes that bypassed this saver."""
        if now == NEVER_LEFT:
            return saved
        writes = saved.pending_writes or []
        sealed = {
            write
            for _, channel, seal in writes
            if channel == SEAL and self._is_ours(seal, now.period, saved.config)
            for write in json.loads(seal[_SEAL:])
        }
        kept = [one for one in writes if one[1] != SEAL and _write(*one) in sealed]
        metadata: Any = {key: value for key, value in saved.metadata.items() if key != SEAL}
        return saved._replace(pending_writes=kept, metadata=metadata)

    # Whole threads.

    def clear(self, thread: str, gone: Iterable[str], left: Iterable[CheckpointTuple], now: Presence) -> None:
        """Note that some checkpoints of a thread were deleted: restored ones are not trusted.

        One that is left has no parent if that is gone.
        """
        if is_sealed(now):
            before = self._cleared(thread)
            kept = [_spot(one) for one in left if checkpoint_id(one.config) > before.until or _spot(one) in before.kept]
            cleared = Cleared(max((before.until, *gone)), kept)
            self._write([(_row(thread, _CLEARED), msgspec.json.encode(cleared).decode())])

    def copy(self, source: str, target: str) -> None:
        """Note that a thread was copied: the seals of the original count for the copy."""
        rows = {_ALIAS: json.dumps([source, *self._aliases(source)])}
        if cleared := self._rows().get(_row(source, _CLEARED)):
            rows[_CLEARED] = cleared
        self._write((_row(target, name), note) for name, note in rows.items())

    # Seals.

    def _seal(self, period: str, config: RunnableConfig, body: str) -> str:
        if _row(period + _OWN_NAME, _KEY) not in self._rows():
            self._write([(_row(period + _OWN_NAME, _KEY), period)])
        said = _said(period, _thread(config), config, body)
        seal = _OWN_NAME + _own.sign(said).hex()
        if len(self._made) >= _RECENT:
            self._made.clear()
        self._made[seal] = said
        return seal

    def _is_ours(self, seal: object, period: str, config: RunnableConfig) -> bool:
        """Whether a process of the period made a seal: for this thread, or for one that it is a copy of."""
        # Anyone may have written it, so nothing is expected of it.
        if not isinstance(seal, str):
            return False
        made, body, thread = seal[:_SEAL], seal[_SEAL:], _thread(config)
        if self._made.get(made) == _said(period, thread, config, body):
            return True
        if _row(period + made[:_NAME], _KEY) not in self._rows():
            return False
        names = (thread, *self._aliases(thread))
        return any(_is_signed(made, _said(period, name, config, body)) for name in names)

    def _remember(self, config: RunnableConfig, filed: Filed) -> None:
        if len(self._recent) >= _RECENT:
            self._recent.clear()
        self._recent[_label(filed.period, config)] = filed

    # Rows.

    def _rows(self) -> Mapping[str, str]:
        """Every row: keys of periods, and threads that were copied or cleared. There are few."""
        ledger = self._log.sources
        version, rows = self._read
        if self._log.pending or version != ledger.version(self._name):
            with self._log.reading():
                version = ledger.version(self._name)
                rows = {one: entry.note for one, entry in ledger.entries(self._name).items()}
            # What a transaction has written may be undone.
            self._read = (-1 if self._log.pending else version), rows
        return rows

    def _aliases(self, thread: str) -> list[str]:
        row = self._rows().get(_row(thread, _ALIAS))
        return [] if row is None else json.loads(row)

    def _cleared(self, thread: str) -> Cleared:
        row = self._rows().get(_row(thread, _CLEARED))
        return Cleared() if row is None else msgspec.json.decode(row, type=Cleared)

    def _write(self, rows: Iterable[tuple[str, str]], *, drop: Sequence[str] = ()) -> None:
        by = self._identity.principal
        entries = [Entry(record=key, text=digest(note), bindings=(), by=by, note=note) for key, note in rows]
        if entries or drop:
            self._log.sources.write(self._name, entries, drop=drop)

    def _stored_form(self, value: Any) -> Any:
        """A value as it is after a round trip through storage."""
        return self._serde.loads_typed(self._serde.dumps_typed(value))


def is_sealed(now: Presence) -> bool:
    """Whether state that is written now is sealed. State written while the agent is away is not handed back to it."""
    return now != NEVER_LEFT and not now.away


def checkpoint_id(config: RunnableConfig | None) -> str:
    """The checkpoint that a configuration names."""
    return (config or {}).get("configurable", {}).get("checkpoint_id") or ""


def at(config: RunnableConfig, name: str) -> RunnableConfig:
    """Another checkpoint of the same thread."""
    return {"configurable": {**config["configurable"], "checkpoint_id": name}}


def _thread(config: RunnableConfig) -> str:
    # LangGraph takes numbers as thread ids too, and stores them as texts.
    return str(config["configurable"]["thread_id"])


def _label(period: str, config: RunnableConfig) -> str:
    place = config["configurable"]
    return json.dumps([period, _thread(config), place.get("checkpoint_ns", ""), checkpoint_id(config)])


def _said(period: str, thread: str, config: RunnableConfig, body: str) -> bytes:
    place = config["configurable"]
    return json.dumps([period, thread, place.get("checkpoint_ns", ""), checkpoint_id(config), body]).encode()


def _is_signed(seal: str, said: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(seal[:_NAME])).verify(bytes.fromhex(seal[_NAME:]), said)
    except (ValueError, InvalidSignature):
        return False
    return True


def _row(about: str, kind: str) -> str:
    return f"{short_digest(str(about))}/{kind}"


def _spot(saved: CheckpointTuple) -> str:
    place = saved.config["configurable"]
    return short_digest(json.dumps([place.get("checkpoint_ns", ""), checkpoint_id(saved.config)]))


def _cell(channel: str, versions: Any, value: Any) -> str:
    """One digest over a channel's version and its value there."""
    return short_digest(json.dumps([channel, versions.get(channel), value_digest(f"channel {channel!r}", value)]))


def _write(task: str, channel: str, value: Any) -> str:
    return short_digest(json.dumps([task, channel, value_digest(f"channel {channel!r}", value)]))
