"""TRACE with its models: the paper's pipeline (``trace-paper``), ours (``readmit``), and the four ablations.

From the tasks alone: obligations, their dependencies, and queries (where the shared checkpoint does not hold them).
From the checkpoint: statements with slots. Explicit lifecycle: in the paper's pipeline a later value of a slot
replaces an earlier one; in ours only a row that was taken down as an update does, because an extractor that reads one
session at a time cannot know whether two values of its slot exclude each other. The verifier can: an equal slot is one
of the signals that propose a pair. Implicit invalidation by proposed and verified pairs: the paper's over all
observations before the departure (``observed``), ours over what retrieval would hand over of them (``proposing``),
where a pair that no verdict settled is withheld. Then the library decides. A dependency is supported by the statements
that rank best for it; what a confirmed invalidation or a later value of its slot took out passes its place, and what
it supported, to the latest words that did. The view is the chosen cover, filled up by retrieval within the shared
budget. A turn that states nothing is no item.

An answer that another source replaced by another answer is contested; the same answer again is no dispute. A verifier
that answers the task by itself settles it, and only at confidence ≥ 0.65; otherwise the return is blocked. Choices are
compared as they are printed. Whatever the verifier says, an answer to another version of the task is not applicable.

Each ablation takes away one mechanism (paper, "Component Ablations") and nothing else:

* II: no pair is proposed or judged;
* OAS: retrieval fills the view instead of the cover; the coverage check stays;
* CVG: the agent proceeds although coverage is incomplete, with what selection covers of the rest;
* SBPR: private memories come back by relevance, whatever became of the statement they are bound to. They stand beside
  the view, which is unchanged, and so beyond its budget.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from readmit.bench.acting import Staged, choices_in
from readmit.bench.episodes import View
from readmit.bench.methods import observed
from readmit.bench.methods.observed import Looking, earlier_sessions
from readmit.bench.methods.proposing import Later, implied_by, judged, later_sessions, matched
from readmit.bench.methods.protocol import PRIVATE, retrieved
from readmit.bench.methods.readmit_lexical import contested, declared, reading_of
from readmit.bench.methods.state import Contest, Duty, Statement, Work, come_back, policy_for, session_of, sessions
from readmit.bench.methods.support import (
    by_relevance,
    duties_of,
    found_by,
    heirs_of,
    inherited,
    obligations_of,
    private_bank,
    reach,
    updated,
    with_heirs,
)
from readmit.bench.reading import excerpt
from readmit.bench.retrieval import Ranker
from readmit.cover.coverage import report, sufficient
from readmit.models.fence import MAX_CHARS
from readmit.models.stages import answer, imply, verify
from readmit.models.stages import plan as planning
from readmit.models.stages.answer import Question, opine, settled
from readmit.models.stages.plan import Plan, Task, plan
from readmit.ports.models import Failure
from readmit.records.errors import PendingAnswers
from readmit.records.policy import Policy
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from readmit.bench.episodes import Checkpoint, Finding
    from readmit.bench.methods.proposing import Judged, Proposing
    from readmit.bench.methods.state import Returned
    from readmit.ports.models import Embedder, Model
    from readmit.records.verdicts import Pair

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Governance:
    """Which mechanisms are on."""

    name: str
    proposing: Proposing
    selection: str
    by_slot: bool = True
    """Whether a later value of a slot replaces an earlier one. Otherwise only what says that it does."""
    invalid_at: Decimal = Policy().invalid_at
    """Least score at which a verdict takes a statement out."""
    implicit: bool = True
    obligation_aware: bool = True
    complete_view: bool = True
    source_bound: bool = True


TRACE_PAPER = Governance("trace-paper", "scan", "greedy", invalid_at=Decimal("0.65"))
READMIT = Governance("readmit", "implied", "greedy_then_exact", by_slot=False)
ABLATIONS = (
    replace(TRACE_PAPER, name="trace-without-ii", implicit=False),
    replace(TRACE_PAPER, name="trace-without-oas", obligation_aware=False),
    replace(TRACE_PAPER, name="trace-without-cvg", complete_view=False),
    replace(TRACE_PAPER, name="trace-without-sbpr", source_bound=False),
)


@dataclass(frozen=True)
class Tuning:
    """The paper's parameters that differ between the benchmarks; what a benchmark's table lacks is the stage's own."""

    plan_tokens: int = planning.MAX_TOKENS
    lines_tokens: int = imply.MAX_TOKENS
    """For premises, and for implied facts."""
    governance_chars: int = MAX_CHARS
    """Of every prompt but the scan's."""
    looking: Looking = field(default_factory=Looking)
    verification_tokens: int = verify.MAX_TOKENS
    contest_tokens: int = answer.MAX_TOKENS
    contest_confidence: Decimal = answer.THRESHOLD
    private: int = PRIVATE


