"""Forgetting: the event that names the erased texts, and the remnant of an erased content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from readmit.records.acts.looks import Looked
from readmit.records.acts.operation import ItemId, Why
from readmit.records.base import Count, Name, Record
from readmit.records.evidence import Evidence, Experience
from readmit.records.items import Item
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

FORGOTTEN = "[forgotten]"
"""The text in the place of an erased one."""


class Forget(Record, kw_only=True):
    """Texts were erased for good. What rested on them no longer counts, as if it had been withdrawn."""

    targets: tuple[Name, ...]
    """The targets of the request: ids of items and memories, digests of observations."""
    items: tuple[ItemId, ...] = ()
    """The items that fall: those that were erased, and those that rest on erased observations."""
    erased: tuple[Count, ...]
    """The epochs of the events whose content was erased: those of the targets, and all that quote them."""
    reason: Why = ""


def remnant_of(payload: Any) -> Any:
    """The rest of a content that is erased: all that indexes and rules need, and none of its texts."""
    for kind, without_text in _REMNANTS.items():
        if isinstance(payload, kind):
            return without_text(payload)
    return replace(payload, quote="") if hasattr(payload, "quote") else payload


def _item(item: Item) -> Item:
    drafted = None if item.drafted is None else replace(item.drafted, quote="")
    return replace(item, text=FORGOTTEN, drafted=drafted)


def _looked(looked: Looked) -> Looked:
    found = tuple(replace(one, digest=None, probe=None, why="") for one in looked.found)
    return replace(looked, found=found)


_REMNANTS: dict[type, Callable[[Any], Any]] = {
    # A probe holds the digest of the text.
    Evidence: lambda seen: replace(seen, text=FORGOTTEN, probe=None),
    Item: _item,
    Experience: lambda one: replace(one, text=FORGOTTEN),
    Verdict: lambda one: replace(one, item_quote="", evidence_quote="", premise="", note=""),
    Looked: _looked,
}
