"""The stages that propose pairs: premises and implied facts, and the paper's scan."""

from __future__ import annotations

import json

import pytest

from readmit.errors import ModelError
from readmit.lab import digest
from readmit.models import Failure, Fault, Usage
from readmit.models.stages.imply import IMPLIED, MAX_LINES, PREMISES, write_lines
from readmit.models.stages.scan import Later, TargetLook, scan
from tests.models.scripted import Scripted
from tests.models.stages.said import NEW, OLD

FAILED = Failure(fault=Fault.RATE_LIMITED, message="429", usage=Usage(stage="scan"))


def lines(*said: str) -> str:
    return json.dumps({"lines": said})


def test_lines_of_each_text_in_order() -> None:
    model = Scripted(lines("room: small ", "room: small", "day:\n Thursday"), lines(), FAILED)
    found = write_lines(model, PREMISES, ["one", "two", "three"], workspace="w")
    assert found == [("room: small", "day: Thursday"), (), FAILED]
    assert [ask.prompt for ask in model.asked] == [PREMISES.prompt] * 3
    assert {ask.workspace for ask in model.asked} == {"w"}
    assert [name in model.asked[0].user for name in ("one", "two")] == [True, False]


def test_the_same_text_is_asked_about_once_and_a_blank_one_never() -> None:
    model = Scripted(lines("a: b"))
    assert write_lines(model, IMPLIED, [NEW, " \n", NEW]) == [("a: b",), (), ("a: b",)]
    assert len(model.asked) == 1
    assert model.asked[0].prompt == IMPLIED.prompt


def test_no_more_lines_than_allowed() -> None:
    (found,) = write_lines(Scripted(lines(*(f"aspect {number}: x" for number in range(20)))), IMPLIED, [NEW])
    assert isinstance(found, tuple)
    assert len(found) == MAX_LINES


def test_a_long_text_is_read_in_pieces_and_fails_with_any_of_them() -> None:
    text = "A sentence of some length. " * 20
    model = Scripted(lines("a: 1"), lines("b: 2", "a: 1"), lines("c: 3"))
    assert write_lines(model, IMPLIED, [text], max_chars=200) == [("a: 1", "b: 2", "c: 3")]
    assert write_lines(Scripted(lines("a: 1"), FAILED), IMPLIED, [text], max_chars=300) == [FAILED]


def look(*texts: str) -> TargetLook:
    return TargetLook(item="m", text=OLD, later=tuple(Later(evidence=digest(text), text=text) for text in texts))


def labels(**said: bool) -> str:
    return json.dumps({"labels": [{"observation": int(name[1:]), "may_change": value} for name, value in said.items()]})


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (labels(o1=False, o2=True, o3=False), ["b"]),
        (labels(o1=False, o2=False, o3=False), []),
        (labels(o1=False), ["b", "c"]),
        (labels(), ["a", "b", "c"]),
        (labels(o7=False, o0=False), ["a", "b", "c"]),
        ('{"labels": [{"observation": 1, "may_change": false}, {"observation": 1, "may_change": true}]}', list("abc")),
    ],
)
def test_what_is_not_cleared_is_proposed(said: str, named: list[str]) -> None:
    ((found,),) = scan(Scripted(said), [[look("a", "b", "c")]])
    assert isinstance(found, tuple)
    assert [pair.evidence for pair in found] == [digest(text) for text in named]


def test_observations_that_do_not_fit_go_into_further_requests() -> None:
    model = Scripted(labels(o1=False, o2=True), labels(o1=False))
    one, two, three, four = ("x" * 100, "y" * 100, "z" * 150, "w" * 5_000)
    ((found,),) = scan(model, [[look(one, two, three, four)]], max_chars=len(OLD) + 200)
    assert isinstance(found, tuple)
    assert [pair.evidence for pair in found] == [digest(two), digest(four)], "what cannot be shown is proposed"
    assert len(model.asked) == 2
    assert "w" * 5_000 not in model.asked[0].user + model.asked[1].user


def test_one_failed_request_fails_its_look_only() -> None:
    model = Scripted(FAILED, labels(o1=False))
    assert scan(model, [[look("a")], [look("b")]]) == [[FAILED], [()]]


def test_at_most_four_observations() -> None:
    with pytest.raises(ModelError, match="at most 4"):
        scan(Scripted("x"), [[look("a", "b", "c", "d", "e")]])


def cells(*said: tuple[int, int, bool]) -> str:
    return json.dumps({"labels": [{"statement": s, "observation": o, "may_change": yes} for s, o, yes in said]})


def looks(*items: str, later: tuple[str, ...]) -> list[TargetLook]:
    shared = tuple(Later(evidence=digest(text), text=text) for text in later)
    return [TargetLook(item=item, text=f"{OLD} {item}", later=shared) for item in items]


def test_several_targets_share_a_request_and_what_is_not_cleared_is_proposed() -> None:
    model = Scripted(cells((1, 1, False), (1, 2, True), (2, 1, False), (7, 1, False), (2, 9, False)))
    (found,) = scan(model, [looks("m", "n", later=("a", "b"))], wide=True, max_tokens=77)
    assert [[(pair.item, pair.evidence) for pair in one] for one in found if isinstance(one, tuple)] == [
        [("m", digest("b"))],
        [("n", digest("b"))],
    ]
    assert [ask.max_tokens for ask in model.asked] == [77]
    assert model.asked[0].stage == "scan"


def test_many_observations_are_cut_where_they_do_not_fit_and_a_failure_is_the_groups() -> None:
    later = tuple(letter * 100 for letter in "abcdef")
    room = len(f"{OLD} m") + 350
    model = Scripted(cells(*((1, n, False) for n in (1, 2, 3))), cells((1, 1, False)))
    (found,) = scan(model, [looks("m", later=later)], wide=True, max_chars=room)
    assert [pair.evidence for pair in found[0]] == [digest(text) for text in later[4:]]  # type: ignore[union-attr]
    assert len(model.asked) == 2
    assert scan(Scripted(FAILED), [looks("m", "n", later=("a",))], wide=True) == [[FAILED, FAILED]]


def test_targets_that_do_not_fit_are_proposed_unasked() -> None:
    model = Scripted("x")
    (found,) = scan(model, [looks("m", "n", later=("a",))], wide=True, max_chars=10)
    assert [len(one) for one in found if isinstance(one, tuple)] == [1, 1]
    assert model.asked == []


def test_a_group_looks_at_the_same_observations() -> None:
    with pytest.raises(ModelError, match="the same observations"):
        scan(Scripted("x"), [[look("a"), look("b")]], wide=True)
