"""What fell, and what fell with it: chains of premises as trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from readmit.pages.entries import confirmed, short
from readmit.pages.values import Fallen
from readmit.pages.wording import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from readmit.pages.entries import Sight
    from readmit.records.decisions import Disposition

BRANCHES = 8
"""Most items drawn under one premise; the rest is counted."""
DEEPEST = 12
"""Most boxes drawn of one chain; dependents of the last one are counted."""
NODE_CHARS = 240

Branches: TypeAlias = "dict[str, Branches]"
# No id has a space in it.
_OBSERVED = "observed "


def trees(sight: Sight, judged: Mapping[str, Disposition]) -> tuple[Fallen, ...]:
    """One tree for each premise that fell and each observation that made one fall, in log order."""
    forest = _Forest(sight, judged)
    roots: Branches = {}
    for one in judged.values():
        for path in forest.paths(one):
            branches = roots
            for name in path:
                branches = branches.setdefault(name, {})
    return tuple(forest.tree((name,), below) for name, below in roots.items())


@dataclass(frozen=True)
class _Forest:
    """The candidates of a return, and their dispositions."""

    sight: Sight
    judged: Mapping[str, Disposition]

    def paths(self, one: Disposition) -> Iterator[tuple[str, ...]]:
        """The path from what changed down to an item that fell with it."""
        for case in confirmed(self.sight, one):
            yield _OBSERVED + case.digest, one.item
        for cause in one.causes:
            if cause.chain:
                path = (*reversed(cause.chain), one.item)
                root = self.judged.get(path[0])
                changed = [] if root is None else [_OBSERVED + case.digest for case in confirmed(self.sight, root)]
                yield (*changed[:1], *path)

    def tree(self, path: tuple[str, ...], below: Branches) -> Fallen:
        """The end of a path, and its dependents."""
        drawn = list(below)[: BRANCHES if len(path) < DEEPEST else 0]
        resting = tuple(self.tree((*path, name), below[name]) for name in drawn)
        more = sum(1 + _size(further) for further in list(below.values())[len(drawn) :])
        if path[-1].startswith(_OBSERVED):
            return Fallen(*self._observed(path[-1], below), "", resting, more)
        held = self.sight.held.get(path[-1])
        text = "" if held is None else cut(self.sight.says(held.item), NODE_CHARS)
        return Fallen(path[-1], text, self._note(path), resting, more)

    def _observed(self, name: str, below: Branches) -> tuple[str, str]:
        """Who observed something, and the words of it that counted."""
        label, text = self.sight.observed(name.removeprefix(_OBSERVED))
        cases = (case for one in below if one in self.judged for case in confirmed(self.sight, self.judged[one]))
        quotes = (case.verdict.evidence_quote for case in cases if _OBSERVED + case.digest == name)
        return label, cut(next((f"“{quote}”" for quote in quotes if quote), text), NODE_CHARS)

    def _note(self, path: tuple[str, ...]) -> str:
        """Why an item is out, in a few words."""
        one = self.judged.get(path[-1])
        if one is None:
            return "The returning agent could not see it."
        above = path[-2] if len(path) > 1 else ""
        if above.startswith(_OBSERVED):
            cases = (case for case in confirmed(self.sight, one) if _OBSERVED + case.digest == above)
            return next((f"Premise: {case.verdict.premise}" for case in cases if case.verdict.premise), str(one.state))
        if above:
            return f"Rests on {above}."
        if not one.causes:
            return str(one.state)
        first = one.causes[0]
        by = f" by {first.by}" if first.by else ""
        return short(f"{first.reason}{by}: {first.note}" if first.note else f"{first.reason}{by}")


def _size(branches: Branches) -> int:
    """How many items there are on all branches."""
    count, waiting = 0, [branches]
    while waiting:
        one = waiting.pop()
        count += len(one)
        waiting += one.values()
    return count
