"""What took the place of a needed item: the observation that invalidated it, drafted as an item in its own words.

It says what is true now beside what lacks. It has no slot and supports nothing: it meets a need only through a link
of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.inference.deriving import maker
from readmit.inference.field import field, meets
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest
from readmit.records.events import EventKind
from readmit.records.evidence import Evidence
from readmit.records.items import Drafted
from readmit.records.reasons import Reason
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.inference.field import Field
    from readmit.inference.settings import Settings
    from readmit.ports.store import Log
    from readmit.records.events import Checkpoint
    from readmit.records.identity import Identity
    from readmit.workspace.workspace import Workspace


def replace(
    workspace: Workspace, departed: Checkpoint, identity: Identity, *, purpose: str | None, settings: Settings
) -> tuple[str, ...]:
    """Draft what the observations say that invalidated needed items. Drafted twice, it is one item."""
    if not settings.linking or workspace.policy.drafts == "refuse":
        return ()
    ground = field(workspace, departed, identity, purpose=purpose)
    drafted: list[str] = []
    with workspace.batch():
        for verdict in _verdicts(workspace.log, ground):
            root = _chain(verdict.pair.item, ground)[-1]
            name = f"r{digest((root, verdict.pair.evidence))[:16]}"
            if workspace.log.named(f"item:{name}") is None:
                _record(workspace, name, verdict)
                drafted.append(name)
    return tuple(drafted)


def _verdicts(log: Log, ground: Field) -> Iterator[Verdict]:
    """The verdicts by which needed items are out, their own or those on a premise of theirs."""
    for name in ground.held:
        fate = ground.rejected.get(name)
        if fate is None or not _needed(name, ground):
            continue
        for cause in fate.causes:
            if cause.reason is Reason.PREMISE_CHANGED and cause.epoch is not None:
                verdict = log.event(cause.epoch).payload
                if isinstance(verdict, Verdict) and verdict.pair.item in ground.held and verdict.evidence_quote.strip():
                    yield verdict


def _needed(name: str, ground: Field) -> bool:
    return any(need in ground.needs for one in _chain(name, ground) for need in meets(ground.held[one]))


def _chain(name: str, ground: Field) -> list[str]:
    """An item, what it was drafted instead of, and so on."""
    chain = [name]
    while (own := ground.held[chain[-1]].item.drafted) is not None:
        # Whoever drafts by hand may name anything, even a circle.
        if own.instead_of is None or own.instead_of not in ground.held or own.instead_of in chain:
            break
        chain.append(own.instead_of)
    return chain


def _record(workspace: Workspace, name: str, verdict: Verdict) -> None:
    observed = workspace.log.evidence(verdict.pair.evidence)
    assert observed.kind is EventKind.OBSERVE and isinstance(observed.payload, Evidence)  # noqa: PT018, S101 - judged
    scope = observed.payload.scope
    workspace.record(
        verdict.evidence_quote.strip(),
        id=name,
        sources=[verdict.pair.evidence],
        task=scope.task,
        roles=scope.roles,
        principals=scope.principals,
        private=scope.visibility == "private",
        drafted=Drafted(
            model=maker(verdict.model, verdict.prompt)[:LONGEST_NAME],
            quote=verdict.evidence_quote,
            instead_of=verdict.pair.item,
        ),
    )
