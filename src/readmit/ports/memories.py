"""Storage of the reference memory store: current texts, their versions, and an index of their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


class MemoryRow(NamedTuple):
    """The current version of a record. ``seq`` is its place in the index."""

    seq: int
    id: str
    version: int
    owner: str
    text: str
    key: str
    at: str


class MemoryVersion(NamedTuple):
    """One state in a record's history. No text: the record was deleted."""

    version: int
    text: str | None
    at: str


class Posting(NamedTuple):
    """How often a word occurs in a record, and how many words the record has."""

    seq: int
    owner: str
    times: int
    length: int


class Totals(NamedTuple):
    """A store's size. ``version`` changes with every write."""

    version: int = 0
    records: int = 0
    length: int = 0


class NewMemory(NamedTuple):
    """A record to write, with its counted words."""

    id: str
    owner: str
    text: str
    key: str
    at: str
    words: Mapping[str, int]


class Memories(Protocol):
    """Records of one workspace, in named stores."""

    def write(self, store: str, records: Sequence[NewMemory]) -> None:
        """Add records, or give those that exist a new version; all or none, durable when it returns."""
        ...

    def remove(self, store: str, record: str, at: str, *, purge: bool = False) -> bool:
        """Delete a record. Its versions stay unless they are purged. Returns whether there was anything to delete."""
        ...

    def totals(self, store: str) -> Totals:
        """The store's size."""
        ...

    def row(self, store: str, record: str) -> MemoryRow | None:
        """The current version of a record."""
        ...

    def rows(self, store: str) -> Iterator[MemoryRow]:
        """The current version of every record, oldest first."""
        ...

    def at(self, places: Sequence[int]) -> list[MemoryRow]:
        """The records at these places of the index, in no particular order."""
        ...

    def places(self, store: str, records: Collection[str]) -> set[int]:
        """The places of these records."""
        ...

    def frequency(self, store: str, word: str) -> int:
        """The number of records that contain a word."""
        ...

    def postings(self, store: str, word: str) -> list[Posting]:
        """The occurrences of a word."""
        ...

    def history(self, store: str, record: str) -> list[MemoryVersion]:
        """Every version of a record, oldest first."""
        ...
