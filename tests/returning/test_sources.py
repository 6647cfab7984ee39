"""Evidence that can be looked at again: what a look before a return finds, and what follows from it."""

from __future__ import annotations

import random
import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Reason, Return, State, Workspace
from readmit.diagnosis.export import json_lines
from readmit.errors import ModelError, NotAllowedError, RecordError
from readmit.events import EventKind
from readmit.lab import as_readmit
from readmit.memory import Memory
from readmit.policies import LookRules
from readmit.sources import Call, CallableProbe, Finding
from readmit.state import load as loading
from readmit.types import Evidence, Looked, Scope
from tests.board import Team
from tests.keys import new_signer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.log.log import Log
    from readmit.records.decisions import Request
    from readmit.records.snapshot import Snapshot
    from readmit.sources import Probe, ProbeResult

LATER = timedelta(minutes=5)


def reasons(back: Return, item: str) -> tuple[Reason, ...]:
    return next(one.reasons for one in back.dispositions if one.item == item)


def test_a_source_that_says_the_same_leaves_its_item_in() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.clock.now += LATER
    back = team.back()
    assert back.items == ("h0",)
    assert team.board.looks == ["hotel"]


def test_a_source_that_changed_takes_its_item_out_and_its_new_text_is_observed() -> None:
    team = Team()
    old = team.note("hotel", "Sunrise is booked.", task="trip")
    team.fact("h0", "Sunrise is booked", old)
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["hotel"] = "Riverside is booked."
    back = team.back()
    assert back.items == ()
    assert reasons(back, "h0") == (Reason.SOURCE_CHANGED,)
    [cause] = back.dispositions[0].causes
    now = team.team._desk.log.evidence(cause.ref).payload
    assert isinstance(now, Evidence)
    assert (now.text, now.by, now.named_by, now.scope.task) == ("Riverside is booked.", "readmit", "bob", "trip")
    assert "hotel() changed" in str(back.explain("h0"))
    assert team.team.returned(back.id).replay().matches


def test_what_is_there_now_can_be_recorded_and_stands() -> None:
    team = Team(evidence={"writers": ("bob",)})
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."), slot="hotel")
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["hotel"] = "Riverside is booked."
    fate = team.back().dispositions[0]
    team.fact("h1", "Riverside is booked", fate.causes[0].ref, slot="hotel")
    back = team.back()
    assert back.items == ("h1",)


def test_a_source_that_is_gone_takes_its_item_out() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.clock.now += LATER
    del team.board.notes["hotel"]
    back = team.back()
    assert reasons(back, "h0") == (Reason.SOURCE_CHANGED,)
    assert "the note was taken down" in str(back.explain("h0"))


def test_a_source_that_changed_back_lets_its_item_stand_again() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["hotel"] = "Riverside is booked."
    assert team.back().items == ()
    team.board.notes["hotel"] = "Sunrise is booked."
    team.clock.now += LATER
    assert team.back().items == ("h0",)


def test_an_unseen_source_withholds_what_is_critical_and_is_on_record_for_the_rest() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."), slot="hotel")
    team.fact("h1", "The train leaves at nine", team.note("train", "The train leaves at nine."), slot="train")
    team.duty("hotel", "train", critical=["hotel"])
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes.update(hotel=None, train=None)
    back = team.back()
    assert not back.admitted
    assert reasons(back, "h0") == (Reason.SOURCE_UNSEEN,)
    [fate] = [one for one in back.dispositions if one.item == "h1"]
    assert fate.state is State.WITHHELD
    assert [cause.reason for cause in fate.unseen] == [Reason.SOURCE_UNSEEN]
    assert "somebody stands before it" in str(back.explain("h1"))
    team.board.notes.update(hotel="Sunrise is booked.", train="The train leaves at nine.")
    assert team.back().admitted, "an unseen source is looked at again at once"


def test_a_premise_of_something_critical_is_withheld_too() -> None:
    team = Team()
    team.fact("p0", "The town is open", team.note("town", "The town is open."))
    plain = team.team.observe("Sunrise is booked.", by="bob")
    team.fact("h0", "Sunrise is booked", plain, slot="hotel", depends_on=["p0"])
    team.duty("hotel", critical=["hotel"])
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["town"] = None
    back = team.back()
    assert not back.admitted
    assert reasons(back, "h0") == (Reason.PREMISE_CHANGED,)


