"""The page of a return says what was decided, why, and what that rests on."""

from __future__ import annotations

import re
import time
from html import unescape
from typing import TYPE_CHECKING

import pytest

from readmit import Pair, State
from readmit.diagnosis.history import in_words, newest_return
from readmit.errors import UnknownError
from readmit.pages import return_page
from readmit.pages.gather_return import return_values
from readmit.pages.page_values import STAGES
from readmit.scenario.document import shipped
from readmit.scenario.play import played
from readmit.text.escapes import shorten_digests
from readmit.types import Experience
from tests.pages import stories
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from readmit.pages.page_values import Fallen, ReturnPage


def text_of(html: str) -> str:
    """What a reader reads, on one line."""
    without = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", without)).split())


def values(scene: Scene) -> ReturnPage:
    return return_values(scene.team._desk.log, newest_return(scene.team._desk.log), now=scene.now)


def test_every_item_of_the_travel_case_is_there_with_its_text_and_every_sentence() -> None:
    with played(shipped("travel"), ":memory:") as done:
        for one in done.returns:
            text = text_of(return_page(done.workspace, one.outcome.id))
            judgments = {judged.item: judged for judged in one.dispositions}
            for judged in one.dispositions:
                assert " ".join(done.workspace._desk.log.item(judged.item).text.split()) in text
                for sentence in in_words(judged, judgments):
                    assert shorten_digests(sentence) in text


def test_a_verdict_shows_both_quotes_and_who_judged() -> None:
    with played(shipped("travel"), ":memory:") as done:
        text = text_of(return_page(done.workspace, done.returns[0].outcome.id))
    assert "p0 says “pickup is at 8:00 from Sunrise Hotel”" in text
    assert "A2 observed on 2026-05-04 12:00:00 UTC “Riverside Hotel is confirmed as its replacement”" in text
    assert "Judged by: unspecified: invalidates, confidence 0.97" in text


def test_a_replacement_shows_both_texts() -> None:
    with played(shipped("travel"), ":memory:") as done:
        text = text_of(return_page(done.workspace, done.returns[0].outcome.id))
    assert "h0 says “Sunrise Hotel is booked.” h1 says “Riverside Hotel is booked as the replacement, for $282" in text


def test_chains_become_trees_with_what_changed_on_top() -> None:
    venue, weather = values(stories.chained()).fallen
    assert (venue.id, venue.note) == ("venue", "revoked by bob: The harbor hall is closed for repairs.")
    assert [one.id for one in venue.resting] == ["room", "menu"]
    assert [one.id for one in venue.resting[0].resting] == ["seats"]
    assert (weather.id, weather.text) == ("bob observed on 2026-03-01 10:00:00 UTC", "“flooded on Friday”")
    assert [(one.id, one.note) for one in weather.resting] == [("weather", "Premise: The garden stays dry.")]
    assert [one.id for one in weather.resting[0].resting] == ["games"]


def test_a_long_chain_is_drawn_up_to_a_depth_and_then_counted() -> None:
    scene = Scene()
    scene.fact("n0")
    for number in range(1, 40):
        scene.fact(f"n{number}", depends_on=[f"n{number - 1}"])
    scene.depart()
    scene.team.revoke("n0", by="bob")
    scene.come_back()
    (root,) = values(scene).fallen

    def depth(tree: Fallen) -> int:
        return 1 + max(map(depth, tree.resting), default=0)

    assert depth(root) == 12
    assert "and 28 more" in return_page(scene.team)


def test_what_is_missing_names_who_met_it_last_and_what_to_do() -> None:
    text = text_of(return_page(stories.chained().team))
    assert "Blocked: nothing is handed over" in text
    assert "Lacking plan, critical Needed by o_plan." in text
    assert "also looks for near misses" in text
    assert 'workspace.record("…", by="bob", supports=["plan"], sources=[…])' in text
    assert "✕ plan (critical): nothing fit meets it" in text


def test_a_partial_return_says_which_duty_is_handed_over() -> None:
    text = text_of(return_page(stories.partial().team))
    assert "Admitted in part: only whole duties are handed over" in text
    assert "o_hotel the text of o_hotel ✓ handed over" in text
    assert "o_train the text of o_train ✕ not handed over" in text
    assert "✓ hotel (critical) by h" in text


def test_a_return_that_failed_says_that_nothing_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    monkeypatch.setattr("readmit.returning.desk.decide", lambda *_: 1 / 0)
    scene.ann().come_back()
    text = text_of(return_page(scene.team))
    assert "Blocked: nothing was judged" in text
    assert "No item was judged." in text


