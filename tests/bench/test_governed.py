"""TRACE with models, decided case by case: what the library does with what the models say."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace as replace_struct
from tests.bench.answers_by_file import pairs_shown, sections

from readmit.lab import Plan, PlannedDuty
from readmit.models import Ask, Failure, Fault, Lexical, Reply, Usage
from readmit.models.stages.plan import Dependency
from readmit_bench.episodes import Budget, Checkpoint, Row
from readmit_bench.methods import admitted
from readmit_bench.methods.governance import ABLATIONS, READMIT, TRACE_PAPER, Governance, Rules, Tuning
from readmit_bench.methods.governed import Governed
from readmit_bench.notes import text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BY_NAME = {one.name: one for one in ABLATIONS}


@dataclass
class Scripted:
    """Answers per stage; what is not scripted says that there is nothing to say."""

    answers: dict[str, Callable[[dict[str, str]], Any]]
    name: str = "scripted"

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        return [self._one(ask) for ask in asks]

    def _one(self, ask: Ask) -> Reply | Failure:
        usage = Usage(stage=ask.stage, input=10, output=5)
        shown = sections(ask.user)
        answer: Callable[[dict[str, str]], Any] = self.answers.get(ask.stage, lambda _: None)
        said = judged(shown, answer) if ask.stage == "verify" else answer(shown)
        if said is None:
            return Failure(fault=Fault.UNAVAILABLE, message="not scripted", usage=usage)
        return Reply(text=json.dumps(said), usage=usage, model=self.name)


def judged(shown: dict[str, str], answer: Callable[[dict[str, str]], Any]) -> Any:
    """What the script says of each pair of a request, in the form that the verifier asks for."""
    said = {
        (old, new): answer({"earlier statement": one, "later observation": other})
        for (old, new), (one, other) in pairs_shown(shown).items()
    }
    if None in said.values():
        return None
    return {"judgments": [_scored(*numbers, one) for numbers, one in said.items()]}


def _scored(statement: int, observation: int, said: dict[str, Any]) -> dict[str, Any]:
    score = {"invalidates": 0.9, "unsure": 0.4, "compatible": 0.1}[said["answer"]]
    quotes = {name: said[name] for name in ("item_quote", "evidence_quote", "premise")}
    return {"statement": statement, "observation": observation, **quotes, "stale": score}


OLD, OTHER, NEW = "I cycle to the mill every day.", "I keep bees.", "My leg is in plaster until spring."


def said(name: str, text: str, at: int) -> Row:
    return Row(id=name, text=text, at=at, source="user", departure=at < 2000)


ROWS = (said("old", OLD, 501), said("other", OTHER, 1002), said("new", NEW, 3001))
CHECKPOINT = Checkpoint(
    tasks=("How do I get to the mill?",),
    rows=ROWS,
    relevance=(("old", "other", "new"),),
    budget=Budget(per_query=4, union=2),
    now=9000,
)


def verdict(answer: str) -> Callable[[dict[str, str]], Any]:
    def judge(shown: dict[str, str]) -> Any:
        relevant = OLD in shown["earlier statement"]
        return {
            "premise": "able to cycle",
            "item_quote": OLD if relevant else OTHER,
            "evidence_quote": NEW,
            "answer": answer if relevant else "compatible",
            "confidence": 0.9,
        }

    return judge


def named(shown: dict[str, str]) -> Any:
    return {"labels": [{"observation": 1, "may_change": OLD in shown["earlier statement"]}]}


BASE: dict[str, Callable[[dict[str, str]], Any]] = {
    "scan": named,
    "premises": lambda _: {"lines": ["The speaker can cycle."]},
    "implied": lambda _: {"lines": ["The speaker cannot cycle."]},
    "verify": verdict("invalidates"),
}


def method(governance: Governance, **answers: Callable[[dict[str, str]], Any]) -> Governed:
    model = Scripted({**BASE, **answers})
    return Governed(governance, extractor=model, verifier=model, embedder=Lexical(), tuning=Tuning())


@pytest.mark.parametrize("governance", [TRACE_PAPER, READMIT], ids=lambda one: one.name)
def test_a_confirmed_invalidation_takes_out_the_old_and_puts_the_later_words_in_its_place(
    governance: Governance,
) -> None:
    view = admitted(method(governance), CHECKPOINT)
    assert view.rows == ("new", "other")
    assert view.left_out == {"old": ("premise_changed",)}
    (finding,) = [one for one in view.findings if one.answer == "invalidates"]
    assert (finding.row, finding.row_quote, finding.observation_quote) == ("old", OLD, NEW)


@pytest.mark.parametrize("governance", [TRACE_PAPER, READMIT], ids=lambda one: one.name)
def test_what_no_longer_holds_is_handed_to_the_actor_only_if_the_settings_ask_for_it(governance: Governance) -> None:
    model = Scripted(BASE)
    tuning = Tuning(retractions=True)
    asking = Governed(governance, extractor=model, verifier=model, embedder=Lexical(), tuning=tuning)
    assert [(one.row, one.text) for one in admitted(asking, CHECKPOINT).withdrawn] == [("old", OLD)]
    assert admitted(method(governance), CHECKPOINT).withdrawn == ()


@pytest.mark.parametrize("governance", [TRACE_PAPER, READMIT], ids=lambda one: one.name)
def test_a_compatible_pair_changes_nothing(governance: Governance) -> None:
    view = admitted(method(governance, verify=verdict("compatible")), CHECKPOINT)
    assert view.rows[0] == "old"
    assert "old" not in view.left_out


def invented(shown: dict[str, str]) -> Any:
    return {**verdict("invalidates")(shown), "evidence_quote": "I sold the bicycle."}


@pytest.mark.parametrize("verify", [lambda _: None, invented], ids=["no answer", "a quote that is not there"])
def test_what_no_verdict_settled_is_withheld_by_ours_and_unchanged_by_the_papers(
    verify: Callable[[dict[str, str]], Any],
) -> None:
    ours = admitted(method(READMIT, verify=verify), CHECKPOINT)
    assert ours.left_out["old"] == ("suspected",)
    assert "old" not in ours.rows
    papers = admitted(method(TRACE_PAPER, verify=verify), CHECKPOINT)
    assert papers.left_out == {}
    assert papers.rows[0] == "old"
    (finding,) = papers.findings
    assert finding.answer in ("", "unsure")


def test_the_papers_scan_looks_at_observations_and_knows_no_question() -> None:
    """Every session before the departure against those after it, whatever is asked; what it supersedes goes whole."""
    seen: list[dict[str, str]] = []

    def look(shown: dict[str, str]) -> Any:
        seen.append(shown)
        return named(shown)

    more = said("more", "I also row.", 502)
    fields = {name: getattr(CHECKPOINT, name) for name in CHECKPOINT.__struct_fields__}
    rows = (ROWS[0], more, *ROWS[1:])
    order = ("other", "new", "old", "more")
    wide = Checkpoint(**{**fields, "rows": rows, "relevance": (order,), "budget": Budget(per_query=1, union=1)})
    view = admitted(method(TRACE_PAPER, scan=look), wide)
    assert [shown["earlier statement"] for shown in seen] == [f"{OLD}\n\n{more.text}", OTHER]
    assert view.left_out == {"old": ("premise_changed",), "more": ("premise_changed",)}
    assert [one.row for one in view.findings] == ["old"]


def test_at_most_four_later_observations_share_a_look() -> None:
    seen: list[dict[str, str]] = []

    def look(shown: dict[str, str]) -> Any:
        seen.append(shown)
        return {"labels": []}

    later = [said(f"n{n}", f"Number {n}.", n * 1000) for n in range(3, 9)]
    fields = {name: getattr(CHECKPOINT, name) for name in CHECKPOINT.__struct_fields__}
    rows = (ROWS[0], *later)
    order = tuple(row.id for row in rows)
    many = Checkpoint(**{**fields, "rows": rows, "relevance": (order,)})
    admitted(method(TRACE_PAPER, scan=look, verify=verdict("compatible")), many)
    assert [sum(label.startswith("observation") for label in shown) for shown in seen] == [4, 2]


def test_without_ii_nothing_is_asked_and_the_old_stays() -> None:
    view = admitted(method(BY_NAME["trace-without-ii"]), CHECKPOINT)
    assert view.rows[0] == "old"
    assert view.findings == ()


def test_without_sbpr_the_private_memory_of_what_was_rejected_comes_back() -> None:
    view = admitted(method(BY_NAME["trace-without-sbpr"]), CHECKPOINT)
    full = admitted(method(TRACE_PAPER), CHECKPOINT)
    assert view.rows[: len(full.rows)] == full.rows, "the public view is unchanged"
    assert "old" in view.rows


def plan(shown: dict[str, str]) -> Any:
    need = {"name": "bees", "needed": "bees", "critical": True, "many": False}
    lost = {"name": "zeppelin", "needed": "zeppelin timetable", "critical": True, "many": False}
    return {
        "obligations": [{"obligation": "answer", "needs": [need, lost]}],
        "queries": ["bees", "mill", "zeppelin"],
    }


def test_an_uncovered_critical_dependency_blocks_and_without_cvg_it_does_not() -> None:
    question = replace_task("zeppelin?")
    blocked = admitted(method(TRACE_PAPER, plan=plan), question)
    assert blocked.blocked
    assert blocked.missing == ("t0.zeppelin",)
    without = admitted(method(BY_NAME["trace-without-cvg"], plan=plan), question)
    assert not without.blocked
    assert without.rows
    assert without.missing == ("t0.zeppelin",)
    assert admitted(method(BY_NAME["trace-without-oas"], plan=plan), question).blocked, "the coverage check stays"


def test_a_planned_need_that_nobody_met_blocks_nothing_in_ours() -> None:
    """The plan is a model's draft: a need without any evidence is a question."""
    view = admitted(method(READMIT, plan=plan), replace_task("zeppelin?"))
    assert not view.blocked
    assert "other" in view.rows


