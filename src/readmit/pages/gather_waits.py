"""Gathers the things that wait for a person: drafts, settlements, disputes, contested slots, acts beyond a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.pages.project_values import WaitingLine
from readmit.records.acts.event import Dispute, EventKind
from readmit.records.items import Obligation
from readmit.records.reasons import Reason
from readmit.writing.limits import waiting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from readmit.diagnosis.item_states import ListedItem
    from readmit.log.log import Log

_CONTESTED = frozenset({Reason.SLOT_CONTESTED, Reason.CONCURRENT_UPDATE})


def waiting_lines(log: Log, items: Mapping[str, ListedItem], *, settle_draft: str) -> Iterator[WaitingLine]:
    """Things about these items that a person decides. Ids of settlements begin with ``settle_draft``."""
    for name, one in items.items():
        if _is_waiting_draft(one):
            duties = [each for each in one.item.depends_on if name.startswith(settle_draft) and each in items]
            yield WaitingLine(
                id=name,
                kind="settlement" if duties else "draft",
                by=one.item.by,
                texts=(one.item.text, *(items[duty].item.text for duty in duties)),
                items=(name, *duties),
                duty=duties[0] if duties else "",
            )
    disputes = {cause.ref for one in items.values() for cause in one.causes if cause.reason is Reason.DISPUTED}
    for dispute in sorted(disputes):
        event = log.named(EventKind.DISPUTE, dispute)
        if event is not None and isinstance(said := event.payload, Dispute):
            about = tuple(name for name in said.items if name in items)
            texts = tuple(items[name].item.text for name in about)
            yield WaitingLine(id=dispute, kind="dispute", by=event.by, texts=texts, items=about)
    for event in waiting(log):
        yield WaitingLine(id=event.name, kind="limit", by=event.by, texts=(getattr(event.payload, "limit", ""),))


def contested_lines(items: Mapping[str, ListedItem]) -> Iterator[WaitingLine]:
    """Slots in which several statements stand against each other, written without knowledge of each other."""
    slots: dict[tuple[str | None, str], list[str]] = {}
    for name, one in items.items():
        if one.item.slot is not None and _CONTESTED & {cause.reason for cause in one.causes}:
            slots.setdefault((one.item.scope.task, one.item.slot), []).append(name)
    for (_, slot), names in slots.items():
        texts = tuple(items[name].item.text for name in names)
        yield WaitingLine(id=slot, kind="contested", by=items[names[-1]].item.by, texts=texts, items=tuple(names))


def _is_waiting_draft(one: ListedItem) -> bool:
    return (
        one.item.drafted is not None
        and not isinstance(one.item, Obligation)
        and {cause.reason for cause in one.causes} == {Reason.DRAFT_UNCONFIRMED}
    )
