"""The audit for other tools: rows as JSON lines, and log and audit as W3C PROV.

JSON lines carry what a reader needs to recompute the tree: the rows with their leaves; the record of each commit, whose
``rows`` is the RFC 6962 tree hash over the leaves of the rows that it added; and the signed head, whose root is the
tree hash over the records. PROV has digests and links only, and no text.

In PROV, an invalidated entity is not used afterwards. An event that ends an item, or restores it, therefore ends one
version of it and makes the next: ``item/h0``, then ``item/h0/7`` after the event at epoch 7. Returns use the version of
their time. Times are those of the log, which never go back; when an event was true is an attribute.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from readmit.diagnosis.unnamed_endings import REPLACING, Endings, all_endings, endings_of_return
from readmit.diagnosis.verification.head_proofs import signed_head
from readmit.records.acts.event import Event, EventKind, Overrule, Supersede
from readmit.records.acts.kinds import targets_of
from readmit.records.acts.looks import Looked, LookResult
from readmit.records.acts.operation import Exposed
from readmit.records.acts.voids import Voids
from readmit.records.canonical import below, decode
from readmit.records.decisions import Decision, Returned
from readmit.records.error_types import ReadmitError, SealError
from readmit.records.evidence import Evidence
from readmit.records.items import Item
from readmit.state.past_returns import dispositions, recorded
from readmit.trust.commit_record import row_leaf

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from prov.model import ProvDocument

    from readmit.log.log import Log


def json_lines(log: Log, return_id: str | None = None) -> Generator[bytes, None, None]:
    """Every row of the audit, or of one return, with the pieces that decisions lead to, each once before the first.

    Then the commits that added the rows, and the newest signed head.
    """
    if return_id is not None:
        recorded(log, return_id)
    done: set[str] = set()
    with log.reading():
        for row in log.audit.rows():
            if return_id in (None, row.return_id):
                if row.kind == "decision":
                    decision = decode(row.body, Decision, what=f"audit row {row.seq}")
                    yield from _pieces(log, [decision.dispositions], done)
                line = {
                    "seq": row.seq,
                    "return": row.return_id,
                    "kind": row.kind,
                    "item": row.item,
                    "body": msgspec.Raw(row.body),
                    "leaf": row_leaf(*row).hex(),
                }
                yield msgspec.json.encode(line)
        for body in log.commit_records() if return_id is None else ():
            yield msgspec.json.encode({"kind": "commit", "record": msgspec.Raw(body)})
        with suppress(SealError):
            head = {"kind": "head", "workspace": log.workspace, "note": signed_head(log).decode()}
            yield msgspec.json.encode(head)


def _pieces(log: Log, names: Sequence[str], done: set[str]) -> Iterator[bytes]:
    """The pieces under some names that were not exported yet, the topmost first."""
    for name, piece in log.audit.pieces([one for one in names if one not in done]).items():
        done.add(name)
        yield msgspec.json.encode({"kind": "piece", "digest": name, "body": msgspec.Raw(piece)})
        yield from _pieces(log, below(piece) or (), done)


def prov_document(
    log: Log, return_id: str | None = None, *, watch: Callable[[], object] = lambda: None
) -> ProvDocument:
    """The log and its returns as a PROV document; with ``return_id``, that return and its inputs."""
    try:
        from prov.model import ProvDocument
    except ModuleNotFoundError:
        raise ReadmitError("prov is not installed; run: pip install 'readmit[prov]'") from None
    until, chosen = None, None
    if return_id is not None:
        returned, _ = recorded(log, return_id)
        until = returned.request.epoch
        chosen = {one.item for one in dispositions(log, return_id)}
    endings = all_endings(log) if return_id is None else endings_of_return(log, return_id)
    document = ProvDocument()
    story = _Story(log, document, endings)
    for event in log.tail(until=until):
        if chosen is None or event.epoch in endings or chosen.intersection(targets_of(event.payload)):
            story.add(event)
        watch()
    if return_id is not None:
        for kind in (EventKind.RETURN, EventKind.EXPOSE):
            if (own := log.named(kind, return_id)) is not None:
                story.add(own)
    return document


class _Story:
    """Events, one after the other, as PROV statements."""

    def __init__(self, log: Log, document: ProvDocument, endings: Endings) -> None:
        self._log = log
        self.document: Any = document
        self._endings = endings
        self._space = document.add_namespace("ws", f"urn:readmit:{quote(log.workspace, safe='')}:")
        self._readmit = document.add_namespace("readmit", "urn:readmit:")
        self._agents: set[str] = set()
        self._activities: dict[str, Any] = {}
        self._versions: dict[str, Any] = {}
        """Item → its present version."""
        self._revisions: set[tuple[str, str]] = set()
        self._epochs: dict[str, int] = {}
        """Item → where it was recorded."""
        self._moment = datetime.min.replace(tzinfo=UTC)
        self._voids = Voids(log.milestones(EventKind.VOID))

    def add(self, event: Event) -> None:
        """Add one event."""
        self._moment = self._voids.moment(event.epoch, event.learnt)
        match event.payload:
            case Evidence():
                self._evidence(event)
            case Item() as item:
                self._item(event, item)
            case Returned() as returned:
                self._return(event, returned)
            case Exposed() as exposed:
                self._exposure(event, exposed)
            case Overrule(target=target):
                self._change(event, target)
            case payload if event.kind.ends_items:
                for target in targets_of(payload):
                    self._ending(event, target)
            case Looked(found=found):
                self._look(event, found)
        self._unnamed(event)

    def _unnamed(self, event: Event) -> None:
        """Items that an event ended without naming them."""
        for fallen, cause in self._endings.get(event.epoch, {}).items():
            self._change(event, fallen, {"readmit:reason": str(cause.reason)})
            if cause.reason in REPLACING:
                self._revision(cause.ref, fallen)

    def _evidence(self, event: Event) -> None:
        entity = self.document.entity(self._of("evidence", event.digest), {"readmit:digest": event.digest})
        self.document.wasAttributedTo(entity, self._agent(event.by))

    def _look(self, event: Event, found: Sequence[LookResult]) -> None:
        """Add a derivation edge from a source's new text to its old one."""
        activity = self._activity(f"event/{event.epoch}", event, str(event.kind))
        for one in found:
            if one.seen:
                continue
            old = self._bound(one.evidence)
            self.document.used(activity, old, self._moment, None, {"readmit:finding": str(one.finding)})
            if one.now is not None and not one.since:
                now = self._bound(one.now)
                self.document.wasGeneratedBy(now, activity, self._moment)
                self.document.wasDerivedFrom(now, old, activity)

    def _item(self, event: Event, item: Item) -> None:
        facets = {"prov:type": self._readmit["Item"], "readmit:kind": str(item.kind), "readmit:digest": event.digest}
        facets |= {"readmit:epoch": event.epoch} | ({"readmit:slot": item.slot} if item.slot else {})
        name = self._versions[item.id] = self._of("item", item.id)
        self._epochs[item.id] = event.epoch
        entity = self.document.entity(name, facets)
        author = self._agent(item.by)
        self.document.wasAttributedTo(entity, author)
        if item.drafted is not None:
            # Two authors: the model that wrote it, and the principal on whose behalf it did.
            model = self.document.agent(self._of("model", item.drafted.model), {"prov:type": self._readmit["Model"]})
            self.document.wasAttributedTo(entity, model)
            self.document.actedOnBehalfOf(model, author)
        for digest in dict.fromkeys(receipt.evidence for receipt in item.receipts):
            self.document.wasDerivedFrom(entity, self._bound(digest))
        for premise in item.depends_on:
            self._ensure(premise)
            self.document.wasDerivedFrom(entity, self._versions.get(premise, self._of("item", premise)))

    def _ensure(self, name: str) -> None:
        """Add an item that the export of one return refers to and has not included."""
        if name not in self._epochs and (recorded := self._log.named(EventKind.RECORD, name)) is not None:
            self._item(recorded, self._log.item(name))

    def _bound(self, digest: str) -> Any:
        """An item's evidence, if the export of one return has not included it yet."""
        name = self._of("evidence", digest)
        if not self.document.get_record(name) and self._log.sighting(digest):
            self._evidence(self._log.evidence(digest))
        return name

    def _ending(self, event: Event, target: str) -> None:
        self._change(event, target)
        if isinstance(event.payload, Supersede):
            self._revision(event.payload.successor, target)

    def _change(self, event: Event, item: str, why: dict[str, str] | None = None) -> None:
        """End the present version of an item, and begin the next."""
        name = self._of("item", item, event.epoch)
        if (before := self._versions.get(item)) is None or before == name:
            return
        activity = self._activity(f"event/{event.epoch}", event, str(event.kind))
        self.document.wasInvalidatedBy(before, activity, self._moment, None, why)
        facets = {"prov:type": self._readmit["Item"], "readmit:epoch": event.epoch}
        self.document.wasGeneratedBy(self.document.entity(name, facets), activity, self._moment)
        self.document.alternateOf(name, before)
        self._versions[item] = name

    def _revision(self, successor: str, item: str) -> None:
        """Add a revision edge from an item to the one it replaced, unless the replacement was recorded earlier."""
        self._ensure(successor)
        new = (successor, item) not in self._revisions
        self._revisions.add((successor, item))
        if new and self._epochs.get(successor, 0) > self._epochs.get(item, 0):
            self.document.wasRevisionOf(self._of("item", successor), self._of("item", item))

    def _return(self, event: Event, returned: Returned) -> None:
        name = returned.request.return_id
        activity = self._activity(f"return/{name}", event, "return", decision=returned.kind)
        _, decision = recorded(self._log, name)
        for one in dispositions(self._log, name):
            facets = [("readmit:state", str(one.state)), *(("readmit:reason", str(reason)) for reason in one.reasons)]
            self.document.used(activity, self._versions[one.item], self._moment, None, facets)
        if decision.view is not None:
            self._view(event, activity, decision)

    def _view(self, event: Event, activity: Any, decision: Decision) -> None:
        view = self.document.entity(
            self._of("view", decision.return_id),
            {"prov:type": self._readmit["ReturnView"], "readmit:epoch": decision.epoch},
        )
        self.document.wasGeneratedBy(view, activity, self._moment)
        self.document.wasAttributedTo(view, self._agent(event.by))
        for item in decision.view.items if decision.view is not None else ():
            self.document.wasDerivedFrom(view, self._versions[item.id])

    def _exposure(self, event: Event, exposed: Exposed) -> None:
        activity = self._activity(f"exposure/{exposed.return_id}", event, "exposure")
        self.document.used(activity, self._of("view", exposed.return_id), self._moment)

    def _activity(self, name: str, event: Event, kind: str, **facets: str) -> Any:
        if name in self._activities:
            return self._activities[name]
        described = {"prov:type": kind, "readmit:epoch": event.epoch}
        described |= {f"readmit:{field}": value for field, value in facets.items()}
        if event.at != event.learnt:
            described["readmit:at"] = event.at
        place, _, rest = name.partition("/")
        activity = self.document.activity(self._of(place, rest), self._moment, self._moment, described)
        self._activities[name] = activity
        self.document.wasAssociatedWith(activity, self._agent(event.by))
        return activity

    def _agent(self, name: str) -> Any:
        agent = self._of("principal", name)
        if name not in self._agents:
            self._agents.add(name)
            self.document.agent(agent)
        return agent

    def _of(self, kind: str, name: str, version: int | None = None) -> Any:
        return self._space[f"{kind}/{quote(name, safe='')}" + (f"/{version}" if version is not None else "")]
