"""Items as pages show them: text, facets, each reason with its quotes, and trees of fallen premises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from readmit.diagnosis.history import draft_in_words, in_words
from readmit.diagnosis.item_states import facets
from readmit.pages.page_values import Fallen, Happening, Quote, ShownItem, Why, cut, happening
from readmit.records.acts.event import EventKind, Supersede, Suspect
from readmit.records.acts.kinds import targets_of
from readmit.records.canonical import decode
from readmit.records.evidence import Evidence
from readmit.records.items import Item
from readmit.records.reasons import Reason
from readmit.records.verdicts import Verdict
from readmit.text.escapes import format_moment, shorten_digests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.event import Event
    from readmit.records.decisions import Cause, Disposition
    from readmit.records.identity import Identity
    from readmit.records.snapshot import Held, Sighting

PRIVATE = "Private to others: its text is not shown."
SOURCE_CHARS = 300
"""Most characters shown of an item's source observation."""
SIDE_CHARS = 600
"""Most characters shown of an item that contradicts another."""
_REPLACING = frozenset({Reason.SUPERSEDED, Reason.SLOT_UPDATED, Reason.SLOT_CONTESTED, Reason.FRONTIER_MOVED})


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
    _events: dict[int, Event] = field(default_factory=dict)
    """Events that were read: the fall of one premise is the cause of many."""
    _others: dict[str, Item | None] = field(default_factory=dict)
    """Items that were not judged and are named by those that were; None for one that is not on record."""

    def hides(self, item: Item) -> bool:
        """Whether an item is private to others."""
        return item.scope.visibility == "private" and not self.identity.may_see(item.scope)

    def says(self, item: Item) -> str:
        """The text of an item, as far as a page shows it."""
        return PRIVATE if self.hides(item) else item.text

    def worded(self, event: Event) -> Happening:
        """An event in words, as far as a page says them."""
        names = targets_of(event.payload)
        about = [self.item(name) for name in names]
        if isinstance(event.payload, Item):
            about.append(event.payload)
        return replace(happening(event), text=PRIVATE) if any(map(self.hides, about)) else happening(event)

    def entry(self, held: Held, judged: Mapping[str, Disposition], at: datetime) -> ShownItem:
        """The entry of one item, with the reasons that it is in or out, as far as it is ``judged``."""
        item, one = held.item, judged.get(held.item.id)
        return ShownItem(
            id=item.id,
            kind=item.kind,
            state=None if one is None else one.state,
            text=self.says(item),
            by=item.by,
            epoch=held.epoch,
            at=at,
            facets=tuple(self._facets(item)),
            whys=() if one is None else (*self.whys(one, judged), *(() if self.hides(item) else _drafted(item))),
        )

    def whys(self, one: Disposition, judged: Mapping[str, Disposition]) -> Iterator[Why]:
        """A sentence for each reason, with both quotes of a verdict. ``judged`` holds dispositions of premises."""
        for place, sentence in enumerate(in_words(one, judged)):
            cause = one.causes[place] if place < len(one.causes) else None
            yield Why(shorten_digests(sentence), () if cause is None else tuple(self._quotes(one.item, cause)))

    def _quotes(self, name: str, cause: Cause) -> Iterator[Quote]:
        if cause.reason in _REPLACING and not cause.root:
            yield self.side(name)
            yield from self.present(cause)
            return
        about = cause.root or name
        if about not in self.held or self.hides(self.held[about].item):
            if cause.root:
                yield from (*self.premise(cause), *self.present(cause))
            return
        event = self._mark(about, cause.epoch)
        if event is not None and isinstance(verdict := event.payload, Verdict):
            if verdict.item_quote:
                yield Quote(f"{verdict.pair.item} says", verdict.item_quote)
            if verdict.evidence_quote:
                yield Quote(self.observed(verdict.pair.evidence)[0], verdict.evidence_quote)
            yield Quote("Judged by", f"{verdict.model}: {verdict.answer}, {_sureness(verdict)}")
        elif cause.root:
            yield from (*self.premise(cause), *self.present(cause))
        elif cause.reason in {Reason.SUSPECTED, Reason.SOURCE_CHANGED}:
            yield self.side(name)
            yield from self.present(cause)

    def premise(self, cause: Cause) -> Iterator[Quote]:
        """The premise that a chain ends in, unless it is not on record."""
        if self._on_record(cause.root) is not None:
            yield self.side(cause.root)

    def present(self, cause: Cause) -> Iterator[Quote]:
        """The text that holds in the place of an item now, by the event against it; none if nothing replaced it."""
        if cause.reason in _REPLACING and not cause.root:
            yield self.side(cause.ref)
            return
        if cause.reason in {Reason.SUSPECTED, Reason.SOURCE_CHANGED} and not cause.root:
            yield from self._said(cause.ref)
            return
        match None if cause.epoch is None else self._event(cause.epoch).payload:
            case Item(id=name):
                yield self.side(name)
            case Supersede(successor=successor):
                yield self.side(successor)
            case Verdict(pair=pair) | Suspect(pair=pair):
                yield from self._said(pair.evidence)

    def _said(self, digest: str) -> Iterator[Quote]:
        label, text = self.observed(digest)
        if text:
            yield Quote(label, cut(text, SOURCE_CHARS))

    def _event(self, epoch: int) -> Event:
        if epoch not in self._events:
            self._events[epoch] = self.log.event(epoch)
        return self._events[epoch]

    def _on_record(self, name: str) -> Item | None:
        if name in self.held:
            return self.held[name].item
        if name not in self._others:
            event = self.log.named(EventKind.RECORD, name)
            self._others[name] = event.payload if event is not None and isinstance(event.payload, Item) else None
        return self._others[name]

    def item(self, name: str) -> Item:
        """An item, judged or not."""
        return self._on_record(name) or self.log.item(name)

    def side(self, name: str) -> Quote:
        """The text of an item, as a quote."""
        return Quote(f"{name} says", cut(self.says(self.item(name)), SIDE_CHARS))

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
        yield from ((label.capitalize(), words) for label, words in facets(item))
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


