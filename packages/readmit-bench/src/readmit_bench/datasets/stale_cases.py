"""STALE: dependent-attribute invalidation over 50 sessions, three probes an episode.

The full release is one or more JSON files, each a list of records with ``haystack_session``. Where the
session text is missing (``pairs.jsonl``), a substitute haystack is made of unrelated sessions, and in those at the two
official indices the user says the statement instead of their longest turn: who speaks when is that of any other
session. The data set's notes say so, and every report prints them.

The returning agent departs after the session of the old evidence and returns after the last one.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from readmit.errors import RecordError
from readmit_bench.datasets.files import Raw, existing, parse, read_lines
from readmit_bench.episodes import Case, Dataset, Episode, Labels, Session, Turn, Wanted, opaque_id
from readmit_bench.settings import StaleSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from readmit_bench.episodes import Haystack

SESSIONS = 50
PAIRS_FILE = "pairs.jsonl"
SUBSTITUTE_NOTE = (
    "STALE: substitute haystack, not the official one: the two statements stand at their official session "
    "indices among unrelated sessions."
)
STATED_NOTES = {
    "within": "STALE: each statement stands in place of a turn of small talk, from which it differs in tone and "
    "length.",
    "opening": "STALE: each statement opens its session, before a greeting: two turns of the user in a row mark the "
    "labelled sessions, so that these figures are no measurement (stale.stated=opening).",
}

Stratum = Literal["early", "middle", "late"]
STRATA: tuple[Stratum, ...] = ("early", "middle", "late")
Index = Annotated[int, msgspec.Meta(ge=0, lt=SESSIONS)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class RawProbes(Raw, frozen=True, kw_only=True):
    """State resolution, premise resistance, implicit policy adaptation."""

    dim1_query: Text
    dim2_query: Text
    dim3_query: Text


class RawMessage(Raw, frozen=True, kw_only=True):
    """One message."""

    role: Literal["user", "assistant"]
    content: str


class RawStale(Raw, frozen=True, kw_only=True):
    """One record. Without ``haystack_session`` it is a pair."""

    uid: Text
    type: Literal["T1", "T2"]
    m_old: Text = msgspec.field(name="M_old")
    m_new: Text = msgspec.field(name="M_new")
    explanation: str
    probing_queries: RawProbes
    relevant_session_index: tuple[Index, Index]
    timestamps: Annotated[list[str], msgspec.Meta(min_length=SESSIONS, max_length=SESSIONS)]
    haystack_session: (
        Annotated[list[list[RawMessage]], msgspec.Meta(min_length=SESSIONS, max_length=SESSIONS)] | None
    ) = None


class StaleLabels(Labels, frozen=True, kw_only=True):
    """Both statements, the hidden logic between them, and where they stand."""

    type: Literal["T1", "T2"]
    stratum: Stratum | None
    old: str
    new: str
    explanation: str
    old_session: int
    new_session: int

    __repr__ = Labels.__repr__

    @property
    def block(self) -> str:
        """The stratum; Type I also has cases outside all three."""
        return self.stratum or "outside"

    def statements(self) -> tuple[tuple[Wanted, ...], tuple[Wanted, ...]]:
        return (Wanted(self.new),), (Wanted(self.old),)


def read_stale(
    root: Path,
    *,
    kind: Literal["T1", "T2"] = "T2",
    fillers: Sequence[Session] | None = None,
    settings: StaleSettings | None = None,
    seed: int = 0,
) -> Dataset[StaleLabels]:
    """The cases of one type: the official release, or, where ``fillers`` are given, pairs among those."""
    settings = settings or StaleSettings()
    existing(root, what="the STALE release")
    if fillers is None:
        records, source = _full_records(root)
    else:
        records, source = list(read_lines(existing(root / PAIRS_FILE, what="the STALE pairs"), RawStale)), PAIRS_FILE
    seen: set[str] = set()
    cases = []
    for record in records:
        if record.uid in seen:
            raise RecordError(f"{root}: uid {record.uid} occurs twice in {source}; fetch the release again")
        seen.add(record.uid)
        if record.type == kind:
            sessions = _official(record) if fillers is None else substitute(record, fillers, settings, seed=seed)
            cases.append(_case(record, sessions, settings, "official" if fillers is None else "substitute", root))
    if not cases:
        raise RecordError(f"{root}: {source} holds no record of type {kind}; name the folder that holds them")
    counts = ", ".join(f"{s} {sum(c.labels.stratum == s for c in cases)}" for s in STRATA)
    notes: tuple[str, ...] = (f"STALE: {len(cases)} cases of type {kind} ({counts}).",)
    if fillers is not None:
        notes += (SUBSTITUTE_NOTE, STATED_NOTES[settings.stated])
    return Dataset("stale", tuple(cases), notes)


def stratum_of(old_session: int, settings: StaleSettings) -> Stratum | None:
    """Where the departure falls; None outside all three, which Type II never is."""
    bounds = (settings.early, settings.middle, settings.late)
    return next((s for s, (first, last) in zip(STRATA, bounds, strict=True) if first <= old_session <= last), None)


def substitute(
    record: RawStale, fillers: Sequence[Session], settings: StaleSettings, *, seed: int
) -> tuple[Session, ...]:
    """A haystack of unrelated sessions around the two statements, the same for the same seed."""
    usable = [session for session in fillers if any(turn.speaker == "user" for turn in session.turns)]
    if len(usable) < SESSIONS:
        raise RecordError(f"fillers: {len(usable)} sessions cannot fill a haystack of {SESSIONS}; give more")
    generator = random.Random(f"{seed}\n{record.uid}")  # noqa: S311  # a repeatable shuffle, not a secret
    chosen = generator.sample(usable, SESSIONS)
    old, new = record.relevant_session_index
    stated = {old: record.m_old, new: record.m_new}
    said = _saying if settings.stated == "within" else _opening
    return tuple(
        Session(index=position, at=record.timestamps[position], turns=said(filler.turns, stated.get(position)))
        for position, filler in enumerate(chosen)
    )


def _saying(turns: tuple[Turn, ...], statement: str | None) -> tuple[Turn, ...]:
    """The turns, with the statement for the user's longest one: nothing about who speaks when marks the session."""
    if statement is None:
        return turns
    longest = max(
        (number for number, turn in enumerate(turns) if turn.speaker == "user"), key=lambda n: len(turns[n].text)
    )
    return (*turns[:longest], Turn(speaker="user", text=statement), *turns[longest + 1 :])


