"""Looks at sources again before a return: which ones are due, and what was found, written to the log.

Only a return, a watch and ``Agent.look`` come here, never code that only reads a view. Whatever cannot be looked at
is written down as unseen.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from readmit.records.acts.event import Checkpoint, Event, EventKind
from readmit.records.acts.looks import Looked, LookedAgain, LookResult
from readmit.records.base import LONGEST_TEXT
from readmit.records.canonical import digest, digest_of
from readmit.records.error_types import ReadmitError, RecordError
from readmit.records.evidence import Evidence
from readmit.records.items import Obligation
from readmit.records.policy import AUTHOR, Policy
from readmit.records.probes import Finding
from readmit.records.reasons import Reason, State
from readmit.records.snapshot import Held, Snapshot, Source
from readmit.rules.cycle import Examined, examine, unfit
from readmit.rules.invalidate.changed_sources import is_due, is_kept, is_stale, needed
from readmit.rules.invalidate.implicit import critical_dependencies
from readmit.state.load import snapshot as snapshot_of
from readmit.telemetry.spans import return_stage
from readmit.writing.new_event import append_drafts, append_own, new_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft
    from readmit.records.decisions import Request
    from readmit.records.identity import Identity
    from readmit.returning.desk import Desk
    from readmit.sources.prober import Prober, ProbeResult

logger = logging.getLogger("readmit")

PER_EVENT = 2_000
"""Most results in one event."""
LONGEST_WHY = 500
MOST_REPEATS = 100
"""So often a look is repeated before its findings are listed again: a replay reads all repeats of its time."""
# What a look or a verdict can still change. Out for another reason, an item stays out, whatever its source says.
_OPEN = frozenset(
    {
        Reason.SOURCE_CHANGED,
        Reason.SOURCE_UNCONFIRMED,
        Reason.SOURCE_UNSEEN,
        Reason.SUSPECTED,
        Reason.PREMISE_CHANGED,
        Reason.SLOT_CONTESTED,
    }
)
_FIT = frozenset({State.ADMITTED, State.NOT_NEEDED, State.WITHHELD})


class DueSource(NamedTuple):
    """A piece of evidence whose source is due, with what the last look found."""

    evidence: str
    source: Source
    body: bytes


class Sighted(NamedTuple):
    """A source that was looked at."""

    evidence: str
    source: Source
    """The source before the look."""
    found: LookResult | None
    """None if it is unchanged where it was."""
    repeats: bool
    """Whether the last look on record found the same."""


class WrittenLooks(NamedTuple):
    """Looks that were written down in one commit."""

    looked: Looked
    at: datetime
    before: int
    """The last epoch before them."""
    sources: Mapping[str, Source] | None
    """The sources that were found as they were, as a read would give them now; none if others were not."""
    last: int


class LookBefore(NamedTuple):
    """The outcome of the looks before a return."""

    written: WrittenLooks | None = None
    """None if everything that was found is on record already."""
    examined: Examined | None = None
    """The result of the gates before the look, if they were asked."""


def look_for(
    desk: Desk, departed: Checkpoint, identity: Identity, *, purpose: str | None, again: bool = True
) -> Looked | None:
    """Look at the sources of an undecided return. Returns the written event; none if nothing was written."""
    log, policy = desk.log, desk.policy
    with log.reading():
        seen = snapshot_of(log, departed, identity, epoch=log.head, purpose=purpose, now=desk.writer.now())
    written = _look(desk, seen, policy, desk.writer.now(), again=again).written
    return None if written is None else written.looked


def look_before(desk: Desk, request: Request, snapshot: Snapshot) -> LookBefore:
    """Look at the due sources of a return."""
    if not snapshot.sources or unfit(request, snapshot) is not None:
        return LookBefore()
    return _look(desk, snapshot, request.policy, request.moment, again=True)


def _look(desk: Desk, snapshot: Snapshot, policy: Policy, at: datetime, *, again: bool) -> LookBefore:
    wanted = {
        name
        for name, source in snapshot.sources.items()
        if is_due(source, at, policy.looks) or (again and source.finding is Finding.UNSEEN)
    }
    if not wanted:
        return LookBefore()
    # Whatever is too old is about to be seen, and does not count against an item here.
    is_old = any(is_stale(snapshot.sources[name], at, policy.looks) for name in wanted)
    try:
        examined = examine(replace(snapshot, fresh_at=None) if is_old else snapshot, policy, return_stage)
    except Exception:
        # Nothing is looked at for a return that will be refused for the same.
        logger.exception("the gates failed before a look")
        return LookBefore()
    sources = due(wanted, examined, policy)
    return LookBefore(run(desk, sources) if sources else None, None if is_old else examined)


def with_looks(log: Log, snapshot: Snapshot, epoch: int, written: WrittenLooks, request: Request) -> Snapshot | None:
    """A snapshot of an epoch after these looks and nothing else, not read again; none if more may have changed."""
    alone = written.before == epoch and request.epoch == written.last
    if not alone or written.sources is None or log.milestones(EventKind.VOID, until=request.epoch):
        return None
    sources = {**snapshot.sources, **written.sources}
    return replace(snapshot, sources=sources, now=request.moment, fresh_at=request.moment)


def due(wanted: set[str], examined: Examined, policy: Policy) -> list[DueSource]:
    """The evidence whose source is to be looked at, as far as it counts: the critical first, then the newest."""
    snapshot = examined.snapshot
    known = {**snapshot.background.held, **snapshot.state.held}
    rejected = examined.gated.rejected.values()
    closed = {one.item for one in rejected if one.state not in _FIT and not _OPEN.issuperset(one.reasons)}
    resting = wanted.intersection(_evidence(_resting(snapshot, known, closed), known))
    critical = set(_evidence(needed(known, critical_dependencies(snapshot)), known))
    writers = frozenset(policy.evidence.writers)
    found = [
        DueSource(name, snapshot.sources[name], sighting.body)
        for name in resting
        if (sighting := snapshot.evidence[name]).intact and (not writers or sighting.by in writers)
    ]
    return sorted(found, key=lambda one: (one.evidence not in critical, -snapshot.evidence[one.evidence].epoch))


def _resting(snapshot: Snapshot, known: Mapping[str, Held], closed: AbstractSet[str]) -> set[str]:
    """Visible items that stand, or could if their sources still say what they said; with all premises."""
    ahead = [
        name
        for name, held in snapshot.state.held.items()
        if name not in closed and not isinstance(held.item, Obligation)
    ]
    found: set[str] = set()
    while ahead:
        name = ahead.pop()
        if name in known and name not in found:
            found.add(name)
            ahead += known[name].item.depends_on
    return found


def _evidence(names: Iterable[str], known: Mapping[str, Held]) -> Iterator[str]:
    return (receipt.evidence for name in names for receipt in known[name].item.receipts)


def run(desk: Desk, sources: Sequence[DueSource]) -> WrittenLooks | None:
    """Look at sources and write down new findings. Sources beyond the policy's count are unseen."""
    policy = desk.policy
    most = policy.looks.count
    given, beyond = sources[:most], sources[most:]
    asked = _asked(given, partial(desk.prober.under, policy.looks))
    results = [_checked(one, result) for one, result in zip(given, asked, strict=True)]
    unseen = f"beyond the {most} sources that the policy looks at for a return (looks.count)"
    seen: list[Sighted] = []
    at, texts = desk.writer.now(), []
    for one, result in zip(sources, [*results, *(_unseen(one, unseen) for one in beyond)], strict=True):
        found, text = _result(one, result, at)
        repeats = _repeats(found, one.source)
        if repeats and is_kept(one.source, at, policy.looks):
            continue
        seen.append(Sighted(one.evidence, one.source, found, repeats))
        texts += [] if text is None else [text]
    return _written(desk.log, seen, texts, at) if seen else None