BRANCHES = 8
"""Most items drawn under one premise; the rest is counted."""
DEEPEST = 12
"""Most boxes drawn of one chain; dependents of the last one are counted."""
NODE_CHARS = 240

# No id has a space in it.
_OBSERVED = "observed "


def trees(sight: Sight, judged: Mapping[str, Disposition]) -> tuple[Fallen, ...]:
    """One tree for each premise that fell and each observation that made one fall, in log order."""
    forest = _Forest(sight, judged, {})
    for one in judged.values():
        for above, name in forest.links(one):
            forest.below.setdefault(above, {})[name] = None
    resting = {name for names in forest.below.values() for name in names}
    return tuple(forest.tree((name,)) for name in forest.below if name not in resting)


@dataclass(frozen=True)
class _Forest:
    """The candidates of a return, their dispositions, and the premises of each."""

    sight: Sight
    judged: Mapping[str, Disposition]
    below: dict[str, dict[str, None]]
    """Premise, or observation → the items that fell with it, in log order."""

    def links(self, one: Disposition) -> Iterator[tuple[str, str]]:
        """Edges from a fallen premise, or the observation against it, to an item that fell with it."""
        for case in confirmed(self.sight, one):
            yield _OBSERVED + case.digest, one.item
        for cause in one.causes:
            if cause.root:
                if cause.ref != cause.root and cause.ref not in self.judged:
                    # The agent could not see this premise, so its disposition does not lead on.
                    yield cause.root, cause.ref
                yield cause.ref, one.item

    def tree(self, path: tuple[str, ...]) -> Fallen:
        """The end of a path, and its dependents."""
        below = list(self.below.get(path[-1], ()))
        drawn = below[: BRANCHES if len(path) < DEEPEST else 0]
        resting = tuple(self.tree((*path, name)) for name in drawn)
        more = self._count(below[len(drawn) :])
        if path[-1].startswith(_OBSERVED):
            return Fallen(*self._observed(path[-1], below), "", resting, more)
        held = self.sight.held.get(path[-1])
        text = "" if held is None else cut(self.sight.says(held.item), NODE_CHARS)
        return Fallen(path[-1], text, self._note(path), resting, more)

    def _count(self, names: Sequence[str]) -> int:
        """How many items these are, with all that rests on them."""
        met, waiting = set(names), list(names)
        while waiting:
            fresh = [name for name in self.below.get(waiting.pop(), ()) if name not in met]
            met.update(fresh)
            waiting += fresh
        return len(met)

    def _observed(self, name: str, below: Sequence[str]) -> tuple[str, str]:
        """The writer of an observation, and the quoted words that counted."""
        label, text = self.sight.observed(name.removeprefix(_OBSERVED))
        cases = (case for one in below if one in self.judged for case in confirmed(self.sight, self.judged[one]))
        quotes = (case.verdict.evidence_quote for case in cases if _OBSERVED + case.digest == name)
        return label, cut(next((f"“{quote}”" for quote in quotes if quote), text), NODE_CHARS)

    def _note(self, path: tuple[str, ...]) -> str:
        """Why an item is out, in a few words."""
        one = self.judged.get(path[-1])
        if one is None:
            return "The returning agent could not see it."
        above = path[-2] if len(path) > 1 else ""
        if above.startswith(_OBSERVED):
            cases = (case for case in confirmed(self.sight, one) if _OBSERVED + case.digest == above)
            return next((f"Premise: {case.verdict.premise}" for case in cases if case.verdict.premise), str(one.state))
        if above:
            return f"Rests on {above}."
        if not one.causes:
            return str(one.state)
        first = one.causes[0]
        by = f" by {first.by}" if first.by else ""
        return shorten_digests(f"{first.reason}{by}: {first.note}" if first.note else f"{first.reason}{by}")