def test_budget_signatures_and_delivery_are_there() -> None:
    scene = Scene(budgets={"items": 5, "chars": 100})
    scene.covered()
    returned = scene.away()
    returned.expose()
    page = values(scene)
    assert [(use.label, use.used, use.most) for use in page.uses[:2]] == [("Items", 2, 5), ("Characters", 26, 100)]
    assert [(seal.what, seal.verifies) for seal in page.seals] == [("Return view", True), ("Log", True)]
    assert page.deliveries == ("Handed over on 2026-03-01 09:00:00 UTC, epoch 8.",)


def test_what_no_longer_holds_and_what_is_new_are_there() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("x")
    scene.depart()
    scene.team.revoke("x", by="bob")
    scene.fact("h2", supports=["d"])
    scene.team.supersede("h", "h2", by="bob")
    text = text_of(return_page(scene.team, scene.come_back().id))
    assert "no longer holds superseded since 2026-03-01 09:00:00 UTC" in text
    assert "new since departure" in text


def test_a_blocked_return_shows_its_signed_retractions() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.team.revoke("h", by="bob")
    scene.come_back()
    page = values(scene)
    assert [one.id for one in page.retractions.fallen] == ["h"]
    assert [(seal.what, seal.verifies) for seal in page.seals] == [("Retractions", True), ("Log", True)]


def test_a_signature_of_a_revoked_key_does_not_verify() -> None:
    scene = Scene()
    scene.covered()
    scene.away()
    key = values(scene).seals[0].key
    scene.team.as_owner().admin.keys.rotate()
    scene.team.as_owner().admin.keys.revoke(key, reason="stolen")
    # The log goes on under the new key, which covers the rows of the return.
    assert [(seal.what, seal.verifies) for seal in values(scene).seals] == [("Return view", False), ("Log", True)]


def test_an_item_private_to_others_is_named_and_not_quoted() -> None:
    scene = Scene()
    scene.duty("o", ("hotel",), critical=("hotel",))
    scene.fact("h0", slot="hotel", task="trip")
    scene.depart()
    private = {"principals": ["carl"], "private": True, "by": "carl", "sources": [scene.source]}
    scene.fact("@carl/p", slot="hotel", text="carl hides in the attic", task="trip", **private)
    scene.come_back()
    html = return_page(scene.team)
    assert "the attic" not in html
    assert "Private to others: its text is not shown." in html


def test_an_observation_out_of_the_agents_sight_is_not_quoted_as_a_source() -> None:
    scene = Scene()
    whispered = scene.team.observe("whispered to carl", by="bob", principals=["carl"])
    scene.duty()
    scene.fact("h", supports=["d"], sources=[whispered])
    scene.away()
    assert "whispered" not in return_page(scene.team)


def test_private_experiences_are_listed_without_their_texts() -> None:
    with played(shipped("travel"), ":memory:") as done:
        page = return_page(done.workspace)
        log = done.workspace._desk.log
        bank = [event.payload for event in log.tail() if isinstance(event.payload, Experience)]
    assert bank
    for one in bank:
        assert f"<code>{one.id}</code>" in page
        assert one.text not in page


def test_the_page_says_for_whom_it_is() -> None:
    assert "never hand it to the returning agent" in return_page(stories.partial().team)


def test_without_a_return_there_is_no_page() -> None:
    with pytest.raises(UnknownError, match="has no return yet"):
        return_page(Scene().team)


@pytest.mark.many_events
def test_the_newest_return_is_found_behind_later_exposures() -> None:
    scene = Scene()
    scene.covered()
    first = scene.away()
    assert newest_return(scene.team._desk.log) == first.id
    second = scene.away()
    for _ in range(300):
        second.expose()
    assert newest_return(scene.team._desk.log) == second.id


def test_a_long_text_is_whole_once_and_cut_elsewhere() -> None:
    scene = Scene()
    scene.duty("o", ("hotel",))
    scene.fact("old", slot="hotel", text="long words " * 5_000)
    scene.depart()
    scene.fact("new", slot="hotel", text="The hotel is Riverside.", sources=[scene.news()])
    scene.come_back()
    html = return_page(scene.team)
    assert "The whole text (55000 characters)" in html
    assert html.count("long words ") < 5_300


def test_a_busy_absence_is_drawn_whole_and_its_latest_events_are_listed() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.team.observe_many([f"Message {number}." for number in range(410)], by="bob")
    scene.come_back()
    html = return_page(scene.team)
    assert "observed (410)" in html
    assert "The 10 events before these are drawn and not listed." in html
    assert "Message 9." not in html
    assert "Message 10." in html


def test_a_reset_says_that_nothing_is_handed_over() -> None:
    scene = Scene(returns={"on_incomplete": "reset"})
    scene.duty()
    scene.away()
    assert "Reset: nothing is handed over" in return_page(scene.team)