def _written(log: Log, seen: Sequence[Sighted], texts: Sequence[Draft], at: datetime) -> WrittenLooks:
    """Write down looks. A return whose sources are as an earlier look left them repeats that look by its epoch."""
    with log.atomic():
        before = log.head
        if texts:
            append_drafts(log, texts, now=at)
        listed, carried, again = _grouped(log, seen)
        new = _looked_at(listed)
        parts = list(_parts(new.unchanged, (*new.found, *carried))) or [Looked()]
        parts[0] = replace(parts[0], again=again)
        epochs: dict[str, int] = {}
        for part in parts:
            # A look is never an act of its own: each one is new.
            name = digest((log.head, [*part.keys][:1]))[:32]
            epochs |= dict.fromkeys(part.keys, append_own(log, EventKind.LOOK, part, id=name, by=AUTHOR, at=at))
        sources: dict[str, Source] = {}
        for one in seen:
            last = epochs.get(one.evidence) or epochs[str(one.source.look)]
            now = replace(one.source, seen=at, since=last, times=one.source.times + 1)
            if one.evidence in epochs:
                now = Source(one.source.probe, at, last, since=last, look=last)
            sources[one.evidence] = now
        is_same = not carried and all(one.repeats and (one.found is None or one.evidence not in epochs) for one in seen)
        return WrittenLooks(_looked_at(seen), at, before, sources if is_same else None, log.head)


