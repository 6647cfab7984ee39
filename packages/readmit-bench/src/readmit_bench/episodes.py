"""What a method may see, and what only a scorer may see. The two share nothing but an opaque id.

An ``Episode`` holds conversations and questions. ``Labels`` hold everything the benchmark knows
about them. A ``Case`` pairs the two and stays with the data set and the scorer; a method is handed a
``Checkpoint``, whose fields can hold neither (``admitted`` refuses anything else). Ids are opaque,
because a task name and a position would reveal the condition to a ManBench method.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

import msgspec

from readmit.events import Record
from readmit.lab import Plan, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit_bench.polarity import Polarity

Haystack = Literal["official", "substitute"]
Operation = Literal["add", "update", "delete"]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

# The paper's adaptation of MemTX gives every row the same standing.
CONFIDENCE = 0.75
AUTHORITY = 0.5

# The separator between parts of an excerpt.
GAP = " … "


class Turn(Record, frozen=True, kw_only=True):
    """One message of a conversation, without the benchmark's annotations."""

    speaker: Literal["user", "assistant"]
    text: str


class Session(Record, frozen=True, kw_only=True):
    """One conversation at a position of the history."""

    index: int
    at: str
    turns: tuple[Turn, ...]


class Row(Record, frozen=True, kw_only=True):
    """One statement in the post-absence checkpoint, in the terms all methods understand.

    Moments (``at``, ``valid_from``, ``valid_until``) are positions on the episode's own clock.
    ``departure`` says that the returning agent already held the row when it left. A row is a turn of the conversation,
    or a statement that an extractor drew from one: then ``turn`` names the turn, ``text`` is its words, verbatim.
    """

    id: str
    text: str
    at: int
    source: str
    departure: bool
    slot: str | None = None
    entity: str | None = None
    attribute: str | None = None
    operation: Operation = "add"
    valid_from: int | None = None
    valid_until: int | None = None
    invalidated: bool = False
    supersedes: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    snapshot: int | None = None
    confidence: Share = CONFIDENCE
    authority: Share = AUTHORITY
    task_version: str | None = None
    answer: str | None = None
    """The bare answer, where the text says more."""
    turn: str | None = None
    statement: str = ""
    """The extractor's own sentence for the words: to search the row by, and to show beside its words."""
    premises: tuple[str, ...] = ()
    """What has to hold for the statement to stay true, as the extractor wrote it."""

    @property
    def start(self) -> int:
        """When the statement began to hold: when it was made, unless it says otherwise."""
        return self.at if self.valid_from is None else self.valid_from

    def holds_at(self, moment: int) -> bool:
        """Whether the validity interval, closed at its start and open at its end, contains the moment."""
        return self.start <= moment and (self.valid_until is None or moment < self.valid_until)


class Budget(Record, frozen=True, kw_only=True):
    """How much a view may hold, the same for every method.

    Retrieval fills ``union``. ``at_most`` is the room for what a method's obligations need beyond that; without it,
    there is none.
    """

    per_query: int
    union: int
    at_most: int | None = None
    characters: int | None = None


class Checkpoint(Record, frozen=True, kw_only=True):
    """The post-absence state every method starts from: rows in time order, and how retrieval ranks them.

    ``relevance`` lists, for each query, all row ids from the most to the least relevant. The first queries are the
    tasks; those that a shared planner wrote for them come after.
    """

    tasks: tuple[str, ...]
    rows: tuple[Row, ...]
    relevance: tuple[tuple[str, ...], ...]
    budget: Budget
    now: int
    task_version: str | None = None
    history: tuple[Session, ...] = ()
    """Everything that was said up to the return, for a memory store that retrieves by itself."""
    departure: int | None = None
    """The last session of the history before the absence."""
    observations: tuple[Row, ...] = ()
    """The turns that rows were drawn from, in time order, where the rows are not those turns themselves."""
    read: tuple[int, ...] = ()
    """The sessions that the extractor read. What it took down from them is what they state."""
    plans: tuple[Plan | None, ...] = ()
    """What each task takes, where planning is part of the shared pipeline; None where it failed."""

    @property
    def heard(self) -> tuple[Row, ...]:
        """The conversations, turn by turn."""
        return self.observations or self.rows


