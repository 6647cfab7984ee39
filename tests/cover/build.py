"""Small items and obligations for the tests of this folder."""

from __future__ import annotations

from readmit.records.items import Fact, Frontier, Obligation, Scope

SCOPE = Scope(workspace="trip")


def fact(name: str, supports: str = "", length: int = 10) -> Fact:
    """``supports`` lists dependency ids, separated by spaces."""
    return Fact(id=name, text="x" * length, by="A2", scope=SCOPE, supports=tuple(supports.split()))


def obligation(name: str, required: str = "", critical: str = "", length: int = 10) -> Obligation:
    return Obligation(
        id=name,
        text="x" * length,
        by="A1",
        scope=SCOPE,
        required=tuple(required.split()),
        critical=tuple(critical.split()),
    )


def frontier(name: str, of: str, length: int = 10) -> Frontier:
    return Frontier(id=name, text="x" * length, by="A1", scope=SCOPE, obligation=of)
