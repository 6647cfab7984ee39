"""What fell, and what fell with it: chains of premises, put together into trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from readmit.pages.entries import confirmed, short
from readmit.pages.values import Fallen
from readmit.pages.wording import cut
from readmit.workspace.history import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from readmit.pages.entries import Sight
    from readmit.records.decisions import Disposition

BRANCHES = 8
"""Most items drawn under one premise; the rest is counted."""
LONGEST = 14
"""Most boxes drawn of one chain; those in the middle are counted."""
NODE_CHARS = 240

Branches: TypeAlias = "dict[str, Branches]"
# No id has a space.
_OBSERVED, _BETWEEN = "observed ", "between "


def trees(sight: Sight, judged: Mapping[str, Disposition]) -> tuple[Fallen, ...]:
    """One tree for each premise that fell and each observation that made one fall, in log order."""
    roots: Branches = {}
    for one in judged.values():
        for path in _paths(sight, judged, one):
            branches = roots
            for name in _shortened(path):
                branches = branches.setdefault(name, {})
    return tuple(_tree(sight, judged, name, "", below) for name, below in roots.items())


def _paths(sight: Sight, judged: Mapping[str, Disposition], one: Disposition) -> Iterator[tuple[str, ...]]:
    """From what changed down to an item that fell with it."""
    for case in confirmed(sight, one):
        yield _OBSERVED + case.digest, one.item
    for cause in one.causes:
        if cause.chain:
            path = (*reversed(cause.chain), one.item)
            root = judged.get(path[0])
            changed = [] if root is None else [_OBSERVED + case.digest for case in confirmed(sight, root)]
            yield (*changed[:1], *path)


def _shortened(path: tuple[str, ...]) -> tuple[str, ...]:
    if len(path) <= LONGEST:
        return path
    half = LONGEST // 2
    return (*path[:half], f"{_BETWEEN}{len(path) - 2 * half}", *path[-half:])


def _tree(sight: Sight, judged: Mapping[str, Disposition], name: str, above: str, below: Branches) -> Fallen:
    drawn = list(below.items())[:BRANCHES]
    resting = tuple(_tree(sight, judged, one, name, further) for one, further in drawn)
    more = len(below) - len(drawn)
    if name.startswith(_OBSERVED):
        label, text = sight.observed(name.removeprefix(_OBSERVED))
        return Fallen(label, cut(text, NODE_CHARS), "", resting, more)
    if name.startswith(_BETWEEN):
        return Fallen("…", "", f"{name.removeprefix(_BETWEEN)} more in between", resting, more)
    held = sight.held.get(name)
    text = "" if held is None else cut(sight.says(held.item), NODE_CHARS)
    return Fallen(name, text, _note(sight, judged.get(name), above), resting, more)


def _note(sight: Sight, one: Disposition | None, above: str) -> str:
    if one is None:
        return "The returning agent could not see it."
    if above.startswith(_OBSERVED):
        notes = (case.verdict.premise for case in confirmed(sight, one) if _OBSERVED + case.digest == above)
        return next((f"Premise: {note}" for note in notes if note), str(one.state))
    if above:
        return "Rests on what fell." if above.startswith(_BETWEEN) else f"Rests on {above}."
    return short(next(iter(in_words(one)), str(one.state)))
