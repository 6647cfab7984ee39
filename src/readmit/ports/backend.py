"""Memory stores that readmit stands in front of, in one representation.

Paper, "Backend integration and paired evaluation": eligibility is controlled "through a common representation of
record identity, text, retrieval score, and source bindings", while forming and retrieving stay native. A store
knows nothing of admission. What its records were formed from is kept in a ledger of ours, because the stores lose
it and because whoever can write to a store could forge it there.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, runtime_checkable

import msgspec

from readmit.records.base import Digest, Id, Name, Record, Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

NativeId = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]
Owner = Annotated[str, msgspec.Meta(max_length=256)]
"""Whose private bank a record belongs to; empty for the team's."""

TEAM = ""


class Precision(StrEnum):
    """How much is known about where a record's text came from. Both kinds bind: every source must be admitted."""

    EXACT = "exact"
    """The record was formed from its sources and nothing else could have entered it."""
    CONSERVATIVE = "conservative"
    """The record may hold something of each source: a merge, a native context, a claim made when it was adopted."""


class Binding(Record, kw_only=True):
    """One source of a record: a work-state item, or evidence, which stands for every item that rests on it."""

    of: Literal["item", "evidence"] = "item"
    ref: Id
    precision: Precision = Precision.EXACT


class Material(Record, kw_only=True):
    """What a store is given to form memories from, in one call. The sources stay with us; ``key`` names them."""

    text: Text
    key: Id
    """Stands for the sources. A store that keeps metadata carries it along; nothing is ever admitted by it."""
    owner: Owner = TEAM
    verbatim: bool = False
    """Keep the text as it is, without a model, where the store has a choice."""


class Stored(Record, kw_only=True):
    """A record as its store holds it. ``native`` is what the same adapter needs to put it back without forming it."""

    id: NativeId
    text: str
    owner: Owner = TEAM
    native: bytes = b""


class Change(Record, kw_only=True):
    """What forming or updating did to one record.

    ``added`` is new; ``merged`` existed and now holds something of the material too; ``replaced`` holds nothing of
    its former text; ``deleted`` is gone, with ``record`` as it last was.
    """

    kind: Literal["added", "merged", "replaced", "deleted"]
    record: Stored
    precision: Precision = Precision.EXACT


class Hit(Record, kw_only=True):
    """A record that a search found, with the store's own score: higher is nearer."""

    id: NativeId
    text: str
    score: float
    bindings: tuple[Binding, ...] = ()


class MemoryBackend(Protocol):
    """A memory store. Everything here is native: only the operator holds it, never a returned agent."""

    @property
    def name(self) -> str:
        """Kind and place, as ``mem0:team``: what the ledger files its records under."""
        ...

    @property
    def workspace(self) -> str:
        """The workspace it serves. Records of others are invisible to every method."""
        ...

    def form(self, material: Material) -> Sequence[Change]:
        """Form memories natively and tell every record that was touched, whatever its id."""
        ...

    def search(
        self, query: str, *, limit: int, reader: str | None = None, among: Collection[str] | None = None
    ) -> Sequence[Hit]:
        """The store's own ranking, best first; fewer than ``limit`` only if there are no more.

        ``reader`` leaves out other principals' private records. ``among`` lists the only records that the caller can
        use: a store that can rank those alone says so (``Narrowing``), any other ignores it and is asked for more.
        """
        ...

    def records(self) -> Iterable[Stored]:
        """Everything it holds of this workspace, private banks too."""
        ...

    def update(self, record: str, text: str) -> Sequence[Change]:
        """Give a record another text. ``UnknownError`` if there is none."""
        ...

    def delete(self, record: str) -> None:
        """Remove a record. ``UnknownError`` if there is none."""
        ...

    def export(self) -> Iterable[Stored]:
        """As ``records``, with ``native`` filled in."""
        ...

    def load(self, records: Sequence[Stored]) -> Sequence[str]:
        """Take exported records in without forming them again: no model is asked. Their ids here, in order."""
        ...

    def close(self) -> None:
        """Let go of files and connections. Closing twice is harmless."""
        ...


@runtime_checkable
class Narrowing(Protocol):
    """A store that can rank a given set of records alone. Others are asked for more than is wanted."""

    def narrows(self, count: int) -> bool:
        """Whether ``search`` heeds an ``among`` of this many records."""
        ...


class Entry(Record, kw_only=True):
    """What the ledger knows about a record: the text it was bound with, its sources, and who had it formed."""

    record: NativeId
    text: Digest
    bindings: tuple[Binding, ...]
    by: Name
    owner: Owner = TEAM
    merged_from: tuple[Name, ...] = ()
    """Who else has words in it: the writers of what a store merged into it."""

    @property
    def writers(self) -> frozenset[str]:
        """Everybody who has words in it."""
        return frozenset((self.by, *self.merged_from))


class SourceLedger(Protocol):
    """Which sources each native record was formed from, for one workspace."""

    def version(self, backend: str) -> int:
        """Moves with every change to a backend's entries."""
        ...

    def entries(self, backend: str) -> Mapping[str, Entry]:
        """Every entry of a backend, by record."""
        ...

    def entry(self, backend: str, record: str) -> Entry | None:
        """One entry."""
        ...

    def write(self, backend: str, entries: Sequence[Entry], *, drop: Sequence[str] = ()) -> None:
        """File entries, replacing those of the same records, and forget others; durable when it returns."""
        ...

    def carriers(self, backend: str) -> Mapping[str, frozenset[str]]:
        """For each evidence digest that the backend's entries name: the items that rest on it."""
        ...

    def lacking(self, bindings: Iterable[Binding]) -> tuple[Binding, ...]:
        """Those that name nothing in this workspace."""
        ...
