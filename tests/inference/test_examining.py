"""Whether it was looked for implicit changes, by whom and how far: claimed on the log, and never more than is true."""

from __future__ import annotations

from typing import NoReturn

import pytest

from readmit import Reason, Workspace
from readmit.errors import NotAllowedError, RecordError, UnknownError
from readmit.events import EventKind
from readmit.lab import as_readmit
from readmit.models import Fault, Lexical
from readmit.records.decisions import Examination
from readmit.records.verdicts import Examine
from tests.inference.world import SHIFT, SHOES, STRUCTURE, Ruled, away, foresee, hear, home


def claims(workspace: Workspace) -> list[Examine]:
    events = [event for event in workspace._desk.log.tail() if event.kind is EventKind.EXAMINE]
    assert {event.by for event in events} <= {"readmit"}
    return [event.payload for event in events]  # type: ignore[misc]


def test_a_return_that_nobody_looked_into_says_so() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        outcome = agent.come_back()
        assert outcome.request.examination is outcome.decision.examination is None


def test_a_preparation_says_who_looked_and_how_far() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        prepared = foresee(workspace, Ruled()).prepare(agent)
        assert claims(workspace) == [
            Examine(checkpoint="left-A1-helper", identity=agent.identity, verifier="ruled", until=prepared.epoch)
        ]
        outcome = agent.come_back()
        expected = Examination(verifier="ruled", until=prepared.epoch)
        assert outcome.request.examination == outcome.decision.examination == outcome.view.examination == expected  # type: ignore[union-attr]
        assert workspace.returned(outcome.id).replay().matches


def test_also_where_there_was_nothing_to_find() -> None:
    with home(returns={"examination": "required"}) as workspace:
        agent = away(workspace)
        assert agent.come_back().reasons == (Reason.NOT_EXAMINED,)
        assert foresee(workspace, Ruled()).prepare(agent).open == 0
        assert len(claims(workspace)) == 1
        assert agent.come_back().admitted


def test_a_return_that_prepares_itself_is_examined() -> None:
    with home(returns={"examination": "required"}) as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        outcome = foresee(workspace, Ruled()).come_back(agent)
        assert outcome.admitted
        assert outcome.request.examination is not None
        assert outcome.request.examination.unexamined == 0


def test_a_preparation_that_fails_claims_nothing() -> None:
    class Down(Lexical):
        def embed(self, texts: object) -> NoReturn:
            raise OSError("no route")

    with home(returns={"examination": "required"}) as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        inference = foresee(workspace, Ruled())
        inference.team.embedder = Down()
        assert inference.come_back(agent).reasons == (Reason.INTERNAL_ERROR,)
        assert claims(workspace) == []
        assert agent.come_back().reasons == (Reason.NOT_EXAMINED,)


def test_what_was_observed_since_is_counted() -> None:
    with home(returns={"examination": "required"}) as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        inference = foresee(workspace, Ruled())
        inference.prepare(agent)
        hear(workspace, "It rained.", "It snowed.")
        workspace.observe("Not for A1.", by="A5", principals=["A7"])
        outcome = agent.come_back()
        assert outcome.reasons == (Reason.NOT_EXAMINED,)
        assert outcome.request.examination is not None
        assert outcome.request.examination.unexamined == 2
        inference.prepare(agent)
        assert agent.come_back().admitted


def test_an_agent_that_may_not_write_cannot_undo_an_examination() -> None:
    with home(returns={"examination": "required"}, evidence={"writers": ("A1", "A5", "A2")}) as workspace:
        agent = away(workspace)
        foresee(workspace, Ruled()).prepare(agent)
        for number in range(3):
            workspace.observe(f"noise {number}", by="eve", task="advice")
        assert agent.come_back().admitted


def test_an_examination_is_for_one_departure_role_and_purpose() -> None:
    with home() as workspace:
        agent = away(workspace)
        foresee(workspace, Ruled()).prepare(agent, purpose="evening")
        assert agent.come_back(purpose="evening").request.examination is not None
        assert agent.come_back().request.examination is None
        assert agent.come_back(purpose="morning").request.examination is None
        agent.depart(id="again")
        assert agent.come_back(purpose="evening").request.examination is None
        foresee(workspace, Ruled()).prepare(agent, purpose="evening")
        workspace.as_owner().admin.reassign("A1", task="advice", was="helper", role="auditor")
        other = workspace.agent("A1", role="auditor", task="advice")
        assert other.come_back(purpose="evening").request.examination is None


