"""One method on one episode, and its score.

``attempt`` sees the episode and never its labels. ``scored`` comes afterwards, with labels and judge. Whatever fails in
between is written down with the episode, which stays in the denominator; only an answer that is still to come
(``PendingAnswers``) stops the episode without a line, so that it goes on when the answer is there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from readmit.inference.settings import Budgets
from readmit.records.errors import BackendError, ModelError, PendingAnswers, ReadmitError, UnknownError
from readmit_bench.acting import choose, respond
from readmit_bench.judge_free import reach, score_candidates, score_view
from readmit_bench.judging import judge_memora, judge_stale
from readmit_bench.methods import MODEL_FREE, SHORTCUTS, admitted, checked
from readmit_bench.methods.backed import Backed
from readmit_bench.methods.cupmem import CUPMem
from readmit_bench.methods.governance import Tuning
from readmit_bench.methods.governed import Governed
from readmit_bench.methods.stores import stores_of
from readmit_bench.metrics import ManBenchOutcome, MemoraOutcome, StaleOutcome
from readmit_bench.notes import notes
from readmit_bench.results import Result
from readmit_bench.studies import BACKED, GOVERNANCE, block_of, unit_of
from readmit_bench.work_state import work_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from readmit.models.usage import StageUsage
    from readmit.ports.models import Embedder, Model
    from readmit_bench.apart import Made
    from readmit_bench.datasets.stale import StaleLabels
    from readmit_bench.episodes import Benchmark, Case, Checkpoint, Episode, View
    from readmit_bench.methods import Method
    from readmit_bench.methods.formed import Stores
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
    """The memory stores of the run, for methods that stand on one."""


@dataclass(frozen=True)
class Attempt:
    """What a method handed over and what the actor made of it."""

    view: View | None = None
    checkpoint: Checkpoint | None = None
    answers: tuple[str, ...] = ()
    milliseconds: int = 0
    failure: str = ""
    reach: MemoraOutcome | None = None
    """The checkpoint's own, where whoever scores several methods on it has it already."""


def history_of(case: Case[Any]) -> str:
    """The history that a case is about: all questions of a Memora persona and period are asked of one."""
    return str(case.labels.cluster) if case.episode.benchmark == "memora" else ""


def forms_its_own(method: str) -> bool:
    """Whether the method forms a memory of its own, and so is not bound by the shared checkpoint."""
    return method == "CUPMem" or method in BACKED


def method_named(name: str, benchmark: Benchmark, roles: Roles, settings: Settings) -> Method:
    """A method, holding the models that it asks."""
    if name in MODEL_FREE or name in SHORTCUTS:
        return {**MODEL_FREE, **SHORTCUTS}[name]
    if name in BACKED:
        if roles.stores is None:
            raise BackendError(f"{name}: needs a place for the histories that it forms; give stores")
        (store,) = stores_of([name])
        return Backed(store, roles.stores, admits=name.endswith("/readmit"), model=roles.extractor)
    if roles.extractor is None or roles.verifier is None or roles.embedder is None:
        raise ModelError(f"{name}: asks an extractor and a verifier; name them with --extractor and --verifier")
    if name == "CUPMem":
        return CUPMem(roles.extractor)
    return Governed(
        GOVERNANCE[name],
        extractor=roles.extractor,
        verifier=roles.verifier,
        embedder=roles.embedder,
        tuning=_tuning(benchmark, settings),
    )


def _tuning(benchmark: Benchmark, settings: Settings) -> Tuning:
    if benchmark == "memora":
        return Tuning()
    if benchmark == "stale":
        stale = settings.stale
        return Tuning(
            plan_tokens=stale.governance_tokens,
            plan_chars=stale.governance_characters,
            budgets=Budgets(
                lines_tokens=stale.governance_tokens,
                lines_chars=stale.governance_characters,
                scan_tokens=stale.scan_tokens,
                scan_chars=stale.scan_characters,
                verify_tokens=stale.verification_tokens,
                verify_chars=stale.governance_characters,
            ),
            scan_targets=stale.scan_targets,
            scan_observations=stale.scan_observations,
        )
    confidence = Decimal(str(settings.manbench.verifier_confidence))
    return Tuning(contest_tokens=settings.manbench.verifier_tokens, contest_confidence=confidence)


def attempt(episode: Episode, method: Method, roles: Roles, settings: Settings) -> Attempt:
    """View and answers of one episode."""
    started = time.monotonic()
    checkpoint: Checkpoint | None = None
    view: View | None = None
    # Who forms a memory of its own from the conversations is neither given nor charged with what the others share.
    extractor = None if isinstance(method, CUPMem | Backed) else roles.extractor
    try:
        checkpoint = work_state(episode, settings, extractor, roles.embedder)
        # A store that a model forms memories for words them itself.
        view = admitted(method, checkpoint, rewords=isinstance(method, Backed) and roles.extractor is not None)
        answers = _answers(episode, method, checkpoint, view, roles=roles, settings=settings)
    except (PendingAnswers, UnknownError):
        raise
    except (ReadmitError, ValueError) as error:
        return Attempt(view, checkpoint, (), _since(started), f"{type(error).__name__}: {error}")
    return Attempt(view, checkpoint, answers, _since(started))