def test_two_rows_that_say_the_same_are_one_in_ours() -> None:
    again = said("again", "I keep bees!", 1600)
    fields = {name: getattr(CHECKPOINT, name) for name in CHECKPOINT.__struct_fields__}
    rows = (ROWS[0], ROWS[1], again, ROWS[2])
    wide = Checkpoint(
        **{
            **fields,
            "tasks": ("Do I keep bees, and how do I get to the mill?",),
            "rows": rows,
            "relevance": (tuple(row.id for row in rows),),
            "budget": Budget(per_query=4, union=4),
        }
    )
    compatible = {"verify": verdict("compatible")}
    assert len({"other", "again"} & set(admitted(method(READMIT, **compatible), wide).rows)) == 1
    assert {"other", "again"} <= set(admitted(method(TRACE_PAPER, **compatible), wide).rows)


@pytest.mark.parametrize(
    ("beside", "explicit", "handed"),
    [
        (False, True, {"new.e00"}),
        (True, True, {"old.e00", "new.e00"}),
        (True, False, {"new.e00"}),  # pairs are judged, and no verdict says that both hold
    ],
)
def test_two_values_of_a_slot_are_handed_over_where_nothing_is_asked(
    beside: bool, explicit: bool, handed: set[str]
) -> None:
    old, new = drawn(ROWS[0], OLD, slot="route.mill"), drawn(ROWS[2], NEW, slot="route.mill")
    rules = replace(READMIT, implicit=False, rules=Rules(beside=beside))
    model = Scripted(BASE)
    by_rule = Governed(rules, extractor=model, verifier=model, embedder=Lexical(), tuning=Tuning(explicit=explicit))
    assert set(admitted(by_rule, drawn_from(old, new)).rows) == handed


