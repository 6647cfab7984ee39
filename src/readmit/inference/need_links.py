"""Links needs to items and writes the links as drafts, each with its maker.

Unmet needs are linked to a few items, and lists to every item that bears on them; what bears on no need is not linked.
An item is linked to a need by name, by the slot of an item that met the need before, and then by the linker's answer
with a quote or, without a linker, by nearness. Pairs that an item meets by itself, or that a person linked or unlinked,
are left alone. A critical need that a person wrote is skipped: a model alone cannot meet it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.inference.derive import StoredVectors, maker
from readmit.inference.field import field, meets, spoken_of, stood
from readmit.models.protocols import Failure
from readmit.models.stages import link as stage
from readmit.records.acts.event import EventKind, Link
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import digest
from readmit.records.error_types import ConflictError
from readmit.records.identity import own_id
from readmit.records.policy import AUTHOR
from readmit.text.nearness import name_words, near
from readmit.workspace.workspace import as_readmit, desk_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from readmit.inference.expected_return import ExpectedReturn
    from readmit.inference.field import Field, OpenNeed
    from readmit.inference.settings import Settings
    from readmit.models.protocols import Embedder, Model
    from readmit.workspace.workspace import Workspace

NAME = "name"
SLOT = "slot"
NEARNESS = "nearness"
"""The makers of links that no model drew."""
LINKED = "link"
"""Kind of the derived text that holds a linker's answer about a need and a statement: its quote, or empty."""
SHOWN = 12
"""Statements shown to a linker for one need if there are too many for one request."""


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one round of linking."""

    links: int = 0
    dropped: int = 0
    """Links that the linker proposed without a valid quote or for a text that was not shown."""
    unmet: tuple[str, ...] = ()
    """Needs that no standing item meets."""
    faults: tuple[str, ...] = ()
    """Why the linker did not answer. It is then unknown whether an item ever met the unmet needs."""


def link_needs(expected: ExpectedReturn, linker: Model | None, embedder: Embedder | None) -> Drawn:
    """Link the unmet needs of one agent's duties. A repeated call writes no event and sends no request."""
    workspace, settings = expected.workspace, expected.settings
    if not expected.drafts:
        return Drawn()
    ground = field(expected)
    wanted = ground.wanted()
    if not wanted:
        return Drawn(unmet=tuple(need.name for need in ground.open()))
    bearing = ground.baseline | stood(expected)
    work = _Work(workspace, ground, [name for name in ground.held if name in bearing], embedder)
    # A link found by name and by slot is one link.
    named = {(one.need, one.item): one for need in wanted for one in (*work.by_slot(need), *work.by_name(need))}
    drafts = tuple(named.values())
    met = {one.need for one in drafts if one.item in ground.baseline}
    rest = [need for need in wanted if need.many or need.name not in met]
    said = work.asked(linker, rest, settings) if linker is not None else work.by_nearness(rest, settings)
    links = _written(workspace, [*drafts, *said.links])
    met |= {one.need for one in said.links if one.item in ground.baseline}
    return Drawn(
        links=links,
        dropped=said.dropped,
        unmet=tuple(need.name for need in ground.open() if need.name not in met),
        faults=said.faults,
    )


def _written(workspace: Workspace, links: Iterable[Link]) -> int:
    count, own = 0, as_readmit(workspace)
    with own.batch():
        for one in links:
            try:
                desk_of(own).writer.write(
                    EventKind.LINK, one, id=own_id(AUTHOR, digest((one.item, one.need, one.drafted)))
                )
            except ConflictError:
                # Another process drew the same link with another quote, and was first: its quote counts.
                continue
            count += 1
    return count


class _Said(msgspec.Struct, frozen=True):
    links: tuple[Link, ...] = ()
    dropped: int = 0
    faults: tuple[str, ...] = ()