def attempted(name: str, elsewhere: Made | None, by_name: Mapping[str, Method], checkpoint: Checkpoint) -> Attempt:
    """One method's view, made elsewhere or here, if it may be handed over."""
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
    episode: Episode, method: Method, checkpoint: Checkpoint, view: View, *, roles: Roles, settings: Settings
) -> tuple[str, ...]:
    if roles.actor is None:
        return ()
    if episode.benchmark == "manbench":
        given = notes(view, checkpoint)
        return (choose(roles.actor, episode.tasks[0], given, max_tokens=settings.manbench.final_tokens),)
    if isinstance(method, CUPMem):
        return method.respond(roles.actor, checkpoint, view, max_tokens=settings.stale.answer_tokens)
    tokens = settings.memora.answer_tokens if episode.benchmark == "memora" else settings.stale.answer_tokens
    return respond(roles.actor, checkpoint, view, max_tokens=tokens)


def scored(case: Case[Any], method: str, made: Attempt, roles: Roles, settings: Settings) -> Result:
    """The line of one attempt."""
    result = Result(
        benchmark=case.episode.benchmark,
        method=method,
        episode=case.episode.id,
        case=case.labels.case,
        block=block_of(case),
        unit=unit_of(case),
        history=history_of(case),
        view=made.view,
        answers=made.answers,
        milliseconds=made.milliseconds,
        failure=made.failure,
    )
    if made.failure or made.view is None or made.checkpoint is None:
        return failed(case, result, answered=roles.actor is not None)
    result = msgspec.structs.replace(result, characters=len(notes(made.view, made.checkpoint)))
    if case.episode.benchmark == "manbench":
        outcome = score_candidates(case, made.view)
        correct = None if roles.actor is None else made.answers[0] == case.labels.current.right
        candidates = {row.id: row.text for row in case.episode.rows}
        outcome = msgspec.structs.replace(outcome, correct=correct)
        return msgspec.structs.replace(result, manbench=outcome, candidates=candidates)
    result = msgspec.structs.replace(
        result,
        seen=score_view(case, made.view, made.checkpoint),
        reach=None if forms_its_own(method) else made.reach or reach(case, made.checkpoint),
        candidates=_extracted(made.view, made.checkpoint),
    )
    if case.episode.benchmark == "stale" and method in GOVERNANCE and GOVERNANCE[method].implicit:
        result = msgspec.structs.replace(result, true_pair=_true_pair(case.labels, made.view))
    if roles.actor is None or roles.judge is None:
        return result
    try:
        return _judged(case, result, made, roles.judge, settings)
    except (PendingAnswers, UnknownError):
        raise
    except (ReadmitError, ValueError) as error:
        wrong = msgspec.structs.replace(result, failure=f"{type(error).__name__}: {error}")
        return failed(case, wrong, answered=True)


def _extracted(view: View, checkpoint: Checkpoint) -> dict[str, str]:
    """The words of the extracted rows that a view speaks of: the data themselves do not hold them by these names."""
    named = {*view.rows, *view.left_out, *(finding.row for finding in view.findings)}
    return {row.id: row.text for row in checkpoint.rows if row.turn is not None and row.id in named}


def _true_pair(labels: StaleLabels, view: View) -> Literal["missed", "proposed", "confirmed"]:
    """Whether the pair of the two labelled sessions was proposed, and confirmed."""
    found = [
        finding
        for finding in view.findings
        if finding.row.startswith(f"s{labels.old_session}.")
        and finding.observation.startswith(f"{labels.new_session}/")
    ]
    if any(finding.confirmed for finding in found):
        return "confirmed"
    return "proposed" if found else "missed"


def _judged(case: Case[Any], result: Result, made: Attempt, judge: Model, settings: Settings) -> Result:
    if case.episode.benchmark == "memora":
        memora, why = judge_memora(judge, case.episode, case.labels, made.answers[0])
        return msgspec.structs.replace(result, memora=memora, judgment=why)
    tokens = settings.stale.judge_tokens
    stale, why = judge_stale(judge, case.episode, case.labels, made.answers, max_tokens=tokens)
    return msgspec.structs.replace(result, stale=stale, judgment=why)


def failed(case: Case[Any], result: Result, *, answered: bool) -> Result:
    """The same line with every judgment false: a failure never leaves the denominator."""
    episode, labels = case.episode.id, case.labels
    if case.episode.benchmark == "manbench":
        lost = ManBenchOutcome(
            episode=episode,
            condition=labels.condition,
            valid_admitted=False,
            invalid_admitted=True,
            correct=False if answered else None,
        )
        return msgspec.structs.replace(result, manbench=lost)
    if result.seen is None:
        valid, stale = (
            (labels.valid, labels.stale) if case.episode.benchmark == "memora" else ((labels.new,), (labels.old,))
        )
        seen = MemoraOutcome(episode=episode, presence=(False,) * len(valid), forgetting=(False,) * len(stale))
        result = msgspec.structs.replace(result, seen=seen)
    if not answered:
        return result
    if case.episode.benchmark == "stale":
        return msgspec.structs.replace(result, stale=StaleOutcome(episode=episode, sr=False, pr=False, ipa=False))
    memora = MemoraOutcome(
        episode=episode, presence=(False,) * len(labels.presence), forgetting=(False,) * len(labels.forgetting)
    )
    return msgspec.structs.replace(result, memora=memora)


def at_scale(settings: Settings, agents: int) -> Settings:
    """The same settings with another number of active agents."""
    return msgspec.structs.replace(settings, manbench=msgspec.structs.replace(settings.manbench, active_agents=agents))


def with_usage(result: Result, usage: tuple[StageUsage, ...], *, peak: int, repairs: int) -> Result:
    """The line with what it took."""
    return msgspec.structs.replace(result, usage=usage, peak_context=peak, repairs=repairs)


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
