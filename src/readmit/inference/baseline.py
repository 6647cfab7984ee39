"""The input of a preparation: items that still stand, later observations, and pairs that are already settled.

The same reading, of an identity, a departure and an epoch, serves a return and the work before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.inference.derive import stated_in
from readmit.records.acts.event import Event, Suspect
from readmit.records.evidence import Evidence
from readmit.records.items import KINDS
from readmit.records.policy import Policy
from readmit.records.reasons import Reason
from readmit.records.snapshot import Held, Sighting, Snapshot
from readmit.records.verdicts import Pair, Ruling, Verdict, quoted, quotes_found, ruling
from readmit.rules.capture.bindings import flaws
from readmit.rules.capture.links import linked
from readmit.rules.invalidate.implicit import critical_dependencies, said_at
from readmit.rules.invalidate.propose import observations_of, targets_of
from readmit.rules.invalidate.repeated_statements import SameStatements
from readmit.rules.invalidate.resolve import resolve
from readmit.state.examination import writer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from readmit.inference.expected_return import ExpectedReturn
    from readmit.inference.settings import Settings
    from readmit.log.derived_texts import DerivedTexts
    from readmit.records.decisions import Cause
    from readmit.rules.invalidate.propose import Observation, Target


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The items and the observations that may change them, before any model is asked."""

    epoch: int
    held: dict[str, Held]
    """Items whose premises may have changed: those that stand, or are out only because of a suspicion."""
    since: dict[str, int]
    """Item → the epoch of its latest evidence: only later observations can change its premises."""
    known: dict[str, Held]
    """The items of ``held``, and every item they may depend on."""
    critical: frozenset[str]
    """Dependencies ``K``."""
    observed: dict[str, Event]
    """Raw observations since the first of the items, by digest."""
    texts: dict[str, str]
    """The text of each observation."""
    stated: dict[str, tuple[str, ...]]
    """Messages that an extractor read whole: the words in which it found a statement. Without any, a message is no
    evidence for a pair.
    """
    sources: dict[str, Evidence]
    """The intact evidence that the items themselves were drawn from."""
    marks: dict[str, tuple[Event, ...]]
    """Verdicts and suspicions about each item."""
    policy: Policy
    explicit: bool = False
    """Whether explicit operations alone decide what a message that was read whole has ended."""

    @property
    def nothing_stated(self) -> int:
        """Observations that were read whole and state nothing."""
        return sum(not quotes for quotes in self.stated.values())

    def targets(self, passed: Mapping[str, int] | None = None) -> tuple[Target, ...]:
        """The items that may have changed. ``passed`` is the epoch up to which observations were examined before."""
        found = targets_of(self.held.values(), self.known, critical=self.critical)
        repeated = self.repeated()
        return tuple(
            msgspec.structs.replace(
                one,
                epoch=max(self.since[one.item], (passed or {}).get(one.item, 0)),
                until=self._until(one.item, repeated.get(one.item, ())),
            )
            for one in found
        )

    def repeated(self) -> dict[str, tuple[str, ...]]:
        """Items whose statement was made more than once, each with all that make it, by their latest evidence."""
        same = SameStatements(self.held.values()).repeated
        return {
            name: tuple(sorted((one.item.id for one in own), key=lambda one: (self.since[one], one)))
            for name, own in same.items()
        }

    def _until(self, item: str, same: Sequence[str]) -> int | None:
        """The evidence of the next repetition: what follows it is judged beside that one."""
        return next((self.since[one] for one in same[same.index(item) + 1 :]), None) if same else None

    def observations(self) -> tuple[Observation, ...]:
        sightings = {
            digest: Sighting(event.epoch, event.by, intact=True, body=b"", moment=event.said.isoformat())
            for digest, event in self.observed.items()
            if self._may_end(digest)
        }
        return observations_of(sightings, self.known.values())

    def _may_end(self, observation: str) -> bool:
        """Whether the verifier is asked about an observation: it states something, and nothing else decides."""
        return observation not in self.stated or (bool(self.stated[observation]) and not self.explicit)

    def suspected(self, judged: Mapping[str, frozenset[str]]) -> Iterator[Pair]:
        """Open suspicions. They are verified first, proposed by a signal or not."""
        for item, marks in self.marks.items():
            pairs = (mark.payload.pair for mark in marks if isinstance(mark.payload, Suspect))
            for pair in dict.fromkeys(pairs):
                if pair.evidence not in judged.get(item, ()) and pair.evidence in self.observed:
                    yield pair

    def is_critical(self, item: str) -> bool:
        """Whether an item supports a critical dependency of a duty that may still be owed."""
        return not self.critical.isdisjoint(self.held[item].item.covers)

    def own(self, item: str) -> list[Evidence]:
        """The evidence that an item was drawn from."""
        receipts = self.held[item].item.receipts
        return [self.sources[one.evidence] for one in receipts if one.evidence in self.sources]

    def words(self, item: str) -> str:
        """An item's original text: the paragraph that it was drawn from, or all of its evidence.

        Nothing for a draft with its quote: it says no more than the quote, in whole sentences.
        """
        drafted = self.held[item].item.drafted
        if drafted is not None and drafted.quote:
            return ""
        # A statement in the exact words of its evidence is its own quote.
        quote = self.held[item].item.text
        texts = [one.text for one in self.own(item) if one.text != quote]
        found = (part for text in texts for part in text.split("\n\n") if quoted(quote, part))
        return next(found, "\n\n".join(dict.fromkeys(texts)))

    def shown(self, evidence: str) -> str:
        """An observation as the verifier reads it: the paragraphs that state something, if an extractor read it."""
        text, quotes = self.texts[evidence], self.stated.get(evidence, ())
        parts = text.split("\n\n")
        kept = [part for part in parts if any(quoted(quote, part) for quote in quotes)]
        # A quote over several paragraphs is in none of them.
        found = all(any(quoted(quote, part) for part in kept) for quote in quotes)
        return "\n\n".join(kept) if kept and found else text

    def ruling(self, verdict: Verdict) -> Ruling:
        """The ruling on a verdict, by the rules of the return itself."""
        own = [self.held[verdict.pair.item].item.text, *(one.text for one in self.own(verdict.pair.item))]
        later = self.texts.get(verdict.pair.evidence, "")
        return ruling(verdict, self.policy, grounded=lambda: quotes_found(verdict, own, later))

    def settles(self, verdict: Verdict) -> bool:
        """Whether a verdict decides its pair. A doubtful score leaves the pair of a critical item open."""
        found = self.ruling(verdict)
        return found is not Ruling.OPEN and not (found is Ruling.DOUBTFUL and self.is_critical(verdict.pair.item))