class Finding(Record, frozen=True, kw_only=True):
    """A pair that a method examined: an older row, a later observation, and the verdict."""

    row: str
    observation: str
    signals: tuple[str, ...] = ()
    answer: str = ""
    """Empty: proposed but not judged."""
    confidence: str = ""
    confirmed: bool = False
    """Whether it counts: judged as invalidating, with enough confidence for the policy."""
    row_quote: str = ""
    observation_quote: str = ""
    note: str = ""


class Withdrawn(Record, frozen=True, kw_only=True):
    """A row that the agent held before it left and that no longer holds, in its own words."""

    row: str
    text: str
    instead: str = ""
    """The row of the view that replaced it."""


class View(Record, frozen=True, kw_only=True):
    """What a method hands the returning agent: ids of rows or observations in order, or nothing if it refused.

    The other fields are the method's account of it, for the reader of a report.
    """

    method: str
    rows: tuple[str, ...]
    blocked: bool = False
    excerpts: dict[str, str] = msgspec.field(default_factory=dict)
    """Rows of which only a part is handed over, with that part, verbatim."""
    memories: tuple[str, ...] = ()
    """Records of a memory store, in the store's own words."""
    left_out: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Rows that lost their standing, with every reason code."""
    missing: tuple[str, ...] = ()
    """What the role lacks, where the return was refused for that."""
    findings: tuple[Finding, ...] = ()
    nothing_stated: int = 0
    """Turns that the extractor read and took nothing down from: neither judged nor handed over by this method."""
    linked: tuple[str, ...] = ()
    """Rows of the view that support a planned need, where the method knows which do."""
    withdrawn: tuple[Withdrawn, ...] = ()
    """What the agent is reminded of as withdrawn, where the settings ask for it. The view does not say it."""


class Episode(Record, frozen=True, kw_only=True):
    """One return: the history, the point of departure, and what is asked on return.

    ``departure`` is the index of the last session the returning agent saw. ManBench has no history:
    its ``rows`` are the two candidates, and its task may have changed (``task_version``).
    """

    id: str
    benchmark: str
    tasks: tuple[str, ...]
    departure: int
    sessions: tuple[Session, ...] = ()
    rows: tuple[Row, ...] = ()
    task_version: str | None = None
    haystack: Haystack | None = None


@dataclass(frozen=True)
class Wanted:
    """A statement to look for; ``polarity`` is the stance required, if any."""

    text: str
    polarity: Polarity | None = None


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """What the benchmark knows about an episode. Not a ``Record``, so that no field of one can hold it."""

    case: str

    @property
    def block(self) -> str:
        """The block that the case is reported in."""
        return "all"

    @property
    def unit(self) -> str:
        """The sampled unit: departures of one question belong together."""
        return self.case

    @property
    def history(self) -> str:
        """The resampled unit of intervals, where several units are about one history. Empty: the unit."""
        return ""

    def statements(self) -> tuple[tuple[Wanted, ...], tuple[Wanted, ...]]:
        """What the user said that holds at return, and what has ended: looked for in a view by their words."""
        return (), ()

    def __repr__(self) -> str:
        """Only the name, so that printing labels by accident reveals nothing."""
        return f"<{type(self).__name__} of {self.case}>"


L = TypeVar("L", bound=Labels)


@dataclass(frozen=True)
class Case(Generic[L]):
    """An episode with its labels: for case construction and scoring, never for a method."""

    episode: Episode
    labels: L


@dataclass(frozen=True)
class Dataset(Generic[L]):
    """The cases of one benchmark. ``notes`` are facts every report about it must state."""

    benchmark: str
    cases: tuple[Case[L], ...]
    notes: tuple[str, ...] = ()

    @property
    def episodes(self) -> tuple[Episode, ...]:
        return tuple(case.episode for case in self.cases)


def digest_of_cases(cases: Iterable[Case[Any]]) -> str:
    """Shows that a run and its report use the same episodes. Labels are not in it."""
    whole = hashlib.sha256()
    # One at a time: together they may exceed memory.
    for number, case in enumerate(cases):
        whole.update(b"\n" if number else b"")
        whole.update(canonical(case.episode))
    return whole.hexdigest()


def opaque_id(benchmark: str, case: str) -> str:
    """An id that names the case to the scorer and reveals nothing to a method."""
    return hashlib.sha256(f"{benchmark}\n{case}".encode()).hexdigest()[:16]
