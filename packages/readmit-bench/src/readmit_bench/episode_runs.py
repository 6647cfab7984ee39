"""One method on one episode, and its score.

``attempt`` sees the episode and never its labels. ``scored`` comes afterwards, with labels and judge. A failure in
between is recorded with the episode, which stays in the denominator. Only an answer that is still pending
(``PendingAnswers``) stops the episode without a line, so that it resumes once the answer arrives.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from readmit.errors import PendingAnswers, ReadmitError, UnknownError
from readmit_bench.benchmarks import benchmark_named
from readmit_bench.checkpoints import work_state
from readmit_bench.methods import Resources, admitted, checked, entry_named
from readmit_bench.methods import made as method_made
from readmit_bench.methods.method import Answering, Planning
from readmit_bench.notes import notes
from readmit_bench.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.models import Embedder, Model, StageUsage
    from readmit_bench.episodes import Case, Checkpoint, Episode, View
    from readmit_bench.method_process import Made
    from readmit_bench.methods import Method
    from readmit_bench.methods.store_histories import Stores
    from readmit_bench.metrics import MemoraOutcome
    from readmit_bench.settings import Settings


@dataclass(frozen=True)
class Roles:
    """Who answers what. Without an actor, views are made and scored, and nothing is answered."""

    actor: Model | None = None
    extractor: Model | None = None
    verifier: Model | None = None
    judge: Model | None = None
    embedder: Embedder | None = None
    stores: Stores | None = None
    """The memory stores of the run, for methods that use one."""


@dataclass(frozen=True)
class Attempt:
    """What a method handed over, and what the actor answered."""

    view: View | None = None
    checkpoint: Checkpoint | None = None
    answers: tuple[str, ...] = ()
    milliseconds: int = 0
    failure: str = ""
    reach: MemoraOutcome | None = None
    """The checkpoint's own, if a caller that scores several methods already has it."""


def method_named(name: str, benchmark: str, roles: Roles, settings: Settings) -> Method:
    """A method, holding the models that it asks."""
    of = benchmark_named(benchmark)
    given = Resources(
        extractor=roles.extractor,
        verifier=roles.verifier,
        embedder=roles.embedder,
        stores=roles.stores,
        tuning=of.tuning(settings),
        answer_tokens=of.answer_tokens(settings),
    )
    return method_made(name, given)


def attempt(episode: Episode, method: Method, roles: Roles, settings: Settings) -> Attempt:
    """View and answers of one episode."""
    started = time.monotonic()
    checkpoint: Checkpoint | None = None
    view: View | None = None
    entry = entry_named(method.name)
    # A method that forms its own memory from the conversations neither gets nor pays for what the others share.
    extractor = None if entry.own_memory else roles.extractor
    try:
        checkpoint = _work_state(episode, method, settings, extractor, roles.embedder)
        # A store whose memories a model forms uses its own words.
        view = admitted(method, checkpoint, rewords=entry.rewords or bool(entry.store and roles.extractor))
        answers = (
            ()
            if roles.actor is None
            else _answers(episode, method, checkpoint, view, actor=roles.actor, settings=settings)
        )
    except (PendingAnswers, UnknownError):
        raise
    except (ReadmitError, ValueError) as error:
        return Attempt(view, checkpoint, (), _since(started), f"{type(error).__name__}: {error}")
    return Attempt(view, checkpoint, answers, _since(started))


def _work_state(
    episode: Episode, method: Method, settings: Settings, extractor: Model | None, embedder: Embedder | None
) -> Checkpoint:
    try:
        return work_state(episode, settings, extractor, embedder)
    except PendingAnswers:
        # In the same round, so that the method does not wait twice.
        if isinstance(method, Planning):
            method.ask_ahead(episode.tasks)
        raise


def attempted(name: str, elsewhere: Made | None, by_name: Mapping[str, Method], checkpoint: Checkpoint) -> Attempt:
    """One method's view, made here or elsewhere, after the check."""
    started = time.monotonic()
    try:
        if elsewhere is None:
            view = admitted(by_name[name], checkpoint)
        elif elsewhere.view is None:
            return Attempt(checkpoint=checkpoint, milliseconds=elsewhere.milliseconds, failure=elsewhere.failure)
        else:
            view = checked(name, elsewhere.view, checkpoint)
    except ReadmitError as error:
        return Attempt(checkpoint=checkpoint, failure=f"{type(error).__name__}: {error}")
    spent = _since(started) if elsewhere is None else elsewhere.milliseconds
    return Attempt(view, checkpoint, milliseconds=spent)


def _answers(
    episode: Episode, method: Method, checkpoint: Checkpoint, view: View, *, actor: Model, settings: Settings
) -> tuple[str, ...]:
    if isinstance(method, Answering):
        return method.respond(actor, checkpoint, view)
    return benchmark_named(episode.benchmark).answers(actor, checkpoint, view, settings)


def line_of(case: Case[Any], method: str, *, eligible: bool = True) -> Result:
    """The line of a case before anything was attempted."""
    return Result(
        benchmark=case.episode.benchmark,
        method=method,
        episode=case.episode.id,
        case=case.labels.case,
        block=case.labels.block,
        unit=case.labels.unit,
        history=case.labels.history,
        eligible=eligible,
    )


def scored(case: Case[Any], method: str, made: Attempt, roles: Roles, settings: Settings) -> Result:
    """The line of one attempt."""
    benchmark, answered = benchmark_named(case.episode.benchmark), roles.actor is not None
    line = replace(
        line_of(case, method),
        view=made.view,
        answers=made.answers,
        milliseconds=made.milliseconds,
        failure=made.failure,
    )
    if made.failure or made.view is None or made.checkpoint is None:
        return benchmark.failed(case, line, answered=answered)
    line = replace(line, characters=len(notes(made.view, made.checkpoint, form=benchmark.form(settings))))
    line = benchmark.score(case, made, line)
    if not answered or roles.judge is None:
        return line
    try:
        return benchmark.judge(case, line, roles.judge, settings)
    except (PendingAnswers, UnknownError):
        raise
    except (ReadmitError, ValueError) as error:
        return benchmark.failed(case, replace(line, failure=f"{type(error).__name__}: {error}"), answered=True)


def with_usage(result: Result, usage: tuple[StageUsage, ...], *, peak: int, repairs: int) -> Result:
    """The line with what it took."""
    return replace(result, usage=usage, peak_context=peak, repairs=repairs)


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