def test_one_changed_source_of_several_is_enough() -> None:
    team = Team()
    both = team.note("hotel", "Sunrise is booked."), team.note("bill", "Two nights are paid.")
    team.fact("h0", "Two nights at Sunrise are paid", *both)
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["bill"] = "Nothing is paid."
    assert reasons(team.back(), "h0") == (Reason.SOURCE_CHANGED,)


def test_what_rests_on_an_item_falls_with_its_source() -> None:
    team = Team()
    team.fact("p0", "The town is open", team.note("town", "The town is open."))
    team.fact("h0", "We go there", team.team.observe("We go.", by="bob"), depends_on=["p0"])
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["town"] = "The town is closed."
    assert reasons(team.back(), "h0") == (Reason.PREMISE_CHANGED,)


def test_a_fresh_look_is_not_repeated() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked.", lifetime=3_600))
    team.ann.depart()
    team.clock.now += LATER
    assert team.back().items == ("h0",)
    assert team.board.looks == []
    team.clock.now += timedelta(hours=2)
    team.back()
    team.back()
    assert team.board.looks == ["hotel"]


def test_an_item_that_is_out_for_good_is_not_looked_at() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.team.revoke("h0", by="bob")
    team.ann.depart()
    team.clock.now += LATER
    team.back()
    assert team.board.looks == []


def test_sources_beyond_the_limit_are_unseen_and_critical_ones_come_first() -> None:
    team = Team(looks=LookRules(count=1))
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."), slot="hotel")
    team.fact("h1", "The train leaves at nine", team.note("train", "The train leaves at nine."), slot="train")
    team.duty("hotel", "train", critical=["hotel"])
    team.ann.depart()
    team.clock.now += LATER
    back = team.back()
    assert back.admitted
    assert team.board.looks == ["hotel"]
    assert "looks.count" in str(back.explain("h1"))


def test_a_prober_that_fails_leaves_its_sources_unseen() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."), slot="hotel")
    team.duty("hotel", critical=["hotel"])
    team.ann.depart()
    team.clock.now += LATER
    team.board.fails = ModelError("the board fell down")
    back = team.back()
    assert reasons(back, "h0") == (Reason.SOURCE_UNSEEN,)
    assert "the board fell down" in str(back.explain("h0"))


def test_an_exposure_does_not_look_but_sees_what_others_found() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.clock.now += LATER
    back = team.back()
    looks = list(team.board.looks)
    team.clock.now += timedelta(minutes=2)
    back.expose()
    assert team.board.looks == looks
    team.board.notes["hotel"] = "Riverside is booked."
    other = team.team.agent("cay", role="planner", task="trip")
    other.depart()
    other.come_back()
    with pytest.raises(Exception, match="view_outdated"):
        back.expose()


def test_an_overseer_can_restore_an_item_until_its_source_changes_again() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["hotel"] = "Sunrise is  booked."
    assert team.back().items == ()
    team.team.admin.overrule("h0", by="boss", reason="only a space", expires=timedelta(days=1))
    assert team.back().items == ("h0",)
    team.clock.now += LATER
    assert team.back().items == ("h0",), "the same look, repeated, is not a new cause"
    team.board.notes["hotel"] = "Riverside is booked."
    team.clock.now += LATER
    assert team.back().items == ()


def test_nobody_writes_a_look_or_reads_for_somebody_else() -> None:
    team = Team()
    seen = team.note("hotel", "Sunrise is booked.")
    for handle in (team.team.principal("mallory"), as_readmit(team.team)):
        with pytest.raises(NotAllowedError, match="written by readmit itself"):
            handle._desk.writer.write(EventKind.LOOK, Looked(unchanged=(seen,)))
    scope = Scope(workspace=team.team.name)
    forged = Evidence(text="x", by="mallory", at=team.clock.now, scope=scope, named_by="bob")
    with pytest.raises(NotAllowedError, match="named_by"):
        team.team._desk.writer.write(EventKind.OBSERVE, forged, by="mallory")
    probe = CallableProbe(name="hotel", digest="0" * 64)
    with pytest.raises(RecordError, match="digest is not that of the text"):
        team.team._desk.writer.write(
            EventKind.OBSERVE,
            Evidence(text="x", by="mallory", at=team.clock.now, scope=scope, probe=probe),
            by="mallory",
        )


