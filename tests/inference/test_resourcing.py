"""Items whose source changed, put to a verifier beside what is there now."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from readmit import Reason, State, Verdict
from readmit.errors import NotAllowedError, RecordError
from readmit.events import EventKind
from readmit.inference import Inference
from readmit.lab import as_readmit
from readmit.models import Lexical
from readmit.records.acts.looks import Resource
from tests.board import Team
from tests.inference.world import Ruled, scored

OLD = "The hotel is Sunrise.\n"
KEPT = "Breakfast is at eight. The hotel is Sunrise.\n"
OTHER = "The hotel is Riverside.\n"
SILENT = "Breakfast is at eight.\n"


def by_rule(ask: Any) -> str:
    """Against an item if the new text names another hotel."""
    return scored(ask, lambda *_: 0.95 if "Riverside" in ask.user else 0.05)


def story(now: str, *, critical: bool = False, **policy: Any) -> Team:
    team = Team(**policy)
    team.fact("h0", "The hotel is Sunrise", team.note("hotel", OLD), slot="hotel")
    team.duty("hotel", critical=["hotel"] if critical else [])
    team.ann.depart()
    team.clock.now += timedelta(minutes=5)
    team.board.notes["hotel"] = now
    return team


def back(team: Team, model: Ruled | None = None) -> Any:
    model = model or Ruled(rules={"verify": by_rule})
    return Inference(team.team, verifier=model, embedder=Lexical()).come_back(team.ann)


def resources(team: Team) -> list[Resource]:
    return [event.payload for event in team.team._desk.log.tail() if isinstance(event.payload, Resource)]


def test_an_item_that_still_holds_of_the_new_text_is_sourced_to_it_by_an_event() -> None:
    team = story(KEPT)
    returned = back(team)
    assert "h0" in returned.items
    [said] = resources(team)
    assert (said.target, said.drafted) == ("h0", "ruled/verify@3")
    assert "The hotel is Sunrise" in said.quote
    [fate] = [one for one in returned.dispositions if one.item == "h0"]
    assert [cause.reason for cause in fate.recovered] == [Reason.RECOVERED]
    assert "still holds of what is there now. Found by ruled/verify@3" in str(returned.explain("h0"))
    assert team.team.returned(returned.id).replay().matches
    returned.expose()


def test_a_source_that_changes_once_more_takes_it_out_again() -> None:
    team = story(KEPT)
    assert back(team).admitted
    team.board.notes["hotel"] = OTHER
    team.clock.now += timedelta(minutes=5)
    assert not team.back().admitted


def test_a_new_text_that_says_nothing_of_it_does_not_bring_it_back() -> None:
    team = story(SILENT)
    returned = back(team)
    assert not returned.admitted
    assert resources(team) == []
    assert [one.reasons for one in returned.dispositions if one.item == "h0"] == [(Reason.SOURCE_CHANGED,)]


def test_a_new_text_that_says_otherwise_is_a_verdict_and_what_is_true_now_is_drafted() -> None:
    team = story(OTHER)
    returned = back(team)
    [fate] = [one for one in returned.dispositions if one.item == "h0"]
    assert fate.state is State.SOURCE_CHANGED
    assert Reason.PREMISE_CHANGED in fate.reasons
    drafted = [one.item for one in returned.dispositions if one.item.startswith("r")]
    assert len(drafted) == 1
    assert team.team._desk.log.item(drafted[0]).text.startswith("The hotel is Riverside")
    assert team.team._desk.log.item(drafted[0]).by == "bob"


def test_what_is_critical_waits_for_somebody_to_confirm_it() -> None:
    team = story(KEPT, critical=True)
    returned = back(team)
    assert not returned.admitted
    assert [one.reasons for one in returned.dispositions if one.item == "h0"] == [(Reason.SOURCE_UNCONFIRMED,)]
    assert any("readmit confirm h0" in line for line in returned.why().lines())
    with pytest.raises(NotAllowedError, match="may not confirm 'h0' while it is away"):
        team.team.confirm("h0", by="ann")
    team.team.confirm("h0", by="bob")
    assert team.back().admitted


def test_under_a_policy_that_confirms_drafts_nothing_is_kept_unread() -> None:
    team = story(KEPT, evidence={"drafts": "confirm"})
    assert not back(team).admitted
    team.team.confirm("h0", by="bob")
    assert team.back().admitted


def test_under_a_policy_that_refuses_drafts_nothing_is_sourced_again() -> None:
    team = story(KEPT, evidence={"drafts": "refuse"})
    assert not back(team).admitted


def test_a_pair_is_asked_about_once() -> None:
    team = story(SILENT)
    model = Ruled(rules={"verify": by_rule})
    back(team, model)
    asked = model.asked["verify"]
    team.clock.now += timedelta(minutes=5)
    back(team, model)
    assert model.asked["verify"] == asked
    assert sum(isinstance(event.payload, Verdict) for event in team.team._desk.log.tail()) == asked


def test_nobody_but_readmit_sources_an_item_again_and_a_quote_that_does_not_carry_it_counts_for_nothing() -> None:
    team = story(SILENT)
    [fate] = [one for one in team.back().dispositions if one.item == "h0"]
    now, [receipt] = fate.causes[0].ref, team.team._desk.log.item("h0").receipts
    forged = Resource(target="h0", evidence=receipt.evidence, now=now, quote="Breakfast is at eight", drafted="m")
    with pytest.raises(NotAllowedError, match="may not source"):
        team.team._desk.writer.write(EventKind.RESOURCE, forged, by="bob")
    with pytest.raises(RecordError, match="not a source"):
        as_readmit(team.team)._desk.writer.write(
            EventKind.RESOURCE, Resource(target="h0", evidence=now, now=now, quote="x", drafted="m")
        )
    as_readmit(team.team)._desk.writer.write(EventKind.RESOURCE, forged)
    assert not team.back().admitted


def test_a_watch_looks_at_sources_and_announces_what_fell() -> None:
    team = story(OLD)
    team.back().expose()
    watch = Inference(team.team, verifier=Ruled(rules={"verify": by_rule}), embedder=Lexical()).watch()
    watch.look()
    team.board.notes["hotel"] = OTHER
    assert watch.look().announced == (), "the last look is still fresh"
    team.clock.now += timedelta(minutes=5)
    [announced] = watch.look().announced
    assert (announced.item, announced.state) == ("h0", State.SOURCE_CHANGED)
