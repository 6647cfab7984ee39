"""Each gate by itself: what it lets pass, and the reason for what it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from readmit import Identity, Reason
from readmit.policies import Policy
from readmit.records.items import Kind
from readmit.rules.gate.gates import applicable, authorized, current, fitting, proven
from readmit.rules.invalidate.resolve import Findings
from readmit.types import Cause, Fact, Frontier, InterfaceConstraint, Obligation, RoleConstraint, Scope

WHO = Identity(workspace="w", principal="ann", role="planner", task="trip")
KINDS: dict[Kind, Any] = {
    Kind.FACT: (Fact, {}),
    Kind.FRONTIER: (Frontier, {"obligation": "o"}),
    Kind.OBLIGATION: (Obligation, {"required": ()}),
    Kind.ROLE_CONSTRAINT: (RoleConstraint, {}),
    Kind.INTERFACE_CONSTRAINT: (InterfaceConstraint, {}),
}


def item(kind: Kind = Kind.FACT, *, scope: dict[str, Any] | None = None, **fields: Any) -> Any:
    made, needed = KINDS[kind]
    return made(
        **{
            "id": "i",
            "text": "text",
            "by": "bob",
            "scope": Scope(**{"workspace": "w", **(scope or {})}),
            **needed,
            **fields,
        }
    )


@dataclass(frozen=True)
class Scoped:
    """A scope, and why it keeps ann out."""

    scope: dict[str, Any]
    reasons: tuple[Reason, ...] = ()


SCOPES = {
    "open to all": Scoped({}),
    "names her": Scoped({"principals": ("bob", "ann")}),
    "names her alone": Scoped({"principals": ("ann",)}),
    "private to her": Scoped({"principals": ("ann",), "visibility": "private"}),
    "names others": Scoped({"principals": ("bob", "anna", "an")}, (Reason.PRINCIPAL_OUT_OF_SCOPE,)),
    "names her role": Scoped({"roles": ("booker", "planner")}),
    "names other roles": Scoped({"roles": ("booker",)}, (Reason.OUT_OF_SCOPE,)),
    "names her role, not her": Scoped({"principals": ("planner",), "roles": ("ann",)},
                                      (Reason.PRINCIPAL_OUT_OF_SCOPE, Reason.OUT_OF_SCOPE)),
    "her task": Scoped({"task": "trip"}),
    "another task": Scoped({"task": "trips"}, (Reason.OUT_OF_SCOPE,)),
    "a task before hers in the alphabet": Scoped({"task": "a"}, (Reason.OUT_OF_SCOPE,)),
    "another workspace": Scoped({"workspace": "v"}, (Reason.PRINCIPAL_OUT_OF_SCOPE,)),
    "a workspace after hers in the alphabet": Scoped({"workspace": "x"}, (Reason.PRINCIPAL_OUT_OF_SCOPE,)),
    "names that are equal, not the same object": Scoped({"workspace": "w!".rstrip("!"), "task": "trip!".rstrip("!")}),
    "everything else": Scoped(
        {"workspace": "v", "principals": ("x",), "roles": ("y",), "task": "z"},
        (Reason.PRINCIPAL_OUT_OF_SCOPE, Reason.PRINCIPAL_OUT_OF_SCOPE, Reason.OUT_OF_SCOPE, Reason.OUT_OF_SCOPE),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCOPES)
def test_a_asks_who_may_see_it(case: str) -> None:
    made = item(scope=SCOPES[case].scope)
    assert tuple(cause.reason for cause in authorized(made, WHO)) == SCOPES[case].reasons
    assert WHO.may_see(made.scope) is (SCOPES[case].reasons == ())


@pytest.mark.parametrize("kind", Kind)
def test_u_admits_the_kinds_of_the_policy(kind: Kind) -> None:
    everything_else = tuple(one for one in Kind if one is not kind)
    assert list(applicable(item(kind), "trip", None, Policy(paper={"kinds": (kind,)}))) == []
    refused = list(applicable(item(kind), "trip", None, Policy(paper={"kinds": everything_else})))
    # What binds does so whatever kinds the policy admits.
    binds = kind not in (Kind.FACT, Kind.FRONTIER)
    assert [cause.reason for cause in refused] == ([] if binds else [Reason.KIND_NOT_ADMITTED])
    as_needed = Policy(paper={"kinds": everything_else, "constraints": "as_needed"})
    found = [cause.reason for cause in applicable(item(kind), "trip", None, as_needed)]
    assert found == ([] if kind is Kind.OBLIGATION else [Reason.KIND_NOT_ADMITTED])


@dataclass(frozen=True)
class Used:
    """What an item is for, what it is wanted for, and why it does not serve."""

    fields: dict[str, Any]
    purpose: str | None = None
    reasons: tuple[Reason, ...] = ()
    policy: Policy = field(default_factory=Policy)


USES = {
    "for everything": Used({}),
    "for everything, with a purpose": Used({}, "book"),
    "for this task": Used({"applies_to": ("other", "trip")}),
    "for other tasks": Used({"applies_to": ("other",)}, None, (Reason.OTHER_TASK,)),
    "for this purpose": Used({"purposes": ("cancel", "book")}, "book"),
    "for another purpose": Used({"purposes": ("cancel",)}, "book", (Reason.OTHER_PURPOSE,)),
    "for a purpose, none given": Used({"purposes": ("cancel",)}),
    "for nothing here": Used(
        {"applies_to": ("other",), "purposes": ("cancel",)},
        "book",
        (Reason.KIND_NOT_ADMITTED, Reason.OTHER_TASK, Reason.OTHER_PURPOSE),
        Policy(paper={"kinds": ()}),
    ),
}


@pytest.mark.parametrize("case", USES)
def test_u_asks_what_it_is_for(case: str) -> None:
    used = USES[case]
    causes = applicable(item(**used.fields), "trip", used.purpose, used.policy)
    assert tuple(cause.reason for cause in causes) == used.reasons


DUTIES = {
    "for this purpose": Used({"purposes": ("cancel", "book")}, "book"),
    "for another purpose": Used({"purposes": ("cancel",)}, "book", (Reason.OTHER_PURPOSE,)),
    "for a purpose, none given": Used({"purposes": ("cancel",)}, None),
    "for other tasks": Used({"applies_to": ("other",)}, None, (Reason.OTHER_TASK,)),
    "for any kinds": Used({}, None, (), Policy(paper={"kinds": ()})),
}


@pytest.mark.parametrize("case", DUTIES)
def test_u_asks_of_a_duty_whether_it_is_for_something_else(case: str) -> None:
    used = DUTIES[case]
    causes = applicable(item(Kind.OBLIGATION, **used.fields), "trip", used.purpose, used.policy)
    assert tuple(cause.reason for cause in causes) == used.reasons


def test_t_and_p_answer_with_what_was_found_of_this_item() -> None:
    against = (Cause(reason=Reason.REVOKED, epoch=3),)
    flaws = (Cause(reason=Reason.UNPROVEN),)
    findings = Findings({"i": against}, {})
    assert current(item(), findings) == against
    assert current(item(id="j"), findings) == ()
    assert proven(item(), {"i": flaws}) == flaws
    assert proven(item(id="j"), {"i": flaws}) == ()


@pytest.mark.parametrize(("length", "limit", "fits"), [(3, 4, True), (4, 4, True), (5, 4, False), (1, 0, False)])
def test_the_size_of_a_single_item(length: int, limit: int, fits: bool) -> None:
    causes = list(fitting(item(text="x" * length), Policy(budgets={"item_chars": limit})))
    assert [cause.reason for cause in causes] == ([] if fits else [Reason.TOO_LARGE])
    if not fits:
        assert causes[0].note == f"{length} characters, {limit} allowed"