def test_a_duty_stays_owed_when_its_source_changed() -> None:
    team = Team()
    asked = team.note("mail", "Please book a hotel.")
    team.team.oblige("Book a hotel", id="o", by="bob", required=[], sources=[asked])
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["mail"] = "Never mind."
    assert team.back().items == ("o",)


def test_the_same_text_stays_one_observation_however_often_it_is_found() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.board.notes["hotel"] = "Riverside is booked."
    for _ in range(3):
        team.clock.now += LATER
        team.back()
    observed = [event for event in team.team._desk.log.tail() if event.kind is EventKind.OBSERVE]
    assert len(observed) == 2
    first, second, third = looked(team)
    assert [one.finding for one in first.found] == [Finding.CHANGED]
    assert [one.times for look in (second, third) for one in look.again] == [1, 2]
    assert second.evidence == third.evidence == ()


def test_the_source_of_a_writer_who_is_not_allowed_is_not_looked_at() -> None:
    team = Team(evidence={"writers": ("bob",)})
    seen = team.note("hotel", "Sunrise is booked.", by="mallory")
    team.fact("h0", "Sunrise is booked", seen)
    team.ann.depart()
    team.clock.now += LATER
    assert reasons(team.back(), "h0") == (Reason.WRITER_NOT_ALLOWED, Reason.UNPROVEN)
    assert team.board.looks == []


def test_what_a_look_found_counts_where_signatures_are_required(tmp_path: Path) -> None:
    team = Team(tmp_path / "team.db")
    owner, bob = new_signer(), new_signer()
    governing = team.team.as_owner(signer=owner)
    governing.admin.writers.enrol("owner", owner.public)
    governing.admin.writers.enrol("bob", bob.public)
    team.ann.depart()
    governing.admin.govern(team.team.admin.policy.changed(evidence={"writers_signed": "required"}))
    writer = team.team.principal("bob", signer=bob)
    team.board.notes["hotel"] = "Sunrise is booked."
    writer.record("Sunrise is booked", id="h0", slot="hotel", sources=[writer.observe(probe=Call("hotel"))])
    team.clock.now += LATER
    team.board.notes["hotel"] = "Riverside is booked."
    [fate] = team.back().dispositions
    assert fate.reasons == (Reason.SOURCE_CHANGED,)
    writer.record("Riverside is booked", id="h1", slot="hotel", sources=[fate.causes[0].ref])
    assert team.back().items == ("h1",)


def test_the_explanation_has_both_texts() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["hotel"] = "Riverside is booked."
    assert "It said “Sunrise is booked.”, and says “Riverside is booked.” now." in str(team.back().explain("h0"))


def test_a_store_that_hides_the_last_look_is_noticed(tmp_path: Path) -> None:
    team = Team(tmp_path / "team.db")
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    team.clock.now += LATER
    team.board.notes["hotel"] = "Riverside is booked."
    assert team.back().items == ()
    team.team.close()
    with sqlite3.connect(tmp_path / "team.db") as file:
        file.execute("DELETE FROM milestone WHERE kind = 'look'")
    with Workspace.open(tmp_path / "team.db", clock=team.clock) as again:
        back = again.agent("ann", role="planner", task="trip").come_back()
        assert back.reasons == (Reason.LOG_ALTERED,)


def test_nothing_that_only_reads_looks_at_a_source() -> None:
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."), slot="hotel")
    team.duty("hotel")
    team.ann.depart()
    team.clock.now += LATER
    back = team.back()
    looks = list(team.board.looks)
    team.clock.now += LATER
    bundle = back.expose()
    memory = Memory.open(team.team, "scopedmem")
    memory.form("Sunrise is booked", sources=["h0"], by="bob")
    memory.returned(bundle).search("where do we sleep?")
    back.explain("h0")
    back.why()
    team.team.doctor(team.ann)
    team.team.returned(back.id).replay()
    list(json_lines(team.team._desk.log))
    assert team.board.looks == looks == ["hotel"]


