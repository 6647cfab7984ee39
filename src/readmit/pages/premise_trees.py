"""Trees of fallen premises, each with the items that fell with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from readmit.pages.event_words import cut
from readmit.pages.item_entries import confirmed, shorten_digests
from readmit.pages.page_values import Fallen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit.pages.item_entries import Sight
    from readmit.records.decisions import Disposition

BRANCHES = 8
"""Most items drawn under one premise; the rest is counted."""
DEEPEST = 12
"""Most boxes drawn of one chain; dependents of the last one are counted."""
NODE_CHARS = 240

# No id has a space in it.
_OBSERVED = "observed "


def trees(sight: Sight, judged: Mapping[str, Disposition]) -> tuple[Fallen, ...]:
    """One tree for each premise that fell and each observation that made one fall, in log order."""
    forest = _Forest(sight, judged, {})
    for one in judged.values():
        for above, name in forest.links(one):
            forest.below.setdefault(above, {})[name] = None
    resting = {name for names in forest.below.values() for name in names}
    return tuple(forest.tree((name,)) for name in forest.below if name not in resting)


@dataclass(frozen=True)
class _Forest:
    """The candidates of a return, their dispositions, and the premises of each."""

    sight: Sight
    judged: Mapping[str, Disposition]
    below: dict[str, dict[str, None]]
    """Premise, or observation → the items that fell with it, in log order."""

    def links(self, one: Disposition) -> Iterator[tuple[str, str]]:
        """Edges from a fallen premise, or the observation against it, to an item that fell with it."""
        for case in confirmed(self.sight, one):
            yield _OBSERVED + case.digest, one.item
        for cause in one.causes:
            if cause.root:
                if cause.ref != cause.root and cause.ref not in self.judged:
                    # The agent could not see this premise, so its disposition does not lead on.
                    yield cause.root, cause.ref
                yield cause.ref, one.item

    def tree(self, path: tuple[str, ...]) -> Fallen:
        """The end of a path, and its dependents."""
        below = list(self.below.get(path[-1], ()))
        drawn = below[: BRANCHES if len(path) < DEEPEST else 0]
        resting = tuple(self.tree((*path, name)) for name in drawn)
        more = self._count(below[len(drawn) :])
        if path[-1].startswith(_OBSERVED):
            return Fallen(*self._observed(path[-1], below), "", resting, more)
        held = self.sight.held.get(path[-1])
        text = "" if held is None else cut(self.sight.says(held.item), NODE_CHARS)
        return Fallen(path[-1], text, self._note(path), resting, more)

    def _count(self, names: Sequence[str]) -> int:
        """How many items these are, with all that rests on them."""
        met, waiting = set(names), list(names)
        while waiting:
            fresh = [name for name in self.below.get(waiting.pop(), ()) if name not in met]
            met.update(fresh)
            waiting += fresh
        return len(met)

    def _observed(self, name: str, below: Sequence[str]) -> tuple[str, str]:
        """The writer of an observation, and the quoted words that counted."""
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
        return shorten_digests(f"{first.reason}{by}: {first.note}" if first.note else f"{first.reason}{by}")
