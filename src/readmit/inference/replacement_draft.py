"""Drafts the replacement of a needed item: the observation that invalidated it, in its own words.

The draft states the present fact. It has no slot and supports no dependency: it meets a need only by a link of its own.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from readmit.inference.derive import maker
from readmit.inference.field import field, meets
from readmit.records.acts.event import EventKind
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest
from readmit.records.error_types import NotAllowedError
from readmit.records.evidence import Evidence
from readmit.records.identity import made_id
from readmit.records.items import Drafted
from readmit.records.reasons import Reason
from readmit.records.verdicts import Verdict
from readmit.text.carried import worded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.inference.expected_return import ExpectedReturn
    from readmit.inference.field import Field
    from readmit.log.log import Log
    from readmit.records.snapshot import Held
    from readmit.workspace.workspace import Workspace


def draft_replacements(expected: ExpectedReturn) -> tuple[str, ...]:
    """Draft the observations that invalidated needed items. A repeated draft is one item."""
    if not expected.drafts:
        return ()
    workspace, log, ground = expected.workspace, expected.log, field(expected)
    drafted: list[str] = []
    with workspace.batch():
        for item, verdict in _fallen(log, ground):
            observed = log.evidence(verdict.pair.evidence).payload
            assert isinstance(observed, Evidence)  # noqa: S101 - it was judged, so it was observed
            made = f"r{digest((item, verdict.pair.evidence))[:16]}"
            name = made_id(observed.writer, made, observed.scope.principals)
            known = log.named(EventKind.RECORD, name) is not None
            if not known and _record(workspace, name, item, verdict, observed):
                drafted.append(name)
    return tuple(drafted)


def _fallen(log: Log, ground: Field) -> Iterator[tuple[str, Verdict]]:
    """Needed items, each with the verdicts that took it out, on itself, a premise, or its replacement."""
    for name in ground.held:
        fate, item = ground.rejected.get(name), _first(name, ground)
        needs = frozenset(need for one in (name, item) for need in meets(ground.held[one])) & ground.needs.keys()
        for cause in fate.causes if fate is not None and needs else ():
            if cause.reason is Reason.PREMISE_CHANGED and cause.epoch is not None:
                verdict = log.event(cause.epoch).payload
                if isinstance(verdict, Verdict) and _is_news(log, verdict, needs, ground):
                    yield item, verdict


def _is_news(log: Log, verdict: Verdict, needs: frozenset[str], ground: Field) -> bool:
    """Whether one of the needs lacks evidence as late as the observation, so that its current state is unknown."""
    pair = verdict.pair
    if pair.item not in ground.held or not verdict.evidence_quote.strip():
        return False
    seen = log.evidence(pair.evidence).epoch
    late = (ground.held[name] for name in ground.baseline if _said_at(log, ground.held[name]) >= seen)
    return not needs <= {need for held in late for need in meets(held)}


def _said_at(log: Log, held: Held) -> int:
    return max((log.evidence(receipt.evidence).epoch for receipt in held.item.receipts), default=held.epoch)


def _first(name: str, ground: Field) -> str:
    """The item that a draft replaces; a draft that replaces it again refers to the same item."""
    drafted = ground.held[name].item.drafted
    if drafted is None or drafted.instead_of is None or drafted.instead_of not in ground.held:
        return name
    return drafted.instead_of


def _record(workspace: Workspace, name: str, item: str, verdict: Verdict, observed: Evidence) -> bool:
    # The quoted words, or the whole sentences around them if the words alone would mislead.
    found = worded(verdict.evidence_quote, verdict.evidence_quote, observed.text)
    if found is None:
        return False
    text, quote = found
    with suppress(NotAllowedError):
        workspace.record(
            text,
            id=name,
            sources=[verdict.pair.evidence],
            # The author is the observer, whose words these are. If only the observer itself may write in its name,
            # because it signs or is the owner, nothing is drafted.
            by=observed.writer,
            task=observed.scope.task,
            roles=observed.scope.roles,
            principals=observed.scope.principals,
            private=observed.scope.visibility == "private",
            drafted=Drafted(model=maker(verdict.model, verdict.prompt)[:LONGEST_NAME], quote=quote, instead_of=item),
        )
        return True
    return False
