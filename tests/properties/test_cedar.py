"""Gates A and U against Cedar, a policy engine with a formal semantics, on random scopes, policies and identities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cedarpy
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Identity, Reason
from readmit.policies import Policy
from readmit.records.items import Kind
from readmit.rules.gate.gates import applicable, authorized
from readmit.types import Fact, Frontier, InterfaceConstraint, Obligation, RoleConstraint, Scope

if TYPE_CHECKING:
    from readmit.types import Item

# One statement per gate: what is not permitted is refused.
POLICIES = """
permit(principal, action == Action::"see", resource) when {
  resource.workspace == context.workspace &&
  (resource.principals.isEmpty() || resource.principals.contains(context.principal)) &&
  (resource.roles.isEmpty() || resource.roles.contains(context.role)) &&
  (!(resource has task) || resource.task == context.task)
};
permit(principal, action == Action::"use", resource) when {
  (["obligation", "role_constraint", "interface_constraint"].contains(resource.kind) ||
   context.kinds.contains(resource.kind)) &&
  (resource.tasks.isEmpty() || resource.tasks.contains(context.task)) &&
  (resource.purposes.isEmpty() || !(context has purpose) ||
   resource.purposes.contains(context.purpose))
};
"""
names = st.sampled_from(["ann", "bob", "cy", "any", "*"])
some = st.lists(names, max_size=2, unique=True).map(tuple)
MADE: dict[Kind, Any] = {
    Kind.FACT: Fact,
    Kind.ROLE_CONSTRAINT: RoleConstraint,
    Kind.INTERFACE_CONSTRAINT: InterfaceConstraint,
    Kind.OBLIGATION: lambda **fields: Obligation(required=("d",), **fields),
    Kind.FRONTIER: lambda **fields: Frontier(obligation="o", **fields),
}
scopes = st.builds(Scope, workspace=names, principals=some, roles=some, task=st.none() | names)
identities = st.builds(Identity, workspace=names, principal=names, role=names, task=names)


@st.composite
def items(draw: st.DrawFn) -> Item:
    made: Item = MADE[draw(st.sampled_from(Kind))](
        id="i", text="t", by="b", scope=draw(scopes), applies_to=draw(some), purposes=draw(some)
    )
    return made


def cedar(action: str, item: Item, identity: Identity, purpose: str | None, policy: Policy) -> bool:
    attributes = {
        "workspace": item.scope.workspace,
        "principals": list(item.scope.principals),
        "roles": list(item.scope.roles),
        "kind": item.kind.value,
        "tasks": list(item.applies_to),
        "purposes": list(item.purposes),
    }
    if item.scope.task is not None:
        attributes["task"] = item.scope.task
    context = {
        "workspace": identity.workspace,
        "principal": identity.principal,
        "role": identity.role,
        "task": identity.task,
        "kinds": [kind.value for kind in policy.paper.kinds],
    }
    if purpose is not None:
        context["purpose"] = purpose
    entities = [{"uid": {"type": "Item", "id": "i"}, "attrs": attributes, "parents": []}]
    request = {"principal": 'Agent::"a"', "action": f'Action::"{action}"', "resource": 'Item::"i"', "context": context}
    answer = cedarpy.is_authorized(request, POLICIES, entities)
    assert not answer.diagnostics.errors, answer.diagnostics.errors
    return bool(answer.allowed)


@given(items(), identities)
@settings(max_examples=150)
def test_gate_a_agrees_with_cedar(item: Item, identity: Identity) -> None:
    allowed = cedar("see", item, identity, None, Policy())
    assert (not list(authorized(item, identity))) is allowed
    assert identity.may_see(item.scope) is allowed


@given(items(), identities, st.none() | names, st.lists(st.sampled_from(Kind), unique=True).map(tuple))
@settings(max_examples=150)
def test_gate_u_agrees_with_cedar(item: Item, identity: Identity, purpose: str | None, kinds: tuple[Kind, ...]) -> None:
    policy = Policy(paper={"kinds": kinds})
    allowed = cedar("use", item, identity, purpose, policy)
    assert (not list(applicable(item, identity.task, purpose, policy))) is allowed


def test_each_reason_of_gate_a_stands_for_its_own_condition() -> None:
    scope = Scope(workspace="w", principals=("ann",), roles=("planner",), task="trip")
    item = Fact(id="i", text="t", by="b", scope=scope)
    stranger = Identity(workspace="v", principal="bob", role="guest", task="other")
    assert [cause.reason for cause in authorized(item, stranger)] == [
        Reason.PRINCIPAL_OUT_OF_SCOPE,
        Reason.PRINCIPAL_OUT_OF_SCOPE,
        Reason.OUT_OF_SCOPE,
        Reason.OUT_OF_SCOPE,
    ]
