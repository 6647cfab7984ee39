"""Disclosure cost ``c(m)`` and what the budgets ``B_n`` and ``B_c`` leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.records.items import Item
    from readmit.records.policy import Policy


def cost(item: Item) -> int:
    """``c(m) = max{1, ℓ(m)}``."""
    return len(item.text) or 1


class Room(msgspec.Struct, frozen=True):
    """How many items and characters may still be handed over. Negative when the budgets are overdrawn."""

    items: int
    chars: int

    @classmethod
    def of(cls, policy: Policy) -> Room:
        return cls(policy.budgets.items, policy.budgets.chars)

    def after(self, taken: Iterable[Item]) -> Room:
        lengths = [item.length for item in taken]
        return Room(self.items - len(lengths), self.chars - sum(lengths))

    def fits(self, item: Item) -> bool:
        return self.items >= 1 and item.length <= self.chars

    @property
    def overdrawn(self) -> bool:
        return self.items < 0 or self.chars < 0
