"""The protocol of memory stores.

Paper, "Backend integration and paired evaluation": eligibility is controlled "through a common representation of record
identity, text, retrieval score, and source bindings", while forming and retrieving stay native. A store knows nothing
of admission. Our own ledger keeps the sources of its records, because stores do not keep them and anyone who can
write to a store could forge them there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from readmit.log.ledger import TEAM, Binding, NativeId, Owner, Precision
from readmit.records.base import Id, Record, Text
from readmit.records.error_types import RecordError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


class Material(Record, kw_only=True):
    """The input of one call that forms memories. The sources stay in our ledger; ``key`` refers to them."""

    text: Text
    key: Id
    """Refers to the sources. Stored as metadata if the store has any; admission never reads it."""
    owner: Owner = TEAM
    verbatim: bool = False
    """Store the text unchanged, without a model, if the store can."""


class Stored(Record, kw_only=True):
    """A record in its store. ``native`` holds the fields by which the adapter restores it without forming it again."""

    id: NativeId
    text: str
    owner: Owner = TEAM
    native: bytes = b""


class Change(Record, kw_only=True):
    """The effect of forming or updating on one record.

    ``added`` is new; ``merged`` existed and now contains some of the material; ``replaced`` contains nothing of its
    former text; ``deleted`` is gone, with ``record`` as it last was.
    """

    kind: Literal["added", "merged", "replaced", "deleted"]
    record: Stored
    precision: Precision = Precision.EXACT
    holds: tuple[NativeId, ...] = ()
    """Records whose former text this one may contain: it has their sources too, or none if one of them has none."""


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
        """Kind and place, as ``mem0:team``: the ledger's key for its records."""
        ...

    @property
    def workspace(self) -> str:
        """The workspace it serves. Records of others are invisible to every method."""
        ...

    def form(self, material: Material) -> Sequence[Change]:
        """Form memories natively and return every record that changed."""
        ...

    def search(
        self, query: str, *, limit: int, reader: str | None = None, among: Collection[str] | None = None
    ) -> Sequence[Hit]:
        """The store's own ranking, best first; fewer than ``limit`` only if there are no more.

        ``reader`` leaves out other principals' private records. ``among`` lists the only records that the caller can
        use. A store that can rank only those implements ``Narrowing``; others ignore it and are asked for more results.
        """
        ...

    def records(self) -> Iterable[Stored]:
        """All its records of this workspace, including private banks."""
        ...

    def update(self, record: str, text: str) -> Sequence[Change]:
        """Give a record another text. ``UnknownError`` if there is none."""
        ...

    def delete(self, record: str) -> None:
        """Remove a record. ``UnknownError`` if there is none."""
        ...

    def export(self) -> Iterable[Stored]:
        """The records with ``native`` filled in."""
        ...

    def load(self, records: Sequence[Stored]) -> Sequence[str]:
        """Import exported records without forming them again: no model is asked. Returns their new ids, in order."""
        ...

    def close(self) -> None:
        """Close files and connections. Closing twice is harmless."""
        ...


@runtime_checkable
class Narrowing(Protocol):
    """A store that can rank a given set of records only. Others are asked for more results than needed."""

    def narrows(self, count: int) -> bool:
        """Whether ``search`` uses an ``among`` of this many records."""
        ...


@runtime_checkable
class Banked(Protocol):
    """A store that keeps its records in banks, and refuses to list one that is gone: it would look empty."""

    def lost(self) -> Iterable[str]:
        """The bound records whose bank is gone."""
        ...


@runtime_checkable
class Mending(Protocol):
    """A store in which an unfinished call can leave a remnant that stops later calls."""

    def mend(self, owners: Iterable[str] = ()) -> Iterable[str]:
        """Remove the remnants, and report each. ``owners`` have private banks that the store may not know of yet."""
        ...


@runtime_checkable
class Apart(Protocol):
    """A store that never touches another record than the one it is asked to write. Its writers wait per record.

    The writers of any other store wait for each other, because its model may rewrite any record of the bank.
    """

    writes_apart: bool


def require_limit(limit: int) -> None:
    """Refuse a search for no record."""
    if limit < 1:
        raise RecordError(f"limit: {limit} must be at least 1")


def unknown_record(backend: MemoryBackend, record: str) -> UnknownError:
    """The error for a record that a store does not have."""
    return UnknownError(f"no record {record!r} in {backend.name} of workspace {backend.workspace!r}; list them first")
