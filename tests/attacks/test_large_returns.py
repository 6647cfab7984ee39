"""What one return writes is bounded by a constant for each candidate, whatever the shape of what fell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from readmit import Reason
from readmit.rules.invalidate.resolve import MOST_CAUSES
from tests.scene import Scene

Shape = Callable[[Scene, int], None]


def chain(scene: Scene, count: int) -> None:
    """Each item rests on the one before, and the first is withdrawn."""
    for number in range(count):
        scene.fact(f"i{number}", depends_on=[f"i{number - 1}"] if number else [])
    scene.depart()
    scene.team.revoke("i0", by="bob")


def star(scene: Scene, count: int) -> None:
    """Everything rests on one item, and it is withdrawn."""
    for number in range(count):
        scene.fact(f"i{number}", depends_on=["i0"] if number else [])
    scene.depart()
    scene.team.revoke("i0", by="bob")


def slot(scene: Scene, count: int) -> None:
    """Everything is about one slot, and the last stands."""
    for number in range(count):
        scene.fact(f"i{number}", slot="s")
    scene.depart()
    scene.fact("last", slot="s", sources=[scene.news()])


def repeated(scene: Scene, count: int) -> None:
    """Everything makes one statement, and one of them is withdrawn."""
    for number in range(count):
        scene.fact(f"i{number}", text="The tests pass.")
    scene.depart()
    scene.team.revoke("i0", by="bob")


def alternating(scene: Scene, count: int) -> None:
    """A slot goes back and forth between two statements."""
    for number in range(count):
        scene.fact(f"i{number}", slot="s", text=f"The tests {'pass' if number % 2 else 'fail'}.")
    scene.depart()
    scene.fact("last", slot="s", sources=[scene.news()])


def withdrawn_often(scene: Scene, count: int) -> None:
    """Everything makes one statement, and half of them are withdrawn."""
    repeated(scene, count)
    for number in range(1, count // 2):
        scene.team.revoke(f"i{number}", by="bob")


@dataclass(frozen=True)
class Case:
    """A shape and the reason for which its last item is out."""

    shape: Shape
    reason: Reason


CASES = {
    "chain": Case(chain, Reason.PREMISE_CHANGED),
    "star": Case(star, Reason.PREMISE_CHANGED),
    "slot": Case(slot, Reason.SLOT_UPDATED),
    "repeated": Case(repeated, Reason.REVOKED),
    "alternating": Case(alternating, Reason.SLOT_UPDATED),
}
OFTEN = {"withdrawn often": Case(withdrawn_often, Reason.REVOKED)}


def written(case: Case, count: int) -> int:
    """The bytes that a return over ``count`` fallen items adds to the audit."""
    scene = Scene()
    with scene.team.batch():
        case.shape(scene, count)
    returned = scene.come_back()
    last = scene.disposition(f"i{count - 1}")
    assert case.reason in last.reasons
    audit = scene.team._desk.log.audit
    rows = sum(len(row.body) for row in audit.rows() if row.return_id == returned.id)
    return rows + sum(map(len, audit.candidates(returned.decision)))


@pytest.mark.parametrize("name", [*CASES, *OFTEN])
def test_ten_times_as_much_that_fell_writes_at_most_ten_times_as_much(name: str) -> None:
    case = (CASES | OFTEN)[name]
    few, many = written(case, 40), written(case, 400)
    assert many <= 11 * few
    assert many <= 400 * (700 if name in CASES else 700 + MOST_CAUSES * 60)


def test_of_many_acts_against_an_item_the_newest_are_listed() -> None:
    scene = Scene()
    scene.fact("a")
    scene.depart()
    with scene.team.batch():
        for number in range(MOST_CAUSES + 5):
            scene.team.revoke("a", by="bob", reason=f"reason {number}")
    scene.come_back()
    assert [one.note for one in scene.disposition("a").causes] == [f"reason {one + 5}" for one in range(MOST_CAUSES)]


def calls(case: Case, count: int) -> int:
    """The calls that a return over ``count`` fallen items makes: its time, whatever else the machine does."""
    scene = Scene()
    with scene.team.batch():
        case.shape(scene, count)
    made = 0

    def called(_: object, event: str, __: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    agent, before = scene.ann(), sys.getprofile()
    sys.setprofile(called)
    try:
        returned = agent.come_back()
    finally:
        sys.setprofile(before)
    assert returned.admitted
    return made


@pytest.mark.parametrize("name", CASES)
def test_ten_times_as_much_that_fell_takes_at_most_ten_times_as_long(name: str) -> None:
    assert calls(CASES[name], 600) <= 10 * calls(CASES[name], 60)


def test_explain_names_a_long_chain_from_both_ends() -> None:
    scene = Scene()
    chain(scene, 30)
    returned = scene.come_back()
    (line,) = returned.explain("i29").lines()
    assert line.startswith("`i29` fell because it depends on `i28`, which depends on `i27`, which depends on `i26`")
    assert ", and through others on `i0`, which " in line
    short = "`i3` fell because it depends on `i2`, which depends on `i1`, which depends on `i0`, which "
    assert str(returned.explain("i3")).startswith(short)
