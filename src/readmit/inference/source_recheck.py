"""Rechecks items whose source changed: whether the present text still carries them.

Each item is put to the verifier beside the new text. A verdict against it is written like any other, so that a
replacement can be drafted. If the verdict lets it stand, and the code finds words in the new text that carry the
statement, an event sources the item to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.inference.derive import maker
from readmit.inference.verdict_writer import verdict_id
from readmit.models.protocols import Failure
from readmit.models.stages.verify import PairCase
from readmit.records.acts.event import EventKind
from readmit.records.acts.looks import Resource
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest
from readmit.records.error_types import ConflictError
from readmit.records.evidence import Evidence
from readmit.records.identity import own_id
from readmit.records.policy import AUTHOR
from readmit.records.reasons import Reason
from readmit.records.verdicts import Pair, Ruling, Verdict, quotes_found, ruling
from readmit.rules.cycle import examine
from readmit.rules.invalidate.changed_sources import needed, resourced
from readmit.rules.invalidate.implicit import critical_dependencies, use_of
from readmit.state.load import snapshot
from readmit.text.carried import worded
from readmit.text.english import flat, paragraphs, sentences
from readmit.workspace.workspace import as_readmit, desk_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.models.stages.verify import Verifier
    from readmit.records.acts.event import Checkpoint
    from readmit.records.identity import Identity
    from readmit.records.policy import Policy
    from readmit.records.snapshot import Held, Snapshot
    from readmit.workspace.workspace import Workspace

_SOURCES = frozenset({Reason.SOURCE_CHANGED, Reason.SOURCE_UNCONFIRMED})


class RecheckedSources(msgspec.Struct, frozen=True):
    """The result of rechecking items whose source changed."""

    judged: int = 0
    items: tuple[str, ...] = ()
    """Items that the present text still carries."""
    cut: tuple[Pair, ...] = ()
    """Pairs beyond the limit. Their items stay out."""
    faults: tuple[str, ...] = ()


class _Case(msgspec.Struct, frozen=True):
    evidence: str
    """The item's own evidence, whose source changed."""
    case: PairCase


def recheck_changed_sources(
    workspace: Workspace,
    departed: Checkpoint,
    identity: Identity,
    *,
    purpose: str | None,
    verifier: Verifier,
    most: int | None,
) -> RecheckedSources:
    """Put items that are out because their source changed to the verifier, each pair once."""
    log, policy = desk_of(workspace).log, workspace.admin.policy
    with log.reading():
        seen = snapshot(log, departed, identity, epoch=log.head, purpose=purpose, now=desk_of(workspace).writer.now())
        cases = list(_cases(seen, workspace)) if seen.sources else []
    if not cases:
        return RecheckedSources()
    known = {one.case.pair: log.named(EventKind.JUDGE, verdict_id(verifier, one.case)) for one in cases}
    fresh = [one for one in cases if known[one.case.pair] is None]
    asked, left = (fresh, []) if most is None else (fresh[:most], fresh[most:])
    said = dict(zip([one.case.pair for one in asked], _verified(verifier, asked), strict=True))
    found: list[str] = []
    with workspace.batch():
        for one in cases:
            pair, stored = one.case.pair, known[one.case.pair]
            verdict = said.get(pair) if stored is None else stored.payload
            if not isinstance(verdict, Verdict):
                continue
            if stored is None:
                _judge(workspace, verdict, verdict_id(verifier, one.case))
            if _stands(verdict, one.case, policy) and _source(workspace, one, verdict):
                found.append(pair.item)
    return RecheckedSources(
        judged=sum(isinstance(one, Verdict) for one in said.values()),
        items=tuple(found),
        cut=tuple(one.case.pair for one in left),
        faults=tuple(f"verify: {one.message}" for one in said.values() if isinstance(one, Failure)),
    )


def _cases(seen: Snapshot, workspace: Workspace) -> Iterator[_Case]:
    """Items that only a changed source takes out, each with the present text of the source."""
    policy = workspace.admin.policy
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
        use=use_of(seen),
        critical=critical,
    )


def _verified(verifier: Verifier, asked: Sequence[_Case]) -> list[Verdict | Failure]:
    return verifier.verify([one.case for one in asked]) if asked else []


def _stands(verdict: Verdict, case: PairCase, policy: Policy) -> bool:
    own = case.item_text, case.item_source
    return ruling(verdict, policy, grounded=lambda: quotes_found(verdict, own, case.evidence_text)) is Ruling.COMPATIBLE


def _judge(workspace: Workspace, verdict: Verdict, key: str) -> None:
    try:
        as_readmit(workspace).judge(verdict, id=key)
    except ConflictError:
        # Another process asked the same at the same time; its answer was first and counts.
        return


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
    desk_of(as_readmit(workspace)).writer.write(EventKind.RESOURCE, payload, id=own_id(AUTHOR, digest(payload)))
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
