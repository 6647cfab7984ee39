"""What is handed over of all that is owed, of whole duties, or not at all."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Reason
from readmit.lab import digest
from readmit.policies import Policy
from readmit.records.decisions import Examination, Request
from readmit.records.snapshot import Held, Sighting
from readmit.rules.cover import find as finding
from readmit.rules.cover.exact import Cover
from readmit.rules.cover.find import Deadline
from readmit.rules.cover.select import select
from readmit.rules.gate.duties import Duties
from readmit.rules.gate.judge import Gated
from readmit.types import Receipt
from tests.rules.cover.build import constraint, duty, fact, frontier, obligation, owed
from tests.rules.gate.test_judge import WHO, snapshot
from tests.scene import START

if TYPE_CHECKING:
    from readmit.records.decisions import Selection
    from readmit.types import Item

TRAP = (fact("a", "a", 10), fact("ab", "a b", 35), fact("b", "b", 20))


def chosen(
    items: tuple[Item, ...],
    duties: Duties,
    looked: Examination | None = None,
    deadline: Deadline = Deadline.AHEAD,
    **policy: Any,
) -> Selection:
    """A choice among items that passed every gate. The evidence of each was said an hour before that of the last."""
    state = msgspec.structs.replace(snapshot(()), evidence=dict(map(_sighting, items, range(len(items), 0, -1))))
    eligible = {item.id: Held(_sourced(item), digest(item), epoch) for epoch, item in enumerate(items, 1)}
    request = Request(
        return_id="r", identity=WHO, instance="i", nonce="n", now=START, policy=Policy(**policy), checkpoint="c",
        epoch=9, rules=1, examination=looked,
    )  # fmt: skip
    return select(request, state, Gated(eligible, {}), duties, deadline)


def _sighting(item: Item, hour: int) -> tuple[str, Sighting]:
    return digest(item), Sighting(20 - hour, "bob", True, b"{}", (START + timedelta(hours=hour)).isoformat())


def _sourced(item: Item) -> Item:
    return msgspec.structs.replace(item, receipts=(Receipt(evidence=digest(item)),))


def test_facts_come_before_constraints_each_in_log_order() -> None:
    items = (constraint("k"), fact("x", "d"), constraint("l"), fact("y", "e"))
    assert chosen(items, owed(obligation("o", "d e"))).items == ("o", "x", "y", "k", "l")


def test_duties_and_frontiers_are_no_evidence() -> None:
    duties = Duties((duty(obligation("o", "d"), frontier("f", "o")),))
    items = (obligation("o", "d"), frontier("f", "o"), fact("x", "d"))
    assert chosen(items, duties, returns={"fill": "always"}).items == ("o", "f", "x")


def test_fill_is_newest_first_by_what_was_said_not_by_what_was_recorded() -> None:
    items = (fact("x"), fact("y"), fact("z", "d"))
    assert chosen(items, owed(obligation("o", "d")), returns={"fill": "always"}).fill == ("x", "y")
    assert chosen(items, Duties(), budgets={"items": 2}).fill == ("x", "y")
    assert chosen(items, owed(obligation("o", "d"))).fill == ()


EXAMINATIONS = {
    "nobody looked": (None, False),
    "not at the newest": (Examination(verifier="nli", until=4, unexamined=1), False),
    "up to the newest": (Examination(verifier="nli", until=4), True),
}


@pytest.mark.parametrize("case", EXAMINATIONS)
@pytest.mark.parametrize("owing", [True, False])
@pytest.mark.parametrize("on_incomplete", ["block", "partial"])
def test_an_examination_may_be_required(case: str, owing: bool, on_incomplete: str) -> None:
    looked, enough = EXAMINATIONS[case]
    duties = owed(obligation("o", "d")) if owing else Duties()
    items = (fact("x", "d"),)
    assert chosen(items, duties, looked).outcome == "found"
    selection = chosen(items, duties, looked, returns={"examination": "required", "on_incomplete": on_incomplete})
    assert selection.reasons == (() if enough else (Reason.NOT_EXAMINED,))
    assert (selection.items == ()) is not enough
    assert selection.report.covered == len(duties.owed), "it says what could have been covered"


def test_whole_duties_only_where_the_policy_asks() -> None:
    duties = owed(obligation("o1", "d"), obligation("o2", "e"))
    items = (fact("x", "d"),)
    for rule in ("block", "reset"):
        assert chosen(items, duties, returns={"on_incomplete": rule}).reasons == (Reason.COVERAGE_SHORT,)
    partial = chosen(items, duties, returns={"on_incomplete": "partial"})
    assert (partial.items, partial.withheld, partial.reasons) == (("o1", "x"), ("o2",), ())


def test_without_a_whole_duty_the_return_is_refused_for_its_own_reason() -> None:
    refused = chosen((), owed(obligation("o1", "d")), returns={"on_incomplete": "partial"})
    assert (refused.reasons, refused.report.missing) == ((Reason.COVERAGE_SHORT,), ("d",))


def test_all_that_is_owed_is_never_handed_over_in_part() -> None:
    duties = owed(obligation("o1", "d"), obligation("o2", "e"))
    whole = chosen((fact("x", "d"), fact("y", "e")), duties, returns={"on_incomplete": "partial"})
    assert (whole.items, whole.withheld) == (("o1", "o2", "x", "y"), ())


def test_where_nothing_is_owed_nothing_is_withheld() -> None:
    assert chosen((), Duties(), returns={"on_incomplete": "partial", "fill": "block"}).reasons == (Reason.NOTHING_OWED,)


LATE = {
    "all duties, then whole ones": owed(obligation("o1", "a b"), obligation("o2", "a")),
    "whole ones alone": owed(obligation("o1", "a b"), obligation("o2", "a"), obligation("o3", "x")),
    "and not one is whole": owed(obligation("o1", "a b"), obligation("o3", "x")),
}


@pytest.mark.parametrize("case", LATE)
def test_a_deadline_that_was_met_is_repeated(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(finding, "exact", lambda *_, **__: Cover("undecided"))
        then = chosen(
            TRAP, LATE[case], returns={"on_incomplete": "partial"}, budgets={"items": 2}, paper={"newest": "as_needed"}
        )
    assert then.timed_out
    again = chosen(
        TRAP,
        LATE[case],
        None,
        Deadline.MET_BY_ALL,
        returns={"on_incomplete": "partial"},
        budgets={"items": 2},
        paper={"newest": "as_needed"},
    )
    assert again == then
