"""A memory store in a workspace: operators form and bind records, returned agents get handles.

    memory = Memory.open(trip, "scopedmem")
    memory.form("Sunrise Hotel is booked", sources=[h0], by="A2")
    ...
    handle = memory.returned(planner.come_back().expose())
    handle.search("where do we sleep?")

The handle is built from an exposed bundle and admits memories of the bundle's items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Self

import msgspec

from readmit.backends.admission import Ground, Standing, gone, items_of, standing, unaltered
from readmit.backends.bound_writes import Archived, BoundBackend, bindings, conservative
from readmit.backends.handle import Gate, OpenedMemory, ReturnedMemory
from readmit.backends.port import Banked, MemoryBackend, Mending, Stored
from readmit.backends.store_lines import open_backend
from readmit.log.ledger import TEAM, Binding
from readmit.records.arguments import explained
from readmit.records.base import (
    Count,
    Digest,
    Id,
    Name,
    Record,
    listed,
    nfc,
    require_digest,
    require_flag,
    require_id,
    shown,
)
from readmit.records.canonical import canonical, digest
from readmit.records.decisions import ReturnView
from readmit.records.error_types import BackendError, NotAllowedError, RecordError, UnknownError
from readmit.state.past_returns import dispositions, recorded
from readmit.workspace.standing_view import StandingView
from readmit.workspace.workspace import Workspace, desk_of
from readmit.writing.rights import check_evidence, item_for

if TYPE_CHECKING:
    from readmit.models.protocols import Embedder, Model
    from readmit.records.reasons import Reason
    from readmit.returning.expose import Bundle


class MemoryOpened(Record, kw_only=True):
    """Audit entry: which native records a returned agent could read from here on."""

    backend: Name
    instance: Id
    records: Count
    withheld: Count
    digest: Digest
    """The keyed digest over the readable records and their texts, in order of their ids (``Log.keyed``)."""


class Adoption(msgspec.Struct, frozen=True):
    """The result of adopting: bound and unproven records."""

    bound: tuple[str, ...]
    """Records that now have sources, conservatively: they rest on the adopter's claim."""
    unproven: tuple[str, ...]
    """Records without a source. They stay out of every view."""
    gone: tuple[str, ...] = ()
    """Bound records that the store no longer holds: deleted or merged there, or expired."""
    altered: tuple[str, ...] = ()
    """Bound records whose text is another one now. They stay out of every view until they are claimed again."""


