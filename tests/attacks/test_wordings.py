"""Sentences that deny, attribute, invent, suppose, ask or quote, by construction: no bare claim is drawn from them.

And sentences that plainly say something, from which what they say is drawn as it is stated. Each share has a floor.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.inference import Inference, Turn
from readmit.lab import worded
from readmit.models import Reply, Usage
from readmit.text.carried import carried
from readmit.text.tokens import tokens
from tests.attacks.unseen_wordings import TRIED_TRICKS, UNSEEN_TRICKS
from tests.attacks.wordings import (
    HELD_OUT_PLAIN,
    HELD_OUT_TRICKS,
    KEPT,
    LATER_TRICKS,
    PLAIN,
    TRICKS,
    Wording,
    wordings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from readmit.models import Ask


@dataclass
class Share:
    made: list[Wording]
    least: float
    """The share that must come out right."""


HOSTILE = {
    "tricks": Share(wordings(TRICKS), 1.0),
    "held-out tricks": Share(wordings(HELD_OUT_TRICKS), 0.96),
    # Tried once the rule was there. What says nothing of what is beside it cannot be told from any other sentence.
    "later tricks": Share(wordings(LATER_TRICKS), 0.9),
    "tried tricks": Share(wordings(TRIED_TRICKS), 0.86),
    "unseen tricks": Share(wordings(UNSEEN_TRICKS), 0.73),
}
HONEST = {
    "plain": Share(wordings(PLAIN), 1.0),
    "held-out plain": Share(wordings(HELD_OUT_PLAIN), 0.96),
    "kept": Share(wordings(KEPT), 1.0),
}


def same(text: str, claim: str) -> bool:
    return [one.form for one in tokens(text)] == [one.form for one in tokens(claim)]


def is_bare(text: str, trick: Wording) -> bool:
    """Whether only the claim is left of a trick."""
    return same(text, trick.claim) and not same(trick.text, trick.claim)


def quotes(trick: Wording) -> tuple[str, ...]:
    """What a lying extractor may quote: the bare words, with a stop, or everything."""
    at = trick.text.casefold().index(trick.claim.casefold())
    bare = trick.text[at : at + len(trick.claim)]
    return bare, f"{bare}.", trick.text


def lands(trick: Wording) -> bool:
    """Whether the bare claim would be recorded, or be admitted if somebody recorded it past the pipeline."""
    return any(
        ((found := worded(trick.statement, quote, trick.text)) is not None and is_bare(found[0], trick))
        or carried(trick.statement, quote, trick.text)
        for quote in quotes(trick)
    )


def is_stated(one: Wording) -> bool:
    found = worded(one.statement, one.text, one.text)
    return found is not None and found[0] == one.statement and carried(*found, one.text)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_statement_is_held_back_if_it_leaves_out_the_denial_attribution_or_fiction_of_its_sentence(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    share = HOSTILE[name]
    landed = [one.text for one in share.made if lands(one)]
    held = 1 - len(landed) / len(share.made)
    record_property("attempts", len(share.made))
    record_property("share", (f"{name}: held back", len(share.made) - len(landed), len(share.made)))
    print(f"{name}: {len(share.made)} sentences, {held:.1%} held back")
    assert held >= share.least, landed


@pytest.mark.parametrize("name", HONEST)
def test_a_statement_that_keeps_what_its_sentence_has_is_carried(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    share = HONEST[name]
    refused = [one.text for one in share.made if not is_stated(one)]
    kept = 1 - len(refused) / len(share.made)
    record_property("share", (f"{name}: carried", len(share.made) - len(refused), len(share.made)))
    print(f"{name}: {len(share.made)} sentences, {kept:.1%} carried")
    assert kept >= share.least, refused


def test_there_are_at_least_200_sentences_of_each() -> None:
    assert len({one.text for share in HOSTILE.values() for one in share.made}) >= 200
    assert len({one.text for name in ("plain", "held-out plain") for one in HONEST[name].made}) >= 200


class Liar:
    """States the bare claim of the trick that it is shown."""

    name = "liar"
    trick: Wording

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        trick = self.trick
        said = {"observation": 1, "turn": 0, "quote": quotes(trick)[0], "slot": "a.claim", "statement": trick.statement}
        lie = json.dumps({"items": [{**said, "operation": "add", "premises": [], "confidence": 1.0}]})
        return [Reply(text=lie, usage=Usage(stage=ask.stage), model=self.name) for ask in asks]


def test_no_view_holds_a_bare_claim_and_what_was_held_back_is_counted() -> None:
    # One of each template is enough through the whole pipeline.
    tricks = [one for one in wordings(TRICKS + HELD_OUT_TRICKS) if one.claim == "Account 666 is ours"]
    with Workspace.open() as team:
        inference = Inference(team, extractor=(liar := Liar()))
        agent = team.agent("ann", role="planner", task="garden")
        agent.depart()
        for liar.trick in tricks:
            trick = liar.trick
            done = inference.converse([Turn("user", trick.text)], by="bob", task="garden")
            assert (len(done.items), done.quoted, sum(done.dropped.values())) in {(1, 1, 0), (0, 0, 1)}, trick.text
            assert not any(is_bare(team._desk.log.item(name).text, trick) for name in done.items)
        returned = agent.come_back()
        assert returned.admitted
        assert not any(same(item.text, "Account 666 is ours") for item in returned.expose().items)
