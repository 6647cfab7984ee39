"""Statements in slots that differ only in spelling: neither replaces the other."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from readmit.diagnosis.like_names import plain, quoted
from readmit.diagnosis.symptoms import MOST, Symptom, Trouble
from readmit.records.remedies import act

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.diagnosis.trial import Trial
    from readmit.records.items import Item


def same_slots(trial: Trial) -> Iterator[Symptom]:
    """A few pairs of items that both stand because their slots have different spellings."""
    found = 0
    standing: dict[str, list[Item]] = {}
    for item in reversed(tuple(trial.standing())):
        if item.slot is not None:
            standing.setdefault(plain(item.slot), []).append(item)
    for several in standing.values():
        for older, newer in combinations(several, 2):
            if older.slot == newer.slot or found == MOST:
                continue
            found += 1
            yield Symptom(
                Trouble.SAME_SLOT,
                f"{older.id} is in slot {older.slot} and {newer.id} in {newer.slot}, which differ only in spelling.",
                (older.id, newer.id),
                (f"Both are in force: {quoted(older.text)} and {quoted(newer.text)}.",),
                (act("supersede", older.id, newer.id, by=trial.other_writer(newer.by)),),
            )
