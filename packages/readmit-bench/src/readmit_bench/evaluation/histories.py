"""Histories of fifty sessions with one pair in them: where proposals are measured.

The old and the new statement stand at their official places; the rest is filler. Where the filler is not the
benchmark's own, this is a substitute haystack, and every report says so.
"""

from __future__ import annotations

import random
import re
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from readmit import Pair
from readmit.errors import RecordError
from readmit.lab import Observation, Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit_bench.evaluation.development import Filler, Implied, StalePair

SESSIONS = 50


class HistorySession(msgspec.Struct, frozen=True):
    """What one session says, what its statement rests on, and what it implies."""

    name: str
    text: str
    premises: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


class PairHistory(msgspec.Struct, frozen=True, dict=True):
    """Sessions in order of time; the agent departs after ``old`` and returns after the last."""

    uid: str
    sessions: tuple[HistorySession, ...]
    old: int
    new: int
    statements: bool = False
    """Whether an extractor has read the sessions. Then each fact is an item, and a session without any is no evidence.
    Otherwise each session is an item."""

    def stated(self) -> PairHistory:
        """The same history as an extractor leaves it: of a session it knows what it states, not what that implies."""
        sessions = list(self.sessions)
        sessions[self.new] = msgspec.structs.replace(sessions[self.new], facts=(sessions[self.new].text,))
        return msgspec.structs.replace(self, sessions=tuple(sessions), statements=True)

    @property
    def true(self) -> Pair:
        """The pair to find."""
        return Pair(item=self.sessions[self.old].name, evidence=self.sessions[self.new].name)

    @cached_property
    def items(self) -> dict[str, HistorySession]:
        """What may have changed, by name: whole sessions, or what they state."""
        found: dict[str, HistorySession] = {}
        for at, session in enumerate(self.sessions[: self.old + 1]):
            if at == self.old or not self.statements:
                found[session.name] = session
            else:
                lines = {f"{session.name}#{n}": line for n, line in enumerate(session.facts)}
                found |= {name: HistorySession(name, line, (line,), (line,)) for name, line in lines.items()}
        return found

    @cached_property
    def later(self) -> dict[str, HistorySession]:
        """What may have changed it, by name."""
        if not self.statements:
            return {session.name: session for session in self.sessions}
        # The pair's own sessions hold its statements; of another one, the extractor left what it states.
        own = {self.sessions[self.old].name, self.sessions[self.new].name}
        return {
            one.name: one if one.name in own else msgspec.structs.replace(one, text="\n\n".join(one.facts))
            for one in self.sessions
            if one.name in own or one.facts
        }

    def targets(self, *, alone: bool) -> list[Target]:
        """The old statement, or one item for everything that the agent knew when it departed."""
        at = {session.name: place for place, session in enumerate(self.sessions)}
        names = [self.true.item] if alone else list(self.items)
        return [
            Target(item=name, epoch=at[session], sources=frozenset({session}))
            for name in names
            for session in [name.partition("#")[0]]
        ]

    def observations(self) -> list[Observation]:
        return [
            Observation(evidence=session.name, epoch=at)
            for at, session in enumerate(self.sessions)
            if session.name in self.later
        ]


def build_history(
    pair: StalePair,
    implied: Implied | None,
    filler: Sequence[Filler],
    *,
    seed: int,
    rivals: Sequence[tuple[StalePair, Implied | None]] = (),
    buried: bool = False,
) -> PairHistory:
    """One history. ``rivals`` put other pairs' new statements into the absence, in place of filler.

    ``buried`` puts the new statement into the middle of an unrelated session, as people talk.
    """
    # A generator per history: leaving one pair out does not change the others.
    generator = random.Random(f"{seed}:{pair.uid}")  # noqa: S311 - a seeded experiment
    old, new = pair.index
    if len(filler) < SESSIONS - 2:
        raise RecordError(f"filler: {len(filler)} sessions do not fill a history; {SESSIONS - 2} are needed")
    drawn = generator.sample(range(len(filler)), SESSIONS - 2)
    places = [at for at in range(SESSIONS) if at not in (old, new)]
    sessions = dict(zip(places, (_filled(number, filler[number]) for number in drawn), strict=True))
    absence = [at for at in places if at > old]
    for at, (rival, facts) in zip(generator.sample(absence, len(rivals)), rivals, strict=True):
        sessions[at] = HistorySession(f"{rival.uid}/new", rival.new, facts=facts.new_implied if facts else ())
    sessions[old] = HistorySession(f"{pair.uid}/old", pair.old, premises=implied.old_premises if implied else ())
    sessions[new] = HistorySession(f"{pair.uid}/new", pair.new, facts=implied.new_implied if implied else ())
    if buried:
        around = filler[generator.choice([number for number in range(len(filler)) if number not in drawn] or drawn)]
        own = sessions[new]
        text = _inside(around.text, pair.new, generator)
        sessions[new] = msgspec.structs.replace(own, text=text, facts=(*around.implied, *own.facts))
    return PairHistory(pair.uid, tuple(sessions[at] for at in range(SESSIONS)), old, new)


def _inside(text: str, statement: str, generator: random.Random) -> str:
    sentences = re.split(r"(?<=[.!?])\s+", text)
    at = generator.randint(0, len(sentences))
    return " ".join([*sentences[:at], statement, *sentences[at:]])


def _filled(number: int, filler: Filler) -> HistorySession:
    # What a filler session states is also what an item drawn from it would rest on.
    return HistorySession(f"filler/{number}", filler.text, premises=filler.implied, facts=filler.implied)


def histories(
    pairs: Sequence[StalePair],
    implied: Mapping[str, Implied],
    filler: Sequence[Filler],
    *,
    seed: int,
    rivals: int = 0,
    buried: bool = False,
) -> list[PairHistory]:
    """One history per pair; with ``rivals``, that many unrelated changes are also reported in each absence."""
    result = []
    for number, pair in enumerate(pairs):
        others = [other for at, other in enumerate(pairs) if at != number]
        generator = random.Random(f"{seed}:{pair.uid}:rivals")  # noqa: S311 - a seeded experiment
        chosen = generator.sample(others, rivals)
        result.append(
            build_history(
                pair,
                implied.get(pair.uid),
                filler,
                seed=seed,
                rivals=[(other, implied.get(other.uid)) for other in chosen],
                buried=buried,
            )
        )
    return result


def statements_only(pairs: Sequence[StalePair], implied: Mapping[str, Implied]) -> list[PairHistory]:
    """The hard case: every later observation reports some change. One history per pair, all new statements in it."""
    later = tuple(HistorySession(f"{pair.uid}/new", pair.new, facts=implied[pair.uid].new_implied) for pair in pairs)
    return [
        PairHistory(
            pair.uid,
            (HistorySession(f"{pair.uid}/old", pair.old, premises=implied[pair.uid].old_premises), *later),
            old=0,
            new=number + 1,
        )
        for number, pair in enumerate(pairs)
    ]
