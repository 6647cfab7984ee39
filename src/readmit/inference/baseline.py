"""The input of a preparation: items that still stand, later observations, and pairs that are already settled.

The same reading, of an identity, a departure and an epoch, serves a return and the work before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import Event, Suspect
from readmit.records.evidence import Evidence
from readmit.records.items import KINDS
from readmit.records.policy import Policy
from readmit.records.reasons import Reason
from readmit.records.snapshot import Held, Sighting, Snapshot
from readmit.records.verdicts import Pair, Ruling, Verdict, quoted, quotes_found, ruling
from readmit.rules.capture.bindings import flaws
from readmit.rules.capture.links import linked
from readmit.rules.invalidate.implicit import critical_dependencies, said_at, use_of
from readmit.rules.invalidate.propose import observations_of, targets_of
from readmit.rules.invalidate.resolve import resolve
from readmit.state.examination import writer_of
from readmit.state.load import snapshot as take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from readmit.inference.settings import Settings
    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint
    from readmit.records.decisions import Cause
    from readmit.records.identity import Identity
    from readmit.rules.invalidate.propose import Observation, Target


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The items and the observations that may change them, before any model is asked."""

    epoch: int
    use: str
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
    sources: dict[str, Evidence]
    """The intact evidence that the items themselves were drawn from."""
    marks: dict[str, tuple[Event, ...]]
    """Verdicts and suspicions about each item that concern this use."""
    policy: Policy
    alone: bool = True
    """Whether critical items are judged alone."""

    def targets(self, passed: Mapping[str, int] | None = None) -> tuple[Target, ...]:
        """The items that may have changed. ``passed`` is the epoch up to which observations were examined before."""
        found = targets_of(self.held.values(), self.known, critical=self.critical)
        return tuple(
            msgspec.structs.replace(one, epoch=max(self.since[one.item], (passed or {}).get(one.item, 0)))
            for one in found
        )

    def observations(self) -> tuple[Observation, ...]:
        sightings = {
            digest: Sighting(event.epoch, event.by, intact=True, body=b"", moment=event.said.isoformat())
            for digest, event in self.observed.items()
        }
        return observations_of(sightings, self.known.values())

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
        """An item's original text: the paragraph that it was drawn from, or all of its evidence."""
        drafted = self.held[item].item.drafted
        # A statement in the exact words of its evidence is its own quote.
        quote = (drafted.quote if drafted else "") or self.held[item].item.text
        texts = [one.text for one in self.own(item) if one.text != self.held[item].item.text]
        found = (part for text in texts for part in text.split("\n\n") if quoted(quote, part))
        return next(found, "\n\n".join(dict.fromkeys(texts)))

    def ruling(self, verdict: Verdict) -> Ruling:
        """The ruling on a verdict, by the rules of the return itself."""
        own = [self.held[verdict.pair.item].item.text, *(one.text for one in self.own(verdict.pair.item))]
        later = self.texts.get(verdict.pair.evidence, "")
        return ruling(verdict, self.policy, grounded=lambda: quotes_found(verdict, own, later))

    def settles(self, verdict: Verdict) -> bool:
        """Whether a verdict decides its pair. A doubtful score leaves the pair of a critical item open."""
        found = self.ruling(verdict)
        return found is not Ruling.OPEN and not (found is Ruling.DOUBTFUL and self.is_critical(verdict.pair.item))


def baseline(
    log: Log,
    departed: Checkpoint,
    identity: Identity,
    *,
    purpose: str | None,
    now: datetime,
    policy: Policy,
    settings: Settings,
) -> Baseline:
    """Read it from the log, as of its current end."""
    with log.reading():
        epoch = log.head
        bare = take_snapshot(log, departed, identity, epoch=epoch, purpose=purpose, now=now)
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
        if not policy.writers or writer_of(events[number]) in policy.writers
    }
    use = use_of(seen)
    return Baseline(
        epoch=epoch,
        use=use,
        held=held,
        since=since,
        known={**seen.background.held, **seen.state.held},
        critical=critical_dependencies(seen),
        observed=observed,
        texts={digest: observation_text(event) for digest, event in observed.items()},
        sources=_sources(held.values(), seen.evidence),
        marks={name: tuple(_concerning(entry.marks, use)) for name, entry in held.items()},
        policy=policy,
        alone=settings.critical_alone or settings.confirm_critical != "none",
    )


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


def _concerning(marks: Sequence[Event], use: str) -> Iterator[Event]:
    for mark in marks:
        match mark.payload:
            case Suspect():
                yield mark
            case Verdict(use=meant) if meant in ("", use):
                yield mark


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
