"""A view as the returning agent reads it."""

from __future__ import annotations

from msgspec.structs import replace

from readmit_bench.episodes import Budget, Checkpoint, Row, Session, Turn, View, Withdrawn
from readmit_bench.notes import handed, notes, text

WHOLE = "Not really. The mill road is closed, so I walk."


def said(name: str, words: str, at: int) -> Row:
    return Row(id=name, text=words, at=at, source="user", departure=at < 2000)


def session(index: int, at: str) -> Session:
    return Session(index=index, at=at, turns=(Turn(speaker="user", text="…"),))


TURN = said("s3.t1", WHOLE, 3001)
DRAWN = replace(TURN, id="s3.t1.e00", text="I walk", turn=TURN.id, statement="The user walks to the mill.")
OLD = said("s0.t1", "I cycle to the mill.", 1)
CHECKPOINT = Checkpoint(
    tasks=("How do I get to the mill?",),
    rows=(OLD, DRAWN),
    relevance=(("s3.t1.e00", "s0.t1"),),
    budget=Budget(per_query=4, union=4),
    now=9000,
    history=(session(0, "2025-01-02"), session(3, "2025-02-03")),
    observations=(OLD, TURN),
)


def test_notes_come_in_the_order_of_time_and_say_when() -> None:
    view = View(method="m", rows=("s3.t1.e00", "s0.t1"), memories=("The user has a mill.",))
    assert notes(view, CHECKPOINT).splitlines() == [
        "[2025-01-02, before you left] I cycle to the mill.",
        "[2025-02-03, while you were away] The user walks to the mill. (“I walk”)",
        "The user has a mill.",
    ]


def test_what_no_longer_holds_is_read_as_withdrawn_and_not_scored() -> None:
    withdrawn = (Withdrawn(row="s0.t1", text="I cycle to the mill.", instead="s3.t1.e00"),)
    view = View(method="m", rows=("s3.t1.e00",), withdrawn=withdrawn)
    assert notes(view, CHECKPOINT).splitlines()[-1] == (
        "No longer holds: I cycle to the mill.; instead: The user walks to the mill. (“I walk”)"
    )
    assert "cycle" not in text(view, CHECKPOINT)


def test_the_brief_form_has_needs_first_and_says_what_the_task_takes_for_granted() -> None:
    withdrawn = (Withdrawn(row="s0.t1", text="I cycle to the mill.", instead="s3.t1.e00"),)
    late = said("s3.t2", "I love the mill.", 3002)
    checkpoint = replace(CHECKPOINT, rows=(OLD, DRAWN, late))
    view = View(method="m", rows=("s3.t1.e00", "s3.t2"), linked=("s3.t2",), withdrawn=withdrawn)
    asked = notes(view, checkpoint, form="brief", asked="Since I cycle to the mill, which lock is best?").splitlines()
    walks = "`The user walks to the mill. (“I walk”)`"
    assert [line for line in asked if line] == [
        f"You may be asked about `I cycle to the mill.`: that ended on 2025-02-03; instead: {walks}",
        "## Holds now",
        "- 2025-02-03: `I love the mill.` (new since you left)",
        f"- 2025-02-03: {walks} (new since you left)",
        "## No longer holds",
        f"- `I cycle to the mill.`: ended on 2025-02-03; instead: {walks}",
    ]
    assert notes(View(method="m", rows=()), CHECKPOINT, form="brief", asked="Which lock?") == ""


def test_what_is_scored_is_what_is_said_without_its_dates() -> None:
    view = View(method="m", rows=("s3.t1.e00", "s0.t1"))
    assert text(view, CHECKPOINT).splitlines() == ["I cycle to the mill.", "The user walks to the mill. (“I walk”)"]


def test_a_row_is_not_repeated_beside_its_whole_turn() -> None:
    view = View(method="m", rows=("s3.t1", "s3.t1.e00"))
    assert text(view, CHECKPOINT) == WHOLE


def test_a_row_is_shown_beside_a_part_of_its_turn_that_does_not_hold_it() -> None:
    view = View(method="m", rows=("s3.t1", "s3.t1.e00"), excerpts={"s3.t1": "The mill road is closed"})
    assert text(view, CHECKPOINT).splitlines() == ["The mill road is closed", "The user walks to the mill. (“I walk”)"]


def test_whole_turns_and_rows_are_handed_over_in_their_own_words() -> None:
    view = View(method="m", rows=("s3.t1", "s3.t1.e00"), excerpts={"s3.t1": "so I walk"})
    assert handed(view, CHECKPOINT) == {"s3.t1": "so I walk", "s3.t1.e00": "I walk"}


def test_candidates_without_a_history_keep_their_order() -> None:
    view = View(method="m", rows=("s3.t1", "s0.t1"))
    assert notes(view, replace(CHECKPOINT, history=())).splitlines() == [WHOLE, "I cycle to the mill."]
