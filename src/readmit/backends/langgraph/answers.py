"""A person's answer counts for the question it was given to, and no return hands it to another one.

LangGraph runs a waiting node again and gives the answer to whatever it asks then. So after a return:

- Answers that were stored before the departure are gone with the rest of the pending writes.
- An answer by the id of a question from before reaches nothing: the node gets new ids, and asks again.
- An answer without an id is refused until the thread has asked in this period. The refusal is raised where LangGraph
  looks which questions wait, which is before any node runs.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.types import Interrupt

from readmit.backends.langgraph.digest import short, value_digest
from readmit.backends.langgraph.lost import INTERRUPT, Unresumable, lost_state, named, noted
from readmit.ports.backend import Entry
from readmit.records.errors import BackendError, StaleAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.runnables import RunnableConfig

    from readmit.ports.backend import SourceLedger
    from readmit.records.errors import ReadmitError
    from readmit.records.identity import Identity

_RESUME = "__resume__"
_PULLED = "~__pregel_pull, "
# A task id that no task has: LangGraph makes them from hashes.
_NO_TASK = "readmit"
_LOST = "lost"
# Checkpoints that no step of a graph wrote.
_UPDATES = ("update", "fork")


class _Refusal:
    """Stands among the pending writes of a thread that came back and has not asked yet."""

    def __init__(self, error: Callable[[], ReadmitError]) -> None:
        self._error = error

    @property
    def id(self) -> str:
        raise self._error()

    def __getitem__(self, _: int) -> _Refusal:
        return self


class Questions:
    """What the threads of one agent asked, in the workspace's ledger: the checkpoint database is not trusted."""

    def __init__(self, ledger: SourceLedger, identity: Identity) -> None:
        self._ledger = ledger
        self._by = identity.principal
        self._name = f"langgraph-questions:{short(identity.agent)}"

    def file(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str, path: str) -> None:
        """Record the question in a task's writes."""
        asked = [value for channel, value in writes if channel == INTERRUPT]
        if asked:
            # Only a node's first question can be recognized: a return runs the node, and a subgraph, from the start.
            first = not any(channel == _RESUME for channel, _ in writes)
            node, one = path.removeprefix(_PULLED), _only(asked[0])
            own = first and one is not None and one.id == Interrupt.from_ns(None, ns=f"{node}:{task}").id
            self._write((_place(config, task), _question(node, one.value) if one and own else _none(task)))

    def carry(self, before: CheckpointTuple | None, returned: RunnableConfig, left: Sequence[str]) -> None:
        """Record a checkpoint that a return writes: the question its thread waited for before, and what it lost."""
        waiting = [] if before is None else [one[0] for one in before.pending_writes or [] if one[1] == INTERRUPT]
        asked = None if before is None or len(waiting) != 1 else self._read(_place(before.config, waiting[0]))
        rows = [(_place(returned), asked or (_SEVERAL if waiting else _NOTHING))]
        if before is not None and left:
            rows.append((_place(returned, _LOST), _loss(*noted(left, before).values())))
        self._write(*rows)

    def inherit(self, parent: RunnableConfig, name: str, metadata: Any) -> None:
        """Record that nothing was asked in an updated checkpoint either."""
        if metadata.get("source") in _UPDATES and parent["configurable"].get("checkpoint_id"):
            asked = self._read(_place(parent))
            if asked is not None:
                place = {**parent["configurable"], "checkpoint_id": name}
                self._write((_place({"configurable": place}), asked))

    def guarded(self, saved: CheckpointTuple) -> CheckpointTuple:
        """A checkpoint of the current period that takes no answer if it has asked nothing, nor goes on without work."""
        asked = any(one[1] == INTERRUPT for one in saved.pending_writes or [])
        before = None if asked else self._read(_place(saved.config))
        if before is None:
            return saved
        if self._read(_place(saved.config, _LOST)) is None:
            return _refusing(saved, _unasked if before == _NOTHING else _stale)
        left, _ = named(saved)
        checkpoint: Any = {**saved.checkpoint, "versions_seen": Unresumable(saved.checkpoint["versions_seen"], left)}
        return _refusing(saved._replace(checkpoint=checkpoint), partial(lost_state, left))

    def nothing_asked(self, saved: CheckpointTuple) -> CheckpointTuple:
        """An empty thread in the place of a former one. It takes no answer."""
        place = {key: saved.config["configurable"].get(key, "") for key in ("thread_id", "checkpoint_ns")}
        metadata: Any = {"step": -2}
        return _refusing(CheckpointTuple({"configurable": place}, empty_checkpoint(), metadata, None, []), _unasked)

    def lost_by(self, saved: CheckpointTuple) -> tuple[str, ...]:
        """What the return that wrote a checkpoint could not carry over, although the thread's work needs it."""
        left, found = named(saved)
        return left if left and self._read(_place(saved.config, _LOST)) == _loss(left, found) else ()

    def unchanged(self, saved: CheckpointTuple) -> str | None:
        """The id of the only question that waits, if the thread waited for the same one before the return."""
        asked = [one for one in saved.pending_writes or [] if one[1] == INTERRUPT]
        before = self._read(_place(saved.config))
        if len(asked) != 1 or before is None or before != self._read(_place(saved.config, asked[0][0])):
            return None
        question = _only(asked[0][2])
        return None if question is None else question.id

    def known(self, outer: RunnableConfig, inner: RunnableConfig, number: int, asked: Sequence[Interrupt]) -> bool:
        """Whether an earlier run of an outer node asked these questions as its ``number``-th; record it if not."""
        place = outer["configurable"]
        at = _place(inner, f"{place.get('thread_id')} {place.get('checkpoint_ns')} {number}")
        text = _digest([one.id for one in asked])
        before = self._read(at)
        if before is None:
            self._write((at, text))
        return before == text

    def copy(self, source: str, target: str) -> None:
        """Record that a thread is copied, with the questions it waits for."""
        start = _thread(source)
        held = [(one.removeprefix(start), entry.text) for one, entry in self._of(source).items()]
        self._write(*((_thread(target) + rest, text) for rest, text in held))

    def narrow(self, thread: str, survivors: Sequence[CheckpointTuple]) -> None:
        """Forget the questions of checkpoints that a pruned thread no longer has."""
        kept = {
            _place(saved.config, task)
            for saved in survivors
            for task in ("", _LOST, *(one[0] for one in saved.pending_writes or []))
        }
        self._ledger.write(self._name, (), drop=[one for one in self._of(thread) if one not in kept])

    def forget(self, thread: str) -> None:
        """Forget a deleted thread."""
        self._ledger.write(self._name, (), drop=list(self._of(thread)))

    def _of(self, thread: str) -> dict[str, Entry]:
        start = _thread(thread)
        return {one: entry for one, entry in self._ledger.entries(self._name).items() if one.startswith(start)}

    def _read(self, record: str) -> str | None:
        entry = self._ledger.entry(self._name, record)
        return None if entry is None else entry.text

    def _write(self, *rows: tuple[str, str]) -> None:
        entries = [Entry(record=record, text=text, bindings=(), by=self._by) for record, text in rows]
        self._ledger.write(self._name, entries)