@explained
class Memory:
    """One memory store in one workspace. For the operator: every method sees everything.

    The handle of one principal forms memories from what that principal may know, for the team or for itself, and opens
    the memory of its own returns. Nothing else.
    """

    def __init__(self, workspace: Workspace, backend: MemoryBackend) -> None:
        if backend.workspace != workspace.name:
            raise BackendError(
                f"{backend.name} serves workspace {backend.workspace!r}, not {workspace.name!r}; open it for this one"
            )
        self._workspace = workspace
        self._bound = BoundBackend(backend, desk_of(workspace).log.sources)

    @classmethod
    def open(
        cls, workspace: Workspace, spec: str, *, embedder: Embedder | None = None, model: Model | None = None
    ) -> Self:
        """Open the memory store that a line names, as ``scopedmem``, ``mem0:FOLDER`` or ``memobase:URL``.

        Installed packages may register further kinds. ``embedder`` ranks, where a store does not do so itself;
        ``model`` forms memories.
        """
        return cls(workspace, open_backend(spec, desk_of(workspace).log, embedder=embedder, model=model))

    def __repr__(self) -> str:
        return f"<Memory {self._bound.backend.name!r} of workspace {self._workspace.name!r}>"

    @property
    def backend(self) -> MemoryBackend:
        """The store itself."""
        self._check_operator("backend")
        return self._bound.backend

    def form(
        self,
        text: str,
        *,
        by: str,
        sources: Sequence[str] = (),
        evidence: Sequence[str] = (),
        owner: str = TEAM,
        verbatim: bool = False,
    ) -> tuple[str, ...]:
        """Form memories from a text that comes from items (``sources``) or from observations (``evidence``).

        Exact binding needs one source per call. Returns the ids of the records.
        """
        by, owner = self._allowed(by), self._owned(owner)
        self._check_known(by, sources, evidence)
        return self._bound.form(text, bindings(sources, evidence), by=by, owner=owner, verbatim=verbatim)

    def observe(self, evidence: str, *, by: str, owner: str = TEAM, verbatim: bool = False) -> tuple[str, ...]:
        """Form memories from an observation of the log, bound to it."""
        by, owner = desk_of(self._workspace).writer.author.of(by), self._owned(owner)
        self._check_known(by, (), [require_digest("evidence", evidence)])
        event = desk_of(self._workspace).log.evidence(evidence)
        text = event.payload.text  # type: ignore[attr-defined]  # filed under its digest: it is evidence
        return self._bound.form(text, bindings(evidence=[evidence]), by=by, owner=owner, verbatim=verbatim)

    def update(
        self, record: str, text: str, *, by: str, sources: Sequence[str] = (), evidence: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Replace a record's text. Name every source that the new text still reveals."""
        self._check_operator("update")
        by = self._allowed(by)
        self._check_known(by, sources, evidence)
        return self._bound.update(record, text, bindings(sources, evidence), by=by)

    def delete(self, record: str) -> None:
        """Remove a record and its sources."""
        self._check_operator("delete")
        self._bound.delete(record)

    def adopt(self, claims: Mapping[str, Sequence[str]], *, by: str, gone: bool = False) -> Adoption:
        """Bind existing records of the store by claims: record → items it may come from.

        A claim is not proof, so the binding is conservative; it holds for the text that the record has now. Records
        without a claim, bound ones whose text changed and bound ones that are gone are reported. With ``gone``, it is
        accepted that they are gone: what is known of their sources is dropped.
        """
        self._check_operator("adopt")
        by, forget = self._allowed(by), require_flag("gone", gone)
        if not isinstance(claims, Mapping):
            raise RecordError(f"claims: {shown(claims)} is not a mapping of records to lists of items")
        ledger, name = self._bound.ledger, self.backend.name
        with self._bound.alone():
            lost = tuple(self.backend.lost()) if forget and isinstance(self.backend, Banked) else ()
            if lost:
                ledger.write(name, (), drop=lost)
            held = {record.id: record for record in self.backend.records()}
            strangers = sorted(set(claims) - set(held))
            if strangers:
                raise UnknownError(
                    f"claims: {self.backend.name} has no record {strangers[0]!r}; list them with records()"
                )
            bound = [(held[name], tuple(map(conservative, bindings(items)))) for name, items in claims.items() if items]
            self._bound.bind(bound, by=by)
            known = ledger.entries(name)
            missing = tuple(one for one in known if one not in held)
            if missing and forget:
                ledger.write(name, (), drop=missing)
        return Adoption(
            bound=tuple(record.id for record, _ in bound),
            unproven=tuple(one for one in held if one not in known),
            gone=(*lost, *missing),
            altered=tuple(
                one.id for one in held.values() if one.id in known and not unaltered(known[one.id], one.text)
            ),
        )

    def mend(self, owners: Sequence[str] = ()) -> tuple[str, ...]:
        """Remove leftovers of an unfinished call from the store, and name them. Most stores have none.

        For Memobase: chats whose flush died with the server, which keep their bank from being written, are deleted.
        ``owners`` have private banks of which nothing is bound yet.
        """
        self._check_operator("mend")
        if not isinstance(self.backend, Mending):
            return ()
        with self._bound.alone():
            return tuple(self.backend.mend([nfc(one) for one in listed("owners", owners)]))

    def records(self) -> Iterator[tuple[Stored, tuple[Binding, ...]]]:
        """Every record of the store, with its sources."""
        self._check_operator("records")
        entries = self._bound.ledger.entries(self.backend.name)
        for record in self.backend.records():
            yield record, entries[record.id].bindings if record.id in entries else ()

    def export(self) -> Iterator[Archived]:
        """Every record with its ledger entry, for ``load``."""
        self._check_operator("export")
        return self._bound.export()

    def load(self, archive: Sequence[Archived]) -> tuple[str, ...]:
        """Import exported records without forming them again."""
        self._check_operator("load")
        return self._bound.load(archive)

    def review(self, return_id: str) -> tuple[Standing, ...]:
        """The records of this store that an admitted return admits and withholds, and why. For the operator."""
        from readmit.diagnosis.history import explain

        self._check_operator("review")
        log = desk_of(self._workspace).log
        returned, decision = recorded(log, return_id)
        admitted = frozenset(one.id for one in decision.view.items) if decision.view is not None else frozenset()
        why: dict[str, tuple[Reason, ...]] = {one.item: one.reasons for one in dispositions(log, return_id)}
        for item in self._named() - why.keys():
            # Invisible items were not candidates, so their reason is computed now.
            try:
                why[item] = explain(log, return_id, item).disposition.reasons
            except UnknownError:
                continue
        return self.standings(
            Ground(
                admitted=admitted,
                reader=returned.request.identity.principal,
                writers=frozenset(returned.request.policy.evidence.writers),
                reasons=why,
            )
        )

    def _named(self) -> set[str]:
        """Every item that some record was formed from."""
        ledger, name = self._bound.ledger, self.backend.name
        carriers = ledger.carriers(name)
        bound = (items_of(entry.bindings, carriers) or () for entry in ledger.entries(name).values())
        return {item for items in bound for item in items}

    def standings(self, ground: Ground) -> tuple[Standing, ...]:
        """Judge every record of the store, and every bound one that is no longer in it."""
        self._check_operator("standings")
        entries = self._bound.ledger.entries(self.backend.name)
        carried = msgspec.structs.replace(ground, carriers=self._bound.ledger.carriers(self.backend.name))
        judged = [
            standing(record.id, record.text, entries.get(record.id), carried) for record in self.backend.records()
        ]
        held = {one.record for one in judged}
        return (*judged, *(gone(entry, carried) for name, entry in entries.items() if name not in held))

    def returned(self, bundle: Bundle | ReturnView) -> ReturnedMemory:
        """The handle of the agent that received this bundle, or this view: another process may have exposed it."""
        noted = ""
        view = bundle if isinstance(bundle, ReturnView) else bundle.view

        def note(opened: OpenedMemory) -> None:
            nonlocal noted
            log = desk_of(self._workspace).log
            texts = [(record, opened.entries[record].text) for record in sorted(opened.entries)]
            entry = MemoryOpened(
                backend=self._bound.backend.name,
                instance=view.instance,
                records=len(texts),
                withheld=opened.known - len(texts),
                digest=log.keyed(digest(texts)),
            )
            if entry.digest != noted:
                log.audit.append(view.return_id, [("memory", "", canonical(entry))])
                noted = entry.digest

        gate = Gate(self._bound, StandingView(self._workspace, bundle), note)
        gate.opened()
        return ReturnedMemory(gate)

    def close(self) -> None:
        self._bound.backend.close()

    def _check_operator(self, verb: str) -> None:
        desk_of(self._workspace).writer.check_operator(f"memory.{verb}")

    def _owned(self, owner: str) -> str:
        """The bank of the team or of a principal, as the policy spells its name, if this handle may fill it."""
        owner = nfc(owner)
        if owner not in (TEAM, desk_of(self._workspace).writer.author.name):
            self._check_operator(f"owner={owner!r}")
        return owner

    def _check_known(self, by: str, sources: Sequence[str], evidence: Sequence[str]) -> None:
        """Refuse sources that are not on the log, or that the writer may not know of."""
        writer = desk_of(self._workspace).writer
        for name in listed("sources", sources):
            item_for(writer.log, require_id("sources", name), by, writer.policy)
        for name in listed("evidence", evidence):
            check_evidence(writer.log, require_digest("evidence", name), by, writer.policy)

    def _allowed(self, by: str) -> str:
        """The writer's name as the policy spells it, if it is listed."""
        by, writers = desk_of(self._workspace).writer.author.of(by), self._workspace.admin.policy.evidence.writers
        if writers and by not in writers:
            raise NotAllowedError(
                f"by: {by!r} is not among the policy's writers, so nothing it forms could be admitted; use one that is"
            )
        return by
