"""A workspace and a ``TeamSimulator`` side by side: every verb happens to both, every answer is compared."""

from __future__ import annotations

import inspect
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pytest

from readmit import Answer, Identity, Pair, Policy, Reason, Return, Verdict, Workspace
from readmit.errors import ConflictError, ExposureError, NotAllowedError, RecordError, UnknownError
from readmit.lab import as_readmit
from readmit.log.log import Log
from readmit.records.acts.event import Dispute
from readmit.records.decisions import Request
from readmit.records.identity import made_id
from readmit.records.snapshot import WorkState
from readmit.rules.capture.fold import fold
from readmit.rules.cycle import RULES, decide
from readmit.state.load import snapshot
from readmit.types import Checkpoint, Experience, Receipt, Retractions, Trouble
from tests.properties import retracting
from tests.properties.rebuilt import Rebuilt
from tests.simulator import Deciding, Mark, Rules, Statement, TeamSimulator, Who, state_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit.records.decisions import Outcome
    from readmit.types import Disposition, ReturnView

Asked = ParamSpec("Asked")
Answered = TypeVar("Answered")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ELIGIBLE = {
    Reason.MANDATORY,
    Reason.COVERS,
    Reason.MANDATORY,
    Reason.FILLS,
    Reason.NOT_NEEDED,
    Reason.WITHHELD,
    Reason.WITHHELD,
}


def at_own_host(verb: Callable[Asked, Answered]) -> Callable[Asked, Answered]:
    """A verb of somebody whose host has a clock of its own, by which the log learns of it."""
    asked = inspect.signature(verb)

    @wraps(verb)
    def act(*args: Asked.args, **fields: Asked.kwargs) -> Answered:
        given = asked.bind(*args, **fields).arguments
        team: Team = given["self"]
        skew = team.skews.get(given.get("by", ""), timedelta())
        team.sim.now += skew
        try:
            return verb(*args, **fields)
        finally:
            team.sim.now -= skew

    return act


GROUPS = {
    "evidence": ("writers", "overseers", "invalid_at", "suspect_at", "on_concurrent"),
    "returns": ("on_incomplete", "fill", "require_frontier", "examination", "view_seconds", "max_clock_skew"),
    "paper": ("kinds", "gamma", "rho", "min_confidence", "on_unsure", "constraints", "newest", "selection"),
}


def policy_of(rules: Rules) -> Policy:
    """The rules of the model as a policy."""
    said = asdict(rules)
    groups = {group: {name: said.pop(name) for name in names} for group, names in GROUPS.items()}
    return Policy(**groups, budgets={name.removeprefix("max_"): value for name, value in said.items()})