def test_without_cvg_the_selection_still_covers_what_it_can() -> None:
    """Relevance alone would hand over the two most relevant rows and none about bees."""
    rows = (*ROWS[:1], said("mill", "I grind flour at the mill.", 1003), *ROWS[1:])
    wide = Checkpoint(
        tasks=("zeppelin?",),
        rows=rows,
        relevance=(("old", "mill", "new", "other"),),
        budget=Budget(per_query=2, union=2),
        now=9000,
    )
    compatible = {"verify": verdict("compatible"), "plan": plan}
    assert admitted(method(TRACE_PAPER, **compatible), wide).blocked
    view = admitted(method(BY_NAME["trace-without-cvg"], **compatible), wide)
    assert (view.rows, view.missing) == (("old", "other"), ("t0.zeppelin",))


def replace_task(task: str) -> Checkpoint:
    fields = {name: getattr(CHECKPOINT, name) for name in CHECKPOINT.__struct_fields__}
    return Checkpoint(**{**fields, "tasks": (task,)})


def covering(shown: dict[str, str]) -> Any:
    need = {"name": "bees", "needed": "bees", "critical": True, "many": False}
    return {"obligations": [{"obligation": "answer", "needs": [need]}], "queries": ["bees", "mill", "plaster"]}


def test_the_cover_comes_before_relevance_and_without_oas_relevance_decides() -> None:
    rows = (*ROWS[:1], said("mill", "I grind flour at the mill.", 1003), *ROWS[1:])
    wide = Checkpoint(
        tasks=("mill?",),
        rows=rows,
        relevance=(("old", "mill", "new", "other"),),
        budget=Budget(per_query=2, union=2),
        now=9000,
    )
    compatible = {"verify": verdict("compatible"), "plan": covering}
    assert admitted(method(TRACE_PAPER, **compatible), wide).rows == ("old", "other")
    assert admitted(method(BY_NAME["trace-without-oas"], **compatible), wide).blocked, "relevance missed the bees"
    lenient = replace(BY_NAME["trace-without-oas"], complete_view=False)
    assert admitted(method(lenient, **compatible), wide).rows == ("old", "mill")


