"""Which private experiences come back with a view.

Paper, "Sign and readmit a bounded Return View": "A private experience is reinstated only if the work-state
item it was bound to remains in the signed view."
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from readmit.records.decisions import ExperienceNote
from readmit.records.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from readmit.records.evidence import Experience
    from readmit.records.policy import Policy

Banked: TypeAlias = "tuple[Experience, str]"


def match(
    bank: Sequence[Banked], view_items: AbstractSet[str], policy: Policy
) -> tuple[tuple[ExperienceNote, ...], tuple[Banked, ...]]:
    """A note on every experience of the bank, and those that are handed over, with their digests.

    The bank is in the order of the log. The newest experience gets the budget first; one that does not fit is skipped,
    and a shorter, older one may still fit. Both results keep the bank's order.
    """
    fitting = _fitting([index for index, (one, _) in enumerate(bank) if one.bound_to in view_items], bank, policy)
    notes = []
    for index, (one, _) in enumerate(bank):
        if index in fitting:
            reason = Reason.SOURCE_IN_VIEW
        elif one.bound_to in view_items:
            reason = Reason.TOO_LARGE
        else:
            reason = Reason.SOURCE_NOT_IN_VIEW
        notes.append(ExperienceNote(experience=one.id, bound_to=one.bound_to, reason=reason))
    return tuple(notes), tuple(banked for index, banked in enumerate(bank) if index in fitting)


def _fitting(sourced: Sequence[int], bank: Sequence[Banked], policy: Policy) -> frozenset[int]:
    taken: set[int] = set()
    room = policy.budgets.experience_chars
    for index in reversed(sourced):
        length = len(bank[index][0].text)
        if len(taken) < policy.budgets.experiences and length <= room:
            taken.add(index)
            room -= length
    return frozenset(taken)
