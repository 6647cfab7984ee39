"""What bears on an item without a slot in common: the same statement made again, and frontiers of one obligation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit.events import EventKind
from readmit.log.engines.sql import CHUNK
from readmit.log.location import open_store
from readmit.records.acts.draft import draft
from readmit.types import Fact, Frontier, Obligation, RoleConstraint, Scope
from tests.scene import START, indexed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.log.log import Log
    from readmit.types import Item

SAID: dict[str, Any] = {"text": "The hotel is bookéd.", "by": "bob", "depends_on": ("a", "b")}
WHERE: dict[str, Any] = {"roles": ("booker", "buyer"), "task": "trip"}


@pytest.fixture
def log(place: Path | str) -> Iterator[Log]:
    opened = open_store(place, "team").log
    yield opened
    opened.close()


def scope(**fields: Any) -> Scope:
    return Scope(workspace="team", **{**WHERE, **fields})


def add(log: Log, *items: Item) -> None:
    kinds = {Obligation: EventKind.OPEN, Frontier: EventKind.MOVE}
    log.append(
        [draft(kinds.get(type(item), EventKind.RECORD), item, id=item.id, by=item.by, at=START) for item in items],
        now=START,
    )


def kin(log: Log, item: Item, *, until: int = 99, known: frozenset[int] = frozenset()) -> list[str]:
    return [event.id.removeprefix("item:") for event in log.kin([item], until=until, known=known)]


DUTY = Obligation(id="o", text="Half way.", by="bob", scope=scope(), required=())
FIRST = Fact(id="m", scope=scope(), **SAID)
AGAIN = {
    "word for word": Fact(id="n", scope=scope(), **SAID),
    "by another, for another purpose": Fact(id="n", scope=scope(), **{**SAID, "by": "cy", "purposes": ("book",)}),
    "names in another order": Fact(
        id="n", scope=scope(roles=("buyer", "booker")), **{**SAID, "depends_on": ("b", "a", "b")}
    ),
}
OTHERS = {
    "another text": Fact(id="n", scope=scope(), **{**SAID, "text": "The hotel is full."}),
    "another kind": RoleConstraint(id="n", scope=scope(), **SAID),
    "another premise": Fact(id="n", scope=scope(), **{**SAID, "depends_on": ("a",)}),
    "another role": Fact(id="n", scope=scope(roles=("booker",)), **SAID),
    "another task": Fact(id="n", scope=scope(task=None), **SAID),
    "named principals": Fact(id="n", scope=scope(principals=("cy",)), **SAID),
    "a slot": Fact(id="n", scope=scope(), slot="hotel", **SAID),
    "a duty": Obligation(id="n", scope=scope(), required=("d",), **SAID),
    "a frontier": Frontier(id="n", scope=scope(), obligation="o", **SAID),
}


@pytest.mark.parametrize("case", AGAIN)
def test_the_same_statement(log: Log, case: str) -> None:
    add(log, FIRST, AGAIN[case])
    assert kin(log, FIRST) == kin(log, AGAIN[case]) == ["m", "n"]
    assert kin(log, FIRST, until=1) == ["m"]
    assert kin(log, FIRST, known=frozenset({1})) == ["n"]


@pytest.mark.parametrize("case", OTHERS)
def test_another_statement(log: Log, case: str) -> None:
    add(log, FIRST, DUTY, OTHERS[case])
    assert kin(log, FIRST) == ["m"]
    assert "m" not in kin(log, OTHERS[case])


def test_a_private_statement_and_one_for_a_principal_are_two(log: Log) -> None:
    shared = Fact(id="m", scope=scope(principals=("cy",)), **SAID)
    add(log, shared, Fact(id="n", scope=scope(principals=("cy",), visibility="private"), **SAID))
    assert kin(log, shared) == ["m"]


def test_frontiers_of_one_obligation_whatever_they_say_and_wherever(log: Log) -> None:
    first = Frontier(id="f", text="Half way.", by="bob", scope=scope(), obligation="o")
    add(
        log,
        DUTY,
        msgspec.structs.replace(DUTY, id="p"),
        first,
        Frontier(id="g", text="Done.", by="bob", scope=Scope(workspace="team"), obligation="o", slot="state"),
        Frontier(id="other", text="Half way.", by="bob", scope=scope(), obligation="p"),
    )
    assert kin(log, first) == ["f", "g"]


def test_duties_and_what_has_a_slot_are_not_filed(log: Log) -> None:
    add(log, OTHERS["a slot"])
    assert list(indexed(log, "kin")) == []
    assert kin(log, OTHERS["a slot"]) == []


@pytest.mark.parametrize("chunk", [30, pytest.param(CHUNK, marks=pytest.mark.slow)])
def test_kin_of_more_items_than_one_statement_takes(log: Log, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readmit.log.engines.sql.CHUNK", chunk)
    count = 2 * chunk + chunk // 2
    facts = [Fact(id=f"m{number}", scope=scope(), **{**SAID, "text": f"text {number}"}) for number in range(count)]
    add(log, *facts)
    assert len(log.kin(facts, until=log.head, known=frozenset({1, count}))) == count - 2


def test_each_workspace_has_its_own(place: Path | str, log: Log) -> None:
    other = open_store(place, "other").log
    add(log, FIRST)
    assert kin(other, FIRST) == []
    other.close()
