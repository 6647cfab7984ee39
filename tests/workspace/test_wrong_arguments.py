"""Wrong values of every public verb: only readmit's own errors come out, and they name the field."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Answer, Pair, Policy, Verdict, Workspace
from readmit.backends import ScopedMem
from readmit.errors import ExposureError, ModelError, ReadmitError, RecordError, StoreError
from readmit.inference import Inference, Turn
from readmit.memory import Memory
from readmit.types import Drafted, ItemFields, ObservationFields, UseFields
from tests.inference.world import Ruled
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

MOMENT = datetime.fromisoformat("2026-01-01T09:00:00Z")


class Team:
    """Something of every kind that a verb can be called on, and a valid call of each verb."""

    def __init__(self) -> None:
        scene = self.scene = Scene()
        self.team = scene.team
        scene.duty()
        scene.fact("a", slot="s", supports=["d"])
        scene.fact("b")
        scene.fact("gone")
        self.team.revoke("gone", by="bob")
        self.team.dispute(["b"], by="bob", id="q")
        self.source = scene.source
        scene.fact("x1", text="The train confirms.", drafted=Drafted(model="m", quote="the train confirm"))
        self.ann = scene.ann()
        scene.ann().remember("a habit", bound_to="a", id="x")
        self.away = self.team.agent("cy", role="planner", task="trip")
        self.away.depart(id="left")
        self.returned = self.team.agent("di", role="planner", task="trip")
        self.returned.depart()
        self.decision = self.returned.come_back()
        self.memory = Memory(self.team, ScopedMem(self.team._desk.log.memories, self.team.name))
        model = Ruled(rules={"extract": lambda _: "{}", "plan": lambda _: "{}"})
        self.inference = Inference(self.team, extractor=model, planner=model)

    @property
    def verdict(self) -> Verdict:
        pair = Pair(item="a", evidence=self.source)
        return Verdict(pair=pair, answer=Answer.UNSURE, confidence=Decimal(1))


@dataclass(frozen=True)
class Call:
    """A verb and arguments that it takes."""

    on: Callable[[Team], Any]
    verb: str
    given: Callable[[Team], dict[str, Any]]
    fields: type | None = None


def team(verb: str, fields: type | None = None, **given: Any) -> Call:
    return Call(lambda made: made.team, verb, lambda _: given, fields)


def admin(verb: str, **given: Any) -> Call:
    return Call(lambda made: made.team.admin, verb, lambda _: given)


def handed(verb: str, **given: Any) -> Call:
    return Call(lambda made: made.decision, verb, lambda _: given)


CALLS = [
    team("observe", text="x", by="bob", id="n", at=MOMENT, source="message", task="t", roles=["r"], principals=["p"]),
    team("observe_many", ObservationFields, observations=["x"], by="bob"),
    team("record", ItemFields, text="x", by="bob", id="n", kind="fact", sources=[], supersedes="a", inherits=False),
    team("oblige", ItemFields, text="x", by="bob", id="n", required=["d"], critical=["d"], sources=[]),
    team("progress", ItemFields, text="x", by="bob", id="n", obligation="o", sources=[]),
    team("supersede", target="a", successor="b", by="bob", reason="r", id="n", at=MOMENT),
    team("revoke", target="a", by="bob", reason="r", id="n", at=MOMENT),
    team("close_validity", target="a", end=MOMENT, by="bob", reason="r", id="n", at=MOMENT),
    team("settle", obligation="o", by="bob", reason="r", id="n", at=MOMENT),
    team("dispute", items=["a"], by="bob", reason="r", id="n", at=MOMENT),
    team("resolve", dispute="q", keep=["b"], by="bob", reason="r", id="n", at=MOMENT),
    Call(lambda made: made.team, "judge", lambda made: {"found": made.verdict, "by": "bob", "id": "n", "at": MOMENT}),
    team("link", item="b", need="d", by="bob", withdrawn=False, id="n", at=MOMENT),
    team("confirm", item="x1", by="bob", id="n", at=MOMENT),
    Call(lambda made: made.team.as_owner().admin, "govern", lambda _: {"policy": Policy(), "by": "owner", "id": "n",
                                                                 "at": MOMENT}),
    admin("overrule", target="gone", by="boss", reason="r", expires=timedelta(1), id="n", at=MOMENT),
    team("agent", principal="p", role="r", task="t"),
    Call(lambda made: made.team, "returned", lambda made: {"return_id": made.decision.id}),
    Call(lambda made: made.returned, "delivery", lambda made: {"return_id": made.decision.id, "secret": "s"}),
    handed("expose", within_batch=True),
    Call(lambda made: made.ann, "depart", lambda _: {"id": "n", "epoch": 1}),
    Call(lambda made: made.away, "come_back", lambda _: {"purpose": "p", "checkpoint": "left", "id": "n"}),
    Call(lambda made: made.ann, "remember", lambda _: {"text": "x", "bound_to": "a", "id": "n"}),
    Call(lambda made: made.ann, "settle", lambda _: {"obligation": "o", "reason": "r"}),
    Call(lambda made: made.away, "departed", lambda _: {"name": "left"}),
    Call(lambda made: made.decision, "explain", lambda _: {"item": "a"}),
    Call(lambda made: made.memory, "form", lambda _: {"text": "x", "by": "bob", "sources": ["a"], "owner": ""}),
    Call(lambda made: made.memory, "observe", lambda made: {"evidence": made.source, "by": "bob", "owner": ""}),
    Call(lambda made: made.memory, "adopt", lambda _: {"claims": {}, "by": "bob"}),
    Call(lambda made: made.inference, "ingest", lambda made: {"evidence": [made.source], "by": "bob"}, UseFields),
    Call(lambda made: made.inference, "converse", lambda _: {"turns": [Turn("u", "x")], "by": "bob"}, UseFields),
    Call(lambda made: made.inference, "plan", lambda _: {"text": "x", "by": "bob", "role": "r", "task": "t"}),
]  # fmt: skip
WRONG: list[object] = [
    None, 7, -1, 1.5, True, "", "x" * 300_000, "two words", "2026-03-01", "soon", b"bytes", object(), [7], [None],
    ["two words"], [["nested"]], {"a": 1}, "a lone \ud800", datetime(2026, 1, 1), date(2026, 1, 1),  # noqa: DTZ001
    timedelta(10**6), Path("x"), "unknown", ["unknown"],
]  # fmt: skip
CASES = {f"{index}-{call.verb}": call for index, call in enumerate(CALLS)}


class Undone(Exception):  # noqa: N818 - it only undoes the batch
    pass


def attempt(made: Team, call: Call, given: dict[str, Any]) -> None:
    """Call a verb, and undo what it did: a value may happen to be right."""
    with suppress(Undone), made.team.batch():
        getattr(call.on(made), call.verb)(**given)
        raise Undone


@pytest.fixture(scope="module")
def made() -> Team:
    return Team()


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(case: str, made: Team) -> None:
    call = CASES[case]
    fields = {*call.given(made), *(call.fields.__annotations__ if call.fields else ())}
    for field in sorted(fields):
        for number, wrong in enumerate(WRONG):
            given = {**call.given(made), field: wrong}
            if "id" in given and field != "id":
                given["id"] = f"n{number}-{field}"
            try:
                attempt(made, call, given)
            except (ExposureError, ModelError):
                continue  # the arguments are in order
            except ReadmitError as error:
                message = str(error)
                values = [repr(wrong), *(map(repr, wrong) if isinstance(wrong, list) else ())]
                assert field in message or any(value[:20] in message for value in values), (
                    f"{call.verb}({field}={wrong!r:.40}): {message}"
                )
                assert "regex" not in message


@pytest.mark.parametrize("case", CASES)
def test_a_misspelt_argument_is_refused_by_its_name_with_the_nearest_one(case: str, made: Team) -> None:
    call = CASES[case]
    given = call.given(made)
    for field in given:
        swapped = field[:-2] + field[-1] + field[-2] if len(field) > 2 else field + "x"
        with pytest.raises(RecordError) as refused:
            attempt(made, call, {**given, swapped: given[field]})
        message = str(refused.value)
        assert message.startswith(f"{swapped}: {call.verb} has no such field; ")
        assert field in message


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(RecordError, match=r"^by: say who writes this; add by="):
        Scene().team.record("x")


def test_an_argument_too_many_is_refused() -> None:
    with pytest.raises(RecordError, match="revoke: too many values without a name"):
        Scene().team.revoke("a", "bob", by="bob")  # type: ignore[misc]


def test_an_argument_given_twice_is_refused() -> None:
    with pytest.raises(RecordError, match=r"^target: given twice to revoke"):
        Scene().team.revoke("a", target="a", by="bob")  # type: ignore[misc]


def test_an_error_inside_a_verb_is_not_taken_for_a_wrong_call() -> None:
    def broken() -> datetime:
        raise TypeError("the clock is broken")

    with pytest.raises(TypeError, match="the clock is broken"):
        Workspace.open(clock=broken)


MOMENTS = {
    "2026-03-01T09:00:00Z": "2026-03-01T09:00:00+00:00",
    "2026-03-01T09:00:00+02:00": "2026-03-01T07:00:00+00:00",
}


@pytest.mark.parametrize("text", MOMENTS)
def test_a_moment_may_be_a_text(text: str) -> None:
    team = Scene().team
    team.record("x", by="bob", id="m", valid_until=text)
    end = team._desk.log.item("m").valid.end
    assert end is not None
    assert end.isoformat() == MOMENTS[text]


def test_a_day_is_no_moment() -> None:
    with pytest.raises(RecordError, match=r"^valid_until: 2026-03-01T00:00:00 has no time zone; write 2026-03-01T0"):
        Scene().team.record("x", by="bob", valid_until="2026-03-01")


def test_sources_in_a_text_are_refused_in_words() -> None:
    scene = Scene()
    with pytest.raises(RecordError, match=r"^sources: give a list, as in \['"):
        scene.team.record("x", by="bob", sources=scene.source)
    with pytest.raises(RecordError, match=r"^sources\[0\]: 'f1…' is not a digest of evidence; use the 64"):
        scene.team.record("x", by="bob", sources=["f1…"])


POLICIES: dict[str, dict[str, Any]] = {
    "Policy.paper: gamma must be between 0 and 1": {"paper": {"gamma": 2}},
    "paper.gamma: 0.8 is not exact; write '0.8'": {"paper": {"gamma": 0.8}},
    "Policy.paper.gama: Policy.paper has no such field; did you mean gamma?": {"paper": {"gama": "1"}},
    "Policy.budgets.items: Expected `int`, got `str`": {"budgets": {"items": "8"}},
    "Policy.returns.on_incomplete: Invalid enum value 'x'; use one of block, reset, partial": {
        "returns": {"on_incomplete": "x"}
    },
    "Policy.paper.kinds[0]: Invalid enum value 'fct'; use one of fact, frontier": {"paper": {"kinds": ["fct"]}},
    "Policy.evidence.on_concurrent: Invalid enum value 'x'; use one of ask, newest": {
        "evidence": {"on_concurrent": "x"}
    },
    "on_concurrent: name the writers by rank, or write 'ask' or 'newest'": {"evidence": {"on_concurrent": ()}},
    "Policy.evidence.writers: Expected `array`, got `str`": {"evidence": {"writers": "bob"}},
    "suspect_at must not exceed invalid_at": {"evidence": {"suspect_at": "0.9"}},
    "items: a setting of budgets; write budgets={'items': …}": {"items": 8},
}


@pytest.mark.parametrize("said", POLICIES)
def test_a_wrong_policy_fails_where_it_is_made(said: str) -> None:
    with pytest.raises(RecordError) as refused:
        Policy(**POLICIES[said])
    assert said in str(refused.value)
    with pytest.raises(RecordError):
        Policy().changed(**POLICIES[said])


def test_a_share_may_be_a_text() -> None:
    assert Policy(paper={"gamma": "0.8"}, evidence={"writers": ["bob"]}).paper.gamma == Decimal("0.8")


def test_a_policy_without_names_is_refused() -> None:
    with pytest.raises(RecordError, match="Policy: 8 has no name"):
        Policy(8)  # type: ignore[call-arg, arg-type]


def test_exposing_a_blocked_return_is_an_exposure_error() -> None:
    scene = Scene()
    scene.duty()
    scene.depart()
    blocked = scene.ann().come_back()
    assert blocked.kind == "blocked"
    with pytest.raises(ExposureError, match="The return was blocked: there is no view; missing: d"):
        blocked.expose()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"missing/team.db: the folder .*missing does not exist; make it with"):
        Workspace.open(tmp_path / "missing" / "team.db")
    with pytest.raises(StoreError, match=r"^keys: the folder .*lost does not exist; make it with"):
        Workspace.open(tmp_path / "team.db", keys=tmp_path / "lost" / "keys")


OPENED: dict[str, dict[str, Any]] = {
    "path": {"path": 7},
    "name": {"name": 7},
    "policy": {"policy": {"paper": {}}},
    "clock": {"clock": "now"},
    "keys": {"keys": 7},
}


@pytest.mark.parametrize("field", OPENED)
def test_a_workspace_opened_wrongly_names_the_field(field: str) -> None:
    with pytest.raises(ReadmitError, match=f"^{field}: "):
        Workspace.open(**OPENED[field])