def test_the_same_return_at_the_same_moment_gives_the_same_page() -> None:
    scene = stories.chained()
    assert return_page(scene.team) == return_page(scene.team)


@pytest.mark.many_events
def test_two_thousand_candidates_give_a_page_that_opens_at_once() -> None:
    scene = stories.many(2_000)
    began = time.process_time()
    html = return_page(scene.team)
    assert time.process_time() - began < 5
    assert len(html) < 2_000_000
    assert html.count("<article id=") == 2_000
    assert "and 658 more" in html, "a tree with many branches is cut"


def test_a_suspicion_shows_what_was_observed() -> None:
    scene = Scene()
    scene.covered(text="The hotel is open.")
    scene.depart()
    scene.team.judge(Pair(item="h", evidence=scene.news("Workers were seen at the hotel.")), by="worker")
    scene.come_back()
    text = text_of(return_page(scene.team))
    assert (
        "h says “The hotel is open.” bob observed on 2026-03-01 09:00:00 UTC “Workers were seen at the hotel.”" in text
    )


def test_old_and_new_text_stand_side_by_side_also_for_a_premise_that_fell() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("h0", slot="hotel", text="Sunrise is booked.", task="trip")
    scene.fact("p0", text="Pickup is at eight at Sunrise.", depends_on=["h0"], slot="pickup", task="trip")
    scene.fact("taxi", text="A taxi waits for the pickup.", depends_on=["p0"])
    scene.depart()
    scene.wait(HOUR)
    scene.fact("h1", slot="hotel", text="Riverside is booked.", task="trip", sources=[scene.news("Riverside.")])
    scene.come_back()
    beliefs = {one.id: one for one in values(scene).believed.fallen}
    assert list(beliefs) == ["h0", "p0", "taxi"]
    assert [(quote.label, quote.text) for quote in beliefs["taxi"].was] == [
        ("Recorded by bob", "A taxi waits for the pickup."),
        ("h0 says", "Sunrise is booked."),
    ]
    assert [(quote.label, quote.text) for quote in beliefs["taxi"].now] == [("h1 says", "Riverside is booked.")]
    assert [quote.label for quote in beliefs["h0"].now] == ["h1 stands in slot hotel"]
    assert (values(scene).believed.holding, values(scene).believed.earlier) == (2, 0)
    text = text_of(return_page(scene.team))
    assert (
        "Believed at departure Recorded by bob A taxi waits for the pickup. h0 says Sunrise is booked. "
        "Now h1 says Riverside is booked."
    ) in text


def test_news_in_the_place_of_a_premise_that_a_verdict_took_out_is_the_observation() -> None:
    page = values(stories.chained())
    games = next(one for one in page.believed.fallen if one.id == "games")
    assert [quote.text for quote in games.now] == ["The hotel garden will be flooded on Friday."]
    assert [one.now for one in page.believed.fallen if one.id == "menu"] == [()], "withdrawn, and not replaced"


def test_what_had_fallen_before_the_departure_is_counted_apart() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("x")
    scene.team.revoke("x", by="bob")
    scene.away()
    assert (values(scene).believed.fallen, values(scene).believed.earlier) == ((), 1)


def test_the_text_of_a_replacement_that_is_private_to_others_is_not_shown() -> None:
    scene = Scene()
    scene.covered()
    scene.fact("h0", slot="hotel", task="trip")
    scene.fact("rests", depends_on=["h0"])
    scene.depart()
    private = {"principals": ["carl"], "private": True, "by": "carl", "sources": [scene.news("Carl moved.")]}
    scene.fact("@carl/p", slot="hotel", text="carl hides in the attic", task="trip", **private)
    scene.come_back()
    assert "the attic" not in return_page(scene.team)
    assert "the attic" not in str(values(scene).believed)


def test_every_item_moves_on_or_stops_at_one_stage() -> None:
    scene = stories.chained()
    flow = values(scene).flow
    assert [stage.title for stage in flow] == ["Capture", "Invalidate", "Gate", "Cover", "Seal"]
    assert flow[0].entering == len(values(scene).entries)
    assert [stage.entering for stage in flow[1:]] == [stage.passing for stage in flow[:-1]]
    stopped = [state for stage in flow for state, _ in stage.stopped]
    assert set(stopped) == {one.state for one in values(scene).entries} - {State.ADMITTED}
    assert "✕ premise changed: 5" in text_of(return_page(scene.team))


def test_every_state_of_an_item_belongs_to_one_stage() -> None:
    names = [state for _, _, states in STAGES for state in states]
    assert sorted((*names, State.ADMITTED)) == sorted(State)
