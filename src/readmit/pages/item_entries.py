"""Items as pages show them: text, facets, and each reason with its quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from readmit.diagnosis.history import draft_in_words, in_words
from readmit.pages.event_words import cut, format_moment, happening
from readmit.pages.page_values import Quote, ShownItem, Why
from readmit.records.acts.kinds import targets_of
from readmit.records.canonical import decode
from readmit.records.evidence import Evidence
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.reasons import Reason
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.pages.page_values import Happening
    from readmit.records.acts.event import Event
    from readmit.records.decisions import Cause, Disposition
    from readmit.records.identity import Identity
    from readmit.records.snapshot import Held, Sighting

PRIVATE = "Private to others: its text is not shown."
SOURCE_CHARS = 300
"""Most characters shown of an item's source observation."""
SIDE_CHARS = 600
"""Most characters shown of an item that contradicts another."""
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
_REPLACING = frozenset({Reason.SUPERSEDED, Reason.SLOT_UPDATED, Reason.SLOT_CONTESTED, Reason.FRONTIER_MOVED})


def shorten_digests(text: str) -> str:
    """A text with shortened digests."""
    return _DIGEST.sub(r"\1…", text)


@dataclass(frozen=True)
class Sight:
    """Items and evidence as one reader is judged by them.

    They include every statement that outdates a visible one. If it is private to others, the page names
    it without its text; the same holds for observations that the reader cannot see.
    """

    log: Log
    identity: Identity
    held: Mapping[str, Held]
    evidence: Mapping[str, Sighting]

    def hides(self, item: Item) -> bool:
        """Whether an item is private to others."""
        return item.scope.visibility == "private" and not self.identity.may_see(item.scope)

    def says(self, item: Item) -> str:
        """The text of an item, as far as a page shows it."""
        return PRIVATE if self.hides(item) else item.text

    def worded(self, event: Event) -> Happening:
        """An event in words, as far as a page says them."""
        names = targets_of(event.payload)
        about = [self.held[name].item if name in self.held else self.log.item(name) for name in names]
        if isinstance(event.payload, Item):
            about.append(event.payload)
        return replace(happening(event), text=PRIVATE) if any(map(self.hides, about)) else happening(event)

    def entry(self, held: Held, judged: Disposition | None, at: datetime) -> ShownItem:
        """The entry of one item, with the reasons that it is in or out."""
        item = held.item
        return ShownItem(
            id=item.id,
            kind=item.kind,
            state=None if judged is None else judged.state,
            text=self.says(item),
            by=item.by,
            epoch=held.epoch,
            at=at,
            facets=tuple(self._facets(item)),
            whys=() if judged is None else (*self.whys(judged), *(() if self.hides(item) else _drafted(item))),
        )

    def whys(self, judged: Disposition) -> Iterator[Why]:
        """A sentence for each reason, with both quotes of a verdict."""
        for place, sentence in enumerate(in_words(judged)):
            cause = judged.causes[place] if place < len(judged.causes) else None
            yield Why(shorten_digests(sentence), () if cause is None else tuple(self._quotes(judged.item, cause)))

    def _quotes(self, name: str, cause: Cause) -> Iterator[Quote]:
        if cause.reason in _REPLACING:
            if cause.ref in self.held:
                yield self._side(name)
                yield self._side(cause.ref)
            return
        about = cause.root or name
        if about not in self.held or self.hides(self.held[about].item):
            return
        event = self._mark(about, cause.epoch)
        if event is not None and isinstance(verdict := event.payload, Verdict):
            if verdict.item_quote:
                yield Quote(f"{verdict.pair.item} says", verdict.item_quote)
            if verdict.evidence_quote:
                yield Quote(self.observed(verdict.pair.evidence)[0], verdict.evidence_quote)
            yield Quote("Judged by", f"{verdict.model}: {verdict.answer}, {_sureness(verdict)}")
        elif cause.reason in {Reason.SUSPECTED, Reason.SOURCE_CHANGED}:
            label, text = self.observed(cause.ref)
            if text:
                yield self._side(name)
                yield Quote(label, cut(text, SOURCE_CHARS))

    def _side(self, name: str) -> Quote:
        return Quote(f"{name} says", cut(self.says(self.held[name].item), SIDE_CHARS))

    def _mark(self, name: str, epoch: int | None) -> Event | None:
        return next((mark for mark in self.held[name].marks if mark.epoch == epoch), None)

    def observed(self, digest: str) -> tuple[str, str]:
        """The writer and moment of an observation, and its text if the reader can see it."""
        seen = self._evidence(digest)
        if seen is None or not self.identity.may_see(seen.scope):
            return "A later observation", ""
        return f"{seen.by} observed on {format_moment(seen.at)}", seen.text

    def _evidence(self, digest: str) -> Evidence | None:
        if (sighting := self.evidence.get(digest)) is not None:
            return decode(sighting.body, Evidence, what="evidence") if sighting.intact else None
        payload = self.log.evidence(digest).payload if self.log.evidence_id(digest) else None
        return payload if isinstance(payload, Evidence) else None

    def _facets(self, item: Item) -> Iterator[tuple[str, str]]:
        if item.slot is not None:
            yield "Slot", item.slot
        if isinstance(item, Obligation):
            yield "Requires", ", ".join(item.required)
            if item.critical:
                yield "Critical", ", ".join(item.critical)
        if isinstance(item, Frontier):
            yield "Frontier of", item.obligation
        for label, names in (("Supports", item.supports), ("Rests on", item.depends_on)):
            if names:
                yield label, ", ".join(names)
        if item.valid.start is not None or item.valid.end is not None:
            yield "Valid", _interval(item.valid.start, item.valid.end)
        if scope := ", ".join(_scope(item)):
            yield "For", scope
        for receipt in item.receipts:
            label, text = self.observed(receipt.evidence)
            yield "Source", f"{label}: “{cut(text, SOURCE_CHARS)}”" if text else shorten_digests(receipt.evidence)


class AppliedVerdict(NamedTuple):
    """A verdict against an item, and its observation."""

    verdict: Verdict
    digest: str


def confirmed(sight: Sight, judged: Disposition) -> Iterator[AppliedVerdict]:
    """The verdicts that took an item out, unless it is private to others."""
    if judged.item not in sight.held or sight.hides(sight.held[judged.item].item):
        return
    for cause in judged.causes:
        if cause.reason is Reason.PREMISE_CHANGED and not cause.root:
            for mark in sight.held[judged.item].marks:
                if mark.epoch == cause.epoch and isinstance(mark.payload, Verdict):
                    yield AppliedVerdict(mark.payload, cause.ref)


def _drafted(item: Item) -> Iterator[Why]:
    if item.drafted is not None:
        yield Why(draft_in_words(item.drafted))


def _sureness(verdict: Verdict) -> str:
    return f"confidence {verdict.confidence}" if verdict.stale is None else f"score {verdict.stale}"


def _interval(start: datetime | None, end: datetime | None) -> str:
    words = [f"from {format_moment(start)}"] if start is not None else []
    return " ".join([*words, *([f"until {format_moment(end)}"] if end is not None else [])])


def _scope(item: Item) -> Iterator[str]:
    scope = item.scope
    yield from (["private"] if scope.visibility == "private" else [])
    yield from scope.principals
    yield from (f"role {name}" for name in scope.roles)
    yield from ([f"task {scope.task}"] if scope.task is not None else [])
