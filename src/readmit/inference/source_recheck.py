"""Rechecks items whose source changed: whether the present text still carries them.

Each item is put to the verifier beside the new text. A verdict against it is written like any other, so that a
replacement can be drafted. If the verdict lets it stand, and the code finds words in the new text that carry the
statement, an event sources the item to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.inference.derive import maker
from readmit.inference.verdict_writer import verdict_id, write_verdict
from readmit.models.protocols import Failure
from readmit.models.stages.verify import PairCase
from readmit.records.acts.event import EventKind
from readmit.records.acts.looks import Resource
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest
from readmit.records.evidence import Evidence
from readmit.records.identity import own_id
from readmit.records.policy import AUTHOR
from readmit.records.reasons import Reason
from readmit.records.verdicts import Pair, Ruling, Verdict, quotes_found, ruling
from readmit.rules.cycle import examine
from readmit.rules.invalidate.changed_sources import needed, resourced
from readmit.rules.invalidate.implicit import critical_dependencies
from readmit.text.carried import worded
from readmit.text.english import flat, paragraphs, sentences
from readmit.workspace.workspace import as_readmit, desk_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.inference.expected_return import ExpectedReturn
    from readmit.models.stages.verify import Verifier
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.workspace.workspace import Workspace

_SOURCES = frozenset({Reason.SOURCE_CHANGED, Reason.SOURCE_UNCONFIRMED})


class RecheckedSources(msgspec.Struct, frozen=True):
    """The result of rechecking items whose source changed."""

    judged: int = 0
    items: tuple[str, ...] = ()
    """Items that the present text still carries."""
    faults: tuple[str, ...] = ()


class _Case(msgspec.Struct, frozen=True):
    evidence: str
    """The item's own evidence, whose source changed."""
    case: PairCase


def recheck_changed_sources(expected: ExpectedReturn, verifier: Verifier) -> RecheckedSources:
    """Put items that are out because their source changed to the verifier, each pair once."""
    workspace, log, policy = expected.workspace, expected.log, expected.policy
    seen = expected.snapshot()
    cases = list(_cases(seen, policy)) if seen.sources else []
    if not cases:
        return RecheckedSources()
    known = {one.case.pair: log.named(EventKind.JUDGE, verdict_id(log, verifier, one.case)) for one in cases}
    asked = [one for one in cases if known[one.case.pair] is None]
    answers = verifier.verify([one.case for one in asked]) if asked else []
    said = dict(zip([one.case.pair for one in asked], answers, strict=True))
    found: list[str] = []
    with workspace.batch():
        for one in cases:
            pair, stored = one.case.pair, known[one.case.pair]
            verdict = said.get(pair) if stored is None else stored.payload
            if not isinstance(verdict, Verdict):
                continue
            if stored is None:
                write_verdict(workspace, verdict, verdict_id(log, verifier, one.case))
            if _stands(verdict, one.case, policy) and _source(workspace, one, verdict):
                found.append(pair.item)
    return RecheckedSources(
        judged=sum(isinstance(one, Verdict) for one in said.values()),
        items=tuple(found),
        faults=tuple(f"verify: {one.message}" for one in said.values() if isinstance(one, Failure)),
    )


def _cases(seen: Snapshot, policy: Policy) -> Iterator[_Case]:
    """Items that only a changed source takes out, each with the present text of the source."""
    critical = needed({**seen.background.held, **seen.state.held}, critical_dependencies(seen))
    for name, fate in examine(seen, policy).gated.rejected.items():
        held = seen.state.held[name]
        if not _SOURCES.issuperset(fate.reasons):
            continue
        for receipt in held.item.receipts:
            source = seen.sources.get(receipt.evidence)
            if (
                source is not None
                and source.now in seen.evidence
                and resourced(held, receipt.evidence, seen, policy) is None
            ):
                yield _Case(receipt.evidence, _case(held, receipt.evidence, seen, critical=name in critical))


def _case(held: Held, evidence: str, seen: Snapshot, *, critical: bool) -> PairCase:
    old, now = (
        msgspec.json.decode(seen.evidence[one].body, type=Evidence) for one in (evidence, seen.sources[evidence].now)
    )
    return PairCase(
        pair=Pair(item=held.item.id, evidence=seen.sources[evidence].now),
        item_text=held.item.text,
        item_source=old.text,
        item_at=old.at,
        evidence_text=now.text,
        evidence_at=now.at,
        critical=critical,
    )


def _stands(verdict: Verdict, case: PairCase, policy: Policy) -> bool:
    own = case.item_text, case.item_source
    return ruling(verdict, policy, grounded=lambda: quotes_found(verdict, own, case.evidence_text)) is Ruling.COMPATIBLE


def _source(workspace: Workspace, one: _Case, verdict: Verdict) -> bool:
    """Source an item to the words of the present text that carry it, if there are any."""
    case = one.case
    quote = next(_carrying(case, verdict), None)
    if quote is None:
        return False
    payload = Resource(
        target=case.pair.item,
        evidence=one.evidence,
        now=case.pair.evidence,
        quote=quote,
        drafted=maker(verdict.model, verdict.prompt)[:LONGEST_NAME],
    )
    desk = desk_of(as_readmit(workspace))
    desk.writer.write(EventKind.RESOURCE, payload, id=own_id(AUTHOR, desk.log.keyed(digest(payload))))
    return True


def _carrying(case: PairCase, verdict: Verdict) -> Iterator[str]:
    """Words of the new text that carry the statement: its own, a whole sentence, or those that the verifier quotes."""
    text = case.evidence_text
    parts = (flat(part) for part in paragraphs(text))
    whole = (part[start:end] for part in parts for start, end in sentences(part))
    for quote in (case.item_text, *whole, verdict.evidence_quote):
        found = worded(case.item_text, quote, text)
        if found is not None and found[0] == case.item_text:
            yield found[1]
