"""Issuing a view, and matching it with contents."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone
from typing import Any

import msgspec
import pytest

from readmit.errors import RecordError, SealError
from readmit.lab import canonical, digest
from readmit.policies import Policy
from readmit.records.decisions import Examination, Selection
from readmit.rules.readmission.view import contents, issue
from readmit.trust.statement import encode_view
from readmit.types import CoverageReport

from .issued_view import (
    BOOKED,
    CHECKPOINT,
    ITEMS,
    MEMORY,
    NOW,
    OTHER_MEMORY,
    POLICY,
    held,
    request,
    selection,
    view_of,
)

DIGESTS: dict[str, Any] = {"checkpoint": CHECKPOINT, "policy": digest(POLICY)}


def test_same_inputs_same_bytes() -> None:
    assert canonical(view_of()) == canonical(view_of())
    assert encode_view(view_of()) == encode_view(view_of())


def test_the_same_moment_in_another_zone_gives_the_same_bytes() -> None:
    abroad = NOW.astimezone(timezone(timedelta(hours=9)))
    there = issue(request(now=abroad), selection(ITEMS), held(ITEMS), [], **DIGESTS)
    here = issue(request(), selection(ITEMS), held(ITEMS), [], **DIGESTS)
    assert canonical(there) == canonical(here)
    assert there.issued.tzinfo is UTC


def test_a_view_names_its_policy_and_checkpoint() -> None:
    view = view_of(policy=Policy(returns={"view_seconds": 60}))
    assert view.policy == digest(Policy(returns={"view_seconds": 60})) != digest(POLICY)
    assert view.checkpoint == CHECKPOINT
    assert view.expires - view.issued == timedelta(seconds=60)


def test_a_view_says_what_was_looked_for_and_what_is_withheld() -> None:
    looked = Examination(verifier="nli", until=7)
    asked = msgspec.structs.replace(request(), examination=looked)
    chosen = msgspec.structs.replace(selection(ITEMS), withheld=("o2",))
    view = issue(asked, chosen, held(ITEMS), [], open_pairs=3, **DIGESTS)
    assert (view.examination, view.open_pairs, view.withheld, view.partial) == (looked, 3, ("o2",), True)
    plain = view_of()
    assert (plain.examination, plain.open_pairs, plain.withheld, plain.partial) == (None, 0, (), False)


def test_a_view_lives_by_the_clock_whatever_the_log_has_learnt() -> None:
    ahead = msgspec.structs.replace(request(), learnt=NOW + timedelta(minutes=30))
    view = issue(ahead, selection(ITEMS), held(ITEMS), [], **DIGESTS)
    assert (view.issued, view.expires) == (NOW, NOW + timedelta(seconds=POLICY.returns.view_seconds))


def test_the_order_is_the_selections() -> None:
    assert [item.id for item in view_of(ITEMS[::-1], ()).items] == [item.id for item in ITEMS[::-1]]


@pytest.mark.parametrize("outcome", ["infeasible", "undecided"])
def test_only_a_found_selection_becomes_a_view(outcome: str) -> None:
    none = CoverageReport(obligations=0, covered=0, critical=0, critical_covered=0)
    with pytest.raises(SealError, match=outcome):
        issue(request(), Selection(outcome=outcome, report=none), {}, [], **DIGESTS)  # type: ignore[arg-type]


def test_a_selected_item_must_be_held() -> None:
    with pytest.raises(SealError, match="'h1'"):
        issue(request(), selection((BOOKED,)), {}, [], **DIGESTS)


def test_a_moment_without_zone_is_refused() -> None:
    with pytest.raises(RecordError, match=r"request\.now"):
        issue(request(now=NOW.replace(tzinfo=None)), selection(ITEMS), held(ITEMS), [], **DIGESTS)


def test_contents_are_the_views_in_its_order() -> None:
    extra = msgspec.structs.replace(BOOKED, id="zz")
    found = contents(view_of(), (extra, *ITEMS[::-1]), (OTHER_MEMORY, MEMORY))
    assert found == (ITEMS, (MEMORY, OTHER_MEMORY))


def test_contents_of_another_text_are_refused() -> None:
    forged = msgspec.structs.replace(BOOKED, text="Sunrise is booked.")
    with pytest.raises(SealError, match="h1"):
        contents(view_of(), (*ITEMS[:2], forged, *ITEMS[3:]), (MEMORY, OTHER_MEMORY))
    with pytest.raises(SealError, match="e1"):
        contents(view_of(), ITEMS, (msgspec.structs.replace(MEMORY, text="No."), OTHER_MEMORY))
