"""A workspace and a ``TeamSimulator`` side by side: every verb happens to both, every answer is compared."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from readmit import Policy, Reason, Return, Trouble, Workspace
from readmit.capture.fold import fold
from readmit.cycle import decide
from readmit.records.decisions import Request
from readmit.records.errors import ConflictError, ExposureError, NotAllowedError, RecordError, UnknownError
from readmit.records.events import Checkpoint, Dispute
from readmit.records.identity import Identity
from readmit.records.items import Receipt
from readmit.records.policy import AUTHOR
from readmit.records.snapshot import WorkState
from readmit.records.verdicts import Answer, Pair, Verdict
from readmit.store.rebuilt import Rebuilt
from readmit.workspace.loading import snapshot
from tests.simulator import Deciding, Rules, Statement, TeamSimulator, Who, state_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit.records.decisions import Disposition, Outcome, ReturnView

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ELIGIBLE = {
    Reason.MANDATORY,
    Reason.COVERS,
    Reason.CONSTRAINS,
    Reason.FILLS,
    Reason.NOT_NEEDED,
    Reason.VIEW_WITHHELD,
    Reason.DUTY_WITHHELD,
}


class Team:
    """Does everything twice and compares."""

    def __init__(self, path: Path | str = ":memory:") -> None:
        self.sim = TeamSimulator(START)
        self.path = path
        self.workspace = self._open()
        self.sim.keys.append(self.workspace.signer().keyid)
        self.sim.tick()
        self.evidence: list[str] = []
        self.disputes: dict[str, tuple[str, ...]] = {}
        self.returns: dict[str, Return] = {}
        self.bundles: dict[str, str] = {}
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

    def ending(self, by: str, role: str | None, name: str) -> list[type[Exception]]:
        """How ending this, which may be a duty, is refused to somebody."""
        item = self.sim.items[name]
        unfit = item.kind == "obligation" and not self.sim.may_end(by, role, item)
        return self.writing(by, name) + ([NotAllowedError] if unfit else [])

    def observe(self, text: str, by: str, at: datetime | None = None) -> str:
        digest = self.workspace.observe(text, by=by, at=at)
        if digest not in self.sim.evidence:
            self.sim.observe(digest, by, text, at)
            self.evidence.append(digest)
        return digest

    def item(self, kind: str, text: str, *, by: str, **fields: Any) -> str:
        name = fields.pop("id", None) or self.name(kind[0])
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
        if self.attempt(act, *self.rights(by, *fields.get("depends_on", ()), *duty)):
            plain: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
            }
            self.sim.add(Statement(id=name, kind=kind, text=text, by=by, **plain))
            self._contested(name)
        return name

    def _contested(self, name: str) -> None:
        """Readmit may have found that the writer had not seen what others said in the slot. It names this item last."""
        event = self.workspace.log.event(self.workspace.epoch)
        if isinstance(event.payload, Dispute) and event.payload.basis is not None:
            assert event.payload.items[-1] == name
            sides = [self.sim.items[one] for one in event.payload.items]
            assert len({one.slot for one in sides}) == 1
            assert all(one.by != sides[-1].by for one in sides[:-1])
            self.sim.mark("dispute", AUTHOR, *event.payload.items, id=event.name, concurrent=True)
            self.disputes[event.name] = event.payload.items

    def supersede(self, target: str, successor: str, by: str, role: str | None = None) -> None:
        refused = self.ending(by, role, target) + self.rights(by, successor)
        duties = [self.sim.items[one].kind == "obligation" for one in (target, successor)]
        if duties[0] and not duties[1]:
            refused.append(RecordError)
        # Between two items the latest decides, so the way back is open; a way round is not.
        ways = self._ways(successor, target)
        if target == successor or any(len(way) > 1 for way in ways):
            refused.append(ConflictError)

        def act() -> None:
            self.workspace.supersede(target, successor, by=by, role=role)

        if self.attempt(act, *refused):
            self.sim.mark("supersede", by, target, successor=successor)

    def _ways(self, first: str, last: str, passed: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        """Every way along replacements from one item to another."""
        if first == last:
            return [passed]
        said = {frozenset((m.items[0], m.data["successor"])): m for m in self.sim.marks if m.kind == "supersede"}
        ahead = {m.data["successor"] for m in said.values() if first in m.items}
        return [way for one in ahead if one not in passed for way in self._ways(one, last, (*passed, one))]

    def revoke(self, target: str, by: str, at: datetime | None = None, role: str | None = None) -> None:
        def act() -> None:
            self.workspace.revoke(target, by=by, at=at, role=role)

        if self.attempt(act, *self.ending(by, role, target)):
            self.sim.mark("revoke", by, target, at=at)

    def close(self, target: str, by: str, end: datetime) -> None:
        if self.attempt(lambda: self.workspace.close_validity(target, by=by, end=end), *self.writing(by, target)):
            self.sim.mark("close", by, target, end=end)

    def rebase(self, slot: str, task: str, by: str) -> None:
        if self.attempt(lambda: self.workspace.rebase(slot, task=task, by=by), *self.writing(by)):
            self.sim.mark("rebase", by, slot=slot, task=task)

    def settle(self, target: str, by: str, at: datetime | None = None, role: str | None = None) -> None:
        def act() -> None:
            self.workspace.settle(target, by=by, at=at, role=role)

        if self.attempt(act, *self.ending(by, role, target)):
            self.sim.mark("settle", by, target, at=at)

    def dispute(self, items: tuple[str, ...], by: str) -> None:
        name = self.name("q")
        if self.attempt(lambda: self.workspace.dispute(items, by=by, id=name), *self.writing(by, *items)):
            self.sim.mark("dispute", by, *dict.fromkeys(items), id=name)
            self.disputes[name] = items

    def resolve(self, dispute: str, keep: tuple[str, ...], by: str, at: datetime | None = None) -> None:
        def act() -> None:
            self.workspace.resolve(dispute, keep=keep, by=by, at=at)

        if self.attempt(act, *self.writing(by, *self.disputes[dispute])):
            self.sim.mark("resolve", by, at=at, of=dispute, keep=keep)

    def suspect(self, item: str, evidence: str, by: str = AUTHOR) -> None:
        if self.attempt(lambda: self.finding(by).suspect(item, evidence, by=by), *self.judging(by, item)):
            self.sim.mark("suspect", by, item, evidence=evidence)

    def judge(self, item: str, evidence: str, by: str = AUTHOR, **said: Any) -> None:
        verdict = Verdict(pair=Pair(item=item, evidence=evidence), **said | {"answer": Answer(said["answer"])})
        if self.attempt(lambda: self.finding(by).judge(verdict, by=by), *self.judging(by, item)):
            self.sim.mark("judge", by, item, evidence=evidence, **{"use": "", **said})

    def finding(self, by: str) -> Workspace:
        """The handle for suspicions and verdicts of a writer."""
        return self.workspace.as_readmit() if by == AUTHOR else self.workspace

    def judging(self, by: str, item: str) -> list[type[Exception]]:
        return [] if by == AUTHOR else self.writing(by, item)

    def overrule(self, target: str, grant: Any, by: str, lasts: timedelta) -> None:
        may = by in self.sim.rules.overseers
        refused: list[type[Exception]] = [] if may else [NotAllowedError, *self.rights(by, target)]

        def act() -> None:
            self.workspace.overrule(target, grant=grant, by=by, reason="looked at it", expires=lasts)

        if self.attempt(act, *refused):
            moment = self.sim.moment
            self.sim.mark("overrule", by, target, at=moment, grant=grant, expires=moment + lasts)

    def govern(self, rules: Rules) -> None:
        fields = {name: getattr(rules, name) for name in Rules.__dataclass_fields__}
        self.workspace.as_owner().govern(Policy(**fields))
        self.sim.govern(rules)

    def rotate(self, overlap: timedelta) -> None:
        old = self.sim.keys[-1]
        self.sim.keys.append(self.workspace.as_owner().keys.rotate(now=self.sim.now, overlap=overlap))
        self.sim.tick()
        if old not in self.sim.revoked_keys:
            self.sim.retired[old] = self.sim.now + overlap
            self.sim.tick()

    def revoke_key(self) -> None:
        """The current key is stolen: nothing it signed counts, and a new one takes its place."""
        stolen = self.sim.keys[-1]
        self.rotate(timedelta(0))
        self.workspace.as_owner().keys.revoke(stolen, reason="stolen", now=self.sim.now)
        self.sim.revoked_keys.add(stolen)
        self.sim.tick()

    def remember(self, who: Who, item: str) -> None:
        name = self.name("x")

        def act() -> None:
            self.agent(who).remember(f"what {who.principal} learnt", bound_to=item, id=name)

        if self.attempt(act, *self.rights(who.principal, item)):
            self.sim.bank[name] = (who.principal, item, self.sim.tick())
            self.sim.wrote(who.principal)

    def agent(self, who: Who) -> Any:
        return self.workspace.agent(who.principal, role=who.role, task=who.task)

    def depart(self, who: Who, epoch: int | None = None) -> None:
        self.agent(who).depart(epoch=epoch)
        self.sim.depart(who, epoch)

    # Comparisons.

    def come_back(self, who: Who, purpose: str | None = None) -> str:
        departure = self.sim.departures[who.principal, who.task]
        deciding = Deciding(self.sim, departure, who, purpose)
        name = self.name("r")
        outcome: Return = self.agent(who).come_back(purpose=purpose, id=name)
        self.compare(outcome, deciding)
        self.sim.returned(name, who, reset=outcome.kind == "reset")
        if outcome.view is not None:
            shown = tuple(one.id for one in outcome.view.items)
            self.sim.issue(name, who, departure, purpose, shown, *outcome.view.withheld)
            assert {one.id for one in outcome.view.experiences} == self.sim.views[name].experiences
        self.returns[name] = outcome
        assert self.workspace.replay(name).matches
        self.ask_why(outcome)
        return name

    def ask_why(self, outcome: Return) -> None:
        """A blocked, partial or incomplete return has a finding, and none is fixed yet at the same moment."""
        found = [one.trouble for one in outcome.why().symptoms]
        assert found or (outcome.admitted and not outcome.partial and not outcome.missing)
        assert Trouble.MENDED not in found

    def compare(self, outcome: Return | Outcome, deciding: Deciding) -> None:
        """A whole decision, against what it must be."""
        if self.tangled():
            return
        decision, dispositions, expected = outcome.decision, outcome.dispositions, deciding.expected()
        assert [one.item for one in dispositions] == list(expected.candidates)
        differ("codes", {one.item: codes(one) for one in dispositions}, expected.candidates)
        assert all(one.state == state_of(frozenset(map(str, one.reasons))) for one in dispositions)
        recovered = {one.item: {name for each in one.recovered for name in each.chain} for one in dispositions}
        differ("recovered", {name: found for name, found in recovered.items() if found}, expected.recovered)
        duties = {note.obligation: (str(note.state), frozenset(note.lacks)) for note in decision.duties}
        differ("duties", duties, {name: (owing.state, owing.lacks) for name, owing in expected.duties.items()})
        assert frozenset(map(str, decision.reasons)) == expected.reasons
        assert decision.kind == expected.kind
        if "constraints_short" in expected.reasons:
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
        before = self.workspace.log.audit.last
        bundle, found = None, set()
        try:
            bundle = self.workspace.expose(name, identity=outcome.request.identity, secret=outcome.secret)
        except ExposureError as error:
            found = set(map(str, error.reasons))
        assert found == refusals, (found, "but expected", refusals)
        rows = [row.kind for row in self.workspace.log.audit.rows(first=before + 1)]
        assert rows == ["refusal" if refusals else "exposure"]
        if bundle is None:
            return
        self.sim.expose(name)
        view = self.sim.views[name]
        shown = set(view.items)
        assert {item.id for item in bundle.items} == shown
        assert self.bundles.setdefault(name, bundle.json()) == bundle.json(), "asked again, the very same bytes"
        self.would_pass_afresh(name)
        texts = {item.text for item in bundle.items}
        for text in (bundle.markdown(), bundle.json()):
            left_out = {item.text for item in self.sim.items.values()} - texts
            assert not [one for one in left_out if one in text]

    def pose(self, name: str) -> None:
        """Somebody else asks for a view: with another secret, or as another."""
        outcome = self.returns[name]
        other = Who("eve", outcome.request.identity.role, outcome.request.identity.task)
        for identity, secret in ((outcome.request.identity, "guessed"), (self.identity(other), outcome.secret)):
            found = set()
            try:
                self.workspace.expose(name, identity=identity, secret=secret)
            except ExposureError as error:
                found = set(map(str, error.reasons))
            assert found & {"binding_mismatch", "signature_invalid", "clock_skew"}, found

    def recall(self, who: Who) -> None:
        found = {one.id for one in self.agent(who).recall()}
        assert found == self.sim.recall(who), (found, "but expected", self.sim.recall(who))

    def would_pass_afresh(self, name: str) -> None:
        """What is exposed would pass every gate in a fresh return at that moment."""
        view = self.sim.views[name]
        departed = self.workspace.log.departure(self.returns[name].request.checkpoint)
        outcome = self.decided(departed, view.who, view.purpose)
        fresh = {one.item: codes(one) for one in outcome.dispositions}
        assert not [item for item in view.items if fresh[item]]

    def decided(self, departed: Any, who: Who, purpose: str | None) -> Any:
        """What a return would come to now, without one."""
        log = self.workspace.log
        state = snapshot(log, departed, self.identity(who), epoch=log.head, purpose=purpose, now=self.sim.moment)
        assert state.intact
        request = Request(
            return_id="r", identity=self.identity(who), instance="i", nonce="n", now=self.sim.now, purpose=purpose,
            policy=self.workspace.policy, checkpoint=departed.id, epoch=log.head, rules=2, learnt=self.sim.learnt,
        )  # fmt: skip
        return decide(request, state)

    def acknowledge(self, name: str) -> None:
        outcome = self.returns[name]
        self.workspace.acknowledge(name, identity=outcome.request.identity, secret=outcome.secret)
        self.sim.acknowledge(name)

    def check_log(self) -> None:
        """Epochs without gap or duplicate, both chains, and an audit row for every exposure."""
        log = self.workspace.log
        assert log.head == self.sim.epoch
        assert [event.epoch for event in log.tail()] == list(range(1, self.sim.epoch + 1))
        rows = list(log.audit.rows())
        exposures = {row.return_id for row in rows if row.kind == "exposure"}
        assert exposures == set(self.sim.exposed)
        decided = {row.return_id for row in rows if row.kind == "decision"}
        assert decided == set(self.returns)

    def check_indexes(self) -> None:
        """The indexes are those that the log comes to."""
        log = self.workspace.log
        with closing(Rebuilt(log.workspace)) as rebuilt:
            assert sum(1 for _ in rebuilt.append(log.tail())) == log.head
            assert list(rebuilt.differences(log)) == []

    def check_projection(self, departed: Who, who: Who) -> None:
        """``D ⊕ Δ`` is the live projection, and nothing that nobody asked about is read."""
        log = self.workspace.log
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
        bank = {event.id.partition(":")[2] for event in state.state.bank}
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

    def tangled(self) -> bool:
        """Whether several supersessions touch statements that were said more than once.

        Which of them count between the repetitions is not modelled: the order of undoing is read in more than one way.
        """
        times = Counter(item.said for item in self.sim.items.values())
        again = {item.id for item in self.sim.items.values() if times[item.said] > 1}
        named = [mark for mark in self.sim.marks if mark.kind == "supersede"]
        return len([mark for mark in named if again & {*mark.items, mark.data["successor"]}]) > 1

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