def test_what_only_a_need_reaches_is_judged_too() -> None:
    rows = (ROWS[0], ROWS[1], said("mill", "The mill is by the river, the mill.", 1503), ROWS[2])
    wide = Checkpoint(
        tasks=("mill?",), rows=rows, relevance=(("mill", "old", "new", "other"),),
        budget=Budget(per_query=2, union=2), now=9000,
    )  # fmt: skip
    asked: list[str] = []

    def judge(shown: dict[str, str]) -> Any:
        asked.append(shown["earlier statement"])
        return verdict("compatible")(shown)

    def elsewhere(shown: dict[str, str]) -> Any:
        return {**covering(shown), "queries": ["mill", "river", "cycle"]}

    view = admitted(method(READMIT, verify=judge, plan=elsewhere), wide)
    assert "other" in view.rows, "the need for bees"
    assert OTHER in asked


def drawn_from(*rows: Row) -> Checkpoint:
    """The same turns, with these rows drawn from them."""
    fields = {name: getattr(CHECKPOINT, name) for name in CHECKPOINT.__struct_fields__}
    order = tuple(row.id for row in rows)
    return Checkpoint(**{**fields, "rows": rows, "relevance": (order,), "observations": ROWS})


def drawn(turn: Row, words: str, **fields: Any) -> Row:
    whole = {name: getattr(turn, name) for name in turn.__struct_fields__}
    return Row(**{**whole, "id": f"{turn.id}.e00", "text": words, "turn": turn.id, **fields})


def test_a_turn_that_states_nothing_is_neither_judged_nor_handed_over_and_is_counted() -> None:
    """The extractor read all three sessions and took something down from the first and the last."""
    old, new = drawn(ROWS[0], OLD), drawn(ROWS[2], NEW)
    rows, asked = drawn_from(old, ROWS[1], new), list[tuple[str, str]]()

    def judge(shown: dict[str, str]) -> Any:
        asked.append((shown["earlier statement"], shown["later observation"]))
        return verdict("compatible")(shown)

    read = msgspec.structs.replace(rows, read=(0, 1, 3))
    view = admitted(method(READMIT, verify=judge), read)
    assert (set(view.rows), view.nothing_stated) == ({"old.e00", "new.e00"}, 1)
    assert asked == [(OLD, NEW)]
    # A session that could not be read is as before.
    unread = admitted(method(READMIT, verify=judge), msgspec.structs.replace(rows, read=(0, 3)))
    assert ("other" in unread.rows, unread.nothing_stated) == (True, 0)
    assert (OTHER, NEW) in asked


def test_a_later_value_of_the_slot_replaces_the_old_without_any_verdict() -> None:
    old = drawn(ROWS[0], OLD, slot="route.mill")
    new = drawn(ROWS[2], NEW, slot="route.mill", operation="update")
    view = admitted(method(BY_NAME["trace-without-ii"]), drawn_from(old, ROWS[1], new))
    assert view.left_out == {"old.e00": ("slot_updated",)}
    assert set(view.rows) == {"new.e00", "other"}


def test_an_update_ends_what_shares_its_slot_or_by_the_rule_of_names_what_it_names() -> None:
    old = drawn(ROWS[0], OLD, slot="route.way")
    names = replace(READMIT, rules=Rules(names=True))
    compatible = method(names, verify=verdict("compatible"))
    unnamed = drawn(ROWS[2], NEW, slot="route.way", operation="update")
    by_slot = admitted(method(READMIT, verify=verdict("compatible")), drawn_from(old, unnamed))
    assert by_slot.left_out == {"old.e00": ("superseded",)}
    assert {"old.e00", "new.e00"} <= set(admitted(compatible, drawn_from(old, unnamed)).rows)
    turn = said("new", "I used to cycle to the mill, but now I walk.", 3001)
    named = drawn(turn, turn.text, slot="route.plan", operation="update")
    checkpoint = replace_struct(drawn_from(old, ROWS[1], named), observations=(*ROWS[:2], turn))
    view = admitted(compatible, checkpoint)
    assert view.left_out == {"old.e00": ("superseded",)}
    assert set(view.rows) == {"new.e00", "other"}


