"""The changes of an open transaction to the log's tree, collected until it commits and undone with its levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from readmit.records.acts.event import KeyChange


class Mark(NamedTuple):
    """How far a transaction had come."""

    values: int
    leaves: int
    rows: int
    keys: int


NOTHING = Mark(0, 0, 0, 0)
"""Where a transaction begins."""


class Changes:
    """Leaves of new events and audit rows, new values of index keys, and changes of the signing keys."""

    __slots__ = ("_journal", "keys", "leaves", "rows", "values")

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.leaves: list[bytes] = []
        self.rows: list[bytes] = []
        self.keys: list[KeyChange] = []
        self._journal: list[tuple[str, bytes | None]] = []

    def __bool__(self) -> bool:
        return bool(self.values or self.leaves or self.rows)

    def set(self, key: str, value: bytes) -> None:
        """Give a key a new value."""
        self._journal.append((key, self.values.get(key)))
        self.values[key] = value

    def mark(self) -> Mark:
        """Where a level begins."""
        return Mark(len(self._journal), len(self.leaves), len(self.rows), len(self.keys))

    def undo(self, mark: Mark) -> None:
        """Drop the changes after a mark."""
        while len(self._journal) > mark.values:
            key, before = self._journal.pop()
            if before is None:
                del self.values[key]
            else:
                self.values[key] = before
        del self.leaves[mark.leaves :], self.rows[mark.rows :], self.keys[mark.keys :]
