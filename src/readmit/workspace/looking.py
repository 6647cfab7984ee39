"""Looks at sources again before a return: which ones are due, and what was found, written to the log.

Only a return, a watch and ``Workspace.look`` come here, never code that only reads a view. Whatever cannot be looked at
is written down as unseen.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from readmit.cycle import examine
from readmit.invalidate.implicit import critical_dependencies
from readmit.invalidate.sources import is_due, is_kept, needed
from readmit.records.base import LONGEST_TEXT
from readmit.records.canonical import digest, digest_of
from readmit.records.drafts import draft
from readmit.records.errors import ReadmitError, RecordError
from readmit.records.events import EventKind
from readmit.records.evidence import Evidence
from readmit.records.items import Obligation
from readmit.records.looks import Looked, LookResult
from readmit.records.policy import AUTHOR
from readmit.records.probes import Finding
from readmit.records.reasons import Reason, State
from readmit.workspace.loading import snapshot as snapshot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from readmit.ports.prober import Prober, ProbeResult
    from readmit.ports.store import Log
    from readmit.records.decisions import Disposition
    from readmit.records.drafts import Draft
    from readmit.records.events import Checkpoint
    from readmit.records.identity import Identity
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot, Source
    from readmit.workspace.probing import Probing

logger = logging.getLogger("readmit")

PER_EVENT = 2_000
"""Most results in one event."""
LONGEST_WHY = 500
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


def look_for(
    workspace: Probing, departed: Checkpoint, identity: Identity, *, purpose: str | None, again: bool = True
) -> Looked | None:
    """Look at the sources behind a return that is not decided yet; none if none is due."""
    log = workspace.log
    with log.reading():
        seen = snapshot_of(log, departed, identity, epoch=log.head, purpose=purpose, now=workspace.moment())
        rejected = examine(seen, workspace.policy).gated.rejected if seen.sources else {}
    return look_behind(workspace, seen, rejected.values(), again=again)


def look_behind(
    workspace: Probing, snapshot: Snapshot, judged: Iterable[Disposition], *, again: bool = True
) -> Looked | None:
    """Look at the sources behind a return that are due. Returns what was written down; none if nothing was.

    ``judged`` says which items are out, and why. ``again``: also at those that could not be looked at last time,
    whatever their lifetime.
    """
    policy = workspace.policy
    sources = due(snapshot, judged, policy, workspace.moment(), again=again)
    if not sources:
        return None
    return run(workspace.log, sources, partial(workspace.eyes.under, policy.looks), policy, workspace.moment)


def due(
    snapshot: Snapshot, judged: Iterable[Disposition], policy: Policy, at: datetime, *, again: bool
) -> list[DueSource]:
    """The sources to look at, what is critical first, then the newest."""
    if not snapshot.sources:
        return []
    wanted = {
        name
        for name, source in snapshot.sources.items()
        if is_due(source, at, policy.looks) or (again and source.finding is Finding.UNSEEN)
    }
    if not wanted:
        return []
    known = {**snapshot.background.held, **snapshot.state.held}
    closed = {one.item for one in judged if one.state not in _FIT and not _OPEN.issuperset(one.reasons)}
    wanted.intersection_update(_evidence(_resting(snapshot, known, closed), known))
    critical = set(_evidence(needed(known, critical_dependencies(snapshot)), known))
    writers = frozenset(policy.writers)
    found = [
        DueSource(name, snapshot.sources[name], sighting.body)
        for name in wanted
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


def run(
    log: Log, sources: Sequence[DueSource], prober: Callable[[], Prober], policy: Policy, moment: Callable[[], datetime]
) -> Looked | None:
    """Look at sources and write down what was found, unless it is on record. Beyond the policy's count is unseen."""
    most = policy.looks.count
    given, beyond = sources[:most], sources[most:]
    results = [_checked(one, result) for one, result in zip(given, _asked(given, prober), strict=True)]
    unseen = f"beyond the {most} sources that the policy looks at for a return (looks.count)"
    unchanged: list[str] = []
    found: list[LookResult] = []
    at, texts = moment(), []
    kept = {one.evidence for one in sources if is_kept(one.source, at, policy.looks)}
    for one, result in zip(sources, [*results, *(_unseen(one, unseen) for one in beyond)], strict=True):
        seen, text = _result(one, result, at)
        if one.evidence in kept and _repeats(seen, one.source):
            continue
        if seen is None:
            unchanged.append(one.evidence)
        else:
            found.append(seen)
        texts += [] if text is None else [text]
    if not unchanged and not found:
        return None
    with log.atomic():
        if texts:
            log.append(texts, now=at)
        for part in _parts(unchanged, found):
            # A look is never an act of its own: each one is new.
            name = digest((log.head, [*part.evidence][:1]))[:32]
            log.append([draft(EventKind.LOOK, part, id=name, by=AUTHOR, at=at)], now=at)
    return Looked(unchanged=tuple(unchanged), found=tuple(found))


def _asked(given: Sequence[DueSource], prober: Callable[[], Prober]) -> list[ProbeResult]:
    from readmit.ports.prober import ProbeResult

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
    from readmit.ports.prober import ProbeResult

    return ProbeResult(Finding.UNSEEN, one.source.probe, why=why)


def _result(one: DueSource, result: ProbeResult, at: datetime) -> tuple[LookResult | None, Draft | None]:
    """A result as it is written, none if nothing changed; and what is there now, if it is new, as an observation."""
    observed = msgspec.json.decode(one.body, type=Evidence)
    source, finding = one.source, result.outcome
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
        entry = draft(EventKind.OBSERVE, now, id=None, by=AUTHOR, at=at)
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
