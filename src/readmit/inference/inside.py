"""Pairs inside a view: of two statements that would be handed over together, the later one may end the earlier.

Signals rank pairs over everything that stands, and their limits may cut these. So what a return would hand over now is
worked out, without writing anything, and its statements are put to the verifier against each other's evidence.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import msgspec

from readmit.cycle import RULES, decide
from readmit.inference import judging
from readmit.records.decisions import Request
from readmit.records.verdicts import Pair, Ruling
from readmit.workspace.loading import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from readmit.inference.standing import Standing
    from readmit.models.stages.verify import Verifier
    from readmit.records.events import Checkpoint
    from readmit.records.identity import Identity
    from readmit.workspace.workspace import Workspace

NAME = "preview"


class Inside(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the pairs inside a view."""

    pairs: tuple[Pair, ...] = ()
    cut: tuple[Pair, ...] = ()
    judged: int = 0
    unsure: int = 0
    fell: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def previewed(
    workspace: Workspace, departed: Checkpoint, identity: Identity, *, purpose: str | None
) -> tuple[str, ...]:
    """What a return at this moment would hand over."""
    log = workspace.log
    with log.reading():
        request = Request(
            return_id=NAME,
            identity=identity,
            instance=NAME,
            nonce=NAME,
            purpose=purpose,
            now=workspace.now(),
            policy=workspace.policy,
            checkpoint=departed.id,
            epoch=log.head,
            rules=RULES,
            learnt=log.learnt,
        )
        seen = snapshot(log, departed, identity, epoch=log.head, purpose=purpose, now=request.moment)
    view = decide(request, seen).decision.view
    return () if view is None else tuple(item.id for item in view.items)


def look_inside(
    workspace: Workspace,
    stand: Callable[[], Standing],
    verifier: Verifier,
    names: Sequence[str],
    *,
    besides: Collection[Pair],
    most: int,
) -> Inside:
    """Verify what is open among statements that would be handed over together, those about the same need first.

    ``besides`` are pairs that were asked about just now.
    """
    if len(names) < 2:  # noqa: PLR2004 - a pair has two sides
        return Inside()
    state = stand()
    settled = judging.settled(state, verifier)
    own = [name for name in names if name in state.held]
    found = dict.fromkeys(
        pair
        for earlier, later in permutations(own, 2)
        for pair in _pairs(earlier, later, state)
        if pair.evidence not in settled.get(earlier, ()) and pair not in besides
    )
    pairs = sorted(found, key=lambda pair: not _same_need(pair, own, state))
    judged = judging.judge(workspace, state, verifier, pairs[:most])
    confirmed = (one for one in judged.verdicts if state.ruling(one) is Ruling.INVALID)
    return Inside(
        pairs=tuple(pairs[:most]),
        cut=tuple(pairs[most:]),
        judged=len(judged.verdicts),
        unsure=sum(not state.settles(one) for one in judged.verdicts),
        fell=tuple(dict.fromkeys(one.pair.item for one in confirmed)),
        faults=tuple(f"verify: {why.message}" for _, why in judged.failed),
    )


def _pairs(earlier: str, later: str, state: Standing) -> Iterator[Pair]:
    """One statement against the evidence of another, where that is later than its own."""
    own = {receipt.evidence for receipt in state.held[earlier].item.receipts}
    for receipt in state.held[later].item.receipts:
        seen = state.observed.get(receipt.evidence)
        if seen is not None and receipt.evidence not in own and seen.epoch > state.since[earlier]:
            yield Pair(item=earlier, evidence=receipt.evidence)


def _same_need(pair: Pair, names: Sequence[str], state: Standing) -> bool:
    covers = set(state.held[pair.item].item.covers)
    rivals = (state.held[name].item for name in names if name != pair.item)
    return any(
        not covers.isdisjoint(rival.covers) and pair.evidence in {receipt.evidence for receipt in rival.receipts}
        for rival in rivals
    )
