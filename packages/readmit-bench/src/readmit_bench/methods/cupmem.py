"""CUPMem (STALE only): a current-state memory, kept at write time and consulted at query time.

Write side, conversation by conversation: at most two state-bearing passages (salience ≥ .30); propositions under ten
buckets (explicit ≥ .45); the other buckets that they may affect; an update judge over the same track (add, refine,
replace, invalidate, none); an invalidation judge over three lanes of at most three items each (same bucket, affected
buckets, global recall): it invalidates at ≥ .55, and challenges or sets the current value unknown at ≥ .60. A stale
item links to its successor.

Query side, for each question: read it; retrieve by lane (5 direct, 8 affected, 6 global; global recall needs a share
of common words ≥ .45); give a verdict on what it takes for granted (supported, outdated, unresolved); ground the
action; build constraints from both; answer under them.

The published description gives the thresholds by name only; we chose the step for each. Conversations are read whole;
an item rests on the user's words. The method forms its own memory: it gets the conversations and not the work state
that the others share. The view is the turns behind the items in use, so that it can be scored like any other.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from readmit.errors import ModelError
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
    from collections.abc import Sequence

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


class CUPMem:
    """One episode's memory: written by ``view``, consulted by ``respond``."""

    name = "CUPMem"

    def __init__(self, model: Model, *, answer_tokens: int) -> None:
        self._model, self._answer_tokens = model, answer_tokens
        self._memory = Memory()

    def view(self, checkpoint: Checkpoint) -> View:
        self._memory = Memory()
        rows = sorted(checkpoint.rows, key=lambda row: row.at)
        turns = {name: list(part) for name, part in groupby(rows, key=lambda row: row.at // SESSION)}
        for session in checkpoint.history:
            said = "\n".join(f"[{turn.speaker}]\n{turn.text}" for turn in session.turns)
            self._write(said, turns.get(session.index, []))
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
        """Run each question through the query side; the view is not used."""
        return tuple(self._answered(actor, task) for task in checkpoint.tasks)

    # Write side.

    def _write(self, session: str, part: Sequence[Row]) -> None:
        found = self._asked("cup-chunks@1", [("session", session)], Passages)
        passages = [(p, q) for p in found.passages if p.salience >= SALIENCE and (q := grounded(p.quote, session))]
        best = [quote for _, quote in sorted(passages, key=lambda pair: -pair[0].salience)[:PASSAGES]]
        if not best:
            return
        said = self._asked("cup-extract@2", [("schema", SCHEMA), ("passages", "\n\n".join(best))], Propositions)
        new = []
        for one in said.propositions:
            row = next((row for row in part if grounded(one.quote, row.text)), None)
            known = one.bucket in BUCKETS and one.track in BUCKETS[one.bucket]
            if row is not None and known and one.confidence >= EXPLICIT and line(one.statement):
                new.append((one, row, grounded(one.quote, row.text)))
        added = self._updated(new) if new else []
        if added:
            sections = [("schema", SCHEMA), ("what is new", self._memory.listed(added))]
            affected = self._asked("cup-affected@1", sections, Affected).buckets
            self._invalidated(added, [bucket for bucket in affected if bucket in BUCKETS])

    def _updated(self, new: Sequence[tuple[Proposition, Row, str]]) -> list[Item]:
        memory = self._memory
        filed = {i.number: i for one, _, _ in new for i in memory.same_track(one.bucket, one.track)}
        listed = "\n".join(f"{n}. [{one.bucket}/{one.track}] {one.statement}" for n, (one, _, _) in enumerate(new, 1))
        decided: dict[int, Update] = {}
        if filed:
            sections = [("new propositions", listed), ("filed items", memory.listed(list(filed.values())))]
            decided = {one.proposition: one for one in self._asked("cup-update@1", sections, Updates).updates}
        added = []
        for number, (one, row, quote) in enumerate(new, start=1):
            update = decided.get(number)
            if update is not None and update.decision == "none":
                continue
            item = memory.add(one.bucket, one.track, line(one.statement), row.id, quote)
            added.append(item)
            if update is not None and update.decision != "add" and update.item in filed:
                # A refined item did not become wrong.
                memory.mark(update.item, "refined" if update.decision == "refine" else "stale", item.number)
        return added

    def _invalidated(self, added: Sequence[Item], affected: Sequence[str]) -> None:
        memory = self._memory
        fresh = {item.number for item in added}
        older = [item for item in memory.usable() if item.number not in fresh]
        said = " ".join(item.text for item in added)
        buckets = {item.bucket for item in added}
        lanes = (
            memory.nearest(said, [i for i in older if i.bucket in buckets], LANE, -1.0),
            memory.nearest(said, [i for i in older if i.bucket in affected], LANE, -1.0),
            memory.nearest(said, older, LANE),
        )
        candidates = list({item.number: item for lane in lanes for item in lane}.values())
        if not candidates:
            return
        sections = [("what is new", memory.listed(list(added))), ("older items", memory.listed(candidates))]
        known = {item.number for item in candidates}
        for effect in self._asked("cup-invalidate@2", sections, Effects).effects:
            if effect.item not in known:
                continue
            if effect.decision == "invalidate" and effect.confidence >= STRONG:
                successor = effect.new_item if effect.new_item in fresh else added[0].number
                memory.mark(effect.item, "stale", successor)
            elif effect.decision in ("challenge", "unknown") and effect.confidence >= MEDIUM:
                memory.mark(effect.item, "challenged" if effect.decision == "challenge" else "unknown")

    # Query side.

    def _answered(self, actor: Model, task: str) -> str:
        memory = self._memory
        parsed = self._asked("cup-parse@1", [("schema", SCHEMA), ("question", task)], Parsed)
        # Stale items are consulted too: they show that a premise is outdated.
        everything = [item for item in memory.items.values() if item.status != "refined"]
        asked = f"{task} {parsed.taken_for_granted}"
        lanes = (
            memory.nearest(asked, [i for i in everything if i.bucket in parsed.needed], DIRECT, -1.0),
            memory.nearest(asked, [i for i in everything if i.bucket in parsed.affected], AFFECTED, -1.0),
            memory.nearest(asked, everything, GLOBAL, FALLBACK),
        )
        used = list({item.number: item for lane in lanes for item in lane}.values())
        shown = memory.listed(used)
        granted = parsed.taken_for_granted or "(nothing)"
        sections = [("question", task), ("taken for granted", granted), ("memory", shown)]
        premise = self._asked("cup-premise@1", sections, Premise)
        finding = f"{granted}: {premise.verdict}. {line(premise.reason)}"
        sections = [("question", task), ("finding", finding), ("memory", shown)]
        ground = self._asked("cup-ground@2", sections, Ground)
        notes = "\n".join(
            (
                shown,
                f"What the message takes for granted is {premise.verdict}.",
                *(f"Rest on: {one}" for one in ground.rest_on),
                *(f"Avoid: {one}" for one in ground.avoid),
            )
        )
        sections = [("notes", notes), ("message", task)]
        ask = request("respond@1", "answer", sections, max_tokens=self._answer_tokens)
        return texts(actor, [ask])[0]

    def _asked(self, prompt: str, sections: Sequence[tuple[str, str]], kind: type[A]) -> A:
        """One typed answer. An unusable one ends the episode: the method needs its whole memory."""
        ask = request(prompt, prompt.partition("@")[0], sections, max_tokens=TOKENS)
        (said,) = ask_typed(self._model, [ask], kind)
        if isinstance(said, Failure):
            raise ModelError(f"{prompt}: {said.fault}: {said.message}")
        return said