def _opening(turns: tuple[Turn, ...], statement: str | None) -> tuple[Turn, ...]:
    return turns if statement is None else (Turn(speaker="user", text=statement), *turns)


def _official(record: RawStale) -> tuple[Session, ...]:
    return tuple(
        Session(
            index=position,
            at=record.timestamps[position],
            turns=tuple(Turn(speaker=message.role, text=message.content) for message in messages),
        )
        for position, messages in enumerate(record.haystack_session or [])
    )


def _full_records(root: Path) -> tuple[list[RawStale], str]:
    files = [root] if root.is_file() else sorted(root.glob("*.json"))
    if not files:
        raise RecordError(
            f"{root}: holds no .json file of full records; give fillers to use {PAIRS_FILE} with a substitute haystack"
        )
    records: list[RawStale] = []
    for file in files:
        for number, record in enumerate(parse(file.read_bytes(), list[RawStale], file=file)):
            if record.haystack_session is None:
                raise RecordError(f"{file}: record {number} ({record.uid}) has no haystack_session; it is only a pair")
            records.append(record)
    return records, ", ".join(file.name for file in files)


def _case(
    record: RawStale, sessions: Iterable[Session], settings: StaleSettings, haystack: Haystack, root: Path
) -> Case[StaleLabels]:
    old, new = record.relevant_session_index
    if old >= new:
        raise RecordError(f"{root}: {record.uid}: relevant_session_index [{old}, {new}] does not run forward in time")
    probes = record.probing_queries
    return Case(
        Episode(
            id=opaque_id("stale", f"{haystack}/{record.uid}"),
            benchmark="stale",
            tasks=(probes.dim1_query, probes.dim2_query, probes.dim3_query),
            departure=old,
            sessions=tuple(sessions),
            haystack=haystack,
        ),
        StaleLabels(
            case=record.uid,
            type=record.type,
            stratum=stratum_of(old, settings),
            old=record.m_old,
            new=record.m_new,
            explanation=record.explanation,
            old_session=old,
            new_session=new,
        ),
    )
