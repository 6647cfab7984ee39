"""The meanings of a name, the last statement about a slot or an obligation, and the audience of a slot.

These are values of the signed map alone.

One value holds the meanings of a name and the last statements about it on every task. Statements on a single task are a
value of their own, and the names of these tasks are numbered, so that no value grows with the number of tasks.

Whom an event reaches, as rows of the audience index. Pure.

An empty string stands for "any". An identity sees an event if one row matches it with any of task,
principal and role replaced by "any", so a scope with several principals and roles becomes their product.

How much each writer has ended, and how many duties it opened for others: running totals in the signed map alone.

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
    from collections.abc import Iterable, Iterator

    from readmit.log.tree.commits import Commits
    from readmit.records.acts.voids import Voids
    from readmit.records.identity import Identity
    from readmit.records.items import Scope


ANY = ""
STATE = "state"

Row = tuple[str, str, str]
"""Task, principal, role."""


def rows_of(scope: Scope) -> list[Row]:
    """The audience of a scope."""
    task = scope.task or ANY
    rows = [(task, principal, role) for principal in scope.principals or (ANY,) for role in scope.roles or (ANY,)]
    # A name may be listed twice. Its audience gets the event once.
    return rows if len(rows) == 1 else list(dict.fromkeys(rows))


def keys_of(identity: Identity) -> tuple[str, ...]:
    """The index values that an identity matches: task, any, principal, any, role, any."""
    return identity.task, ANY, identity.principal, ANY, identity.role, ANY


TERM, FRONTIER = "term", "frontier"
"""Subjects of a statement: a name, which may be a slot or a dependency, or the obligation of a frontier."""
SLOT, DEPENDENCY = 1, 2
"""The meanings of a name, as bits."""


class Stated(msgspec.Struct, array_like=True, gc=False):
    """State-map value of a name, or of a name on one task."""

    last: dict[str, tuple[int, bytes]] = {}
    """By readers: the epoch of the last statement, and the digest of its body."""
    tasks: int = 0
    """On how many single tasks there are statements."""
    meanings: int = 0
    reach: list[tuple[str, str]] = []
    """Principals and roles that learn of statements about a slot on this task, sorted."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Stated).decode


def _key(about: str, name: str, task: str) -> str:
    return key_of(about, name, task) if task else key_of(about, name)


def _task_key(about: str, name: str, number: int) -> str:
    return key_of(about, name, ANY, f"{number:08x}")


class LastStatements:
    """The names of one workspace."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits

    def means(self, name: str, meaning: int) -> bool:
        """Whether a name has a meaning."""
        return bool(self.on(TERM, name, ANY).meanings & meaning)

    def mean(self, name: str, meaning: int) -> None:
        """Give a name a meaning."""
        term = self.on(TERM, name, ANY)
        if not term.meanings & meaning:
            term.meanings |= meaning
            self._commits.assign(_key(TERM, name, ANY), _encode(term))

    def reach(self, slot: str, task: str) -> list[tuple[str, str]]:
        """Principals and roles that learn of statements about a slot on a task."""
        return self.on(TERM, slot, task).reach

    def widen(self, slot: str, task: str, reach: Iterable[tuple[str, str]]) -> None:
        """Let these learn of statements about a slot on a task."""
        stated = self.on(TERM, slot, task)
        stated.reach = sorted(reach)
        self._commits.assign(_key(TERM, slot, task), _encode(stated))

    def on(self, about: str, name: str, task: str) -> Stated:
        """The last statements on a task, or on every task."""
        value = self._commits.value(_key(about, name, task))
        return _decode(value) if value else Stated()

    def tasks(self, about: str, name: str, many: int) -> Iterator[str]:
        """The single tasks on which something is stated."""
        return (self._commits.value(_task_key(about, name, number)).decode() for number in range(1, many + 1))

    def state(self, about: str, name: str, task: str, readers: str, statement: tuple[int, bytes]) -> None:
        """Store the last statement about a subject."""
        stated = self.on(about, name, task)
        if task and not stated.last:
            every = self.on(about, name, ANY)
            every.tasks += 1
            self._commits.assign(_task_key(about, name, every.tasks), task.encode())
            self._commits.assign(_key(about, name, ANY), _encode(every))
        stated.last[readers] = statement
        self._commits.assign(_key(about, name, task), _encode(stated))


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
