"""TRACE with its models: the paper's pipeline (``trace-paper``), ours (``readmit``), and the four ablations.

All of them run the product: the history is played into a workspace (``state``), ``Inference`` looks for implicit
changes (``inferring``), and the library decides. They differ only in configuration.

From the tasks alone: obligations, their dependencies, and queries (where the shared checkpoint does not hold them).
From the checkpoint: statements with slots. Explicit lifecycle: in the paper's pipeline a later value of a slot
replaces an earlier one; in ours only a row that was taken down as an update or a deletion ends something: what shares
its slot, or, with the rule ``names``, what it names.

* ``trace-paper``: implicit invalidation by the scan, before any question is known: each session before the departure
  is an item of its own, scanned against the sessions of the absence, and everything drawn from it rests on it. What was
  not confirmed changes nothing. The view is the chosen cover, filled up by retrieval.
* ``readmit``: every pair of a statement that retrieval would hand over, or that supports a need, and a later session in
  which the extractor found a statement is judged, several in a request; beyond 400 pairs the product's signals choose.
  A pair that no verdict settled is withheld. What was planned and taken down is marked as drafted. The view holds what
  the needs take and what is relevant (``view_rows``).

A dependency is supported by the statements that rank best for it; what a confirmed invalidation or a later value of its
slot took out passes its place, and what it supported, to the latest words that did.

An answer that another source replaced by a different one is contested; repeating the same answer is not a dispute. A
verifier that answers the task independently settles it, at confidence ≥ 0.65; otherwise the return is blocked. Choices
are compared as they are printed. An answer to another version of the task is never applicable, whatever the verifier
says.

Each ablation takes away one mechanism (paper, "Component Ablations") and nothing else:

* II: no pair is proposed or judged;
* OAS: retrieval fills the view instead of the cover; the coverage check stays;
* CVG: the agent proceeds although coverage is incomplete, with what selection covers of the rest;
* SBPR: private memories come back by relevance, whatever became of the statement they are bound to. They stand beside
  the view, which is unchanged, and so beyond its budget.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from readmit.inference import Asked
from readmit.lab import Plan, Task, plan_tasks, report, sufficient
from readmit.models import Question
from readmit_bench.actor_answers import Staged, choices_in
from readmit_bench.episodes import View
from readmit_bench.methods.governance import LINKER
from readmit_bench.methods.method import retrieved
from readmit_bench.methods.product_inference import (
    Models,
    changed,
    compatible,
    drafted_by_the_product,
    findings,
    inference_on,
    keep_extracted,
    look,
)
from readmit_bench.methods.readmit_lexical import contested, declared, reading_of
from readmit_bench.methods.state import (
    DUTY,
    OWNER,
    Duty,
    Statement,
    Work,
    contest_name,
    link,
    oblige,
    played,
    policy_for,
    record,
    return_of,
    returned,
    session_of,
)
from readmit_bench.methods.support import (
    bearing,
    by_relevance,
    duties_of,
    ended_by_name,
    found_by,
    heirs_of,
    inherited,
    kept_rows,
    nearest,
    needs_in,
    obligations_of,
    private_bank,
    reach,
    updated,
    with_heirs,
)
from readmit_bench.methods.view_rows import ENOUGH, composed, nothing_stated, statements_in, states, withdrawn_rows
from readmit_bench.plain_turns import excerpt
from readmit_bench.retrieval import Ranker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from readmit import Agent, Workspace
    from readmit.models import Embedder, Model
    from readmit_bench.episodes import Checkpoint, Finding
    from readmit_bench.methods.governance import Governance, Tuning
    from readmit_bench.methods.product_inference import Looked
    from readmit_bench.methods.state import Contest, Ending, Returned


@dataclass(frozen=True)
class _Played:
    """A history in a workspace, up to the moment of the return."""

    workspace: Workspace
    agent: Agent
    digests: Mapping[str, str]
    ungrounded: Sequence[str]
    purpose: str | None

    def come_back(self) -> Returned:
        return returned(return_of(self.agent, self.purpose), self.ungrounded)


@dataclass(frozen=True)
class _Placed:
    """Every statement that is an item, what each is evidence for, and which row took the place of which statement."""

    known: Mapping[str, Statement]
    links: Mapping[str, tuple[str, ...]]
    heirs: Mapping[str, str]


class Governed:
    """One row of the comparison that asks models."""

    def __init__(
        self, governance: Governance, *, extractor: Model, verifier: Model, embedder: Embedder, tuning: Tuning
    ) -> None:
        self.name = governance.name
        self._rules = governance
        self._models = Models(extractor, verifier, embedder)
        self._tuning = tuning

    def view(self, checkpoint: Checkpoint) -> View:
        if checkpoint.task_version is not None:
            return self._answered(checkpoint)
        return self._governed(checkpoint)

    def _answered(self, checkpoint: Checkpoint) -> View:
        """Answers to a version of the task."""
        # With a verifier, no replacement of an answer is trusted unverified, not even for another question.
        contests = tuple(contested(checkpoint, any_version=True))
        statements = [
            # No slot: a later answer does not replace an earlier one by being later.
            Statement(row.id, row, row.text, None, ("answer",))
            for row in checkpoint.rows
            if reading_of(row).parts
        ]
        duty = Duty(checkpoint.tasks[0], ("answer",), ("answer",))
        work = Work(statements, tuple(declared(checkpoint, contests)), contests, (duty,))
        policy = self._rules.policy.changed(paper={"min_confidence": self._tuning.contest_confidence})
        policy = policy_for(checkpoint, policy)
        with played(checkpoint, work, policy) as (workspace, agent, digests, ungrounded):
            self._settle(checkpoint, contests, workspace, agent)
            outcome = _Played(workspace, agent, digests, ungrounded, checkpoint.task_version).come_back()
        rows = retrieved(checkpoint, outcome.standing)
        return self._handed(checkpoint, outcome, rows, {s.id: s for s in statements})

    def _settle(self, checkpoint: Checkpoint, contests: Sequence[Contest], workspace: Workspace, agent: Agent) -> None:
        """Ask the verifier the task itself, once for all contests; nothing if there are none."""
        answers = {row.id: row.answer or row.text for row in checkpoint.rows}
        task = checkpoint.tasks[0]
        choices = tuple(text for _, text in choices_in(task))
        question = Question(text=task, choices=choices)
        about = {
            contest_name(number): Asked(
                question=question, sides={name: answers[name] for name in one.statements}, exact=bool(choices)
            )
            for number, one in enumerate(contests)
        }
        asking = replace(self._models, verifier=Staged(self._models.verifier, "settle"))
        inference_on(workspace, asking).resolve(agent, by=OWNER, about=about, max_tokens=self._tuning.contest_tokens)

    def _governed(self, checkpoint: Checkpoint) -> View:
        rules = self._rules
        plans = self._planned(checkpoint)
        endings = self._endings(checkpoint)
        duties, supports, named = self._needed(checkpoint, plans, endings)
        stated = [
            Statement(row.id, row, row.text, row.slot if rules.by_slot else None, depends_on=row.depends_on)
            for row in checkpoint.rows
            if row.id in named and states(row) and not (rules.drafts and nothing_stated(row, checkpoint))
        ]
        bank = private_bank(checkpoint, stated, self._tuning.private)
        work = Work(
            stated,
            endings,
            duties=duties,
            experiences=bank,
            links=inherited(stated, supports, heirs_of(stated, (), endings)),
            linker=LINKER if rules.drafts else None,
            extractor=self._models.extractor.name if rules.drafts else None,
            observed=rules.observed,
        )
        policy = policy_for(checkpoint, rules.policy, duties=len(duties))
        if self._tuning.retractions:
            policy = policy.changed(budgets={"retractions": 32, "retraction_chars": 4_000})
        with played(checkpoint, work, policy) as (workspace, agent, digests, ungrounded):
            at = _Played(workspace, agent, digests, ungrounded, checkpoint.task_version)
            looked = self._look(checkpoint, at, stated)
            outcome = at.come_back()
            judged = findings(checkpoint, looked, outcome, digests)
            changes = tuple(changed(looked, outcome, stated, digests))
            drafts = drafted_by_the_product(checkpoint, workspace, outcome, {one.id for one in stated}, digests)
            placed = self._replaced(checkpoint, at, replace(work, statements=(*stated, *drafts)), supports, changes)
            if changes:
                outcome = at.come_back()
            if not outcome.admitted and not rules.complete_view:
                outcome = _incomplete(at, duties, outcome)
        known = placed.known
        order = with_heirs(checkpoint, tuple(known.values()), placed.heirs)
        rows = self._rows(order, outcome, known, placed.links, compatible(looked, digests, policy))
        if not rules.obligation_aware:
            handed = (s.id for s in known.values() if s.row.id in rows and s.id in outcome.standing)
            shown = {need for name in handed for need in placed.links.get(name, ())}
            covered = sufficient(report(obligations_of(duties), shown), policy)
            outcome = replace(outcome, admitted=covered)
        private = () if rules.source_bound else tuple(known[name].row.id for name in bank)
        linked = {known[name].row.id for name, needs in placed.links.items() if needs and name in known}
        return self._handed(checkpoint, outcome, rows, known, private=private, findings=judged, linked=linked)

    def _endings(self, checkpoint: Checkpoint) -> list[Ending]:
        """What explicit operations end."""
        if self._rules.by_slot:
            return [*declared(checkpoint)]
        if not self._rules.rules.names:
            return [*declared(checkpoint), *updated(checkpoint.rows)]
        return [*declared(checkpoint, by_slot=False), *ended_by_name(checkpoint.rows)]

    def ask_ahead(self, tasks: Sequence[str]) -> None:
        """Plan the tasks. They are all that a plan is made from."""
        self._plans(tasks)

    def _planned(self, checkpoint: Checkpoint) -> Sequence[Plan | None]:
        """What the tasks need. A plan that all methods share is not requested again."""
        return checkpoint.plans or self._plans(checkpoint.tasks)

    def _plans(self, texts: Sequence[str]) -> Sequence[Plan | None]:
        tasks = [Task(text=text) for text in texts]
        tuning = self._tuning
        made = plan_tasks(self._models.extractor, tasks, max_tokens=tuning.plan_tokens, max_chars=tuning.plan_chars)
        return [one if isinstance(one, Plan) else None for one in made]

    def _needed(
        self, checkpoint: Checkpoint, plans: Sequence[Plan | None], endings: Sequence[Ending]
    ) -> tuple[list[Duty], dict[str, tuple[str, ...]], AbstractSet[str]]:
        """The duties, what supports which of their needs, and the rows that become items."""
        if not self._rules.drafts:
            with closing(Ranker(checkpoint.rows)) as ranker:
                return *duties_of(checkpoint, plans, ranker), {row.id for row in checkpoint.rows}
        usable, rules = statements_in(checkpoint), self._rules.rules
        queries = [query for one in plans if one is not None for query in one.queries]
        planner = self._models.extractor.name
        with closing(Ranker(usable)) as ranker:
            duties, supports = duties_of(checkpoint, plans, ranker, planner=planner, with_lists=rules.lists)
            # Everything that may be handed over gets a verdict: what retrieval finds, and what may cover a need.
            within = reach(checkpoint, ranker, queries, {row.id for row in usable}).union(supports)
            if rules.links and (needs := needs_in(plans)):
                # What has ended bears on nothing.
                over = {ending.target for ending in endings}
                current = {row.id: row for row in usable if row.id not in over}
                near, on_topic = nearest(checkpoint, ranker, (*queries, *needs.values()), current.keys())
                lists = {name for duty in duties for name in duty.lists}
                supports = bearing(self._models.extractor, needs, lists, [current[name] for name in near])
                within = on_topic.union(supports)
        return duties, supports, kept_rows(within, checkpoint.rows, endings)

    def _look(self, checkpoint: Checkpoint, at: _Played, stated: Sequence[Statement]) -> list[Looked]:
        explicit = self._tuning.explicit and self._rules.rules.explicit
        # The paper's pipeline judges sessions whatever was extracted from them, so there is nothing else to ask.
        if not self._rules.implicit or (explicit and not self._rules.drafts):
            return []
        if self._rules.drafts:
            keep_extracted(at.workspace, checkpoint, at.digests, _recorded(stated, at), self._models.extractor.name)
        settings = self._tuning.applied(self._rules.settings, explicit=explicit)
        return look(at.workspace, at.agent, self._models, settings, purpose=at.purpose)

    def _replaced(
        self,
        checkpoint: Checkpoint,
        at: _Played,
        work: Work,
        supports: Mapping[str, tuple[str, ...]],
        changes: Sequence[tuple[str, str, str]],
    ) -> _Placed:
        """Record the successors of invalidated statements, and link them to the same needs."""
        known = {one.id: one for one in work.statements}
        stated = [*work.statements, *found_by(checkpoint, work.statements, changes)]
        heirs = heirs_of(stated, changes, work.endings)
        links = inherited(stated, supports, heirs)
        if changes:
            for one in stated[len(work.statements) :]:
                # No row was extracted from these words, so they are in as they were said.
                record(at.workspace, one, at.digests[session_of(one.row)])
                known[one.id] = one
            further = {
                name: tuple(need for need in needs if need not in work.links.get(name, ()))
                for name, needs in links.items()
                if name not in at.ungrounded
            }
            link(at.workspace, further, work.linker)
        return _Placed(known, links, heirs)

    def _rows(
        self,
        order: Checkpoint,
        outcome: Returned,
        known: Mapping[str, Statement],
        links: Mapping[str, tuple[str, ...]],
        beside: AbstractSet[tuple[str, str]],
    ) -> tuple[str, ...]:
        standing = {known[name].row.id for name in outcome.standing if name in known}
        first = list(dict.fromkeys(known[name].row.id for name in outcome.chosen if name in known))
        if self._rules.drafts:
            linked = {known[name].row.id for name, needs in links.items() if needs and name in outcome.standing}
            # Where pairs are judged, the verdicts say which values of a slot stand side by side.
            both = None if self._rules.rules.beside and self._tuning.explicit else beside
            enough = (order.budget.at_most or ENOUGH) if self._rules.rules.rows else ENOUGH
            rows = composed(order, standing, chosen=first, linked=linked, beside=both, enough=enough)
            return by_relevance(order, rows)
        return by_relevance(order, retrieved(order, standing, first=first if self._rules.obligation_aware else ()))

    def _handed(
        self,
        checkpoint: Checkpoint,
        outcome: Returned,
        rows: tuple[str, ...],
        known: Mapping[str, Statement],
        *,
        private: tuple[str, ...] = (),
        findings: tuple[Finding, ...] = (),
        linked: AbstractSet[str] = frozenset(),
    ) -> View:
        left_out = {known[name].row.id: why for name, why in outcome.reasons.items() if name in known}
        unstated = sum(nothing_stated(row, checkpoint) for row in checkpoint.rows) if self._rules.drafts else 0
        if not outcome.admitted and self._rules.complete_view:
            return View(
                method=self.name,
                rows=(),
                blocked=True,
                left_out=left_out,
                missing=outcome.missing,
                findings=findings,
                nothing_stated=unstated,
                withdrawn=withdrawn_rows(outcome, known, ()),
            )
        parts: dict[str, list[str]] = {}
        for name, statement in known.items():
            if name in outcome.standing or statement.row.id in private:
                parts.setdefault(statement.row.id, []).append(statement.text)
        handed = tuple(dict.fromkeys((*rows, *private)))
        whole = {row.id: row for row in (*checkpoint.observations, *checkpoint.rows)}
        cut = {row: excerpt(whole[row].text, parts[row]) for row in handed}
        excerpts = {row: text for row, text in cut.items() if text != whole[row].text}
        return View(
            method=self.name,
            rows=handed,
            excerpts=excerpts,
            left_out=left_out,
            missing=() if outcome.admitted else outcome.missing,
            findings=findings,
            nothing_stated=unstated,
            linked=tuple(row for row in handed if row in linked),
            withdrawn=withdrawn_rows(outcome, known, handed),
        )


def _recorded(stated: Sequence[Statement], at: _Played) -> list[Statement]:
    return [one for one in stated if one.id not in at.ungrounded]


def _incomplete(at: _Played, duties: Sequence[Duty], refused: Returned) -> Returned:
    """The same selection over the needs that can be covered, where other methods refuse the return."""
    lacking = set(refused.missing)
    for number in range(len(duties)):
        at.workspace.revoke(f"{DUTY}{number}", by=OWNER)
    rest = [
        replace(
            duty,
            required=tuple(name for name in duty.required if name not in lacking),
            critical=tuple(name for name in duty.critical if name not in lacking),
            lists=tuple(name for name in duty.lists if name not in lacking),
        )
        for duty in duties
        if not lacking.issuperset(duty.required)
    ]
    oblige(at.workspace, rest, prefix=f"{DUTY}rest-")
    return replace(at.come_back(), admitted=False, missing=refused.missing)
