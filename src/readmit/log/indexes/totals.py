"""How much each writer has ended, and how many duties it opened for others: running totals in the signed map alone.

The map holds the last totals of a writer under one key, and the earlier ones in numbered blocks. A window is the
difference of two totals.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.log.tree.state_map import key_of

if TYPE_CHECKING:
    from readmit.log.tree.commits import Commits
    from readmit.records.acts.voids import Voids

ENDED, OPENED = "ended", "opened"
BESIDE = {use: f"worked:{use}" for use in (ENDED, OPENED)}
"""Beginnings of the keys of last totals. They lie beside those of ``worked``, which the same commit writes anyway."""
_BLOCK = 16
"""How many totals lie in a block: few values to rewrite with each, and few blocks to search."""


class _Total(NamedTuple):
    """The total of a writer after one of its events."""

    epoch: int
    learnt: datetime
    total: int


class _Totals(msgspec.Struct, array_like=True, gc=False):
    """State-map value: the last totals of a writer, never none, and how many blocks there are before them."""

    last: list[_Total]
    blocks: int = 0


_encode = msgspec.msgpack.Encoder().encode
_totals = msgspec.msgpack.Decoder(_Totals).decode
_block = msgspec.msgpack.Decoder(list[_Total]).decode


class WriterTotals:
    """The totals of one workspace's writers."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits

    def add(self, use: str, by: str, epoch: int, learnt: str, amount: int) -> None:
        """Count an event of a writer."""
        value = self._commits.value(key_of(BESIDE[use], by))
        totals = _totals(value) if value else _Totals([])
        before = totals.last[-1].total if totals.last else 0
        if len(totals.last) == _BLOCK:
            self._commits.assign(key_of(use, by, f"{totals.blocks:08x}"), _encode(totals.last))
            totals = _Totals([], totals.blocks + 1)
        totals.last.append(_Total(epoch, datetime.fromisoformat(learnt), before + amount))
        self._commits.assign(key_of(BESIDE[use], by), _encode(totals))

    def since(self, use: str, by: str, moment: datetime, voids: Voids) -> int:
        """How much was counted for a writer after a moment."""
        value = self._commits.value(key_of(BESIDE[use], by))
        if not value:
            return 0
        totals = _totals(value)

        def counted_from(one: _Total) -> datetime:
            return voids.moment(one.epoch, one.learnt)

        def block(number: int) -> list[_Total]:
            return _block(self._commits.value(key_of(use, by, f"{number:08x}")))

        before = totals.last
        if totals.blocks and counted_from(before[0]) > moment:
            # The last block that begins before the window.
            blocks = range(totals.blocks)
            number = bisect_right(blocks, moment, key=lambda one: counted_from(block(one)[0])) - 1
            before = block(max(0, number))
        many = bisect_right(before, moment, key=counted_from)
        return totals.last[-1].total - (before[many - 1].total if many else 0)
