from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readmit import Reason, State
from readmit.backends.admission import Ground, admissible, items_of, standing
from readmit.lab import Entry, text_digest
from readmit.memory import Binding, Precision

E1, E2 = "1" * 64, "2" * 64


def entry(*bindings: Binding, text: str = "text", owner: str = "", by: str = "scout") -> Entry:
    return Entry(record="r", text=text_digest(text), bindings=bindings, owner=owner, by=by)


def item(name: str, precision: Precision = Precision.EXACT) -> Binding:
    return Binding(ref=name, precision=precision)


def evidence(digest: str) -> Binding:
    return Binding(of="evidence", ref=digest)


def ground(*admitted: str, **fields: object) -> Ground:
    return Ground(admitted=frozenset(admitted), reader="walker", **fields)  # type: ignore[arg-type]


@dataclass
class Case:
    entry: Entry | None
    ground: Ground
    state: State
    reasons: tuple[Reason, ...]
    sources: tuple[str, ...] = ()
    text: str = "text"
    conservative: bool = field(default=False)


CASES = {
    "its item is in": Case(entry(item("a")), ground("a"), State.ADMITTED, (Reason.SOURCE_IN_VIEW,), ("a",)),
    "all of its items are in": Case(
        entry(item("a"), item("b")), ground("a", "b", "c"), State.ADMITTED, (Reason.SOURCE_IN_VIEW,), ("a", "b")
    ),
    "one of its items is out": Case(
        entry(item("a"), item("b")), ground("a"), State.UNPROVEN, (Reason.SOURCE_NOT_IN_VIEW,), ("b",)
    ),
    "the state is that of what is out": Case(
        entry(item("a"), item("b")),
        ground("a", reasons={"b": (Reason.SUPERSEDED,)}),
        State.SUPERSEDED,
        (Reason.SOURCE_NOT_IN_VIEW, Reason.SUPERSEDED),
        ("b",),
    ),
    "authorization leads among what is out": Case(
        entry(item("a"), item("b")),
        ground(reasons={"a": (Reason.EXPIRED,), "b": (Reason.OUT_OF_SCOPE,)}),
        State.UNAUTHORIZED,
        (Reason.SOURCE_NOT_IN_VIEW, Reason.EXPIRED, Reason.OUT_OF_SCOPE),
        ("a", "b"),
    ),
    "eligible but not in the view": Case(
        entry(item("a")),
        ground(reasons={"a": (Reason.NOT_NEEDED,)}),
        State.NOT_NEEDED,
        (Reason.SOURCE_NOT_IN_VIEW, Reason.NOT_NEEDED),
        ("a",),
    ),
    "not in the ledger": Case(None, ground("a"), State.UNPROVEN, (Reason.RECORD_UNBOUND,)),
    "in the ledger without sources": Case(entry(), ground("a"), State.UNPROVEN, (Reason.RECORD_UNBOUND,)),
    "evidence that no item rests on": Case(entry(evidence(E1)), ground("a"), State.UNPROVEN, (Reason.RECORD_UNBOUND,)),
    "evidence of items that are in": Case(
        entry(evidence(E1)),
        ground("a", "b", carriers={E1: frozenset("ab")}),
        State.ADMITTED,
        (Reason.SOURCE_IN_VIEW,),
        ("a", "b"),
    ),
    "evidence of an item that is out too": Case(
        entry(evidence(E1)),
        ground("a", carriers={E1: frozenset("ab")}),
        State.UNPROVEN,
        (Reason.SOURCE_NOT_IN_VIEW,),
        ("b",),
    ),
    "one known and one unknown source": Case(
        entry(item("a"), evidence(E2)), ground("a"), State.UNPROVEN, (Reason.RECORD_UNBOUND,)
    ),
    "another text than the bound one": Case(
        entry(item("a")), ground("a"), State.UNPROVEN, (Reason.RECORD_UNBOUND,), text="poison"
    ),
    "someone else's private bank": Case(
        entry(item("a"), owner="clerk"), ground("a"), State.UNAUTHORIZED, (Reason.PRINCIPAL_OUT_OF_SCOPE,)
    ),
    "one's own private bank": Case(
        entry(item("a"), owner="walker"), ground("a"), State.ADMITTED, (Reason.SOURCE_IN_VIEW,), ("a",)
    ),
    "a writer outside the policy": Case(
        entry(item("a"), by="stranger"),
        ground("a", writers=frozenset({"scout"})),
        State.UNPROVEN,
        (Reason.WRITER_NOT_ALLOWED,),
    ),
    "every reason is kept": Case(
        entry(item("a"), owner="clerk", by="stranger"),
        ground(writers=frozenset({"scout"})),
        State.UNAUTHORIZED,
        (Reason.PRINCIPAL_OUT_OF_SCOPE, Reason.WRITER_NOT_ALLOWED, Reason.RECORD_UNBOUND, Reason.SOURCE_NOT_IN_VIEW),
        ("a",),
        text="poison",
    ),
    "a conservative source binds as an exact one": Case(
        entry(item("a"), item("b", Precision.CONSERVATIVE)),
        ground("a"),
        State.UNPROVEN,
        (Reason.SOURCE_NOT_IN_VIEW,),
        ("b",),
        conservative=True,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_standing(case: Case) -> None:
    found = standing("r", case.text, case.entry, case.ground)
    assert (found.state, found.reasons, found.sources) == (case.state, case.reasons, case.sources)
    assert found.conservative is case.conservative


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_quick_rule_agrees_with_the_full_one(case: Case) -> None:
    if case.entry is not None and case.text == "text":
        assert admissible(case.entry, case.ground) is (case.state is State.ADMITTED)


names = st.sampled_from("abcd")
bindings = st.lists(st.builds(item, names) | st.builds(evidence, st.sampled_from([E1, E2])), max_size=4)
carried = st.dictionaries(st.sampled_from([E1, E2]), st.frozensets(names, max_size=3))


@given(bindings, carried, st.frozensets(names), st.frozensets(names))
def test_a_smaller_view_never_opens_more(
    bound: list[Binding], carriers: dict[str, frozenset[str]], more: frozenset[str], gone: frozenset[str]
) -> None:
    one = entry(*bound)
    small, large = ground(*(more - gone), carriers=carriers), ground(*more, carriers=carriers)
    assert admissible(one, large) or not admissible(one, small)


@given(bindings, bindings, carried, st.frozensets(names))
def test_a_further_source_never_opens_more(
    bound: list[Binding], further: list[Binding], carriers: dict[str, frozenset[str]], view: frozenset[str]
) -> None:
    opened = ground(*view, carriers=carriers)
    if bound and admissible(entry(*bound, *further), opened):
        assert admissible(entry(*bound), opened)


@given(bindings, carried, st.frozensets(names))
def test_what_is_in_has_every_source_in(
    bound: list[Binding], carriers: dict[str, frozenset[str]], view: frozenset[str]
) -> None:
    if admissible(entry(*bound), ground(*view, carriers=carriers)):
        items = items_of(bound, carriers)
        assert items
        assert items <= view


def test_a_text_that_utf8_cannot_carry_is_altered_not_fatal() -> None:
    found = standing("r", "\ud800", entry(item("a")), ground("a"))
    assert found.reasons == (Reason.RECORD_UNBOUND,)
