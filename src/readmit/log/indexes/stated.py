"""The meanings of a name, the last statement about a slot or an obligation, and the audience of a slot.

These are values of the signed map alone.

One value holds the meanings of a name and the last statements about it on every task. Statements on a single task are a
value of their own, and the names of these tasks are numbered, so that no value grows with the number of tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.log.indexes.audience import ANY
from readmit.log.tree.state_map import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.log.tree.commits import Commits

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
