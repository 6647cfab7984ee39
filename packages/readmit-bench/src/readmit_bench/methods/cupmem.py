"""CUPMem (STALE only): a current-state memory, kept at write time and consulted at query time.

Write side, conversation by conversation: at most two state-bearing passages (salience ≥ .30); propositions under ten
buckets (explicit ≥ .45); the other buckets that they may affect; an update judge over the same track (add, refine,
replace, invalidate, none); an invalidation judge over three lanes of at most three items each (same bucket, affected
buckets, global recall): it invalidates at ≥ .55, and challenges or sets the current value unknown at ≥ .60. A stale
item links to its successor.

Query side, for each question: read it; retrieve by lane (5 direct, 8 affected, 6 global; global recall needs a share
of common words ≥ .45); give a verdict on what it takes for granted (supported, outdated, unresolved); ground the
action; build constraints from both; answer under them.

In rounds through files, all sessions are read in one round, filed in the next, and their affected buckets named in a
third; updating and invalidating go session by session, because each shows what the memory holds by then.

The published description gives the thresholds by name only; we chose the step for each. Conversations are read whole;
an item rests on the user's words. The method forms its own memory: it gets the conversations and not the work state
that the others share. The view is the turns behind the items in use, so that it can be scored like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from readmit.errors import ModelError, PendingAnswers
from readmit.lab import grounded, line
from readmit.models import Failure, ask_typed
from readmit_bench.actor_answers import texts
from readmit_bench.episodes import View
from readmit_bench.methods.cupmem_memory import BUCKETS, SCHEMA, Memory
from readmit_bench.methods.method import retrieved
from readmit_bench.methods.state import SESSION
from readmit_bench.plain_turns import excerpt
from readmit_bench.prompt_requests import request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from readmit.models import Model
    from readmit_bench.episodes import Checkpoint, Row
    from readmit_bench.methods.cupmem_memory import Item

SALIENCE, EXPLICIT, STRONG, MEDIUM, FALLBACK = 0.30, 0.45, 0.55, 0.60, 0.45
DIRECT, AFFECTED, GLOBAL = 5, 8, 6
PASSAGES, LANE = 2, 3
# What the paper's runs reserved for a completion of this method.
TOKENS = 3_072


class Passage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A passage that bears state."""

    quote: str
    salience: float