class Team:
    """Does everything twice and compares."""

    def __init__(self, path: Path | str = ":memory:") -> None:
        self.sim = TeamSimulator(START)
        self.path = path
        self.workspace = self._open()
        self.sim.keys.append(self.workspace._desk.keys.signer().keyid)
        self.sim.tick()
        self.skews: dict[str, timedelta] = {}
        """By how much the clock of somebody's host is ahead."""
        self.evidence: list[str] = []
        self.disputes: dict[str, tuple[str, ...]] = {}
        self.returns: dict[str, Return] = {}
        self.bundles: dict[str, str] = {}
        self.fallen_before: dict[tuple[str, str], tuple[Rules, set[str]]] = {}
        """What had fallen at each departure, under the policy of then; only if the clock and the epoch were right."""
        self.govern(Rules())
        self._number = 0

    def _open(self) -> Workspace:
        return Workspace.open(self.path, clock=lambda: self.sim.now)

    def reopen(self) -> None:
        """A new process on the same file, as far as the file shows."""
        self.workspace.close()
        self.workspace = self._open()

    def name(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}{self._number}"

    # Verbs. Those that somebody may not use are still tried: both sides must refuse.

    def attempt(self, act: Callable[[], object], *refused: type[Exception]) -> bool:
        """Do it, or see it refused for one of these reasons."""
        try:
            act()
        except refused:
            return False
        assert not refused, f"this should have been refused: {refused}"
        return True

    def rights(self, by: str, *names: str) -> list[type[Exception]]:
        """How naming these items is refused to somebody."""
        return [UnknownError for name in names if not self.sim.knows(by, self.sim.items[name])]

    def writing(self, by: str, *names: str) -> list[type[Exception]]:
        """How taking these items out of use is refused to somebody."""
        may = self.sim.allowed(by) and all(self.sim.may_touch(by, self.sim.items[name]) for name in names)
        return self.rights(by, *names) + ([] if may else [NotAllowedError])

    def deciding(self, by: str, *names: str) -> list[type[Exception]]:
        """How deciding about these items is refused to somebody."""
        away = [name for name in names if not self.sim.may_decide(by, self.sim.items[name])]
        return self.writing(by, *names) + ([NotAllowedError] if away else [])

    def taking_out(self, by: str, name: str) -> list[type[Exception]]:
        """How withdrawing or ending this is refused to somebody."""
        may = self.sim.may_take_out(by, self.sim.items[name])
        return self.writing(by, name) + ([] if may else [NotAllowedError])

    def ending(self, by: str, name: str) -> list[type[Exception]]:
        """How it is refused to somebody because this is a duty."""
        item = self.sim.items[name]
        return [] if self.sim.may_end(by, item) else [NotAllowedError]

    @at_own_host
    def observe(self, text: str, by: str, at: datetime | None = None) -> str:
        digest = self.workspace.observe(text, by=by, at=at)
        if digest not in self.sim.evidence:
            self.sim.observe(digest, by, text, at)
            self.evidence.append(digest)
        return digest

    @at_own_host
    def item(self, kind: str, text: str, *, by: str, **fields: Any) -> str:
        name = fields.pop("id", None) or made_id(by, self.name(kind[0]), fields.get("principals", ()))
        given = {key: value for key, value in fields.items() if key not in {"sources", "bound", "start", "end"}}
        given |= {"valid_from": fields.get("start"), "valid_until": fields.get("end")}
        if fields.get("bound", True):
            given["sources"] = fields.get("sources", ())
        else:
            given["receipts"] = tuple(Receipt(evidence=one) for one in fields["sources"])

        def act() -> None:
            if kind == "obligation":
                self.workspace.oblige(text, id=name, by=by, **given)
            elif kind == "frontier":
                self.workspace.progress(text, id=name, by=by, **given)
            else:
                self.workspace.record(text, id=name, by=by, kind=kind, **given)  # type: ignore[arg-type]

        duty = (fields["obligation"],) if "obligation" in fields else ()
        refused = self.rights(by, *fields.get("depends_on", ()), *duty)
        refused += [ConflictError for one in duty if self.sim.is_over(one)]
        if kind == "obligation" and not self.sim.allowed(by):
            refused.append(NotAllowedError)
        if self.attempt(act, *refused):
            plain: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
            }
            self.sim.add(Statement(id=name, kind=kind, text=text, by=by, **plain))
            self._contested(name)
        return name

    def _contested(self, name: str) -> None:
        """Readmit may have found that the writer had not seen what others said in the slot. It names this item last."""
        for epoch in range(self.sim.epoch + 1, self.workspace.epoch + 1):
            event = self.workspace._desk.log.event(epoch)
            assert isinstance(event.payload, Dispute)
            assert event.payload.items[-1] == name
            sides = [self.sim.items[one] for one in event.payload.items]
            assert len({one.slot for one in sides}) == 1
            if event.payload.plan is None:
                assert all(one.by != sides[-1].by for one in sides[:-1])
                self.sim.mark("dispute", "readmit", *event.payload.items, id=event.name, concurrent=True)
            else:
                plan = sides[0]
                assert plan.start is not None
                assert plan.id == event.payload.plan
                assert (plan.kind, plan.text) != (sides[-1].kind, sides[-1].text)
                begins = max(plan.start, self.sim.moment)
                self.sim.mark("dispute", "readmit", *event.payload.items, at=begins, id=event.name, plan=plan.id)
            self.disputes[event.name] = event.payload.items

    @at_own_host
    def supersede(self, target: str, successor: str, by: str) -> None:
        refused = self.deciding(by, target) + self.ending(by, target) + self.rights(by, successor)
        duties = [self.sim.items[one].kind == "obligation" for one in (target, successor)]
        limits = [self.sim.binds(self.sim.items[one]) for one in (target, successor)]
        if (duties[0] and not duties[1]) or (limits[0] and not limits[1]):
            refused.append(RecordError)
        if target == successor or self._circular(target, successor):
            refused.append(ConflictError)
        if self.sim.is_side(by, successor) and self.sim.items[target].by != by:
            refused += [NotAllowedError for mark in self.sim.contests(successor) if target in mark.items]

        def act() -> None:
            self.workspace.supersede(target, successor, by=by)

        if self.attempt(act, *refused):
            self.sim.mark("supersede", by, target, successor=successor)

    def _circular(self, target: str, successor: str) -> bool:
        """Whether replacements lead back over a third statement. The way straight back is open: that is an undo."""
        items = self.sim.items
        apart = items[target].said != items[successor].said or items[target].kind == "obligation"

        def node(name: str) -> Any:
            """What stands for an item on the way: its statement; within one statement, itself."""
            item = items[name]
            return item.said if apart and item.kind != "obligation" else name

        acts = [m for m in self.sim.marks if m.kind == "supersede"]
        edges = [(node(m.items[0]), node(m.data["successor"]), m.epoch, self._in_effect(m)) for m in acts]
        undone = {(b, a): epoch for a, b, epoch, counts in edges if counts}
        steps = {(a, b) for a, b, epoch, _ in edges if a != b and epoch >= undone.get((a, b), 0)}
        first, last = node(successor), node(target)
        reached = {b for a, b in steps if a == first and b != last}
        for _ in steps:
            reached |= {b for a, b in steps if a in reached}
        return last in reached

    def _in_effect(self, mark: Mark) -> bool:
        start = self.sim.items[mark.data["successor"]].start
        return start is None or start <= self.sim.now

    @at_own_host
    def revoke(self, target: str, by: str, at: datetime | None = None) -> None:
        def act() -> None:
            self.workspace.revoke(target, by=by, at=at)

        if self.attempt(act, *self.taking_out(by, target), *self.ending(by, target)):
            self.sim.mark("revoke", by, target, at=at)

    @at_own_host
    def close(self, target: str, by: str, end: datetime) -> None:
        duty = self.sim.items[target].kind == "obligation"
        refused = self.taking_out(by, target) + ([] if duty else self.ending(by, target))
        if self.attempt(lambda: self.workspace.close_validity(target, by=by, end=end), *refused):
            self.sim.mark("close", by, target, end=end)

    @at_own_host
    def settle(self, target: str, by: str, at: datetime | None = None) -> None:
        def act() -> None:
            self.workspace.settle(target, by=by, at=at)

        if self.attempt(act, *self.deciding(by, target), *self.ending(by, target)):
            self.sim.mark("settle", by, target, at=at)

    @at_own_host
    def dispute(self, items: tuple[str, ...], by: str) -> None:
        hidden = [name for item in items for name in self.sim.items[item].principals]
        name = made_id(by, self.name("q"), hidden)
        if self.attempt(lambda: self.workspace.dispute(items, by=by, id=name), *self.writing(by, *items)):
            self.sim.mark("dispute", by, *dict.fromkeys(items), id=name)
            self.disputes[name] = items

    @at_own_host
    def resolve(self, dispute: str, keep: tuple[str, ...], by: str, at: datetime | None = None) -> None:
        def act() -> None:
            self.workspace.resolve(dispute, keep=keep, by=by, at=at)

        refused = self.deciding(by, *self.disputes[dispute])
        for name in set(self.disputes[dispute]) - set(keep):
            if self.sim.items[name].kind != "obligation":
                refused += self.ending(by, name)
        refused += [NotAllowedError] * self.sim.resolves_for_itself(by, dispute, keep)
        if self.attempt(act, *refused):
            self.sim.mark("resolve", by, at=at, of=dispute, keep=keep)

    @at_own_host
    def suspect(self, item: str, evidence: str, by: str = "readmit") -> None:
        if self.attempt(
            lambda: self.finding(by).judge(Pair(item=item, evidence=evidence), by=by),
            *([] if by == "readmit" else self.writing(by, item)),
        ):
            self.sim.mark("suspect", by, item, evidence=evidence)

    @at_own_host
    def judge(self, item: str, evidence: str, by: str = "readmit", **said: Any) -> None:
        verdict = Verdict(pair=Pair(item=item, evidence=evidence), **said | {"answer": Answer(said["answer"])})
        if self.attempt(lambda: self.finding(by).judge(verdict, by=by), *self.judging(by, item)):
            self.sim.mark("judge", by, item, evidence=evidence, **{"use": "", **said})

    def finding(self, by: str) -> Workspace:
        """The handle for suspicions and verdicts of a writer."""
        return as_readmit(self.workspace) if by == "readmit" else self.workspace

    def judging(self, by: str, item: str) -> list[type[Exception]]:
        return [] if by == "readmit" else self.deciding(by, item)

    @at_own_host
    def overrule(self, target: str, by: str, lasts: timedelta) -> None:
        may = by in self.sim.rules.overseers
        refused: list[type[Exception]] = [] if may else [NotAllowedError, *self.rights(by, target)]
        if not self.sim.may_decide(by, self.sim.items[target]):
            refused.append(NotAllowedError)
        if self.sim.is_side(by, target):
            refused.append(NotAllowedError)

        def act() -> None:
            self.workspace.admin.overrule(target, by=by, reason="looked at it", expires=lasts)

        needless = (ConflictError,) if not self.is_needed(target) else ()
        try:
            act()
        except (*refused, *needless):
            return
        assert not refused, f"this should have been refused: {refused}"
        moment = self.sim.moment
        self.sim.mark("overrule", by, target, expires=moment + lasts)

    def is_needed(self, target: str) -> bool:
        """Whether an overruling would set something aside in the return of anybody who has left."""
        readings = (Deciding(self.sim, left, left.who, None) for left in self.sim.departures.values())
        return any(target in one.known and one.is_reached(self.sim.items[target]) for one in readings)

    def govern(self, rules: Rules) -> None:
        self.workspace.as_owner().admin.govern(policy_of(rules))
        self.sim.govern(rules)

    def rotate(self, overlap: timedelta) -> None:
        old = self.sim.keys[-1]
        self.sim.keys.append(self.workspace.as_owner().admin.keys.rotate(overlap=overlap))
        self.sim.tick()
        if old not in self.sim.revoked_keys:
            self.sim.retired[old] = self.sim.now + overlap
            self.sim.tick()

    def revoke_key(self) -> None:
        """The current key is stolen: nothing it signed counts, and a new one takes its place."""
        stolen = self.sim.keys[-1]
        self.rotate(timedelta(0))
        self.workspace.as_owner().admin.keys.revoke(stolen, reason="stolen")
        self.sim.revoked_keys.add(stolen)
        self.sim.tick()

    def remember(self, who: Who, item: str) -> None:
        name = self.name("x")

        def act() -> None:
            self.agent(who).remember(f"what {who.principal} learnt", bound_to=item, id=name)

        if self.attempt(act, *self.rights(who.principal, item)):
            self.sim.bank[name] = (who.principal, item, self.sim.tick(who.principal))
            self.sim.wrote(who.principal)

    def agent(self, who: Who) -> Any:
        return self.workspace.agent(who.principal, role=who.role, task=who.task)

    def depart(self, who: Who, epoch: int | None = None) -> None:
        lags = self.sim.now < self.sim.moment
        self.agent(who).depart(epoch=epoch)
        self.sim.depart(who, epoch)
        self.fallen_before.pop((who.principal, who.task), None)
        if epoch is None and not lags:
            departure = self.sim.departures[who.principal, who.task]
            found = retracting.fallen(self.sim, departure, who)
            self.fallen_before[who.principal, who.task] = self.sim.rules, found

    # Comparisons.

    def come_back(self, who: Who, purpose: str | None = None) -> str:
        departure = self.sim.departures[who.principal, who.task]
        if (role := self.sim.role(departure, who)) != who.role:
            with pytest.raises(NotAllowedError, match="role: "):
                self.agent(who).come_back(purpose=purpose)
            self.workspace.admin.reassign(who.principal, task=who.task, was=role, role=who.role, by="boss")
            self.sim.mark("reassign", "boss", who=(who.principal, who.task), was=role, role=who.role)
        if purpose is not None and purpose not in (named := self.sim.purposes(who)) and named:
            with pytest.raises(UnknownError, match="purpose: "):
                self.agent(who).come_back(purpose=purpose)
            purpose = None
        deciding = Deciding(self.sim, departure, who, purpose)
        name = self.name("r")
        outcome: Return = self.agent(who).come_back(purpose=purpose, id=name)
        self.compare(outcome, deciding)
        self.compare_retractions(outcome, deciding)
        self.sim.returned(name, who, reset=outcome.kind == "reset")
        if outcome.view is not None:
            shown = tuple(one.id for one in outcome.view.items)
            self.sim.issue(name, who, departure, purpose, shown, *outcome.view.withheld)
            assert {one.id for one in outcome.view.experiences} == self.sim.views[name].experiences
        self.returns[name] = outcome
        assert self.workspace.returned(name).replay().matches
        self.ask_why(outcome)
        return name

    def compare_retractions(self, outcome: Return, deciding: Deciding) -> None:
        """What no longer holds: with a view, alone if the return is blocked for what it lacks, or else not at all."""
        decision, who, rules = outcome.decision, deciding.who, self.sim.rules
        issued = outcome.admitted or (outcome.kind == "blocked" and not decision.faults)
        assert issued is (decision.view is not None or decision.retracting is not None)
        if not issued:
            assert outcome.retractions == Retractions()
            return
        policy, found = self.fallen_before.get((who.principal, who.task), (None, set()))
        before = found if policy == rules and deciding.purpose is None else None
        retracting.check(outcome.retractions, deciding, deciding.departure, before)
        if not outcome.admitted:
            self.expose_retractions(outcome, deciding)

    def expose_retractions(self, outcome: Return, deciding: Deciding) -> None:
        bundle = outcome.expose_retractions()
        known = {self.sim.items[name].text for name in retracting.held(self.sim, deciding.departure)}
        self.check_texts(bundle, {item.text for item in bundle.withdrawn}, known)

    def check_texts(self, bundle: Any, handed: set[str], known: set[str]) -> None:
        """Nothing of an item that was left out is shown, save what the agent held, if the policy asks for that."""
        assert {item.text for item in bundle.withdrawn} <= known, "a text that the agent never held"
        left_out = {item.text for item in self.sim.items.values()} - handed
        for text in (bundle.markdown(), bundle.json()):
            assert not [one for one in left_out if one in text]

    def ask_why(self, outcome: Return) -> None:
        """A blocked, partial or incomplete return has a finding, and none is fixed yet at the same moment."""
        found = [one.trouble for one in outcome.why().symptoms]
        assert found or (outcome.admitted and not outcome.partial and not outcome.missing)
        assert Trouble.MENDED not in found

    def compare(self, outcome: Return | Outcome, deciding: Deciding) -> None:
        """A whole decision, against what it must be."""
        decision, dispositions, expected = outcome.decision, outcome.dispositions, deciding.expected()
        assert [one.item for one in dispositions] == list(expected.candidates)
        differ("codes", {one.item: codes(one) for one in dispositions}, expected.candidates)
        assert all(one.state == state_of(frozenset(map(str, one.reasons))) for one in dispositions)
        recovered = {one.item: {each.root for each in one.recovered if each.root} for one in dispositions}
        differ("recovered", {name: found for name, found in recovered.items() if found}, expected.recovered)
        duties = {note.obligation: (str(note.state), frozenset(note.lacks)) for note in decision.duties}
        differ("duties", duties, {name: (owing.state, owing.lacks) for name, owing in expected.duties.items()})
        limits = {note.constraint: str(note.state) for note in decision.constraints}
        differ("constraints", limits, expected.limits)
        assert frozenset(map(str, decision.reasons)) == expected.reasons
        assert decision.kind == expected.kind
        if expected.crowded and expected.reasons:
            assert decision.absent
            assert set(decision.absent) <= expected.constraints
        else:
            assert set(decision.absent) == expected.absent, (decision.absent, expected.absent)
        assert expected.missing is None or set(decision.missing) == expected.missing
        assert decision.examination is None
        assert decision.open_pairs == expected.open_pairs
        handed = {note.obligation for note in decision.duties if note.handed_over}
        reasons = {one.item: str(one.reasons[0]) for one in dispositions if not codes(one)}
        if decision.view is not None:
            self.compare_view(decision.view, deciding, reasons, handed)
        elif dispositions:
            differ("left out", reasons, {item.id: deciding.unused(item) for item in deciding.eligible})
            assert not handed

    def compare_view(self, view: ReturnView, deciding: Deciding, reasons: dict[str, str], handed: set[str]) -> None:
        """What an admitted return hands over."""
        expected = deciding.expected()
        shown = [self.sim.items[one.id] for one in view.items]
        assert frozenset(view.withheld) == expected.withheld
        assert view.partial is bool(expected.withheld)
        wrong = deciding.wrong(shown, list(view.withheld), reasons)
        assert not wrong, (wrong, reasons)
        supplied = {name for item in shown for name in item.covers}
        assert handed == {item.id for item in shown if item.kind == "obligation" and set(item.required) <= supplied}
        assert (view.chars, view.examination) == (sum(len(item.text) for item in shown), None)
        assert view.open_pairs == expected.open_pairs

    def expose(self, name: str) -> None:
        refusals = self.sim.refusals(name)
        outcome = self.returns[name]
        issued = self.sim.views[name]
        deciding = Deciding(self.sim, issued.departure, issued.who, issued.purpose)
        # Each of these comes alone.
        alone = {"clock_skew", "signature_invalid", "binding_mismatch"}
        if not refusals & alone and retracting.changed(outcome.retractions, deciding):
            refusals = refusals | {"view_outdated"}
        before = self.workspace._desk.log.audit.last
        bundle, found = None, set()
        try:
            bundle = self.workspace._desk.expose(name, outcome.request.identity, outcome.secret)
        except ExposureError as error:
            found = set(map(str, error.reasons))
        assert found == refusals, (found, "but expected", refusals)
        rows = [row.kind for row in self.workspace._desk.log.audit.rows(first=before + 1)]
        assert rows == ["refusal" if refusals else "exposure"]
        if bundle is None:
            return
        self.sim.expose(name)
        view = self.sim.views[name]
        shown = set(view.items)
        assert {item.id for item in bundle.items} == shown
        assert self.bundles.setdefault(name, bundle.json()) == bundle.json(), "asked again, the very same bytes"
        self.would_pass_afresh(name)
        known = {self.sim.items[name].text for name in retracting.held(self.sim, issued.departure)}
        self.check_texts(bundle, {item.text for item in (*bundle.items, *bundle.withdrawn)}, known)

    def pose(self, name: str) -> None:
        """Somebody else asks for a view: with another secret, or as another."""
        outcome = self.returns[name]
        other = Who("eve", outcome.request.identity.role, outcome.request.identity.task)
        for identity, secret in ((outcome.request.identity, "guessed"), (self.identity(other), outcome.secret)):
            found = set()
            try:
                self.workspace._desk.expose(name, identity, secret)
            except ExposureError as error:
                found = set(map(str, error.reasons))
            assert found & {"binding_mismatch", "signature_invalid", "clock_skew"}, found

    def recall(self, who: Who) -> None:
        found = {one.id for one in self.agent(who).recall()}
        assert found == self.sim.recall(who), (found, "but expected", self.sim.recall(who))

    def would_pass_afresh(self, name: str) -> None:
        """What is exposed would pass every gate in a fresh return at that moment."""
        view = self.sim.views[name]
        departed = self.workspace._desk.log.departure(self.returns[name].request.checkpoint)
        outcome = self.decided(departed, view.who, view.purpose)
        fresh = {one.item: codes(one) for one in outcome.dispositions}
        assert not [item for item in view.items if fresh[item]]

    def decided(self, departed: Any, who: Who, purpose: str | None) -> Any:
        """What a return would come to now, without one."""
        log = self.workspace._desk.log
        state = snapshot(log, departed, self.identity(who), epoch=log.head, purpose=purpose, now=self.sim.moment)
        assert state.intact
        request = Request(
            return_id="r", identity=self.identity(who), instance="i", nonce="n", now=self.sim.now, purpose=purpose,
            policy=self.workspace.admin.policy, checkpoint=departed.id, epoch=log.head, rules=RULES,
            learnt=self.sim.learnt,
        )  # fmt: skip
        return decide(request, state)

    def acknowledge(self, name: str) -> None:
        outcome = self.returns[name]
        self.workspace._desk.acknowledge(name, outcome.request.identity, outcome.secret)
        self.sim.acknowledge(name)

    def check_log(self) -> None:
        """Epochs without gap or duplicate, both chains, and an audit row for every exposure."""
        log = self.workspace._desk.log
        assert log.head == self.sim.epoch
        assert [event.epoch for event in log.tail()] == list(range(1, self.sim.epoch + 1))
        rows = list(log.audit.rows())
        exposures = {row.return_id for row in rows if row.kind == "exposure"}
        assert exposures == set(self.sim.exposed)
        decided = {row.return_id for row in rows if row.kind == "decision"}
        assert decided == set(self.returns)

    def check_indexes(self) -> None:
        """The indexes are those that the log comes to."""
        log = self.workspace._desk.log
        assert isinstance(log, Log)
        with closing(Rebuilt(log.workspace)) as rebuilt:
            assert sum(1 for _ in rebuilt.append(log.tail())) == log.head
            assert list(rebuilt.differences(log)) == []

    def check_projection(self, departed: Who, who: Who) -> None:
        """``D ⊕ Δ`` is the live projection, and nothing that nobody asked about is read."""
        log = self.workspace._desk.log
        left = self.sim.departures.get((departed.principal, departed.task))
        live = fold(WorkState(), log.seen(self.identity(who), until=log.head))
        assert list(live.held) == self.sim.projection(who)
        if left is None or left.who != departed:
            return
        departures = [event.payload for event in log.tail() if isinstance(event.payload, Checkpoint)]
        checkpoint = next(one for one in reversed(departures) if one.identity == self.identity(departed))
        state = snapshot(log, checkpoint, self.identity(who), epoch=log.head, purpose=None, now=self.sim.moment)
        assert state.intact
        assert list(state.state.held) == self.sim.candidates(departed, who)
        bank = {event.payload.id for event in state.state.bank if isinstance(event.payload, Experience)}
        assert departed.principal != who.principal or bank == self.sim.reach(who)
        if departed == who:
            # A frontier that is seen only with its obligation carries more than what reached the reader.
            whole = {one.id for one in self.sim.items.values() if one.kind == "frontier"}
            whole &= {name for name in live.held if self.sim.scope_codes(self.sim.items[name], who)}
            assert {**live.held, **{name: state.state.held[name] for name in whole}} == state.state.held
        asked = self.concerned(list(state.state.held))
        assert set(state.background.held) <= asked
        if not self.sim.skewed:
            self.compare(self.decided(checkpoint, who, None), Deciding(self.sim, left, who, None))

    def concerned(self, names: list[str]) -> set[str]:
        """What a decision about some items may have to read: premises, rivals, successors, the same said again."""
        items, found, ahead = self.sim.items, set(names), set(names)
        while ahead:
            slots = {items[one].slot for one in ahead} - {None}
            said = {items[one].said for one in ahead}
            duties = {items[one].obligation for one in ahead} - {None}
            near = {premise for one in ahead for premise in items[one].depends_on}
            near |= {one.id for one in items.values() if one.id in duties}
            near |= {one.id for one in items.values() if one.slot in slots or one.said in said}
            near |= {one.id for one in items.values() if one.obligation in duties}
            for mark in self.sim.marks:
                if mark.kind == "supersede" and {*mark.items, mark.data["successor"]} & ahead:
                    near |= {*mark.items, mark.data["successor"]}
            ahead = near - found
            found |= near
        return found

    def identity(self, who: Who) -> Identity:
        return Identity(workspace=self.workspace.name, principal=who.principal, role=who.role, task=who.task)

    def texts(self, name: str) -> set[str]:
        """What a return hands over, in words."""
        view = self.returns[name].view
        return set() if view is None else {self.sim.items[one.id].text for one in view.items}


def differ(what: str, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Fail with what differs, and with nothing else."""
    names = [name for name in {**found, **expected} if found.get(name) != expected.get(name)]
    assert not names, (what, {name: (found.get(name), "but expected", expected.get(name)) for name in names})


def codes(disposition: Disposition) -> frozenset[str]:
    """The codes against a candidate, without what selection made of an eligible one."""
    return frozenset(str(reason) for reason in disposition.reasons if reason not in ELIGIBLE)
