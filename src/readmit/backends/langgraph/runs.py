"""Run a LangGraph graph whose saver is a ``ReturningSaver``: on its own, or as a node of another graph."""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langgraph.config import get_config
from langgraph.types import Command, interrupt

from readmit.backends.langgraph.looking import state_to_run
from readmit.backends.langgraph.lost import INTERRUPT
from readmit.backends.langgraph.results import ReturningCache
from readmit.backends.langgraph.resume import ReturnInterrupt
from readmit.backends.langgraph.saver import ReturningSaver, check_keys
from readmit.records.errors import BackendError, StaleAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.types import Interrupt


def invoke(graph: Any, given: Any, config: RunnableConfig, **options: Any) -> Any:
    """As ``graph.invoke``, with the two ways in which a return can stop a run as results.

    A return that is not admitted is reported like any interrupt, in ``__interrupt__``. An answer to a question from
    before the departure has the thread ask again; it counts if the thread then asks the same, as its only question.
    """
    _check(graph)
    try:
        try:
            return Context().run(graph.invoke, given, config, **options)
        except StaleAnswerError as stale:
            if not stale.waited:
                raise
            result = Context().run(graph.invoke, _unanswered(given), config, **options)
        asked = graph.checkpointer.unchanged(config)
        return result if asked is None else Context().run(graph.invoke, _to(asked, given), config, **options)
    except ReturnInterrupt as stopped:
        return {INTERRUPT: list(stopped.interrupts)}


async def ainvoke(graph: Any, given: Any, config: RunnableConfig, **options: Any) -> Any:
    """The asynchronous twin of ``invoke``."""
    _check(graph)

    def run(given: Any) -> asyncio.Task[Any]:
        return asyncio.create_task(graph.ainvoke(given, config, **options), context=Context())

    try:
        try:
            return await run(given)
        except StaleAnswerError as stale:
            if not stale.waited:
                raise
            result = await run(_unanswered(given))
        asked = await graph.checkpointer.aunchanged(config)
        return result if asked is None else await run(_to(asked, given))
    except ReturnInterrupt as stopped:
        return {INTERRUPT: list(stopped.interrupts)}


def _check(graph: Any) -> None:
    check_keys(graph)
    for one in (graph, *(part for _, part in graph.get_subgraphs(recurse=True))):
        if one.cache is not None and not isinstance(one.cache, ReturningCache):
            raise BackendError(
                f"cache: a {type(one.cache).__name__} hands back results from before a departure; compile "
                f"{one.name!r} with cache=ReturningCache(…)"
            )


def _unanswered(given: Command[Any]) -> Command[Any] | None:
    return replace(given, resume=None) if given.update is not None or given.goto else None


def _to(asked: str, given: Command[Any]) -> Command[Any]:
    return Command(resume={asked: given.resume})


def as_node(graph: Any, config: RunnableConfig, *, give: Collection[str]) -> Callable[..., Any]:
    """A node of an outer graph that runs an agent's own graph, with its own thread and ``ReturningSaver``.

    ``give`` names the keys of the outer state that the agent gets. The outer state outlives its absence, so name orders
    and counters, not knowledge.

    LangGraph lends an inner graph the outer one's saver, so the inner one runs in a context of its own. A return that
    is not admitted is the node's interrupt: the outer run pauses, and resuming it asks again. So is an interrupt of
    the inner graph: its value is a list of the questions that wait. One question takes the answer that the outer run
    is resumed with, several take a list of answers.
    """
    if isinstance(give, str):
        raise BackendError(f"give: write [{give!r}], a list of state keys")
    if not isinstance(graph.checkpointer, ReturningSaver):
        raise BackendError("graph: compile it with a ReturningSaver as its checkpointer")
    _check(graph)

    def node(state: Any) -> Any:
        held = Context().run(state_to_run, graph, config)
        if held.interrupts:
            result = {INTERRUPT: held.interrupts}
        else:
            given = None if held.next else {key: state[key] for key in give if key in state}
            result = Context().run(graph.invoke, given, config)
        number = 0
        while INTERRUPT in result:
            # In one order in every run: parallel nodes ask in any.
            asked = sorted(result[INTERRUPT], key=lambda one: one.id)
            # LangGraph hands a node its answers by position, whatever it asks there now, and an answer to a return
            # that was blocked as the first one. So an answer counts if an earlier run asked this in its position.
            known = graph.checkpointer.known(get_config(), config, number, asked)
            answer = interrupt([one.value for one in asked])
            if known:
                result = Context().run(graph.invoke, Command(resume=_by_id(asked, answer)), config)
            number += 1
        return result

    return node


def _by_id(asked: Sequence[Interrupt], answer: Any) -> dict[str, Any]:
    answers = [answer] if len(asked) == 1 else answer
    if not isinstance(answers, list | tuple) or len(answers) != len(asked):
        raise BackendError(f"resume: {len(asked)} questions wait; answer with a list of {len(asked)}, in their order")
    return {one.id: value for one, value in zip(asked, answers, strict=True)}