class Passages(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of one session."""

    passages: list[Passage]


class Proposition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A passage, filed."""

    quote: str
    statement: str
    bucket: str
    track: str
    confidence: float


class Propositions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of one session."""

    propositions: list[Proposition]


class Affected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The other buckets that something new may affect."""

    buckets: list[str]


class Update(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What becomes of one new proposition."""

    proposition: int
    decision: Literal["add", "refine", "replace", "invalidate", "none"]
    item: int


class Updates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of one session."""

    updates: list[Update]


class Effect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What something new does to one older item."""

    item: int
    decision: Literal["invalidate", "challenge", "unknown", "none"]
    new_item: int
    confidence: float


class Effects(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of one session."""

    effects: list[Effect]


class Parsed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a question needs and takes for granted."""

    needed: list[str]
    affected: list[str]
    taken_for_granted: str


class Premise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether what a question takes for granted still holds."""

    reason: str
    verdict: Literal["supported", "outdated", "unresolved"]


class Ground(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an answer may rest on."""

    rest_on: list[str]
    avoid: list[str]


A = TypeVar("A", bound=msgspec.Struct)
A1 = TypeVar("A1")
A2 = TypeVar("A2")


@dataclass
class Drawn:
    """The propositions of one session, each with its row and quote, and the other buckets that they may affect."""

    new: list[tuple[Proposition, Row, str]]
    affected: list[str] = field(default_factory=list)

    @property
    def listed(self) -> str:
        return "\n".join(
            f"{n}. [{one.bucket}/{one.track}] {one.statement}" for n, (one, _, _) in enumerate(self.new, 1)
        )


class CUPMem:
    """One episode's memory: written by ``view``, consulted by ``respond``."""

    name = "CUPMem"

    def __init__(self, model: Model, *, answer_tokens: int) -> None:
        self._model, self._answer_tokens = model, answer_tokens
        self._memory = Memory()

    def view(self, checkpoint: Checkpoint) -> View:
        self._memory = Memory()
        rows = sorted(checkpoint.rows, key=lambda row: row.at)
        self._write(self._drawn(checkpoint, rows))
        usable = self._memory.usable()
        by_id = {row.id: row for row in rows}
        quotes: dict[str, list[str]] = {}
        for item in usable:
            quotes.setdefault(item.row, []).append(item.quote)
        handed = retrieved(checkpoint, quotes)
        cut = {row: excerpt(by_id[row].text, quotes[row]) for row in handed}
        gone: dict[str, tuple[str, ...]] = {
            i.row: ("stale",) for i in self._memory.items.values() if i.status == "stale" and i.row not in quotes
        }
        excerpts = {row: text for row, text in cut.items() if text != by_id[row].text}
        return View(method=self.name, rows=handed, excerpts=excerpts, left_out=gone)

    def respond(self, actor: Model, checkpoint: Checkpoint, view: View) -> tuple[str, ...]:  # noqa: ARG002
        """Run the questions through the query side, step by step side by side; the view is not used."""
        return tuple(self._answered(actor, checkpoint.tasks))

    # Write side. What needs no memory is asked of all sessions at once.

    def _drawn(self, checkpoint: Checkpoint, rows: Sequence[Row]) -> list[Drawn]:
        """The propositions of each session that has some, in order."""
        turns = {name: list(part) for name, part in groupby(rows, key=lambda row: row.at // SESSION)}
        said = ["\n".join(f"[{turn.speaker}]\n{turn.text}" for turn in one.turns) for one in checkpoint.history]
        found = self._asked("cup-chunks@1", [[("session", text)] for text in said], Passages)
        bearing = []
        for session, text, one in zip(checkpoint.history, said, found, strict=True):
            passages = [(p, q) for p in one.passages if p.salience >= SALIENCE and (q := grounded(p.quote, text))]
            best = [quote for _, quote in sorted(passages, key=lambda pair: -pair[0].salience)[:PASSAGES]]
            if best:
                bearing.append((turns.get(session.index, []), "\n\n".join(best)))
        sections = [[("schema", SCHEMA), ("passages", best)] for _, best in bearing]
        drawn = [
            Drawn(new)
            for (part, _), listed in zip(bearing, self._asked("cup-extract@2", sections, Propositions), strict=True)
            if (new := [filed for one in listed.propositions if (filed := _filed(one, part))])
        ]
        sections = [[("schema", SCHEMA), ("what is new", one.listed)] for one in drawn]
        for session_drawn, affected in zip(drawn, self._asked("cup-affected@1", sections, Affected), strict=True):
            session_drawn.affected = [bucket for bucket in affected.buckets if bucket in BUCKETS]
        return drawn

    def _write(self, drawn: Sequence[Drawn]) -> None:
        """Session by session: update, then invalidate. Where that cannot change it, the next update goes along."""
        updates: list[Update] | None = None
        for one, following in zip_longest(drawn, drawn[1:]):
            added = self._added(one, self._updates(one) if updates is None else updates)
            candidates = self._candidates(added, one.affected)
            updates = None
            if candidates and following is not None and not candidates.keys() & self._same_tracks(following).keys():
                effects, updates = together(
                    lambda: self._effects(added, candidates),  # noqa: B023  # called at once
                    lambda: self._updates(following),  # noqa: B023
                )
            else:
                effects = self._effects(added, candidates) if candidates else []
            self._invalidate(effects, added, candidates)

    def _same_tracks(self, drawn: Drawn) -> dict[int, Item]:
        filed = (self._memory.same_track(one.bucket, one.track) for one, _, _ in drawn.new)
        return {item.number: item for items in filed for item in items}

    def _updates(self, drawn: Drawn) -> list[Update]:
        filed = list(self._same_tracks(drawn).values())
        if not filed:
            return []
        sections = [("new propositions", drawn.listed), ("filed items", self._memory.listed(filed))]
        return self._asked("cup-update@1", [sections], Updates)[0].updates

    def _added(self, drawn: Drawn, updates: Sequence[Update]) -> list[Item]:
        memory, filed = self._memory, self._same_tracks(drawn)
        decided = {one.proposition: one for one in updates}
        added = []
        for number, (one, row, quote) in enumerate(drawn.new, start=1):
            update = decided.get(number)
            if update is not None and update.decision == "none":
                continue
            item = memory.add(one.bucket, one.track, line(one.statement), row.id, quote)
            added.append(item)
            if update is not None and update.decision != "add" and update.item in filed:
                # A refined item did not become wrong.
                memory.mark(update.item, "refined" if update.decision == "refine" else "stale", item.number)
        return added

    def _candidates(self, added: Sequence[Item], affected: Sequence[str]) -> dict[int, Item]:
        memory = self._memory
        fresh = {item.number for item in added}
        older = [item for item in memory.usable() if item.number not in fresh] if added else []
        said = " ".join(item.text for item in added)
        buckets = {item.bucket for item in added}
        lanes = (
            memory.nearest(said, [i for i in older if i.bucket in buckets], LANE, -1.0),
            memory.nearest(said, [i for i in older if i.bucket in affected], LANE, -1.0),
            memory.nearest(said, older, LANE),
        )
        return {item.number: item for lane in lanes for item in lane}

    def _effects(self, added: Sequence[Item], candidates: Mapping[int, Item]) -> list[Effect]:
        listed = self._memory.listed
        sections = [("what is new", listed(list(added))), ("older items", listed(list(candidates.values())))]
        return self._asked("cup-invalidate@2", [sections], Effects)[0].effects

    def _invalidate(self, effects: Sequence[Effect], added: Sequence[Item], candidates: Mapping[int, Item]) -> None:
        fresh = {item.number for item in added}
        for effect in effects:
            if effect.item not in candidates:
                continue
            if effect.decision == "invalidate" and effect.confidence >= STRONG:
                successor = effect.new_item if effect.new_item in fresh else added[0].number
                self._memory.mark(effect.item, "stale", successor)
            elif effect.decision in ("challenge", "unknown") and effect.confidence >= MEDIUM:
                self._memory.mark(effect.item, "challenged" if effect.decision == "challenge" else "unknown")

    # Query side.

    def _answered(self, actor: Model, tasks: Sequence[str]) -> list[str]:
        sections = [[("schema", SCHEMA), ("question", task)] for task in tasks]
        parsed = self._asked("cup-parse@1", sections, Parsed)
        shown = [self._shown(task, one) for task, one in zip(tasks, parsed, strict=True)]
        granted = [one.taken_for_granted or "(nothing)" for one in parsed]
        each = list(zip(tasks, granted, shown, strict=True))
        sections = [[("question", task), ("taken for granted", taken), ("memory", text)] for task, taken, text in each]
        premises = self._asked("cup-premise@1", sections, Premise)
        findings = [f"{taken}: {p.verdict}. {line(p.reason)}" for taken, p in zip(granted, premises, strict=True)]
        each = list(zip(tasks, findings, shown, strict=True))
        sections = [[("question", task), ("finding", finding), ("memory", text)] for task, finding, text in each]
        grounds = self._asked("cup-ground@2", sections, Ground)
        asks = []
        for task, text, premise, ground in zip(tasks, shown, premises, grounds, strict=True):
            notes = "\n".join(
                (
                    text,
                    f"What the message takes for granted is {premise.verdict}.",
                    *(f"Rest on: {one}" for one in ground.rest_on),
                    *(f"Avoid: {one}" for one in ground.avoid),
                )
            )
            sections_shown = [("notes", notes), ("message", task)]
            asks.append(request("respond@1", "answer", sections_shown, max_tokens=self._answer_tokens))
        return list(texts(actor, asks))

    def _shown(self, task: str, parsed: Parsed) -> str:
        """The part of the memory that a question is answered from."""
        memory = self._memory
        # Stale items are consulted too: they show that a premise is outdated.
        everything = [item for item in memory.items.values() if item.status != "refined"]
        asked = f"{task} {parsed.taken_for_granted}"
        lanes = (
            memory.nearest(asked, [i for i in everything if i.bucket in parsed.needed], DIRECT, -1.0),
            memory.nearest(asked, [i for i in everything if i.bucket in parsed.affected], AFFECTED, -1.0),
            memory.nearest(asked, everything, GLOBAL, FALLBACK),
        )
        return memory.listed(list({item.number: item for lane in lanes for item in lane}.values()))

    def _asked(self, prompt: str, sections: Sequence[Sequence[tuple[str, str]]], kind: type[A]) -> list[A]:
        """Typed answers. An unusable one ends the episode: the method needs its whole memory."""
        asks = [request(prompt, prompt.partition("@")[0], one, max_tokens=TOKENS) for one in sections]
        found = ask_typed(self._model, asks, kind) if asks else []
        for said in found:
            if isinstance(said, Failure):
                raise ModelError(f"{prompt}: {said.fault}: {said.message}")
        return [said for said in found if not isinstance(said, Failure)]


def _filed(one: Proposition, part: Sequence[Row]) -> tuple[Proposition, Row, str] | None:
    """A proposition with the row whose words it rests on, if it is explicit and of the schema."""
    row = next((row for row in part if grounded(one.quote, row.text)), None)
    known = one.bucket in BUCKETS and one.track in BUCKETS[one.bucket]
    if row is None or not known or one.confidence < EXPLICIT or not line(one.statement):
        return None
    return one, row, grounded(one.quote, row.text)


def together(first: Callable[[], A1], second: Callable[[], A2]) -> tuple[A1, A2]:
    """Ask two things in one round: a missing answer to one does not hold up the other."""
    waiting: PendingAnswers | None = None
    try:
        one = first()
    except PendingAnswers as stop:
        waiting = stop
    other = second()
    if waiting is not None:
        raise waiting
    return one, other
