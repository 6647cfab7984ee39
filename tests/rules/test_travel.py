"""The paper's travel case under other policies."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from readmit.inference import Inference, Prepared, Settings, Signal
from readmit.models import Lexical, Reply, Usage
from readmit.scenario.document import read_scenario
from readmit.scenario.play import played
from tests.conftest import ROOT
from tests.inference.world import scored, texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.models import Ask


def travel(**policy: Any) -> Any:
    document = json.loads((ROOT / "examples" / "travel.json").read_text(encoding="utf-8"))
    document["policy"] = {**document["policy"], **policy}
    return read_scenario(json.dumps(document))


def test_by_whole_duties_the_hotel_is_handed_over_and_nothing_of_the_transfer() -> None:
    with played(travel(returns={"on_incomplete": "partial"})) as play:
        before, after = play.returns
    assert before.outcome.kind == "admitted"
    assert before.outcome.view is not None
    assert {item.id for item in before.outcome.view.items} == {"o_h", "f_h", "h1", "c"}
    assert before.outcome.view.withheld == ("o_t",)
    assert before.bundle is not None
    prompt = before.bundle.markdown()
    assert "9:30" not in prompt
    assert "transfer" not in prompt
    assert after.outcome.view is not None
    assert not after.outcome.view.partial


@pytest.mark.parametrize("constraints", ["always", "as_needed"])
def test_it_decides_as_in_the_paper(constraints: str) -> None:
    with played(travel(paper={"constraints": constraints})) as play:
        before, after = play.returns
    assert (before.outcome.kind, before.outcome.missing) == ("blocked", ("d_p",))
    assert after.outcome.view is not None
    assert {item.id for item in after.outcome.view.items} == {"o_h", "o_t", "f_h", "f_t", "c", "h1", "t1", "p1"}


class Eager:
    """Finds what the paper's verifier found, and calls every statement evidence for every need."""

    name = "eager"

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(text=self._said(ask), usage=Usage(stage=ask.stage), model=self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        texts = texts_of(ask)
        if ask.stage == "link":
            needs, statements = (
                re.findall(r"^(\d+): (.*)$", texts[name], re.MULTILINE) for name in ("needs", "statements")
            )
            ties = [(int(need), int(at), text) for need, _ in needs for at, text in statements]
            return json.dumps({"links": [{"need": need, "statement": at, "quote": text} for need, at, text in ties]})
        replaced = "Riverside Hotel is confirmed as its replacement"
        return scored(
            ask,
            lambda old, new: 0.97 if replaced in new and "8:00" in old else 0.03,
            evidence_quote=lambda _, new: replaced if replaced in new else new,
        )


@pytest.mark.parametrize("label", ["before", "after"])
def test_with_models_it_decides_as_without(label: str) -> None:
    """Riverside instead of Sunrise says what is true now, and does not stand in for the pickup."""
    with played(travel()) as play:
        (plain,) = (one for one in play.returns if one.label == label)
    document = json.loads((ROOT / "examples" / "travel.json").read_text(encoding="utf-8"))
    (end,) = (at for at, step in enumerate(document["steps"]) if step.get("as") == label)
    kept = [step for step in document["steps"][:end] if step["do"] not in ("return", "judge")]
    model = Eager()
    with played(read_scenario(json.dumps(document | {"steps": kept}))) as play:
        workspace = play.workspace
        agent = workspace.agent("A1", role="planner", task="itinerary")
        settings = Settings(signals=(Signal.EMBEDDING,))
        inference = Inference(workspace, settings, verifier=model, linker=model, embedder=Lexical())
        reported: list[Prepared] = []
        returned = inference.come_back(agent, report=reported.append)
        assert reported[0].invalidated == ("p0",)
        assert (returned.kind, returned.missing) == (plain.outcome.kind, plain.outcome.missing)
        states = {one.item: one.state for one in returned.dispositions}
        assert {one.item: one.state for one in plain.dispositions}.items() <= states.items()
        instead = states.keys() - {one.item for one in plain.dispositions}
        assert instead == set(reported[0].replacements)
        if label == "before":
            (name,) = instead
            item = workspace._desk.log.item(name)
            assert "Riverside Hotel is confirmed as its replacement" in item.text
            assert item.covers == ()
            (lack,) = workspace.returned(returned.id).why().lacks
            assert (lack.name, [one.item for one in lack.instead]) == ("d_p", [name])
        else:
            # The new pickup is younger than what took the place of the old one, so there is nothing to add.
            assert instead == set()
