"""Names in one spelling: "José" in NFC and in NFD is one principal.

Applied to everything that comes in. What is stored is never rewritten, so that digests and signatures hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from readmit.records.acts.event import Checkpoint
from readmit.records.acts.reassignment import Reassign
from readmit.records.acts.writer_keys import WriterKey
from readmit.records.base import nfc
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Item, Scope
from readmit.records.policy import EvidenceRules, Policy
from readmit.records.verdicts import Examine

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.records.identity import Identity

T = TypeVar("T")


def all_nfc(names: Iterable[str]) -> tuple[str, ...]:
    """Several names."""
    return tuple(map(nfc, names))


def who(identity: Identity) -> Identity:
    """An identity in NFC, except the workspace's name, which stays as it is."""
    return replace(identity, principal=nfc(identity.principal), role=nfc(identity.role), task=nfc(identity.task))


def normal(value: T) -> T:
    """A checked record with every name of a principal, role, task or purpose in NFC."""
    match value:
        case Item(by=by, scope=scope, purposes=purposes, applies_to=tasks):
            return replace(
                value, by=nfc(by), scope=_reach(scope), purposes=all_nfc(purposes), applies_to=all_nfc(tasks)
            )
        case Evidence(by=by, scope=scope):
            return replace(value, by=nfc(by), scope=_reach(scope))
        case Experience(owner=owner):
            return replace(value, owner=nfc(owner))
        case Checkpoint(identity=identity):
            return replace(value, identity=who(identity))
        case Examine(identity=identity, purpose=purpose):
            return replace(value, identity=who(identity), purpose=_optional(purpose))
        case Reassign(principal=principal, task=task, was=was, role=role):
            return replace(value, principal=nfc(principal), task=nfc(task), was=_optional(was), role=nfc(role))
        case WriterKey(principal=principal):
            return replace(value, principal=nfc(principal))
        case Policy(evidence=evidence):
            return replace(value, evidence=_whose_word(evidence))
    return value


def _whose_word(rules: EvidenceRules) -> EvidenceRules:
    ranked = all_nfc(rules.ranks) or rules.on_concurrent
    return replace(rules, writers=all_nfc(rules.writers), overseers=all_nfc(rules.overseers), on_concurrent=ranked)


def _reach(scope: Scope) -> Scope:
    return replace(scope, task=_optional(scope.task), principals=all_nfc(scope.principals), roles=all_nfc(scope.roles))


def _optional(name: str | None) -> str | None:
    return None if name is None else nfc(name)