class _Work:
    """One round of linking."""

    def __init__(self, workspace: Workspace, ground: Field, items: Sequence[str], embedder: Embedder | None) -> None:
        self._workspace = workspace
        self._ground = ground
        self._items = items
        self._vectors = None if embedder is None else StoredVectors(embedder, desk_of(workspace).log.derived)

    def by_name(self, need: OpenNeed) -> Iterator[Link]:
        """Items whose slot, or a supported dependency, has the same words as the need's name."""
        words = sorted(name_words(need.name))
        for item in self._candidates(need):
            if words and any(sorted(name_words(one)) == words for one in self._ground.held[item].item.covers):
                yield Link(item=item, need=need.name, drafted=NAME)

    def by_slot(self, need: OpenNeed) -> Iterator[Link]:
        """The current item in the slot of an item that is linked to the need."""
        linked = [one for one in self._ground.held.values() if need.name in spoken_of(one) and need.name in meets(one)]
        slots = {(one.item.scope.task, one.item.slot) for one in linked if one.item.slot is not None}
        for item in self._candidates(need):
            own = self._ground.held[item].item
            if item in self._ground.baseline and (own.scope.task, own.slot) in slots:
                yield Link(item=item, need=need.name, drafted=SLOT)

    def by_nearness(self, needs: Sequence[OpenNeed], settings: Settings) -> _Said:
        """The nearest items, for needs that a model planned: nearness does not meet a person's need."""
        since = {need.name: self._last(need) for need in needs if need.planned}
        # Items that were not chosen when the need was last linked stay out: a second choice is not evidence.
        fresh = {
            need.name: {item for item in self._candidates(need) if self._ground.held[item].epoch > since[need.name]}
            for need in needs
            if need.name in since
        }
        links: list[Link] = []
        many = {need.name for need in needs if need.many}
        for need, rows in self._ranked([need for need in needs if fresh.get(need.name)]).items():
            nearest = [item for score, item in rows if score >= 1 and item in fresh[need]]
            most = len(nearest) if need in many else settings.links_per_need
            links += [Link(item=one, need=need, drafted=NEARNESS) for one in nearest[:most]]
        return _Said(tuple(links))

    def asked(self, model: Model, needs: Sequence[OpenNeed], settings: Settings) -> _Said:
        """The linker's answers about the near candidates. Each need and statement is compared once."""
        looks = self._looks(needs)
        derived, by = desk_of(self._workspace).log.derived, maker(model.name, stage.PROMPT)
        sources = {(look.need, one.item): digest((look.text, one.text)) for look in looks for one in look.candidates}
        known = derived.read(LINKED, by, sources.values())
        fresh = [
            stage.NeedLook(look.need, look.text, rest)
            for look in looks
            if (rest := tuple(one for one in look.candidates if sources[look.need, one.item] not in known))
        ]
        tokens, chars = settings.budgets.link_tokens, settings.budgets.link_chars
        questions = list(stage.packed(fresh, max_chars=chars))
        space = self._workspace.name
        answers = (
            stage.ask_links(model, questions, workspace=space, max_tokens=tokens, max_chars=chars) if questions else []
        )
        rows: dict[str, bytes] = {}
        ties = [
            stage.Tie(need, item, known[source].decode())
            for (need, item), source in sources.items()
            if known.get(source)
        ]
        dropped, faults = 0, []
        for question, said in zip(questions, answers, strict=True):
            if isinstance(said, Failure):
                faults.append(f"link: {said.message}")
                continue
            quotes = {(one.need, one.item): one.quote for one in said.links}
            for need, text in question.needs:
                for one in question.candidates:
                    rows[digest((text, one.text))] = quotes.get((need, one.item), "").encode()
            ties += said.links
            dropped += len(said.dropped)
        derived.write(LINKED, by, rows)
        links = self._chosen(ties, needs, by[:LONGEST_NAME], settings)
        return _Said(tuple(links), dropped, tuple(dict.fromkeys(faults)))

    def _chosen(
        self, ties: Sequence[stage.Tie], needs: Sequence[OpenNeed], by: str, settings: Settings
    ) -> Iterator[Link]:
        """The first few items for each need, among those that stand and those that stood at departure."""
        for need in needs:
            free = set(self._candidates(need))
            own = list({one.item: one for one in ties if one.need == need.name and one.item in free}.values())
            for stands in (True, False):
                group = [one for one in own if (one.item in self._ground.baseline) == stands]
                for one in group if need.many else group[: settings.links_per_need]:
                    yield Link(item=one.item, need=one.need, quote=one.quote, drafted=by)

    def _looks(self, needs: Sequence[OpenNeed]) -> list[stage.NeedLook]:
        many = len(self._items) > stage.MOST_STATEMENTS
        ranked = self._ranked(needs) if many else {}
        looks = []
        for need in needs:
            free = dict.fromkeys(self._candidates(need))
            chosen = [item for _, item in ranked[need.name] if item in free][:SHOWN] if many else list(free)
            shown = tuple(stage.Candidate(item, self._ground.held[item].item.text) for item in chosen)
            looks.append(stage.NeedLook(need.name, need.text, shown))
        return looks

    def _candidates(self, need: OpenNeed) -> Iterator[str]:
        """Items without any answer about the need."""
        for item in self._items:
            held = self._ground.held[item]
            if need.name not in held.item.covers and need.name not in spoken_of(held):
                yield item

    def _ranked(self, needs: Sequence[OpenNeed]) -> Mapping[str, list[tuple[float, str]]]:
        if not needs or not self._items:
            return {}
        items = {item: self._described(item) for item in self._items}
        return near({need.name: need.text for need in needs}, items, self._vectors)

    def _described(self, item: str) -> str:
        own = self._ground.held[item].item
        return own.text if own.slot is None else f"{' '.join(name_words(own.slot))}. {own.text}"

    def _last(self, need: OpenNeed) -> int:
        """The epoch of the last link to a need."""
        return max((spoken_of(one).get(need.name, 0) for one in self._ground.held.values()), default=0)
