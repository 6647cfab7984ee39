"""The model-free methods: each rule in its docstring, one case a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from readmit.errors import RecordError
from readmit_bench.episodes import Budget, Checkpoint, Row, Session, Turn, View
from readmit_bench.methods import MODEL_FREE, admitted, retrieved
from readmit_bench.methods.drop_last_session import DropLastSession
from readmit_bench.methods.memstrata import fingerprint, key, open_rows
from readmit_bench.methods.memtx import Beliefs, State

NOW = 100


def row(name: str, at: int, text: str | None = None, **fields: Any) -> Row:
    return Row(**{"id": name, "at": at, "text": text or name, "source": "user", "departure": at < 50, **fields})


def checkpoint(*rows: Row, budget: Budget | None = None) -> Checkpoint:
    ranking = tuple(r.id for r in rows)
    return Checkpoint(
        tasks=("?",), rows=rows, relevance=(ranking,), budget=budget or Budget(per_query=10, union=10), now=NOW
    )


def shown(name: str, *rows: Row) -> set[str]:
    return set(admitted(MODEL_FREE[name], checkpoint(*rows)).rows)


def test_static_shows_the_last_version_of_everything() -> None:
    rows = (row("a", 1), row("b", 60, supersedes=("a",)), row("c", 61), row("d", 62, operation="delete"))
    assert shown("Static", *rows) == {"b", "c"}


def test_restore_shows_the_departure_state_as_it_was() -> None:
    rows = (row("a", 1), row("a2", 2, supersedes=("a",)), row("b", 60, supersedes=("a2",)), row("c", 61))
    assert shown("Restore", *rows) == {"a2"}


def test_restore_hands_over_the_departure_state_whole() -> None:
    rows = tuple(row(f"r{at:02}", at) for at in range(1, 40))
    tight = checkpoint(*rows, row("later", 60), budget=Budget(per_query=2, union=3))
    assert admitted(MODEL_FREE["Restore"], tight).rows == tuple(one.id for one in rows)
    assert len(admitted(MODEL_FREE["Static"], tight).rows) == 2


def test_dropping_the_last_session_before_the_departure_looks_at_places_alone() -> None:
    rows = tuple(row(f"s{at}", at, departure=at < 3000) for at in (1001, 2001, 2002, 3001, 9001))
    view = admitted(DropLastSession(), checkpoint(*rows))
    assert view.rows == ("s1001", "s3001", "s9001")
    assert admitted(DropLastSession(), checkpoint(rows[-1])).rows == ("s9001",)


def test_reset_shows_nothing() -> None:
    assert shown("Reset", row("a", 1)) == set()


@dataclass(frozen=True)
class Ledger:
    rows: tuple[Row, ...]
    opened: set[str]


MEMSTRATA = {
    "a new value closes the old one": Ledger((row("a", 1, slot="s"), row("b", 60, slot="S ")), {"b"}),
    "the same value is a duplicate": Ledger(
        (row("a", 1, "Tea, hot.", slot="s"), row("b", 60, "tea hot", slot="s")), {"a"}
    ),
    "entity and attribute come before the slot": Ledger(
        (
            row("a", 1, slot="s", entity="Ann", attribute="home town"),
            row("b", 2, slot="s", entity="ann", attribute="Home_Town"),
            row("c", 3, slot="s"),
        ),
        {"b", "c"},
    ),
    "no key, no conflict": Ledger((row("a", 1), row("b", 2)), {"a", "b"}),
    "an explicit link closes across keys": Ledger(
        (row("a", 1, slot="s"), row("b", 2, slot="t", supersedes=("a",))), {"b"}
    ),
    "a deletion closes and is no statement": Ledger(
        (row("a", 1, slot="s"), row("b", 2, slot="s", operation="delete")), set()
    ),
    "a tombstone stops what began earlier": Ledger(
        (row("d", 20, slot="s", operation="delete"), row("a", 30, slot="s", valid_from=10)), set()
    ),
    "what begins after a tombstone opens": Ledger(
        (row("d", 20, slot="s", operation="delete"), row("a", 30, slot="s")), {"a"}
    ),
    "a late report of an older value enters closed": Ledger(
        (row("new", 10, slot="s"), row("old", 20, slot="s", valid_from=5)), {"new"}
    ),
    "invalidated rows drop out": Ledger((row("a", 1, slot="s"), row("b", 2, slot="s", invalidated=True)), {"a"}),
    "expired and future rows drop out": Ledger((row("a", 1, valid_until=NOW), row("b", 2, valid_from=NOW + 1)), set()),
    "valid to the last moment": Ledger((row("a", 1, valid_until=NOW + 1),), {"a"}),
}


@pytest.mark.parametrize("case", MEMSTRATA.values(), ids=MEMSTRATA.keys())
def test_memstrata(case: Ledger) -> None:
    assert open_rows(case.rows, NOW) == case.opened
    assert shown("MemStrata", *case.rows) == case.opened


def test_fingerprints_and_keys() -> None:
    assert fingerprint("  It's “HOT” — truly!") == fingerprint("its hot truly")
    assert key(row("a", 1, slot="hotel.booking")) == key(row("b", 2, slot="Hotel Booking"))
    assert key(row("a", 1)) != key(row("b", 1))


@dataclass(frozen=True)
class Transactions:
    rows: tuple[Row, ...]
    states: dict[str, State]


C, Q, S, R, V, T = (
    State.COMMITTED,
    State.QUARANTINED,
    State.SUPERSEDED,
    State.REVOKED,
    State.VALIDATED,
    State.TENTATIVE,
)
MEMTX = {
    "weak evidence stays raw": Transactions((row("a", 1, confidence=0.59, authority=0.89),), {"a": State.RAW}),
    "high authority needs no confidence": Transactions((row("a", 1, confidence=0.1, authority=0.9),), {"a": C}),
    "outside its interval it stays tentative": Transactions((row("a", 1, valid_until=50),), {"a": T}),
    "a source supersedes itself": Transactions((row("a", 1, slot="s"), row("b", 2, slot="s")), {"a": S, "b": C}),
    "equal sources in conflict are both quarantined": Transactions(
        (row("a", 1, slot="s"), row("b", 2, slot="s", source="other")), {"a": Q, "b": Q}
    ),
    "agreement across sources is no conflict": Transactions(
        (row("a", 1, "Yes.", slot="s"), row("b", 2, "yes", slot="s", source="other")), {"a": C, "b": C}
    ),
    "higher authority supersedes": Transactions(
        (row("a", 1, slot="s"), row("b", 2, slot="s", source="other", authority=0.8)), {"a": S, "b": C}
    ),
    "lower authority aborts": Transactions(
        (row("a", 1, slot="s", authority=0.8), row("b", 2, slot="s", source="other")), {"a": C, "b": V}
    ),
    "a competitor after the snapshot aborts the late write": Transactions(
        (row("a", 5, slot="s"), row("b", 9, slot="s", snapshot=4)), {"a": C, "b": V}
    ),
    "a competitor before the snapshot does not": Transactions(
        (row("a", 5, slot="s"), row("b", 9, slot="s", snapshot=5)), {"a": S, "b": C}
    ),
    "an explicit link supersedes across sources": Transactions(
        (row("a", 1, slot="s"), row("b", 2, slot="s", source="other", supersedes=("a",))), {"a": S, "b": C}
    ),
    "what fails on a dependency supersedes nothing": Transactions(
        (row("a", 1, slot="s"), row("b", 2, slot="s", depends_on=("missing",))), {"a": C, "b": V}
    ),
    "a conflict comes before dependencies and quarantines both": Transactions(
        (row("a", 1, slot="s"), row("b", 2, slot="s", source="other", depends_on=("missing",))), {"a": Q, "b": Q}
    ),
    "a write that is quarantined supersedes nothing": Transactions(
        (
            row("a", 1, slot="s", valid_until=NOW + 1, source="other"),
            row("b", 2, slot="s", valid_from=2, text="a", source="me"),
            row("c", 3, slot="s", source="me"),
        ),
        {"a": Q, "b": C, "c": Q},
    ),
    "a deletion revokes, and what rests on it": Transactions(
        (row("a", 1, slot="s"), row("b", 2, depends_on=("a",)), row("d", 3, slot="s", operation="delete")),
        {"a": R, "b": R, "d": State.RAW},
    ),
    "a supersession quarantines what rests on it": Transactions(
        (row("a", 1, slot="s"), row("b", 2, depends_on=("a",)), row("c", 3, slot="s")), {"a": S, "b": Q, "c": C}
    ),
    "scope may not widen": Transactions(
        (row("a", 1, scope=("x", "y")), row("b", 2, scope=("x",), depends_on=("a",)), row("c", 3, depends_on=("a",))),
        {"a": C, "b": C, "c": V},
    ),
    "an invalidated row is revoked": Transactions((row("a", 1, invalidated=True),), {"a": R}),
}


@pytest.mark.parametrize("case", MEMTX.values(), ids=MEMTX.keys())
def test_memtx(case: Transactions) -> None:
    assert Beliefs(case.rows, NOW).states == case.states
    assert shown("MemTX", *case.rows) == {name for name, state in case.states.items() if state is C}


def test_disjoint_times_coexist() -> None:
    early, late = row("a", 1, slot="s", valid_until=NOW + 5), row("b", 2, slot="s", valid_from=NOW + 5)
    assert Beliefs((early, late), NOW + 4).states == {"a": C, "b": T}
    # Both intervals contain now only when they overlap, so a coexisting pair never has two committed rows at once.
    assert Beliefs((early, late), NOW + 5).states == {"a": T, "b": C}


def test_retrieval_takes_the_best_of_each_query_in_turn() -> None:
    rows = tuple(row(name, i) for i, name in enumerate("abcdef"))
    both = Checkpoint(
        tasks=("1", "2"),
        rows=rows,
        relevance=(("a", "b", "c", "d", "e", "f"), ("f", "e", "d", "c", "b", "a")),
        budget=Budget(per_query=2, union=3),
        now=NOW,
    )
    assert retrieved(both, set("abcdef")) == ("a", "f", "b")
    assert retrieved(both, set("bcde")) == ("b", "e", "c")


def test_a_character_budget_skips_what_does_not_fit() -> None:
    rows = (row("a", 1, "x" * 6), row("b", 2, "x" * 6), row("c", 3, "x" * 4))
    tight = checkpoint(*rows, budget=Budget(per_query=5, union=5, characters=10))
    assert retrieved(tight, {"a", "b", "c"}) == ("a", "c")


@dataclass(frozen=True)
class Rogue:
    """A method that hands back what it should not."""

    answer: View
    name: str = "Rogue"

    def view(self, checkpoint: Checkpoint) -> View:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (View(method="Rogue", rows=("z",)), "'z'"),
        (View(method="Rogue", rows=("a", "a")), "twice"),
        (View(method="Rogue", rows=("a",), blocked=True), "refused"),
    ],
)
def test_a_view_is_checked(answer: View, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        admitted(Rogue(answer), checkpoint(row("a", 1)))


TIGHT = Budget(per_query=5, union=2, at_most=3, characters=20)
TURNS = (Session(index=0, at="", turns=(Turn(speaker="user", text="I keep herons here."),)),)
BEYOND = {
    "one row too many": (Rogue(View(method="Rogue", rows=("a", "b", "c"))), r"budget: Rogue hands over 3 rows.*for 2"),
    "a link of a row that is not there": (
        Rogue(View(method="Rogue", rows=("a",), linked=("b",))), "linked: Rogue links 'b' to a need",
    ),
    "obligations have room, and an end": (
        Rogue(View(method="readmit", rows=("a", "b", "c", "d")), "readmit"), r"budget: readmit .* 4 rows.*for 3",
    ),
    "private memories have room, and an end": (
        Rogue(View(method="trace-without-sbpr", rows=tuple("abcdefghijkl")), "trace-without-sbpr"), r"12 rows.*for 11",
    ),
    "too many characters": (
        Rogue(View(method="Rogue", rows=("long",))), r"budget: Rogue hands over 21 characters.*for 20",
    ),
    "memories count": (Rogue(View(method="Rogue", rows=("a", "b"), memories=("I keep",))), r"3 rows.*for 2"),
    "a memory that nobody said": (
        Rogue(View(method="Rogue", rows=(), memories=("I keep eagles",))), "memories: Rogue hands over 'I keep eagles'",
    ),
    "what is not of the departure state": (
        Rogue(View(method="Restore", rows=("a", "later")), "Restore"), "rows: Restore .*'later' is of the absence",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BEYOND)
def test_a_view_beyond_budget_or_words_is_an_error_that_names_the_method(case: str) -> None:
    method, message = BEYOND[case]
    rows = (*(row(name, 1) for name in "abcdefghijkl"), row("long", 2, "x" * 21), row("later", 60))
    given_rows = msgspec.structs.replace(checkpoint(*rows, budget=TIGHT), history=TURNS)
    with pytest.raises(RecordError, match=message):
        admitted(method, given_rows)


def test_what_is_within_budget_and_words_is_handed_over() -> None:
    rows = (*(row(name, 1) for name in "abc"), row("long", 2, "x" * 21))
    given_rows = msgspec.structs.replace(checkpoint(*rows, budget=TIGHT), history=TURNS)
    for view in (
        View(method="Rogue", rows=("a", "b")),
        View(method="Rogue", rows=("long",), excerpts={"long": "x" * 20}),
        View(method="Rogue", rows=(), memories=("I keep herons",)),
    ):
        assert admitted(Rogue(view), given_rows) == view
    whole = View(method="Restore", rows=("a", "b", "c", "long"))
    assert admitted(Rogue(whole, "Restore"), given_rows) == whole
    own_words = View(method="Rogue", rows=(), memories=("keeps herons",))
    assert admitted(Rogue(own_words), given_rows, rewords=True) == own_words


names = st.sampled_from(["r0", "r1", "r2", "r3", "r4", "r5"])
moments = st.integers(0, 99)
drawn_rows = st.builds(
    Row,
    id=names,
    text=st.sampled_from(["yes", "no", "maybe"]),
    at=moments,
    source=st.sampled_from(["u", "v"]),
    departure=st.booleans(),
    slot=st.sampled_from([None, "s", "t"]),
    operation=st.sampled_from(["add", "update", "delete"]),
    valid_until=st.none() | moments,
    invalidated=st.booleans(),
    supersedes=st.lists(names, max_size=2).map(tuple),
    depends_on=st.lists(names, max_size=2).map(tuple),
)


@settings(max_examples=examples(200))
@given(st.lists(drawn_rows, max_size=6, unique_by=lambda r: r.id))
def test_every_method_answers_every_checkpoint_within_the_budget(rows: list[Row]) -> None:
    given_rows = checkpoint(*rows, budget=Budget(per_query=3, union=3))
    for method in MODEL_FREE.values():
        view = admitted(method, given_rows)
        assert len(view.rows) <= 3 or method.name == "Restore"
        assert view == admitted(method, given_rows)
    by_id = {r.id: r for r in rows}
    opened = open_rows(tuple(rows), NOW)
    keys = [key(by_id[name]) for name in opened]
    assert len(keys) == len(set(keys))
