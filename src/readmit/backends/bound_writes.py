"""Write to a memory store and keep the ledger in step.

The store is written first. If the process dies in between, the record has no entry or one for another text, and either
keeps it out. Both steps are one for other writers, in all processes: see ``bank_lock``.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from readmit.backends.admission import text_digest, unaltered
from readmit.backends.bank_lock import bank_lock, lock_name
from readmit.backends.port import Apart, Change, Material, MemoryBackend, Stored
from readmit.log.ledger import TEAM, Binding, Entry, Precision, SourceLedger
from readmit.records.base import listed, require_digest, require_id
from readmit.records.canonical import checked, decode, digest
from readmit.records.error_types import BackendError, RecordError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Archived(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An exported record and its ledger entry."""

    record: Stored
    entry: Entry | None = None


class BoundBackend:
    """A memory store with the ledger of its records' sources."""

    def __init__(
        self, backend: MemoryBackend, ledger: SourceLedger, may_write: Callable[[], object] = lambda: None
    ) -> None:
        """``may_write`` raises if the writer may no longer write: it may have waited long for its turn."""
        self.backend = backend
        self.ledger = ledger
        self._may_write = may_write

    def form(
        self, text: str, sources: Sequence[Binding], *, by: str, owner: str = TEAM, verbatim: bool = False
    ) -> tuple[str, ...]:
        """Form memories from one text. Returns the ids of the records that hold something of it."""
        self.check(sources)
        material = Material(text=text, key=sources_digest(sources), owner=owner, verbatim=verbatim)
        with self.alone() as check:
            changes = self.backend.form(checked(material, what="material"))
            check()
            return self._file(changes, sources, by=by)

    def update(self, record: str, text: str, sources: Sequence[Binding], *, by: str) -> tuple[str, ...]:
        """Replace a record's text and sources."""
        self.check(sources)
        with self.alone(record) as check:
            changes = self.backend.update(record, text)
            check()
            return self._file(changes, sources, by=by)

    def delete(self, record: str) -> None:
        with self.alone(record):
            self.backend.delete(record)
            self.ledger.write(self.backend.name, (), drop=(record,))

    @contextmanager
    def alone(self, record: str = "") -> Iterator[Callable[[], None]]:
        """Hold back other writers of the bank, or of one record where records are apart. Without one, it is new.

        Yields a check to call before sources are filed: it raises if the lock was lost.
        """
        bank = self.backend.name
        if isinstance(self.backend, Apart):
            if not record:
                yield lambda: None
                return
            bank = lock_name(bank, record)
        with bank_lock(self.ledger, bank) as held:
            self._may_write()
            yield held.check

    def bind(self, records: Iterable[tuple[Stored, Sequence[Binding]]], *, by: str) -> None:
        """Bind sources to existing records, with their current texts, which were read or written within ``alone``."""
        entries = []
        for record, sources in records:
            self.check(sources)
            entries.append(_entry(record, tuple(sources), by))
        self.ledger.write(self.backend.name, entries)

    def export(self) -> Iterator[Archived]:
        """Every record of the store with its entry, for ``load``."""
        entries = self.ledger.entries(self.backend.name)
        for record in self.backend.export():
            yield Archived(record=record, entry=entries.get(record.id))

    def load(self, archive: Sequence[Archived]) -> tuple[str, ...]:
        """Import exported records without forming them again.

        The archive is trusted like the ledger, so protect it like the workspace's file. A record whose text does not
        match its entry stays unbound.
        """
        held = [
            one.entry if one.entry is not None and unaltered(one.entry, one.record.text) else None for one in archive
        ]
        self._known(dict.fromkeys(binding for entry in held if entry is not None for binding in entry.bindings))
        with self.alone() as check:
            ids = tuple(self.backend.load([one.record for one in archive]))
            if len(ids) != len(archive):
                raise BackendError(f"{self.backend.name}: took in {len(ids)} of {len(archive)} records; none is bound")
            entries = [
                msgspec.structs.replace(entry, record=name)
                for entry, name in zip(held, ids, strict=True)
                if entry is not None
            ]
            check()
            self.ledger.write(self.backend.name, entries)
        return ids

    def check(self, sources: Sequence[Binding]) -> None:
        """Refuse sources that could never admit a record: none, or some that are not in the workspace."""
        if not sources:
            raise RecordError("sources: name at least one item or evidence that the text comes from")
        self._known(sources)

    def _known(self, sources: Iterable[Binding]) -> None:
        for one in self.ledger.lacking(sources):
            raise UnknownError(
                f"sources: no {one.of} {one.ref!r} in workspace {self.backend.workspace!r}; record it first"
            )

    def _file(self, changes: Sequence[Change], sources: Sequence[Binding], *, by: str) -> tuple[str, ...]:
        entries: dict[str, Entry] = {}
        dropped: dict[str, None] = {}
        for change in changes:
            record = change.record
            if change.kind == "deleted":
                entries.pop(record.id, None)
                dropped[record.id] = None
                continue
            bindings, others = tuple(sources), frozenset[str]()
            former = (record.id, *change.holds) if change.kind == "merged" else change.holds
            if change.precision is Precision.CONSERVATIVE or former:
                bindings = tuple(map(conservative, bindings))
            for name in former:
                before = entries.get(name) or self.ledger.entry(self.backend.name, name)
                if before is not None:
                    others |= before.writers - {by}
                # If its former content is unknown, its content now is too.
                known = before.bindings if before is not None and bindings else ()
                bindings = union(known, bindings) if known else ()
            entries[record.id] = _entry(record, bindings, by, others)
        self.ledger.write(self.backend.name, tuple(entries.values()), drop=tuple(dropped))
        return tuple(entries)


def union(before: Sequence[Binding], after: Sequence[Binding]) -> tuple[Binding, ...]:
    """The sources of a merged record. None is exact: its words may come from any of them."""
    return tuple(dict.fromkeys(map(conservative, (*before, *after))))


def conservative(binding: Binding) -> Binding:
    """A source marked as not exact."""
    return msgspec.structs.replace(binding, precision=Precision.CONSERVATIVE)


def sources_digest(sources: Sequence[Binding]) -> str:
    """A short key for a set of sources, for a store's metadata."""
    return digest(sorted(f"{one.of}:{one.ref}" for one in sources))[:32]


def bindings(items: Sequence[str] = (), evidence: Sequence[str] = ()) -> tuple[Binding, ...]:
    """Exact bindings to items and evidence."""
    named = [Binding(of="item", ref=require_id("sources", one)) for one in listed("sources", items)]
    named += [Binding(of="evidence", ref=require_digest("evidence", one)) for one in listed("evidence", evidence)]
    return tuple(dict.fromkeys(named))


def read_archive(lines: Iterable[bytes | str]) -> list[Archived]:
    """An archive from its JSON lines."""
    return [decode(line, Archived, what=f"line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def _entry(record: Stored, sources: tuple[Binding, ...], by: str, others: frozenset[str] = frozenset()) -> Entry:
    entry = Entry(
        record=record.id,
        text=text_digest(record.text),
        bindings=sources,
        by=by,
        owner=record.owner,
        merged_from=tuple(sorted(others)),
    )
    return checked(entry, what="ledger entry")
