"""Run a LangGraph graph whose saver is a ``ReturningSaver``: on its own, or as a node of another graph."""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import TYPE_CHECKING, Any

from langgraph.types import Command, interrupt

from readmit.backends.langgraph.carried_state import INTERRUPT
from readmit.backends.langgraph.results import ReturningCache
from readmit.backends.langgraph.run_or_look import state_to_run
from readmit.backends.langgraph.saver import ReturningSaver, check_graph
from readmit.backends.langgraph.thread_presence import ReturnInterrupt
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from langchain_core.runnables import RunnableConfig


def invoke(graph: Any, given: Any, config: RunnableConfig, **options: Any) -> Any:
    """As ``graph.invoke``, with a return that is not admitted as a result: in ``__interrupt__``, like any interrupt."""
    _check(graph)
    try:
        return _run(graph, given, config, **options)
    except ReturnInterrupt as stopped:
        return {INTERRUPT: list(stopped.interrupts)}


async def ainvoke(graph: Any, given: Any, config: RunnableConfig, **options: Any) -> Any:
    """The asynchronous twin of ``invoke``."""
    _check(graph)
    try:
        return await asyncio.create_task(graph.ainvoke(given, config, **options), context=Context())
    except ReturnInterrupt as stopped:
        return {INTERRUPT: list(stopped.interrupts)}
    except KeyError as missing:
        lost = await graph.checkpointer.alacking(config, missing) if _returns(graph) else None
        if lost is None:
            raise
        raise lost from missing


def _run(graph: Any, given: Any, config: RunnableConfig, **options: Any) -> Any:
    """Run a graph in a context of its own. A node that fails for a key that a return left behind says so."""
    try:
        return Context().run(graph.invoke, given, config, **options)
    except KeyError as missing:
        lost = graph.checkpointer.lacking(config, missing) if _returns(graph) else None
        if lost is None:
            raise
        raise lost from missing


def _returns(graph: Any) -> bool:
    return isinstance(graph.checkpointer, ReturningSaver)


def _check(graph: Any) -> None:
    check_graph(graph)
    for one in (graph, *(part for _, part in graph.get_subgraphs(recurse=True))):
        if one.cache is not None and not isinstance(one.cache, ReturningCache):
            raise BackendError(
                f"cache: a {type(one.cache).__name__} hands back results from before a departure; compile "
                f"{one.name!r} with cache=ReturningCache(…)"
            )


def as_node(graph: Any, config: RunnableConfig, *, give: Collection[str]) -> Callable[..., Any]:
    """A node of an outer graph that runs an agent's own graph, with its own thread and ``ReturningSaver``.

    ``give`` names the keys of the outer state that the agent gets. The outer state outlives its absence, so name orders
    and counters, not knowledge.

    LangGraph lends an inner graph the outer one's saver, so the inner one runs in a context of its own. A return that
    is not admitted is the node's interrupt: the outer run pauses, and resuming it asks again. So is an interrupt of
    the inner graph: its value is a dict of the questions that wait, by name. Resume the outer run with a dict of
    answers by the same names; whatever else it is resumed with, the node asks again.
    """
    if isinstance(give, str):
        raise BackendError(f"give: write [{give!r}], a list of state keys")
    if not _returns(graph):
        raise BackendError("graph: compile it with a ReturningSaver as its checkpointer")
    _check(graph)

    def node(state: Any) -> Any:
        held = Context().run(state_to_run, graph, config)
        if held.interrupts:
            result = {INTERRUPT: held.interrupts}
        else:
            given = None if held.next else {key: state[key] for key in give if key in state}
            result = _run(graph, given, config)
        while INTERRUPT in result:
            # LangGraph takes a dict by bare ids for answers to the outer graph.
            asked = {f"question-{one.id}": one for one in result[INTERRUPT]}
            # LangGraph hands a node its answers by position, from earlier runs too, whatever it asks there now.
            answer = interrupt({name: one.value for name, one in asked.items()})
            if isinstance(answer, dict) and (named := asked.keys() & answer.keys()):
                result = _run(graph, Command(resume={asked[one].id: answer[one] for one in named}), config)
        return result

    return node
