"""One return as it was decided, or would be decided now: its request, judgments and snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from readmit.diagnosis.cause_words import replacements
from readmit.diagnosis.history import in_words, premises
from readmit.records.decisions import Decision, Disposition, Request
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.reasons import Reason, State
from readmit.records.remedies import BLANK
from readmit.records.snapshot import WorkState
from readmit.rules.capture.fold import fold
from readmit.rules.capture.links import linked_needs
from readmit.state.absence import is_away
from readmit.state.past_returns import dispositions, recorded

if TYPE_CHECKING:
    from readmit.log.log import Log
    from readmit.records.acts.event import Checkpoint
    from readmit.records.identity import Identity
    from readmit.records.policy import Policy
    from readmit.returning.desk import Desk

FIT = frozenset({State.ADMITTED, State.NOT_NEEDED, State.WITHHELD})
"""States of an item that passed every gate, in an admitted return or another."""


class Trial(msgspec.Struct, frozen=True):
    """A decided return with its candidates in log order."""

    request: Request
    decision: Decision
    judged: Mapping[str, Disposition]
    items: Mapping[str, Item]
    links: Mapping[str, tuple[str, ...]] = {}
    """The dependencies that links make the candidates support."""
    slots: frozenset[str] = frozenset()
    """The missing dependencies that are slots of any item, or can be: no item names them in ``supports``."""
    away: frozenset[str] = frozenset()
    """Principals that are away from the task and so decide nothing about it, the reader included."""

    @property
    def reader(self) -> str:
        return self.request.identity.principal

    @property
    def policy(self) -> Policy:
        return self.request.policy

    @property
    def overseer(self) -> str | None:
        """An overseer who may overrule a rejection in this return."""
        return next((name for name in self.policy.evidence.overseers if name not in self.away), None)

    def writer(self, last: str | None = None) -> str:
        """An allowed writer: ``last`` if the policy allows it, or else the first allowed one."""
        allowed = self.policy.evidence.writers
        if last is not None and (not allowed or last in allowed):
            return last
        return next((name for name in allowed if name != self.reader), BLANK)

    def other_writer(self, last: str) -> str:
        """Another allowed writer, for an act that a principal cannot do while away."""
        found = self.writer(None if last in self.away else last)
        return next((name for name in (found, *self.policy.evidence.writers) if name not in self.away), BLANK)

    def uninvolved(self, *sides: str | None) -> str:
        """A principal that may decide between two sides: an overseer, or an allowed writer."""
        allowed = (*self.policy.evidence.overseers, *self.policy.evidence.writers)
        return next((name for name in allowed if name not in (*sides, *self.away)), BLANK)

    def fit(self, name: str) -> bool:
        """Whether a candidate passed every gate."""
        return self.judged[name].state in FIT

    def standing(self) -> Iterator[Item]:
        """Statements that passed every gate, the newest first."""
        for item in reversed(tuple(self.items.values())):
            if not isinstance(item, Obligation | Frontier) and self.fit(item.id):
                yield item

    def why(self, name: str) -> tuple[str, ...]:
        """Why a candidate is in or out, one sentence per reason, safe to print.

        An item that names other principals is not quoted: its text is for those.
        """
        one = self.judged[name]
        named = replacements(one, *premises(one, self.judged).values())
        texts = {ref: self.items[ref].text for ref in named if ref in self.items and self._is_shown(ref)}
        return tuple(in_words(one, self.judged, texts))

    def _is_shown(self, name: str) -> bool:
        return Reason.PRINCIPAL_OUT_OF_SCOPE not in self.judged[name].reasons

    def meets(self, item: Item, need: str) -> bool:
        """Whether an item is evidence for a dependency, by its own words or by a link.

        An item that names other principals is a candidate only because it shares a slot. To this reader it does not
        exist, so its text is not reported.
        """
        return self._is_shown(item.id) and (need in item.covers or need in self.links.get(item.id, ()))


def past(log: Log, return_id: str) -> Trial:
    """A past return."""
    returned, decision = recorded(log, return_id)
    judged = {one.item: one for one in dispositions(log, return_id)}
    return _trial(log, returned.request, decision, judged)


def rehearse(
    desk: Desk, departed: Checkpoint, identity: Identity, *, purpose: str | None, policy: Policy | None = None
) -> Trial:
    """The return as it would be decided at the end of the log, or under another policy. Nothing is written."""
    with desk.log.reading():
        request, outcome, _ = desk.rehearse(departed, identity, purpose=purpose, policy=policy)
        return _trial(desk.log, request, outcome.decision, {one.item: one for one in outcome.dispositions})


def _trial(log: Log, request: Request, decision: Decision, judged: Mapping[str, Disposition]) -> Trial:
    items, links = _items(log, request, judged)
    slots = frozenset(name for name in decision.missing if log.is_slot(name) or not log.is_dependency(name))
    others = {
        *request.policy.evidence.overseers,
        *request.policy.evidence.writers,
        *(item.by for item in items.values()),
    }
    reader = request.identity
    away = {name for name in others if is_away(log, name, reader.task)} | {reader.principal}
    return Trial(request, decision, judged, items, links, slots, frozenset(away))


def _items(log: Log, request: Request, judged: Iterable[str]) -> tuple[dict[str, Item], dict[str, tuple[str, ...]]]:
    """The candidates, read in one query if possible, with the dependencies that links make them support."""
    state = fold(WorkState(), log.seen(request.identity, until=request.epoch))
    items = {name: state.held[name].item if name in state.held else log.item(name) for name in judged}
    return items, linked_needs(state.held, request.policy, request.moment)
