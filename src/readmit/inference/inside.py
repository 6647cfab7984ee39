"""Pairs inside a view: of two statements that would be handed over together, the later one may end the earlier.

Signals rank pairs over all standing items, and their limits may cut these. So this computes the view that a return
would hand over now, without writing it, and verifies its statements against each other's evidence.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import msgspec

from readmit.inference import verdict_writer as judging
from readmit.records.canonical import digest
from readmit.records.verdicts import Pair, Ruling
from readmit.rules.cycle import decide
from readmit.state.load import requested
from readmit.text.nearness import content_words
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from readmit.inference.baseline import Baseline
    from readmit.models.stages.verify import Verifier
    from readmit.records.acts.event import Checkpoint
    from readmit.records.identity import Identity
    from readmit.records.items import Item
    from readmit.workspace.workspace import Workspace

PASSED = "inside"
"""The kind of derived text that lists pairs inside a view that a look skipped."""


class Inside(msgspec.Struct, frozen=True, kw_only=True):
    """The results for the pairs inside a view."""

    pairs: tuple[Pair, ...] = ()
    cut: int = 0
    judged: int = 0
    unsure: int = 0
    fell: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def look_inside(
    workspace: Workspace,
    departed: Checkpoint,
    identity: Identity,
    stand: Callable[[], Baseline],
    verifier: Verifier,
    *,
    purpose: str | None,
    besides: Collection[Pair],
    looker: str,
    most: int,
) -> Inside:
    """Verify the open pairs among statements that would be handed over together.

    Pairs about the same need come first, then those that share most words. This ``looker`` never examines pairs beyond
    ``most``, like pairs that no signal proposes. ``besides`` are pairs that were just verified.
    """
    names = _previewed(workspace, departed, identity, purpose=purpose, verifier=verifier) if most else ()
    if len(names) < 2:  # noqa: PLR2004 - a pair has two sides
        return Inside()
    state = stand()
    derived, settled = desk_of(workspace).log.derived, judging.answered_pairs(state, verifier)
    shown = [state.held[name].item for name in names if name in state.held]
    ranks: dict[Pair, tuple[bool, int]] = {}
    for earlier, later in permutations(shown, 2):
        for pair in _pairs(earlier, later, state):
            if pair.evidence not in settled.get(earlier.id, ()) and pair not in besides:
                ranks[pair] = max(ranks.get(pair, (False, 0)), _nearness(earlier, later))
    passed = derived.read(PASSED, looker, map(_name, ranks))
    pairs = sorted((pair for pair in ranks if _name(pair) not in passed), key=lambda pair: ranks[pair], reverse=True)
    judged = judging.judge_pairs(workspace, state, verifier, pairs[:most])
    derived.write(PASSED, looker, {_name(pair): b"1" for pair in pairs[most:]})
    confirmed = (one for one in judged.verdicts if state.ruling(one) is Ruling.INVALID)
    return Inside(
        pairs=tuple(pairs[:most]),
        cut=len(pairs[most:]),
        judged=len(judged.verdicts),
        unsure=sum(not state.settles(one) for one in judged.verdicts),
        fell=tuple(dict.fromkeys(one.pair.item for one in confirmed)),
        faults=tuple(f"verify: {why.message}" for _, why in judged.failed),
    )


def _previewed(
    workspace: Workspace, departed: Checkpoint, identity: Identity, *, purpose: str | None, verifier: Verifier
) -> tuple[str, ...]:
    """The view of a return right now, as if the verifier had examined the whole log."""
    desk = desk_of(workspace)
    log = desk.log
    with log.reading():
        request = desk.ask(departed, identity, purpose=purpose, examined_by=verifier.model.name)
        # Sources may be looked at again before the return, so it does not matter how old the last looks are.
        seen = requested(log, departed, request, rehearsed=True)
    view = decide(request, seen).decision.view
    return () if view is None else tuple(item.id for item in view.items)


def _pairs(earlier: Item, later: Item, state: Baseline) -> Iterator[Pair]:
    """Each statement with another one's later evidence."""
    own = {receipt.evidence for receipt in earlier.receipts}
    for receipt in later.receipts:
        seen = state.observed.get(receipt.evidence)
        if seen is not None and receipt.evidence not in own and seen.epoch > state.since[earlier.id]:
            yield Pair(item=earlier.id, evidence=receipt.evidence)


def _nearness(earlier: Item, later: Item) -> tuple[bool, int]:
    return not set(earlier.covers).isdisjoint(later.covers), len(
        content_words(earlier.text) & content_words(later.text)
    )


def _name(pair: Pair) -> str:
    return digest((pair.item, pair.evidence))