def _refusing(saved: CheckpointTuple, error: Callable[[], ReadmitError]) -> CheckpointTuple:
    return saved._replace(pending_writes=[*(saved.pending_writes or []), (_NO_TASK, INTERRUPT, _Refusal(error))])


def _stale() -> StaleAnswerError:
    return StaleAnswerError(
        "resume: the thread has asked nothing since its agent came back, so this answers a question from before. Run "
        "it with None, and the question is asked again as it stands now (readmit's invoke and ainvoke do this)",
        waited=True,
    )


def _unasked() -> StaleAnswerError:
    return StaleAnswerError(
        "resume: the thread waits for no answer since its agent came back. Look at its state, then run it with None to "
        "go on, or with new input",
        waited=False,
    )


def _place(config: RunnableConfig, task: str = "") -> str:
    place = config["configurable"]
    parts = [place.get("checkpoint_ns", ""), place.get("checkpoint_id"), task]
    return _thread(str(place["thread_id"])) + short(json.dumps(parts))


def _thread(name: str) -> str:
    return f"{short(name)}/"


def _only(asked: Any) -> Interrupt | None:
    """The only question in a write. A saver may be handed any value."""
    one = asked[0] if isinstance(asked, list | tuple) and len(asked) == 1 else None
    return one if isinstance(one, Interrupt) else None


def _question(node: str, value: Any) -> str:
    try:
        return _digest([node, value_digest("question", value)])
    except BackendError:
        return _none(secrets.token_hex(16))


def _loss(left: Sequence[str], found: str) -> str:
    return _digest(["lost", *left, found])


def _none(place: str) -> str:
    """A digest that no question has."""
    return _digest(["no question", place])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


# What a thread waited for before a return, if not for one question.
_NOTHING, _SEVERAL = _none("nothing"), _none("several")
