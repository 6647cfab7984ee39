"""Records that try to direct the models that read them, in both directions.

Each is put through the real prompt builders. The fences must hold, an obedient model's answer must take nothing out
where its quotes are made up, and whatever it answers, nothing may be admitted that would not be without it (I6).
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest

from readmit import Answer, Pair, Reason, Verdict, Workspace
from readmit.lab import PairCase, Ruling, Verifier, ruling, visible_text
from readmit.models import Failure
from readmit.models.stages import answer, extract, imply, plan, scan
from readmit.policies import Policy
from tests.models.scripted import Scripted
from tests.models.stages.said import NEW, OLD, STAGES, case
from tests.models.stages.said import judged as score

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.models import Ask, Model

NOW = datetime(2025, 5, 1, 12, tzinfo=UTC)


class Injection(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    direction: Literal["still_valid", "invalidate"]
    where: Literal["evidence", "item"]
    text: str
    obeyed: dict[str, Any]
    """What a model that obeys would answer."""
    grounded: bool
    """Whether both of its quotes can be found, so that a score against the statement counts."""


CORPUS = {
    f"{path.stem}: {entry.name}": entry
    for path in sorted((Path(__file__).parent / "injection").glob("*.json"))
    for entry in msgspec.json.decode(path.read_bytes(), type=list[Injection])
}


FIELDS = {"evidence": "evidence_text", "item": "item_text"}


def attacked(entry: Injection, **changed: Any) -> PairCase:
    return case(**{FIELDS[entry.where]: entry.text}, **changed)


def sections(ask: Ask) -> tuple[str, list[tuple[str, str]]]:
    """What a reader who knows the code sees: the request without its record texts, and those texts.

    Splitting goes line by line, where a line ends wherever any reader could think it does.
    """
    found = re.search(r"The code of this request is ([0-9a-f]{16})\.", ask.user)
    assert found
    code = found[1]
    outside: list[str] = []
    inside: list[tuple[str, str]] = []
    label = ""
    texts: list[str] = []
    for text in ask.user.splitlines():
        marked = re.fullmatch(rf"--- ([a-z0-9 ]+) \[{code}\] (begins|ends) ---", text)
        if marked and marked[2] == "begins":
            assert not label, "a section begins within another"
            label, texts = marked[1], []
        elif marked:
            assert marked[1] == label, "a section ends that did not begin"
            inside.append((label, "\n".join(texts)))
            label = ""
        elif label:
            assert code not in text
            texts.append(text)
        else:
            outside.append(text.replace(code, "CODE"))
    assert not label, "a section never ends"
    return "\n".join(outside), inside


def test_the_corpus_goes_both_ways() -> None:
    assert len(CORPUS) >= 30
    assert {(entry.direction, entry.where) for entry in CORPUS.values()} >= {
        ("still_valid", "evidence"),
        ("still_valid", "item"),
        ("invalidate", "evidence"),
        ("invalidate", "item"),
    }


@pytest.mark.parametrize("per_call", [1, 3])
@pytest.mark.parametrize("name", CORPUS)
def test_the_fences_of_a_judgment_hold(name: str, per_call: int) -> None:
    harmless, attack = Scripted("-"), Scripted("-")
    options: dict[str, Any] = {"swap": True, "per_call": per_call}
    critical = per_call == 1
    entry = CORPUS[name]
    # The same observation for both statements, so that they share a request.
    both = {} if entry.where == "item" else {FIELDS[entry.where]: entry.text}
    other = {"item_text": "Another statement.", **both}
    Verifier(model=harmless, **options).verify([case(critical=critical), case(item_text="Another.", critical=critical)])
    Verifier(model=attack, **options).verify([attacked(entry, critical=critical), case(critical=critical, **other)])
    assert len(harmless.asked) == len(attack.asked)
    for plain, injected in zip(harmless.asked, attack.asked, strict=True):
        if plain.prompt.endswith("+repair"):
            continue
        assert injected.system == plain.system
        around, texts = sections(injected)
        assert around == sections(plain)[0], "record text stands outside its fence"
        assert [label for label, _ in texts] == [label for label, _ in sections(plain)[1]]
    assert any(visible_text(entry.text) in text for _, text in sections(attack.asked[0])[1])


def read_by(text: str) -> dict[str, Callable[[Model], object]]:
    turns = (extract.Turn(text, "Hello."), extract.Turn("user", text))
    later = (scan.Later(evidence="0" * 64, text=text), scan.Later(evidence="1" * 64, text=NEW))
    return {
        "extract": lambda model: extract.extract_claims(model, [extract.ExtractFrom(key="e", turns=turns)]),
        "premises": lambda model: imply.write_lines(model, imply.PREMISES, [text]),
        "implied": lambda model: imply.write_lines(model, imply.IMPLIED, [text]),
        "scan": lambda model: scan.scan(model, [[scan.TargetLook(item="m", text=text, later=later)]]),
        "plan": lambda model: plan.plan_tasks(model, [plan.Task(text=text, role=text)]),
        "answer": lambda model: answer.opine(model, [answer.Question(text="?", choices=(text, "b"), context=text)]),
    }


@pytest.mark.parametrize("stage", read_by(""))
@pytest.mark.parametrize("name", CORPUS)
def test_the_fences_of_every_other_stage_hold(name: str, stage: str) -> None:
    harmless, attack = Scripted("-"), Scripted("-")
    read_by("A plain text.")[stage](harmless)
    read_by(CORPUS[name].text)[stage](attack)
    around, texts = sections(attack.asked[0])
    plain, plain_texts = sections(harmless.asked[0])
    assert around == plain
    assert len(texts) == len(plain_texts)
    assert attack.asked[0].system == harmless.asked[0].system


@pytest.mark.parametrize("name", CORPUS)
def test_an_obedient_answer_takes_something_out_only_where_its_quotes_are_found(name: str) -> None:
    entry = CORPUS[name]
    (result,) = Verifier(model=Scripted(json.dumps(entry.obeyed))).verify([attacked(entry)])
    if isinstance(result, Failure):
        assert not entry.grounded
        return
    found = ruling(result, Policy(), grounded=lambda: bool(result.item_quote and result.evidence_quote))
    if entry.direction == "still_valid":
        # No quotes are asked for: such a score puts nothing where it was not before.
        assert found is Ruling.COMPATIBLE
    else:
        assert found is (Ruling.INVALID if entry.grounded else Ruling.OPEN)


@pytest.mark.parametrize("name", [name for name, entry in CORPUS.items() if entry.direction == "still_valid"])
@pytest.mark.parametrize("stage", ["scan", "extract", "answer", "plan"])
def test_a_copied_answer_settles_nothing_in_other_stages(name: str, stage: str) -> None:
    """A verdict is no answer to any other question."""
    result = STAGES[stage].run(Scripted(json.dumps(CORPUS[name].obeyed)))
    assert isinstance(result, Failure)


def test_an_injected_compatible_admits_nothing() -> None:
    """Every item that lost its standing, judged compatible with full confidence and true quotes: none comes back."""
    without, _ = returned(judge=None)
    with_, reasons = returned(judge=Answer.COMPATIBLE)
    assert without == {"sound", "other"}
    assert with_ <= without
    assert with_ == {"sound", "other"}, "a compatible verdict takes nothing out either"
    assert Reason.PREMISE_CHANGED in reasons["confirmed"], "nor does it take back a confirmed invalidation"


def test_an_injected_invalidation_takes_out_what_it_names_and_no_more() -> None:
    assert returned(judge=Answer.INVALIDATES)[0] == {"other"}


def test_an_unsure_answer_leaves_the_suspicion_standing() -> None:
    assert returned(judge=Answer.UNSURE)[0] == {"other"}


def returned(judge: Answer | None) -> tuple[set[str], dict[str, tuple[Reason, ...]]]:
    """What is admitted when a model was made to answer so about every item but one, beside how the others fell."""
    with Workspace.open(policy=Policy(returns={"fill": "always"}), clock=lambda: NOW) as team:
        agent = team.agent("A1", role="organizer", task="review")
        seen = team.observe(OLD, by="A2")
        fields: dict[str, Any] = {"sources": [seen], "by": "A2"}
        for name in ("sound", "revoked", "replaced", "confirmed", "disputed"):
            team.record(f"{OLD} As {name}.", id=name, **fields)
        team.record(f"{OLD} As expired.", id="expired", valid_until=datetime(2025, 4, 1, tzinfo=UTC), **fields)
        team.record(f"{OLD} As private.", id="@A2/private", principals=["A9"], private=True, **fields)
        team.record(f"{OLD} As foreign.", id="foreign", task="another", **fields)
        team.record(f"{OLD} As unproven.", id="unproven", by="A2")
        team.record(f"{OLD} As resting.", id="resting", depends_on=["revoked"], **fields)
        team.record("Lunch is at noon.", id="other", **fields)
        agent.depart()
        later = team.observe(NEW, by="A3")
        team.revoke("revoked", by="A2")
        team.supersede("replaced", "other", by="A2")
        team.dispute(["disputed"], by="A2")
        judged(team, "confirmed", later, Answer.INVALIDATES)
        if judge is not None:
            for name in ("sound", "revoked", "replaced", "confirmed", "disputed", "expired", "unproven", "resting"):
                team.judge(Pair(item=name, evidence=later), by="A3")
                judged(team, name, later, judge)
        came = agent.come_back()
        view = came.decision.view
        reasons = {one.item: tuple(cause.reason for cause in one.causes) for one in came.dispositions}
        return ({item.id for item in view.items} if view else set()), reasons


def judged(team: Workspace, item: str, evidence: str, said: Answer) -> None:
    """A verdict as the real verifier makes it of a model that says so."""
    obeyed = {Answer.INVALIDATES: score(1.0), Answer.COMPATIBLE: score(0.0), Answer.UNSURE: score(1.0, item_quote="")}
    asked = case(pair=Pair(item=item, evidence=evidence), item_text=team._desk.log.item(item).text)
    (verdict,) = Verifier(model=Scripted(obeyed[said])).verify([asked])
    assert isinstance(verdict, Verdict)
    team.judge(verdict, by="A3")
