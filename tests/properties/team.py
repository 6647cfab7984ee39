"""A workspace and a ``TeamSimulator`` side by side: every verb happens to both, every answer is compared."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Policy, Reason, Return, Workspace
from readmit.capture.fold import fold
from readmit.cycle import decide
from readmit.records.decisions import Request
from readmit.records.errors import ConflictError, ExposureError
from readmit.records.identity import Identity
from readmit.records.items import Receipt
from readmit.records.policy import AUTHOR
from readmit.records.snapshot import WorkState
from readmit.records.verdicts import Answer, Pair, Verdict
from readmit.store.retold import Retold
from readmit.workspace.exposing import checkpoint_named
from readmit.workspace.loading import snapshot
from tests.simulator import Rules, Statement, TeamSimulator, Who

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.records.decisions import Disposition

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
ELIGIBLE = {Reason.MANDATORY, Reason.COVERS, Reason.FILLS, Reason.NOT_NEEDED, Reason.VIEW_WITHHELD}


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
        self.govern(Rules())
        self._number = 0

    def _open(self) -> Workspace:
        return Workspace.open(self.path, clock=lambda: self.sim.now)

    def reopen(self) -> None:
        """A new process on the same file, as far as the file can tell. Handles of returns die with the old one."""
        self.workspace.close()
        self.workspace = self._open()
        self.returns = {
            name: Return(self.workspace, one.request, self.workspace.decision(name), self.workspace.dispositions(name))
            for name, one in self.returns.items()
        }

    def name(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}{self._number}"

    # Verbs.

    def observe(self, text: str, by: str) -> str:
        digest = self.workspace.observe(text, by=by)
        if digest not in self.sim.evidence:
            self.sim.observe(digest, by, text)
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
        if kind == "obligation":
            self.workspace.oblige(text, id=name, by=by, **given)
        elif kind == "frontier":
            self.workspace.progress(text, id=name, by=by, **given)
        else:
            self.workspace.record(text, id=name, by=by, kind=kind, **given)  # type: ignore[arg-type]
        plain = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
        self.sim.add(Statement(id=name, kind=kind, text=text, by=by, **plain))
        return name

    def supersede(self, target: str, successor: str, by: str) -> None:
        circle = target == successor or target in self._successors(successor)
        try:
            self.workspace.supersede(target, successor, by=by)
        except ConflictError:
            assert circle
            return
        assert not circle
        self.sim.mark("supersede", by, target, successor=successor)

    def _successors(self, name: str) -> set[str]:
        direct = {m.data["successor"] for m in self.sim.marks if m.kind == "supersede" and name in m.items}
        return direct.union(*(self._successors(one) for one in direct))

    def revoke(self, target: str, by: str, at: datetime | None = None) -> None:
        self.workspace.revoke(target, by=by, at=at)
        self.sim.mark("revoke", by, target, at=at)

    def close(self, target: str, by: str, end: datetime) -> None:
        self.workspace.close_validity(target, by=by, end=end)
        self.sim.mark("close", by, target, end=end)

    def rebase(self, slot: str, task: str, by: str) -> None:
        self.workspace.rebase(slot, task=task, by=by)
        self.sim.mark("rebase", by, slot=slot, task=task)

    def settle(self, target: str, by: str, at: datetime | None = None) -> None:
        self.workspace.settle(target, by=by, at=at)
        self.sim.mark("settle", by, target, at=at)

    def dispute(self, items: tuple[str, ...], by: str) -> str:
        name = self.workspace.dispute(items, by=by)
        self.sim.mark("dispute", by, *dict.fromkeys(items), id=name)
        self.disputes[name] = items
        return name

    def resolve(self, dispute: str, keep: tuple[str, ...], by: str, at: datetime | None = None) -> None:
        self.workspace.resolve(dispute, keep=keep, by=by, at=at)
        self.sim.mark("resolve", by, at=at, of=dispute, keep=keep)

    def suspect(self, item: str, evidence: str, by: str = AUTHOR) -> None:
        self.workspace.suspect(item, evidence, by=by)
        self.sim.mark("suspect", by, item, evidence=evidence)

    def judge(self, item: str, evidence: str, **said: Any) -> None:
        verdict = Verdict(pair=Pair(item=item, evidence=evidence), **said | {"answer": Answer(said["answer"])})
        self.workspace.judge(verdict, by=AUTHOR)
        self.sim.mark("judge", AUTHOR, item, evidence=evidence, **{"use": "", **said})

    def overrule(self, target: str, grant: Any, by: str, lasts: timedelta) -> None:
        self.workspace.overrule(target, grant=grant, by=by, reason="looked at it", expires=lasts)
        self.sim.mark("overrule", by, target, grant=grant, expires=self.sim.now + lasts)

    def govern(self, rules: Rules) -> None:
        fields = {name: getattr(rules, name) for name in Rules.__dataclass_fields__}
        self.workspace.govern(Policy(**fields), by="owner")
        self.sim.rules = rules
        self.sim.tick()

    def rotate(self, overlap: timedelta) -> None:
        old = self.sim.keys[-1]
        self.sim.keys.append(self.workspace.keys.rotate(by="owner", now=self.sim.now, overlap=overlap))
        self.sim.tick()
        if old not in self.sim.revoked_keys:
            self.sim.retired[old] = self.sim.now + overlap
            self.sim.tick()

    def revoke_key(self) -> None:
        """The current key is stolen: nothing it signed counts, and a new one takes its place."""
        stolen = self.sim.keys[-1]
        self.workspace.keys.revoke(stolen, by="owner", reason="stolen", now=self.sim.now)
        self.sim.revoked_keys.add(stolen)
        self.sim.tick()
        self.rotate(timedelta(0))

    def remember(self, who: Who, item: str) -> None:
        name = self.name("x")
        self.agent(who).remember(f"what {who.principal} learnt", bound_to=item, id=name)
        self.sim.bank[name] = (who.principal, item, self.sim.tick())

    def agent(self, who: Who) -> Any:
        return self.workspace.agent(who.principal, role=who.role, task=who.task)

    def depart(self, who: Who, epoch: int | None = None) -> None:
        self.agent(who).depart(epoch=epoch)
        self.sim.depart(who, epoch)

    # Comparisons.

    def come_back(self, who: Who, purpose: str | None = None) -> str:
        departed = self.sim.departures[who.principal, who.task][0]
        expected = self.sim.expected(departed, who, purpose)
        name = self.name("r")
        outcome = self.agent(who).come_back(purpose=purpose, id=name)
        assert [one.item for one in outcome.dispositions] == list(expected.candidates)
        assert {one.item: codes(one) for one in outcome.dispositions} == expected.candidates
        assert outcome.admitted is expected.admitted, outcome.decision.reasons
        if outcome.view is not None:
            shown = tuple(one.id for one in outcome.view.items)
            assert expected.mandatory <= set(shown)
            assert not any(expected.candidates[one] for one in shown)
            self.sim.issue(name, who, departed, purpose, shown)
            own = {one for one, (owner, item, _) in self.sim.bank.items() if owner == who.principal and item in shown}
            assert {one.id for one in outcome.view.experiences} == own
        self.sim.returned(name, who)
        self.returns[name] = outcome
        assert self.workspace.replay(name).matches
        return name

    def expose(self, name: str) -> None:
        refusals = self.sim.refusals(name)
        outcome = self.returns[name]
        before = self.workspace.log.audit.head.seq
        if refusals:
            with pytest.raises(ExposureError) as caught:
                outcome.expose()
            assert set(caught.value.reasons) == refusals
            assert [row.kind for row in self.workspace.log.audit.rows(first=before + 1)] == ["refusal"]
            return
        bundle = outcome.expose()
        self.sim.exposed[name] = self.sim.tick()
        shown = set(self.sim.views[name].items)
        assert {item.id for item in bundle.items} == shown
        for text in (bundle.markdown(), bundle.json()):
            left_out = [item.text for item in self.sim.items.values() if item.id not in shown]
            assert not [one for one in left_out if one in text]

    def check_log(self) -> None:
        """Epochs without gap or duplicate, both chains, and an audit row for every exposure."""
        log = self.workspace.log
        assert log.head == self.sim.epoch
        assert [event.epoch for event in log.tail()] == list(range(1, self.sim.epoch + 1))
        rows = list(log.audit.verified())
        exposures = {row.return_id for row in rows if row.kind == "exposure"}
        assert exposures == set(self.sim.exposed)
        decided = {row.return_id for row in rows if row.kind == "decision"}
        assert decided == set(self.returns)

    def check_indexes(self) -> None:
        """The indexes are those that the log comes to."""
        log = self.workspace.log
        with closing(Retold(log.workspace)) as retold:
            assert sum(1 for _ in retold.tell(log.tail())) == log.head
            assert list(retold.differences(log.indexed)) == []

    def check_projection(self, departed: Who, who: Who) -> None:
        """``D ⊕ Δ`` is the live projection, and nothing that nobody asked about is read."""
        log = self.workspace.log
        left = self.sim.departures.get((departed.principal, departed.task))
        live = fold(WorkState(), log.seen(self.identity(who), until=log.head))
        assert list(live.held) == self.sim.projection(who)
        if left is None or left[0] != departed:
            return
        names = [event.payload for event in log.tail() if event.kind == "depart"]
        checkpoint = checkpoint_named(log, [one.id for one in names if one.identity == self.identity(departed)][-1])
        state = snapshot(log, checkpoint, self.identity(who), epoch=log.head, purpose=None, now=self.sim.now)
        assert state.intact
        assert list(state.state.held) == self.sim.candidates(departed, who)
        request = Request(
            return_id="r", identity=self.identity(who), instance="i", nonce="n", now=self.sim.now,
            policy=self.workspace.policy, checkpoint=checkpoint.id, epoch=log.head,
        )  # fmt: skip
        outcome, expected = decide(request, state), self.sim.expected(departed, who, None)
        assert {one.item: codes(one) for one in outcome.dispositions} == expected.candidates
        assert outcome.decision.admitted is expected.admitted
        if departed == who:
            assert state.state.held == live.held
            assert state.state.bank == live.bank
        closure: set[str] = set()
        ahead = {one for name in state.state.held for one in self.sim.items[name].depends_on}
        while ahead:
            closure |= ahead
            ahead = {one for name in ahead for one in self.sim.items[name].depends_on} - closure
        slots = {(self.sim.items[name].task, self.sim.items[name].slot) for name in closure}
        mates = {one.id for one in self.sim.items.values() if one.slot and (one.task, one.slot) in slots}
        assert set(state.background.held) <= closure | mates

    def identity(self, who: Who) -> Identity:
        return Identity(workspace=self.workspace.name, principal=who.principal, role=who.role, task=who.task)


def codes(disposition: Disposition) -> frozenset[str]:
    """The codes against a candidate, without what selection made of an eligible one."""
    return frozenset(str(reason) for reason in disposition.reasons if reason not in ELIGIBLE)
