"""Tells a run of a LangGraph thread from a look at it. A look requests no return and exposes nothing.

Runs and looks read a thread through the same method of its saver. A run's configuration has LangGraph's ``Runtime``,
which ``invoke`` and ``stream`` put there and ``get_state`` and ``update_state`` do not.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.runtime import Runtime

from readmit.records.error_types import QuarantineError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from readmit.records.identity import Identity

RUNTIME = "__pregel_runtime"
HELD: Final = "held"
"""The checkpoint id of a notice. Nothing is written on top of it, so a run that is taken for a look writes nothing."""
_before_a_run: ContextVar[bool] = ContextVar("readmit_before_a_run", default=False)


def is_run(config: RunnableConfig) -> bool:
    """Whether the thread is read by a run, or only looked at."""
    return isinstance(config["configurable"].get(RUNTIME), Runtime) or _before_a_run.get()


def run_store(config: RunnableConfig) -> object:
    """The store that a run's nodes have."""
    runtime = config["configurable"].get(RUNTIME)
    return runtime.store if isinstance(runtime, Runtime) else None


def state_to_run(graph: Any, config: RunnableConfig) -> Any:
    """``graph.get_state`` for a caller that runs the graph next: call it in a context of its own."""
    _before_a_run.set(True)
    return graph.get_state(config)


def refuse_on_notice(config: RunnableConfig, identity: Identity) -> None:
    """Refuse to write on top of state that waits for a return."""
    if config["configurable"].get("checkpoint_id") == HELD:
        raise QuarantineError(
            f"the state of this thread waits until {identity.principal!r} comes back: run the thread, then update it"
        )


def past_notice(config: RunnableConfig) -> RunnableConfig:
    """The configuration of a look's notice, as that of the thread it is about."""
    named = config["configurable"]
    if named.get("checkpoint_id") != HELD:
        return config
    return {**config, "configurable": {key: value for key, value in named.items() if key != "checkpoint_id"}}


def notice(saved: CheckpointTuple, identity: Identity) -> CheckpointTuple:
    """The notice that a look gets instead of state that waits for a return."""
    named = saved.config["configurable"]
    place = {"thread_id": named["thread_id"], "checkpoint_ns": named.get("checkpoint_ns", ""), "checkpoint_id": HELD}
    empty: Any = {"channel_values": {}, "channel_versions": {}, "versions_seen": {}, "updated_channels": None}
    kept: Any = {key: saved.checkpoint[key] for key in ("v", "id", "ts")}
    said: Any = {"source": "update", "step": -2, "parents": {}, "readmit": HELD, "principal": identity.principal}
    return CheckpointTuple({"configurable": place}, kept | empty, said, None, [])