def test_a_withdrawal_of_the_slot_revokes_the_old() -> None:
    old = drawn(ROWS[0], OLD, slot="route.mill")
    gone = drawn(ROWS[2], "in plaster", slot="route.mill", operation="delete")
    view = admitted(method(BY_NAME["trace-without-ii"]), drawn_from(old, ROWS[1], gone))
    assert view.left_out == {"old.e00": ("revoked",)}
    assert view.rows == ("other",)


@pytest.mark.parametrize("governance", [TRACE_PAPER, READMIT], ids=lambda one: one.name)
def test_a_pair_is_judged_on_what_was_said_and_not_on_what_was_taken_down(governance: Governance) -> None:
    """Words that nobody took down invalidate as well, and the turn that holds them takes the place of the old."""
    seen: list[dict[str, str]] = []

    def judge(shown: dict[str, str]) -> Any:
        seen.append(shown)
        about_old = OLD in shown.values()
        return {
            **verdict("invalidates")({"earlier statement": OLD}),
            "answer": "invalidates" if about_old else "unsure",
        }

    words = "until spring"
    rows = (drawn(ROWS[0], "I cycle", slot="route.mill"), ROWS[1], drawn(ROWS[2], words, slot="season"))
    view = admitted(method(governance, verify=judge), drawn_from(*rows))
    assert any(OLD in shown.values() and shown["later observation"] == NEW for shown in seen)
    assert view.rows[0] == "new"
    assert "old.e00" in view.left_out
    assert NEW in text(view, drawn_from(*rows))


@pytest.mark.parametrize("governance", [TRACE_PAPER, READMIT], ids=lambda one: one.name)
def test_a_verdict_on_a_session_that_left_no_row_counts(governance: Governance) -> None:
    """Memora keeps facts alone: a session of which nothing was taken down is still what a verdict may speak of."""
    rows = drawn_from(drawn(ROWS[0], OLD), drawn(ROWS[1], OTHER))
    view = admitted(method(governance), rows)
    assert view.left_out == {"old.e00": ("premise_changed",)}
    assert view.rows == ("new", "other.e00")
    kept = admitted(method(governance, verify=verdict("compatible")), rows)
    assert kept.left_out == {}
    assert kept.rows == ("old.e00", "other.e00")
    unsure = admitted(method(governance, verify=verdict("unsure")), rows)
    assert "new" not in unsure.rows


def test_a_suspicion_takes_out_no_draft() -> None:
    view = admitted(method(READMIT, verify=lambda _: None), drawn_from(drawn(ROWS[0], OLD), drawn(ROWS[1], OTHER)))
    assert not view.blocked
    assert "old.e00" not in view.left_out


def test_premises_that_extraction_wrote_are_not_asked_for_again() -> None:
    asked: list[dict[str, str]] = []

    def premises(shown: dict[str, str]) -> Any:
        asked.append(shown)
        return {"lines": ["x"]}

    rows = (drawn(ROWS[0], OLD, premises=("The speaker can cycle.",)), *ROWS[1:])
    admitted(method(READMIT, premises=premises), drawn_from(*rows))
    assert asked == [], "every pair is judged, so nobody needs premises"
    ranked = replace(READMIT, settings=msgspec.structs.replace(READMIT.settings, all_pairs=0))
    admitted(method(ranked, premises=premises), drawn_from(*rows))
    assert [list(shown.values()) for shown in asked] == [[OTHER]]


def test_a_plan_that_all_methods_share_is_not_asked_for_again() -> None:
    def unexpected(_: dict[str, str]) -> Any:
        raise AssertionError("planned twice")

    shared = Plan(
        duties=(
            PlannedDuty(id="o1", text="answer", dependencies=(Dependency(id="z", text="zeppelin", critical=True),)),
        ),
        queries=("a", "b", "c"),
    )
    fields = {name: getattr(CHECKPOINT, name) for name in CHECKPOINT.__struct_fields__}
    question = Checkpoint(**{**fields, "tasks": ("zeppelin?",), "plans": (shared,)})
    view = admitted(method(TRACE_PAPER, plan=unexpected), question)
    assert view.missing == ("t0.z",)