def _grouped(log: Log, seen: Sequence[Sighted]) -> tuple[list[Sighted], list[LookResult], tuple[LookedAgain, ...]]:
    """Findings that are listed, findings carried over for sources without a look, and earlier looks that are repeated.

    A look is repeated if all of its evidence was found as it was. The evidence that was not looked at now is carried
    over from it, or, if that is the greater part, the rest is listed.
    """
    groups: dict[int, list[Sighted]] = {}
    for one in seen:
        groups.setdefault(one.source.look if one.repeats and one.source.times < MOST_REPEATS else 0, []).append(one)
    listed, carried, again = groups.pop(0, []), [], []
    for look, members in groups.items():
        event = log.event(look)
        left = _left(log, event, {one.evidence for one in seen})
        if len(left) > len(members):
            listed += members
        else:
            carried += left
            again.append(LookedAgain(look=look, times=members[0].source.times + 1))
    return listed, carried, tuple(again)


def _left(log: Log, event: Event, seen: AbstractSet[str]) -> list[LookResult]:
    """The findings of a look that still count and were not repeated now, each with the look that saw it last."""
    assert isinstance(event.payload, Looked)  # noqa: S101 - the log says which events are looks
    others = set(event.payload.evidence) - seen
    if not others:
        return []
    own = log.latest_of(EventKind.LOOK, others)
    last = log.latest(EventKind.LOOK, str(event.epoch)) or event
    known = {one.evidence: one for one in event.payload.found}
    return [
        replace(found, since=found.since or event.epoch, seen=found.seen or last.epoch)
        for name in sorted(others)
        if own[name].epoch == event.epoch
        for found in (known.get(name) or LookResult(evidence=name, finding=Finding.UNCHANGED),)
    ]


def _looked_at(seen: Sequence[Sighted]) -> Looked:
    """Findings as a look lists them."""
    # Sorted, as the index is: each event then touches few of its pages, and few nodes of the map.
    unchanged = sorted(one.evidence for one in seen if one.found is None)
    return Looked(unchanged=tuple(unchanged), found=tuple(one.found for one in seen if one.found is not None))


def _asked(given: Sequence[DueSource], prober: Callable[[], Prober]) -> list[ProbeResult]:
    from readmit.sources.prober import ProbeResult

    try:
        results = list(prober().look([one.source.probe for one in given]))
        if len(results) == len(given):
            return results
        why = f"the prober gave {len(results)} results for {len(given)} sources"
    except Exception as error:
        logger.exception("sources could not be looked at")
        why = f"{type(error).__name__}: {error}" if isinstance(error, ReadmitError) else type(error).__name__
    return [ProbeResult(Finding.UNSEEN, one.source.probe, why=why) for one in given]


