"""Sources with a probe, read from the log: the place of each, and the result of the last look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from readmit.records.acts.event import Event, EventKind
from readmit.records.acts.looks import Looked, LookResult
from readmit.records.error_types import TamperedError
from readmit.records.evidence import writer_of
from readmit.records.probes import Finding, Probe, place_of
from readmit.records.snapshot import Sighting, Source
from readmit.text.escapes import format_moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from readmit.log.log import Log
    from readmit.records.items import Item

# In canonical bytes a quote within a text is escaped, so this is the field.
_PROBED = b',"probe":{'
LONGEST_SHOWN = 200


class _Probed(msgspec.Struct, gc=False):
    """Probe and author of a piece of evidence, read without its text."""

    probe: Probe
    by: str
    named_by: str | None = None


_decode = msgspec.json.Decoder(_Probed).decode


def add_sources(log: Log, evidence: dict[str, Sighting], *, until: int) -> dict[str, Source]:
    """The sources of some evidence, as of an epoch. Adds the texts that looks found in their place.

    Evidence that readmit read where somebody had named the place counts as that principal's.
    """
    sources: dict[str, Source] = {}
    fresh: Iterable[str] = list(evidence)
    while probed := {name: _decode(evidence[name].body) for name in fresh if _PROBED in evidence[name].body}:
        for name, one in probed.items():
            if (writer := writer_of(one.by, one.named_by)) != evidence[name].by:
                evidence[name] = replace(evidence[name], by=writer)
        sources |= _sources(log, probed, evidence, until)
        fresh = {sources[name].now for name in probed} - evidence.keys() - {""}
        for name in fresh:
            evidence |= cited(log, name)
    return sources


def cited(log: Log, digest: str) -> dict[str, Sighting]:
    """An observation that an event names. It was there when the event was accepted."""
    found = log.sighting(digest)
    if digest not in found:
        raise TamperedError(f"observation {digest!r} is cited in the log, but not found: an index row was hidden")
    return found


def sources_in_words(log: Log, item: Item, *, until: int) -> Iterator[str]:
    """A sentence for each source of an item: its place, the moment of the last look, and its result."""
    with log.reading():
        evidence: dict[str, Sighting] = {}
        for receipt in item.receipts:
            evidence |= log.sighting(receipt.evidence)
        own = list(evidence)
        sources = add_sources(log, evidence, until=until)
    for name in own:
        if name in sources:
            one = sources[name]
            seen = format_moment(one.seen)
            found = f"looked at on {seen}, {one.finding}" if one.since else f"read on {seen}, and not looked at since"
            yield f"Source {place_of(one.probe)}: {found}.{_both(evidence, name, one.now)}"


def _both(evidence: Mapping[str, Sighting], old: str, new: str) -> str:
    """The captured and the present text of a source, if the present one was kept."""
    if new not in evidence:
        return ""
    before, now = (_shortened(evidence[name].text) for name in (old, new))
    return f" It said “{before}”, and says “{now}” now."


def _shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"


def _sources(
    log: Log, probed: Mapping[str, _Probed], evidence: Mapping[str, Sighting], until: int
) -> dict[str, Source]:
    looks = log.latest_of(EventKind.LOOK, probed, until=until)
    results = {event.epoch: _results(event) for event in {one.epoch: one for one in looks.values()}.values()}
    repeats = log.latest_of(EventKind.LOOK, map(str, results), until=until)
    found: dict[str, Source] = {}
    for name, one in probed.items():
        if name not in looks:
            found[name] = Source(one.probe, evidence[name].said, evidence[name].epoch)
            continue
        look = looks[name]
        result = results[look.epoch].get(name) or LookResult(evidence=name, finding=Finding.UNCHANGED)
        last = log.event(result.seen) if result.seen else repeats.get(str(look.epoch), look)
        found[name] = Source(
            result.probe or one.probe,
            last.at,
            result.since or look.epoch,
            result.finding,
            result.now or "",
            result.digest or "",
            result.why,
            last.epoch,
            look.epoch,
            0 if result.seen else times(last, look.epoch),
        )
    return found


def times(event: Event, look: int) -> int:
    """How often a look was repeated, up to an event that repeats it; 0 if the event does not."""
    again = event.payload.again if isinstance(event.payload, Looked) else ()
    return next((one.times for one in again if one.look == look), 0)


def _results(event: Event) -> dict[str, LookResult]:
    return {one.evidence: one for one in event.payload.found} if isinstance(event.payload, Looked) else {}