DAYS = timedelta(days=3)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs at which a return's whole state was read."""
    counted: list[int] = []

    def requested(log: Log, departed: Any, request: Request, **fields: Any) -> Snapshot:
        counted.append(request.epoch)
        return loading.requested(log, departed, request, **fields)

    monkeypatch.setattr("readmit.returning.desk.requested", requested)
    return counted


def waiting_team() -> Team:
    """Ann left while both of her sources were fresh; now both are due, and the look at them will be written down."""
    team = Team()
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."), slot="hotel")
    team.fact("h1", "The train leaves at nine", team.note("train", "The train leaves at nine."), slot="train")
    team.duty("hotel", "train", critical=["hotel"])
    team.ann.depart()
    team.clock.now += DAYS
    return team


def test_a_look_that_finds_everything_unchanged_reads_the_state_once_and_replays(reads: list[int]) -> None:
    team = waiting_team()
    before = team.team.epoch
    back = team.back()
    assert back.items == ("o", "h0", "h1")
    assert reads == [before]
    assert back.request.epoch > before
    assert {one.seen for one in back.decision.view.sources} == {team.clock.now}  # type: ignore[union-attr]  # admitted
    assert team.team.returned(back.id).replay().matches


def test_what_was_committed_during_the_look_counts(reads: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    team = waiting_team()
    look = team.board.look

    def revoking(probes: Sequence[Probe]) -> list[ProbeResult]:
        team.team.revoke("h1", by="bob")
        return look(probes)

    monkeypatch.setattr(team.board, "look", revoking)
    back = team.back()
    assert reasons(back, "h1") == (Reason.REVOKED,)
    assert len(reads) == 2
    assert team.team.returned(back.id).replay().matches


def test_a_source_that_changed_back_is_read_again(reads: list[int]) -> None:
    team = waiting_team()
    team.board.notes["hotel"] = "Riverside is booked."
    assert not team.back().admitted
    team.board.notes["hotel"] = "Sunrise is booked."
    team.clock.now += DAYS
    reads.clear()
    back = team.back()
    assert back.items == ("o", "h0", "h1")
    assert len(reads) == 2
    assert team.team.returned(back.id).replay().matches


def test_a_voided_date_is_read_again(reads: list[int]) -> None:
    team = waiting_team()
    team.clock.now += timedelta(days=30)
    ahead = team.team.observe("From a clock that is ahead.", by="bob")
    team.clock.now -= timedelta(days=30)
    team.team.admin.void(team.team._desk.log.evidence(ahead).epoch, by="boss", reason="its clock was ahead")
    back = team.back()
    assert back.items == ("o", "h0", "h1")
    assert len(reads) == 2
    assert team.team.returned(back.id).replay().matches


# Looks that find what earlier ones found.


def looked(team: Team) -> list[Looked]:
    """Every look on the log."""
    return [event.payload for event in team.team._desk.log.tail() if isinstance(event.payload, Looked)]


def posted(count: int) -> Team:
    """A team with some facts, each on a note of its own. Ann left, was back once, and every note was looked at."""
    team = Team()
    for number in range(count):
        team.fact(f"h{number}", f"Fact {number}", team.note(f"n{number}", f"Note {number}"), slot=f"s{number}")
    team.ann.depart()
    again(team)
    return team


def again(team: Team) -> Return:
    """A return a while later, which a replay repeats to its bytes."""
    team.clock.now += LATER
    back = team.back()
    assert team.team.returned(back.id).replay().matches
    return back


def test_a_look_that_finds_the_same_names_the_earlier_one_and_nothing_else() -> None:
    team = posted(20)
    for _ in range(3):
        back = again(team)
    first, *later = looked(team)
    assert len(first.unchanged) == 20
    assert [(look.evidence, [one.times for one in look.again]) for look in later] == [((), [1]), ((), [2]), ((), [3])]
    assert {one.seen for one in back.sources} == {team.clock.now}
    assert team.ann.look() is None, "it is young enough"


def test_one_source_that_changes_is_listed_alone() -> None:
    team = posted(20)
    team.board.notes["n7"] = "Another note"
    assert reasons(again(team), "h7") == (Reason.SOURCE_CHANGED,)
    assert reasons(again(team), "h7") == (Reason.SOURCE_CHANGED,)
    team.board.notes["n7"] = "Note 7"
    assert reasons(again(team), "h7") != (Reason.SOURCE_CHANGED,)
    _, changed, still, back = looked(team)
    assert [len(look.evidence) for look in (changed, still, back)] == [1, 0, 1]
    assert [len(look.again) for look in (changed, still, back)] == [1, 2, 1]


def test_a_source_that_nothing_rests_on_any_more_is_carried_over_once() -> None:
    team = posted(20)
    again(team)
    seen = team.clock.now
    team.team.revoke("h7", by="bob")
    team.board.looks.clear()
    again(team)
    again(team)
    assert "n7" not in team.board.looks
    *_, carried, last = looked(team)
    assert [(one.finding, bool(one.seen)) for one in carried.found] == [(Finding.UNCHANGED, True)]
    assert (last.evidence, len(last.again)) == ((), 1)
    sentence = str(again(team).explain("h7"))
    assert f"looked at on {seen:%Y-%m-%d %H:%M:%S} UTC, unchanged" in sentence


def test_a_changed_source_stays_changed_for_a_reader_who_alone_rests_on_it() -> None:
    """What one reader's look leaves out keeps the finding that another reader's look made."""
    team = Team()
    for number in range(6):
        own = {"roles": ["planner"]} if number else {"roles": ["driver"]}
        team.fact(f"h{number}", f"Fact {number}", team.note(f"n{number}", f"Note {number}"), slot=f"s{number}", **own)
    team.fact("h9", "Fact 9", team.note("n9", "Note 9"), slot="s9")
    driver = team.team.agent("dan", role="driver", task="trip")
    team.ann.depart()
    driver.depart()
    team.board.notes["n0"] = "Another note"
    for _ in range(3):
        again(team)
        team.clock.now += LATER
        back = driver.come_back()
        assert reasons(back, "h0") == (Reason.SOURCE_CHANGED,)
        assert team.team.returned(back.id).replay().matches
    assert looked(team)[-1].evidence == looked(team)[-2].evidence == (), "both readers' looks are repeated by now"


def test_findings_are_listed_again_after_many_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readmit.returning.due_looks.MOST_REPEATS", 2)
    team = posted(3)
    for _ in range(5):
        again(team)
    assert [(len(look.unchanged), len(look.again)) for look in looked(team)] == [(3, 0), (0, 1), (0, 1)] * 2


@pytest.mark.parametrize("seed", range(4))
def test_however_looks_are_stored_each_source_is_as_its_last_look_found_it(seed: int) -> None:
    draw = random.Random(seed)
    team = posted(8)
    stands = {f"h{number}": f"n{number}" for number in range(8)}
    for _ in range(12):
        for name in draw.sample(sorted(stands.values()), draw.choice((0, 0, 1, 2))):
            team.board.notes[name] = draw.choice((name.replace("n", "Note "), "Another note", None))
        if draw.random() < 0.2 and len(stands) > 3:
            item = draw.choice(sorted(stands))
            team.team.revoke(item, by="bob")
            del stands[item]
        back = again(team)
        for item, name in stands.items():
            now = team.board.notes[name]
            changed = now not in (None, name.replace("n", "Note "))
            assert (Reason.SOURCE_CHANGED in reasons(back, item)) == changed
        assert {one.seen for one in back.sources} <= {team.clock.now}
        assert all(
            (one.finding is Finding.UNSEEN) == (team.board.notes[stands[one.item]] is None) for one in back.sources
        )


def test_a_store_that_hides_a_repeat_is_noticed(tmp_path: Path) -> None:
    team = Team(tmp_path / "team.db")
    team.fact("h0", "Sunrise is booked", team.note("hotel", "Sunrise is booked."))
    team.ann.depart()
    again(team)
    again(team)
    team.team.close()
    with sqlite3.connect(tmp_path / "team.db") as file:
        assert file.execute("DELETE FROM milestone WHERE kind = 'look' AND length(key) < 20").rowcount == 1
    with Workspace.open(tmp_path / "team.db", clock=team.clock, prober=team.board) as altered:  # type: ignore[arg-type]
        assert altered.agent("ann", role="planner", task="trip").come_back().reasons == (Reason.LOG_ALTERED,)
