"""``A``, ``T``, ``U``, ``P`` and size (paper, equation "E", section "Validate eligible items").

Each gate answers one question independently of the others, so a recent record does not pass as authorized, nor an
authentic one as current.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.decisions import Cause
from readmit.records.items import KINDS, Item, Scope
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from readmit.records.identity import Identity
    from readmit.records.policy import Policy
    from readmit.rules.invalidate.resolve import Findings


def authorized(item: Item, identity: Identity) -> tuple[Cause, ...]:
    """``A``: may this principal, in this role, on this task, see the item?"""
    return () if identity.may_see(item.scope) else tuple(_unauthorized(item.scope, identity))


def _unauthorized(scope: Scope, identity: Identity) -> Iterator[Cause]:
    if scope.workspace != identity.workspace:
        yield Cause(reason=Reason.PRINCIPAL_OUT_OF_SCOPE, note="another workspace")
    if scope.principals and identity.principal not in scope.principals:
        yield Cause(reason=Reason.PRINCIPAL_OUT_OF_SCOPE)
    if scope.roles and identity.role not in scope.roles:
        yield Cause(reason=Reason.OUT_OF_SCOPE, note=f"not for the role {identity.role}")
    if scope.task is not None and scope.task != identity.task:
        yield Cause(reason=Reason.OUT_OF_SCOPE, note=f"not for the task {identity.task}")


def current(item: Item, findings: Findings) -> tuple[Cause, ...]:
    """``T``: is the item still in force after everything that happened since?"""
    return findings.against.get(item.id, ())


def applicable(item: Item, task: str, purpose: str | None, policy: Policy) -> tuple[Cause, ...]:
    """``U``: does it serve this task and purpose, and is its kind admitted at all?

    What binds does so whatever kinds the policy admits. A return without a purpose is for every purpose.
    """
    if not item.applies_to and not item.purposes and KINDS[type(item)] in policy.paper.kinds:
        return ()
    return tuple(_unfit(item, task, purpose, policy))


def _unfit(item: Item, task: str, purpose: str | None, policy: Policy) -> Iterator[Cause]:
    if KINDS[type(item)] not in policy.paper.kinds and not policy.binds(item):
        yield Cause(reason=Reason.KIND_NOT_ADMITTED)
    if item.applies_to and task not in item.applies_to:
        yield Cause(reason=Reason.OTHER_TASK)
    if item.purposes and purpose is not None and purpose not in item.purposes:
        yield Cause(reason=Reason.OTHER_PURPOSE)


def proven(item: Item, flaws: Mapping[str, tuple[Cause, ...]]) -> tuple[Cause, ...]:
    """``P``: is it, and every reference it makes, bound to stored evidence from an allowed writer?"""
    return flaws.get(item.id, ())


def fitting(item: Item, policy: Policy) -> tuple[Cause, ...]:
    """The size budget of a single item."""
    if len(item.text) <= policy.budgets.item_chars:
        return ()
    return (Cause(reason=Reason.TOO_LARGE, note=f"{item.length} characters, {policy.budgets.item_chars} allowed"),)