def test_an_item_recorded_later_from_older_evidence_is_not_examined_yet() -> None:
    """The observations in between were looked at, but not for this item."""
    with home(returns={"examination": "required"}) as workspace:
        agent = away(workspace)
        early = workspace.observe("The user likes to read at ten.", by="A1", task="advice")
        hear(workspace, SHIFT, SHOES)
        inference = foresee(workspace, Ruled(rules={}), signals=STRUCTURE)
        inference.prepare(agent)
        assert agent.come_back().admitted
        workspace.record("The user reads at ten.", id="reads", sources=[early], by="A1", task="advice")
        outcome = agent.come_back()
        assert outcome.reasons == (Reason.NOT_EXAMINED,)
        assert outcome.request.examination is not None
        assert outcome.request.examination.unexamined == 2
        inference.prepare(agent)
        assert agent.come_back().admitted


def test_unseen_pairs_of_critical_items_are_suspicions_and_so_accounted_for() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, *(f"Remark {number} about nothing much." for number in range(4)))
        model = Ruled(broken={"implied": Fault.UNAVAILABLE})
        prepared = foresee(workspace, model, signals=("implied_facts",), kinds=("fact",)).prepare(agent)
        assert prepared.suspected
        left = {pair for pair in prepared.unseen if pair.item != "bedtime"}
        first = min(workspace._desk.log.evidence(pair.evidence).epoch for pair in left)
        assert prepared.until == first - 1, "those of the other item are neither judged nor suspected"


def test_what_a_failed_answer_hid_is_not_claimed_and_looked_at_again() -> None:
    with home(critical=False) as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        model = Ruled(broken={"implied": Fault.UNAVAILABLE})
        inference = foresee(workspace, model, signals=("declared_premise", "same_slot", "implied_facts"))
        prepared = inference.prepare(agent)
        assert prepared.unseen
        assert prepared.until < prepared.epoch
        model.broken.clear()
        again = inference.prepare(agent)
        assert again.until == again.epoch


def test_a_watch_claims_what_it_looked_at_once_and_comes_to_rest() -> None:
    with home() as workspace:
        agent = away(workspace)
        watch = foresee(workspace, Ruled()).watch()
        watch.look()
        assert len(claims(workspace)) == 1
        while watch.look().prepared:
            pass
        hear(workspace, SHOES)
        while watch.look().prepared:
            pass
        assert len(claims(workspace)) == 2
        end = workspace.epoch
        for _ in range(3):
            watch.look()
        assert workspace.epoch == end
        examined = agent.come_back().request.examination
        assert examined is not None
        assert examined.unexamined == 0


def test_preparing_twice_claims_once() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        inference = foresee(workspace, Ruled())
        for _ in range(3):
            inference.prepare(agent)
        assert len(claims(workspace)) == 1
        # Another verifier is another examination.
        foresee(workspace, Ruled(name="other")).prepare(agent)
        assert [one.verifier for one in claims(workspace)] == ["ruled", "other"]


def test_nobody_else_claims_an_examination() -> None:
    with home() as workspace:
        agent = away(workspace)
        before = workspace.epoch
        claim = Examine(checkpoint="left-A1-helper", identity=agent.identity, verifier="me", until=before)
        for handle in (workspace.principal("A1"), workspace.as_owner(), workspace.principal("eve")):
            with pytest.raises(NotAllowedError, match="claim an examination"):
                handle._desk.writer.write(EventKind.EXAMINE, claim)
        ahead = Examine(checkpoint="left-A1-helper", identity=agent.identity, verifier="me", until=before + 1)
        with pytest.raises(RecordError, match="until"):
            as_readmit(workspace)._desk.writer.write(EventKind.EXAMINE, ahead)
        elsewhere = Examine(checkpoint="never", identity=agent.identity, verifier="me", until=before)
        with pytest.raises(UnknownError, match="no departure"):
            as_readmit(workspace)._desk.writer.write(EventKind.EXAMINE, elsewhere)
        theirs = workspace.agent("A9", role="helper", task="advice").identity
        with pytest.raises(UnknownError, match="no departure"):
            as_readmit(workspace)._desk.writer.write(
                EventKind.EXAMINE,
                Examine(checkpoint="left-A1-helper", identity=theirs, verifier="me", until=before),
            )
        assert workspace.epoch == before
