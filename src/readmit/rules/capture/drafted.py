"""Drafted items: whether a principal confirmed them, the policy accepts them, and their quotes carry them.

Checked on stored data at every return and every exposure, so bypassing the pipeline gains nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.acts.event import Confirm
from readmit.records.decisions import Cause
from readmit.records.items import Drafted, Item, Obligation
from readmit.records.policy import AUTHOR, Policy
from readmit.records.reasons import Reason
from readmit.text.carried import carried

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.records.snapshot import Held, Sighting, Snapshot


MOST_KNOWN = 100_000
# Cached, because every return and every exposure asks and the answer never changes. The key is the text and the digest
# of intact evidence, so altered texts never match.
_known: dict[tuple[str, str, str], bool] = {}


def is_draft(held: Held, snapshot: Snapshot, policy: Policy) -> bool:
    """Whether a model wrote the item and no principal has confirmed it.

    A confirmation counts from an allowed writer, and never in that writer's own return.
    """
    if held.item.drafted is None:
        return False
    return not any(
        isinstance(event.payload, Confirm)
        and event.holds(snapshot.now)
        and event.by not in (AUTHOR, snapshot.identity.principal)
        and (not policy.evidence.writers or event.by in policy.evidence.writers)
        for event in held.marks
    )


def draft_flaws(held: Held, drafted: Drafted, snapshot: Snapshot, policy: Policy) -> Iterator[Cause]:
    """Why a drafted item does not count."""
    if policy.evidence.drafts == "refuse":
        yield Cause(reason=Reason.DRAFT_REFUSED, epoch=held.epoch, by=drafted.model)
    elif policy.evidence.drafts == "confirm" and is_draft(held, snapshot, policy):
        yield Cause(reason=Reason.DRAFT_UNCONFIRMED, epoch=held.epoch, by=drafted.model)
    # A duty says what should be done, so it has nothing to quote.
    if not isinstance(held.item, Obligation) and not _carried(held.item, drafted, snapshot, policy):
        yield Cause(reason=Reason.DRAFT_REFUSED, epoch=held.epoch, by=drafted.model)


def _carried(item: Item, drafted: Drafted, snapshot: Snapshot, policy: Policy) -> bool:
    for receipt in item.receipts:
        sighting = snapshot.evidence.get(receipt.evidence)
        if (
            sighting is not None
            and sighting.intact
            and "item" in receipt.binds
            and (not policy.evidence.writers or sighting.by in policy.evidence.writers)
            and _carries(receipt.evidence, sighting, item.text, drafted.quote)
        ):
            return True
    return False


def _carries(digest: str, sighting: Sighting, text: str, quote: str) -> bool:
    key = (digest, quote, text)
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = carried(text, quote, sighting.text)
    return _known[key]