class Governed:
    """One row of the comparison that asks models."""

    def __init__(
        self, governance: Governance, *, extractor: Model, verifier: Model, embedder: Embedder, tuning: Tuning
    ) -> None:
        self.name = governance.name
        self._rules = governance
        self._extractor, self._verifier, self._embedder = extractor, verifier, embedder
        self._tuning = tuning

    def view(self, checkpoint: Checkpoint) -> View:
        if checkpoint.task_version is not None:
            return self._answered(checkpoint)
        return self._governed(checkpoint)

    def _answered(self, checkpoint: Checkpoint) -> View:
        """Answers to a version of the task."""
        # Who has a verifier takes no replacement of an answer on trust, not even of an answer to another question.
        contests = tuple(contested(checkpoint, any_version=True))
        statements = [
            # No slot: a later answer does not replace an earlier one by being later.
            Statement(row.id, row, row.text, None, ("answer",))
            for row in checkpoint.rows
            if reading_of(row).parts
        ]
        duty = Duty(checkpoint.tasks[0], ("answer",), ("answer",))
        work = Work(statements, tuple(declared(checkpoint, contests)), self._settled(checkpoint, contests), (duty,))
        returned = come_back(checkpoint, work, policy_for(checkpoint, selection=self._rules.selection))
        rows = retrieved(checkpoint, returned.standing)
        return self._handed(checkpoint, returned, rows, {s.id: s for s in statements})

    def _settled(self, checkpoint: Checkpoint, contests: Sequence[Contest]) -> list[Contest]:
        """The contests, each with what an independent answer keeps. Where there are none, nothing is asked."""
        if not contests:
            return []
        answers = {row.id: row.answer or row.text for row in checkpoint.rows}
        task, tuning = checkpoint.tasks[0], self._tuning
        choices = tuple(text for _, text in choices_in(task))
        asked = [Question(text=task, choices=choices)]
        (opinion,) = opine(Staged(self._verifier, "settle"), asked, max_tokens=tuning.contest_tokens)
        kept = []
        for one in contests:
            positions = {name: answers[name] for name in one.statements}
            keep = settled(opinion, positions, tuning.contest_confidence, exact=bool(choices))
            kept.append(replace(one, keep=keep))
        return kept

    def _governed(self, checkpoint: Checkpoint) -> View:
        rules = self._rules
        plans, seen = together(lambda: self._planned(checkpoint), lambda: self._before_the_tasks(checkpoint))
        with closing(Ranker(checkpoint.rows)) as ranker:
            duties, supports = duties_of(checkpoint, plans, ranker)
            queries = [query for one in plans if one is not None for query in one.queries]
            # Whatever may be handed over is worth a verdict: what retrieval finds, and what may cover a need.
            within = reach(checkpoint, ranker, queries).union(supports)
        stated = [
            Statement(row.id, row, row.text, row.slot if rules.by_slot else None, depends_on=row.depends_on)
            for row in checkpoint.rows
            if (one := reading_of(row)).parts and one.own
        ]
        if isinstance(seen, Later):
            critical = {name for duty in duties for name in duty.critical}
            targets = [one for one in stated if one.row.departure and one.row.id in within]
            vital = frozenset(one.id for one in targets if not critical.isdisjoint(supports.get(one.row.id, ())))
            verdicts = self._matched(checkpoint, targets, seen, vital)
            findings = tuple(one.finding() for one in verdicts)
        else:
            earlier = {name: (text, "") for name, text in earlier_sessions(checkpoint).items()}
            looked = self._judged(seen, earlier, later_sessions(checkpoint))
            verdicts = observed.superseded(stated, looked)
            findings = observed.findings(checkpoint, looked)
        stated += found_by(checkpoint, stated, verdicts)
        endings = [*declared(checkpoint), *(() if rules.by_slot else updated(checkpoint.rows))]
        heirs = heirs_of(stated, verdicts, endings)
        supported = inherited(stated, supports, heirs)
        statements = tuple(replace(one, supports=supported[one.id]) for one in stated)
        order = with_heirs(checkpoint, statements, heirs)
        bank = private_bank(checkpoint, statements, self._tuning.private)
        work = Work(
            statements,
            endings,
            (),
            duties,
            [(one.pair.evidence, one.verdict) for one in verdicts if isinstance(one.verdict, Verdict)],
            bank,
            [(one.pair.evidence, one.pair.item) for one in verdicts if isinstance(one.verdict, Failure)],
        )
        policy = policy_for(checkpoint, duties=len(duties), selection=rules.selection, invalid_at=rules.invalid_at)
        returned = come_back(checkpoint, work, policy)
        if not returned.admitted and not rules.complete_view:
            returned = _incomplete(checkpoint, work, policy, returned)
        known = {one.id: one for one in statements}
        standing = {known[name].row.id for name in returned.standing}
        first = [known[name].row.id for name in returned.chosen] if rules.obligation_aware else []
        rows = by_relevance(order, retrieved(order, standing, first=first))
        if not rules.obligation_aware:
            shown = {d for s in statements if s.row.id in rows and s.id in returned.standing for d in s.supports}
            covered = sufficient(report(obligations_of(duties), shown), policy)
            returned = replace(returned, admitted=covered)
        private = () if rules.source_bound else tuple(known[name].row.id for name in bank)
        return self._handed(checkpoint, returned, rows, known, private=private, findings=findings)

    def _planned(self, checkpoint: Checkpoint) -> Sequence[Plan | None]:
        """What the tasks take. A plan that all methods share is not asked for again."""
        if checkpoint.plans:
            return checkpoint.plans
        tasks = [Task(text=task) for task in checkpoint.tasks]
        tuning = self._tuning
        made = plan(self._extractor, tasks, max_tokens=tuning.plan_tokens, max_chars=tuning.governance_chars)
        return [one if isinstance(one, Plan) else None for one in made]

    def _before_the_tasks(self, checkpoint: Checkpoint) -> Later | dict[Pair, tuple[str, ...]]:
        """What is asked about observations alone: the paper's proposals, or what the later ones imply."""
        tuning, later = self._tuning, later_sessions(checkpoint)
        if not self._rules.implicit:
            return {}
        if self._rules.proposing == "scan":
            return observed.scanned(self._extractor, earlier_sessions(checkpoint), later, tuning.looking)
        return implied_by(self._extractor, later, max_tokens=tuning.lines_tokens, max_chars=tuning.governance_chars)

    def _matched(
        self, checkpoint: Checkpoint, targets: Sequence[Statement], later: Later, vital: frozenset[str]
    ) -> list[Judged]:
        if not targets or not later.texts:
            return []
        slots: dict[str, frozenset[str]] = {}
        for row in checkpoint.rows:
            if row.slot is not None:
                slots[session_of(row)] = slots.get(session_of(row), frozenset()) | {row.slot}
        pairs = matched(
            self._extractor,
            self._embedder,
            targets,
            later,
            slots=slots,
            critical=vital,
            max_tokens=self._tuning.lines_tokens,
            max_chars=self._tuning.governance_chars,
        )
        before = sessions(checkpoint.heard)
        return self._judged(pairs, {one.id: (one.text, before[session_of(one.row)]) for one in targets}, later.texts)

    def _judged(
        self,
        pairs: Mapping[Pair, tuple[str, ...]],
        earlier: Mapping[str, tuple[str, str]],
        later: Mapping[str, str],
    ) -> list[Judged]:
        tokens, chars = self._tuning.verification_tokens, self._tuning.governance_chars
        policy = Policy(invalid_at=self._rules.invalid_at)
        return judged(self._verifier, pairs, earlier, later, policy=policy, max_tokens=tokens, max_chars=chars)

    def _handed(
        self,
        checkpoint: Checkpoint,
        returned: Returned,
        rows: tuple[str, ...],
        known: Mapping[str, Statement],
        *,
        private: tuple[str, ...] = (),
        findings: tuple[Finding, ...] = (),
    ) -> View:
        left_out: dict[str, tuple[str, ...]] = dict(returned.reasons)
        if not returned.admitted and self._rules.complete_view:
            return View(
                method=self.name, rows=(), blocked=True, left_out=left_out, missing=returned.missing, findings=findings
            )
        parts: dict[str, list[str]] = {}
        for name, statement in known.items():
            if name in returned.standing or statement.row.id in private:
                parts.setdefault(statement.row.id, []).append(statement.text)
        handed = tuple(dict.fromkeys((*rows, *private)))
        whole = {row.id: row for row in (*checkpoint.observations, *checkpoint.rows)}
        cut = {row: excerpt(whole[row].text, parts[row]) for row in handed}
        excerpts = {row: text for row, text in cut.items() if text != whole[row].text}
        missing = () if returned.admitted else returned.missing
        return View(
            method=self.name, rows=handed, excerpts=excerpts, left_out=left_out, missing=missing, findings=findings
        )


def _incomplete(checkpoint: Checkpoint, work: Work, policy: Policy, refused: Returned) -> Returned:
    """What the same selection makes of the needs that can be covered, where the others refuse the return."""
    lacking = set(refused.missing)
    duties = [
        replace(
            duty,
            required=tuple(name for name in duty.required if name not in lacking),
            critical=tuple(name for name in duty.critical if name not in lacking),
        )
        for duty in work.duties
        if not lacking.issuperset(duty.required)
    ]
    rest = come_back(checkpoint, replace(work, duties=duties), policy)
    return replace(rest, admitted=False, missing=refused.missing)


def together(first: Callable[[], T], second: Callable[[], U]) -> tuple[T, U]:
    """Two independent questions in one round: both are put before either is waited for."""
    try:
        one = first()
    except PendingAnswers:
        second()
        raise
    return one, second()
