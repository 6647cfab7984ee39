"""Names in one spelling: "José" in NFC and in NFD is one principal.

Applied to everything that comes in. What is stored is never rewritten, so that digests and signatures hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from readmit.records.base import nfc
from readmit.records.events import Checkpoint, Examine, Rebase, Revoke, Settle, Supersede
from readmit.records.evidence import Evidence, Experience
from readmit.records.identity import Identity
from readmit.records.items import Item, Scope
from readmit.records.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


def all_nfc(names: Iterable[str]) -> tuple[str, ...]:
    """Several names."""
    return tuple(map(nfc, names))


def normal(value: T) -> T:
    """A checked record with every name of a principal, role, task or purpose in NFC."""
    match value:
        case Identity(principal=principal, role=role, task=task):
            return replace(value, principal=nfc(principal), role=nfc(role), task=nfc(task))
        case Scope(task=task, principals=principals, roles=roles):
            spelled = None if task is None else nfc(task)
            return replace(value, task=spelled, principals=all_nfc(principals), roles=all_nfc(roles))
        case Item(by=by, scope=scope, purposes=purposes, tasks=tasks):
            return replace(value, by=nfc(by), scope=normal(scope), purposes=all_nfc(purposes), tasks=all_nfc(tasks))
        case Evidence(by=by, scope=scope):
            return replace(value, by=nfc(by), scope=normal(scope))
        case Experience(owner=owner):
            return replace(value, owner=nfc(owner))
        case Checkpoint(identity=identity) | Examine(identity=identity):
            return replace(value, identity=normal(identity))
        case Rebase(task=task):
            return replace(value, task=nfc(task))
        case Settle(role=str(role)) | Revoke(role=str(role)) | Supersede(role=str(role)):
            return replace(value, role=nfc(role))
        case Policy(writers=writers, overseers=overseers):
            return replace(value, writers=all_nfc(writers), overseers=all_nfc(overseers))
    return value