def baseline(expected: ExpectedReturn) -> Baseline:
    """Read it from the log, as of its current end."""
    log, departed, identity = expected.log, expected.departed, expected.identity
    policy, settings = expected.policy, expected.settings
    with log.reading():
        epoch = log.head
        bare = expected.snapshot(epoch)
        seen = linked(bare, policy)
        held = _open_items(seen, flaws(bare, policy), policy, settings)
        floor = departed.epoch if settings.since == "departure" else 0
        since = {name: max(floor, said_at(entry, seen.evidence, policy)) for name, entry in held.items()}
        first = min(since.values(), default=epoch)
        events = {event.epoch: event for event in log.observations(identity, since=first, until=epoch)}
        if identity != departed.identity:
            events |= {event.epoch: event for event in log.observations(departed.identity, since=first, until=epoch)}
    observed = {
        events[number].digest: events[number]
        for number in sorted(events)
        if not policy.evidence.writers or writer_of(events[number]) in policy.evidence.writers
    }
    texts = {digest: observation_text(event) for digest, event in observed.items()}
    return Baseline(
        epoch=epoch,
        held=held,
        since=since,
        known={**seen.background.held, **seen.state.held},
        critical=critical_dependencies(seen),
        observed=observed,
        texts=texts,
        stated=_stated(log.derived, observed, texts),
        sources=_sources(held.values(), seen.evidence),
        marks={
            name: tuple(mark for mark in entry.marks if isinstance(mark.payload, Suspect | Verdict))
            for name, entry in held.items()
        },
        policy=policy,
        explicit=settings.changes == "explicit",
    )


def _stated(
    derived: DerivedTexts, observed: Mapping[str, Event], texts: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Tool results and documents are left out: they are evidence whatever an extractor found in them."""
    messages = {
        digest: texts[digest]
        for digest, event in observed.items()
        if isinstance(event.payload, Evidence) and event.payload.source == "message"
    }
    found = stated_in(derived, messages.values())
    return {digest: found[text] for digest, text in messages.items() if text in found}


def _sources(held: Iterable[Held], evidence: Mapping[str, Sighting]) -> dict[str, Evidence]:
    named = {receipt.evidence for entry in held for receipt in entry.item.receipts}
    return {
        digest: msgspec.json.decode(sighting.body, type=Evidence)
        for digest, sighting in evidence.items()
        if digest in named and sighting.intact
    }


def observation_text(event: Event) -> str:
    """The text of an observation."""
    return event.payload.text if isinstance(event.payload, Evidence) else ""


def _open_items(
    seen: Snapshot, unbound: Mapping[str, tuple[Cause, ...]], policy: Policy, settings: Settings
) -> dict[str, Held]:
    """Items that stand, or would without open suspicions; and their premises that the agent cannot see."""
    against = resolve(seen, unbound, policy).against

    def open_(name: str) -> bool:
        return name not in unbound and all(_may_lapse(cause, open_) for cause in against.get(name, ()))

    wanted = set(settings.kinds)
    found = {
        name: entry for name, entry in seen.state.held.items() if KINDS[type(entry.item)] in wanted and open_(name)
    }
    if settings.targets == "premises":
        rested_on = {premise for entry in seen.state.held.values() for premise in entry.item.depends_on}
        found = {name: entry for name, entry in found.items() if name in rested_on}
    ahead = [premise for entry in found.values() for premise in entry.item.depends_on]
    while ahead:
        name = ahead.pop()
        entry = seen.background.held.get(name)
        if entry is not None and name not in found and KINDS[type(entry.item)] in wanted and open_(name):
            found[name] = entry
            ahead += entry.item.depends_on
    return found


def _may_lapse(cause: Cause, open_: Callable[[str], bool]) -> bool:
    """Whether a verdict could still remove this cause: it is a suspicion, or depends on one."""
    return cause.reason is Reason.SUSPECTED or bool(cause.root and open_(cause.root))
