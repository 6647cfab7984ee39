"""A person's answer counts for the question it was given to, and no return hands it to another one.

LangGraph runs a waiting node again and gives the answer to the question it asks then. An answer without an id may have
been on its way since before the departure, or come a second time. So after a return:

- Answers that were stored before the departure are gone with the rest of the pending writes.
- An answer by the id of a question from before reaches nothing: the node gets new ids, and asks again.
- An answer without an id is refused where nothing waits, and in every thread from before. The refusal is raised where
  LangGraph looks which questions wait, which is before any node runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.types import Interrupt

from readmit.backends.langgraph.carried_state import INTERRUPT, Unresumable
from readmit.records.error_types import ReadmitError, StaleAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.runnables import RunnableConfig

    from readmit.backends.langgraph.periods import Filed

# A task id that no task has: LangGraph makes them from hashes.
_NO_TASK = "readmit"
# Under this setting LangGraph looks which questions wait for an answer by id too.
_STRICT = "__pregel_strict_resume"


class _Refusal:
    """Stands among the questions of a thread that takes no answer without an id."""

    def __init__(self, error: Callable[[], ReadmitError]) -> None:
        self._error = error

    @property
    def id(self) -> str:
        raise self._error()

    def __getitem__(self, _: int) -> _Refusal:
        return self


def guarded(saved: CheckpointTuple, filed: Filed, config: RunnableConfig) -> CheckpointTuple:
    """A checkpoint for a run that takes answers to the questions of this period, and does not go on without work."""
    if filed.loss.keys:
        seen = Unresumable(saved.checkpoint["versions_seen"], filed.loss)
        checkpoint: Any = {**saved.checkpoint, "versions_seen": seen}
        return _refusing(saved._replace(checkpoint=checkpoint), filed.loss.error)
    asked = [one for _, channel, value in saved.pending_writes or [] if channel == INTERRUPT for one in _each(value)]
    if not asked:
        return _refusing(saved, _unasked)
    if not filed.from_before:
        return saved
    if config["configurable"].get(_STRICT):
        # One more question: LangGraph then takes answers by id alone.
        return _with_question(saved, Interrupt(None, id="0" * 32))
    return _refusing(saved, lambda: _unnamed(asked))


def nothing_asked(saved: CheckpointTuple) -> CheckpointTuple:
    """An empty thread in the place of a former one. It takes no answer."""
    place = {key: saved.config["configurable"].get(key, "") for key in ("thread_id", "checkpoint_ns")}
    metadata: Any = {"step": -2}
    return _refusing(CheckpointTuple({"configurable": place}, empty_checkpoint(), metadata, None, []), _unasked)


def _each(asked: Any) -> list[Interrupt]:
    """The questions in a write. A saver may be handed any value."""
    return [one for one in (asked if isinstance(asked, list | tuple) else [asked]) if isinstance(one, Interrupt)]


def _refusing(saved: CheckpointTuple, error: Callable[[], ReadmitError]) -> CheckpointTuple:
    return _with_question(saved, _Refusal(error))


def _with_question(saved: CheckpointTuple, question: Any) -> CheckpointTuple:
    return saved._replace(pending_writes=[*(saved.pending_writes or []), (_NO_TASK, INTERRUPT, question)])


def _unnamed(asked: list[Interrupt]) -> StaleAnswerError:
    names = " or ".join(f"Command(resume={{{one.id!r}: …}})" for one in asked)
    return StaleAnswerError(
        "resume: this thread is from before its agent's last departure, so an answer without an id may be one to a "
        f"question from before. Look at what the thread asks now, and answer that by its id: {names}"
    )


def _unasked() -> StaleAnswerError:
    return StaleAnswerError(
        "resume: the thread has asked nothing since its agent came back, so this answers a question from before. Run "
        "it with None: what waits is asked again as it stands now, and can be answered by its id"
    )