def test_a_cover_may_take_what_retrieval_does_not_fill() -> None:
    rows = tuple(said(name, f"I keep {name}.", 1001 + n) for n, name in enumerate(("bees", "goats", "hens", "ducks")))
    needs = [{"name": name, "needed": name, "critical": True, "many": False} for name in ("bees", "goats", "hens")]

    def planned(_: dict[str, str]) -> Any:
        return {"obligations": [{"obligation": "answer", "needs": needs}], "queries": ["a", "b", "c"]}

    def handed(at_most: int | None) -> tuple[str, ...]:
        tight = Checkpoint(
            tasks=("What do I keep?",), rows=rows, relevance=(("ducks", "bees", "goats", "hens"),),
            budget=Budget(per_query=1, union=1, at_most=at_most), now=9000,
        )  # fmt: skip
        return admitted(method(TRACE_PAPER, plan=planned), tight).rows

    assert set(handed(3)) == {"bees", "goats", "hens"}
    assert handed(None) == (), "what the role needs does not fit, so the return is refused"


ANSWERS = (
    Row(
        id="mine", text="(a) heron", at=1, source="me", departure=True, slot="answer", task_version="q", answer="heron",
    ),
    Row(
        id="theirs", text="(b) crane, because", at=2, source="them", departure=False, slot="answer", operation="update",
        supersedes=("mine",), task_version="q", answer="crane",
    ),
)  # fmt: skip
CONTEST = Checkpoint(
    tasks=("Which bird?\n\nAnswer choices:\n(A) heron\n(B) crane",),
    rows=ANSWERS,
    relevance=(("theirs", "mine"),),
    budget=Budget(per_query=4, union=4, characters=4096),
    now=9,
    task_version="q",
)


@pytest.mark.parametrize(
    ("answer", "confidence", "rows"),
    [("heron", 0.9, ("mine",)), ("crane", 0.65, ("theirs",)), ("heron", 0.6, ()), ("stork", 0.9, ())],
)
def test_a_contest_is_settled_by_an_independent_answer_or_not_at_all(
    answer: str, confidence: float, rows: tuple[str, ...]
) -> None:
    def opinion(shown: dict[str, str]) -> Any:
        assert "because" not in str(shown), "the verifier must not see what the parties said"
        return {"reason": "", "answerable": True, "answer": answer, "confidence": confidence}

    view = admitted(method(READMIT, settle=opinion), CONTEST)
    assert (view.rows, view.blocked) == (rows, not rows)


@pytest.mark.parametrize(("answer", "rows"), [("crane", ("theirs",)), ("heron", ()), ("stork", ())])
def test_an_answer_to_another_version_never_comes_back(answer: str, rows: tuple[str, ...]) -> None:
    fields = {name: getattr(CONTEST, name) for name in CONTEST.__struct_fields__}
    old = {name: getattr(ANSWERS[0], name) for name in ANSWERS[0].__struct_fields__}
    changed = Checkpoint(**{**fields, "rows": (Row(**{**old, "task_version": "before"}), ANSWERS[1])})

    def opinion(_: dict[str, str]) -> Any:
        return {"reason": "", "answerable": True, "answer": answer, "confidence": 0.9}

    view = admitted(method(READMIT, settle=opinion), changed)
    assert (view.rows, view.blocked) == (rows, not rows)


def test_a_later_value_takes_the_place_and_the_support_of_the_one_it_replaced() -> None:
    """The question is worded like the old value; the new one would not have been found by its words."""
    old = drawn(ROWS[0], OLD, slot="route.mill")
    fillers = [said(f"f{n}", f"I went to mill number {n}.", 1500 + n) for n in range(3)]
    new = drawn(ROWS[2], "Boats are how we go now.", slot="route.mill", operation="update")
    rows = (old, *fillers, new)
    fields = {name: getattr(CHECKPOINT, name) for name in CHECKPOINT.__struct_fields__}
    order = tuple(row.id for row in rows)
    made = Checkpoint(**{**fields, "rows": rows, "relevance": (order,), "observations": (*ROWS[:1], *fillers, ROWS[2])})

    def planned(_: dict[str, str]) -> Any:
        need = {"name": "route", "needed": "cycle every day", "critical": True, "many": False}
        return {"obligations": [{"obligation": "answer", "needs": [need]}], "queries": ["a", "b", "c"]}

    view = admitted(method(BY_NAME["trace-without-ii"], plan=planned), made)
    assert not view.blocked
    assert view.rows[0] == "new.e00"