def _checked(one: DueSource, result: ProbeResult) -> ProbeResult:
    """A result that fits its probe; unseen otherwise: the text that was hashed is the text that is kept."""
    given = one.source.probe
    if result.outcome in (Finding.CHANGED, Finding.MOVED):
        fits = type(result.probe) is type(given) and result.probe.lifetime == given.lifetime
        if result.outcome is Finding.CHANGED:
            fits = fits and result.probe.digest == digest_of(result.text.encode("utf-8", "surrogatepass"))
        else:
            fits = fits and result.probe.digest == given.digest
        if not fits:
            return _unseen(one, "the prober's answer does not fit what it was asked")
    return result


def _unseen(one: DueSource, why: str) -> ProbeResult:
    from readmit.sources.prober import ProbeResult

    return ProbeResult(Finding.UNSEEN, one.source.probe, why=why)


def _result(one: DueSource, result: ProbeResult, at: datetime) -> tuple[LookResult | None, Draft | None]:
    """A result as it is written, none if nothing changed; and the present text, if it is new, as an observation."""
    source, finding = one.source, result.outcome
    if finding is source.finding is Finding.UNCHANGED:
        return None, None
    observed = msgspec.json.decode(one.body, type=Evidence)
    if finding is Finding.UNCHANGED and source.probe != observed.probe:
        # It is where it was last, but not where it was observed.
        finding = Finding.MOVED
    if finding is Finding.UNCHANGED:
        return None, None
    probe = result.probe if finding is Finding.MOVED else source.probe if source.probe != observed.probe else None
    seen = LookResult(evidence=one.evidence, finding=finding, probe=probe, why=result.why[:LONGEST_WHY])
    if finding is not Finding.CHANGED:
        return _since(seen, source), None
    return _changed(seen, one, result, observed, at)


def _changed(
    seen: LookResult, one: DueSource, result: ProbeResult, observed: Evidence, at: datetime
) -> tuple[LookResult, Draft | None]:
    seen, source = replace(seen, digest=result.probe.digest), one.source
    if (source.finding, source.digest) == (Finding.CHANGED, seen.digest):
        return _since(replace(seen, now=source.now or None, why=source.why), source), None
    if not 1 <= len(result.text) <= LONGEST_TEXT:
        return replace(seen, why=f"its {len(result.text):,} characters cannot be kept as evidence"), None
    now = Evidence(
        text=result.text,
        by=AUTHOR,
        at=at,
        scope=observed.scope,
        source=observed.source,
        probe=result.probe,
        named_by=observed.writer,
    )
    try:
        entry = new_event(EventKind.OBSERVE, now, by=AUTHOR, at=at)
    except RecordError as error:
        return replace(seen, why=f"it cannot be kept as evidence: {error}"[:LONGEST_WHY]), None
    return replace(seen, now=entry.digest), entry


def _since(seen: LookResult, source: Source) -> LookResult:
    """A result that repeats the last one begins where that one began."""
    same = (source.finding, source.now, source.digest) == (seen.finding, seen.now or "", seen.digest or "")
    return replace(seen, since=source.epoch) if same and source.since else seen


def _repeats(seen: LookResult | None, source: Source) -> bool:
    """Whether a look found what the last one on record found."""
    if seen is None:
        return source.finding is Finding.UNCHANGED
    same = (seen.finding, seen.now or "", seen.digest or "", seen.why)
    return same == (source.finding, source.now, source.digest, source.why) and seen.probe in (None, source.probe)


def _parts(unchanged: Sequence[str], found: Sequence[LookResult]) -> Iterator[Looked]:
    for start in range(0, len(unchanged), PER_EVENT):
        yield Looked(unchanged=tuple(unchanged[start : start + PER_EVENT]))
    for start in range(0, len(found), PER_EVENT):
        yield Looked(found=tuple(found[start : start + PER_EVENT]))
