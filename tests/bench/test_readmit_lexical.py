"""The model-free method of our own: decided by the library, from explicit evidence alone."""

from __future__ import annotations

import pytest
from tests.bench.data import shared
from tests.bench.viewing import make_views, score_manbench_views

from readmit import Reason
from readmit.errors import RecordError
from readmit_bench.datasets.manbench_cases import CHALLENGER, DEPARTURE, read_manbench
from readmit_bench.episodes import Budget, Checkpoint, Row, View
from readmit_bench.methods import MODEL_FREE, admitted
from readmit_bench.methods.readmit_lexical import ReadmitLexical


def checkpoint(*rows: Row, version: str | None = None) -> Checkpoint:
    order = tuple(row.id for row in reversed(rows))
    return Checkpoint(
        tasks=("What now?",),
        rows=rows,
        relevance=(order,),
        budget=Budget(per_query=4, union=4),
        now=9000,
        task_version=version,
    )


def said(name: str, text: str, at: int, **fields: object) -> Row:
    return Row(id=name, text=text, at=at, source="user", departure=at < 2000, **fields)  # type: ignore[arg-type]


def test_a_spoken_ending_takes_out_the_earlier_statement_and_itself() -> None:
    rows = (
        said("a", "I keep herons.", 1001),
        said("b", "I keep ferrets.", 1002),
        said("c", "I no longer keep herons.", 3001),
    )
    view = admitted(ReadmitLexical(), checkpoint(*rows))
    assert view.rows == ("b",)
    assert view.left_out == {"a": (Reason.REVOKED,)}


def test_a_spoken_replacement_hands_over_only_what_stands() -> None:
    rows = (said("a", "I play the oboe.", 1001), said("b", "I used to love the oboe, but now I play bassoon.", 3001))
    view = admitted(ReadmitLexical(), checkpoint(*rows))
    assert view.rows == ("b",)
    assert view.excerpts == {"b": "but now I play bassoon."}
    assert view.left_out == {"a": (Reason.SUPERSEDED,)}


def test_a_slot_holds_its_last_value() -> None:
    rows = (said("a", "blue", 1001, slot="door.color"), said("b", "red", 3001, slot="door.color"))
    view = admitted(ReadmitLexical(), checkpoint(*rows))
    assert view.rows == ("b",)
    assert view.left_out == {"a": (Reason.SLOT_UPDATED,)}


def test_what_rests_on_a_fallen_premise_falls_too() -> None:
    rows = (
        said("a", "the lock is open", 1001, slot="lock"),
        said("b", "boats may pass", 1002, slot="boats", depends_on=("a",)),
        said("c", "the lock is shut", 3001, slot="lock"),
    )
    view = admitted(ReadmitLexical(), checkpoint(*rows))
    assert view.rows == ("c",)
    assert view.left_out["b"] == (Reason.PREMISE_CHANGED,)


@pytest.mark.parametrize(("before", "now", "rows", "blocked"), [("q1", "q1", (), True), ("q1", "q2", ("new",), False)])
def test_acceptance_follows_the_task_version(before: str, now: str, rows: tuple[str, ...], blocked: bool) -> None:
    old = Row(id="old", text="(a)", at=1, source="me", departure=True, slot="answer", task_version=before)
    new = Row(
        id="new", text="(b)", at=2, source="them", departure=False, slot="answer", operation="update",
        supersedes=("old",), task_version=now,
    )  # fmt: skip
    view = admitted(ReadmitLexical(), checkpoint(old, new, version=now))
    assert (view.rows, view.blocked) == (rows, blocked)


def test_an_excerpt_that_the_row_does_not_say_is_refused() -> None:
    class Inventive:
        name = "Inventive"

        def view(self, checkpoint: Checkpoint) -> View:
            return View(method=self.name, rows=("a",), excerpts={"a": "I keep eagles."})

    with pytest.raises(RecordError, match="which row 'a' does not say"):
        admitted(Inventive(), checkpoint(said("a", "I keep herons.", 1001)))


def test_on_manbench_it_fails_closed_where_only_a_verifier_could_decide() -> None:
    data = read_manbench(shared("manbench"))
    some = type(data)(data.benchmark, data.cases[:60], data.notes)
    methods = {"readmit-lexical": MODEL_FREE["readmit-lexical"]}
    views = make_views(some.episodes, methods)
    scores = score_manbench_views(some, views)["readmit-lexical"]
    assert (scores.blocks["old-stale"].via, scores.blocks["old-stale"].iir) == (1, 1)
    assert (scores.blocks["old-valid"].via, scores.blocks["old-valid"].iir) == (0, 1)
    assert {row for _, made in views.made for row in made["readmit-lexical"].rows} == {CHALLENGER}
    assert DEPARTURE != CHALLENGER
