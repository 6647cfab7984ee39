"""The files of a run: its plan, one line per episode and method, and every model answer.

``run.json`` is written first and says what was asked for. ``results.jsonl`` grows by whole lines; a line truncated by a
kill counts as absent. ``answers.db`` stores each paid answer as soon as it arrives, so that a restarted run repeats
none. One process at a time runs in a directory (``alone``).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from readmit.errors import RecordError
from readmit.events import Record
from readmit.lab import decode
from readmit.models import Reply, StageUsage
from readmit_bench.episodes import View
from readmit_bench.metrics import ManBenchOutcome, MemoraOutcome, StaleOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

RUN, RESULTS, ANSWERS, LOCK = "run.json", "results.jsonl", "answers.db", "run.lock"
JUDGE = "judge"
"""The stage of the benchmark's own scoring, which the paper's token totals leave out."""


class RunPlan(Record, frozen=True, kw_only=True):
    """What a run was asked to do. A directory holds one run: another plan is refused."""

    study: str
    data: dict[str, str]
    methods: tuple[str, ...]
    models: dict[str, str]
    embedder: str
    notes: tuple[str, ...]
    cases: dict[str, int]
    """Planned episodes of each block, before any of them was run."""
    digest: str
    """Of the planned episodes: the same data give the same."""
    limit: int | None = None
    stratified: bool = False
    seed: int = 0
    max_tokens: int | None = None
    """A cap below the paper's budgets, if there was one."""
    token_limit: int | None = None
    """Most tokens of one episode, without those of the judge, if there was a limit."""
    time_limit: int | None = None
    """Most seconds of one episode, without the judge's, if there was a limit."""
    settings: tuple[str, ...] = ()
    """Settings that are not the paper's, as ``stale.retrieved_union=20``."""
    agents: tuple[int, ...] = (4,)
    version: str = ""

    @property
    def planned(self) -> int:
        return sum(self.cases.values()) * len(self.methods)


class Result(Record, frozen=True, kw_only=True):
    """One method on one episode. A failure keeps its line, with every judgment false."""

    benchmark: str
    method: str
    episode: str
    case: str
    block: str
    unit: str
    """The sampled unit: three departures of one Memora question are one unit."""
    history: str = ""
    """The resampled unit of intervals: several Memora questions are asked of one history. Empty: the unit."""
    agents: int | None = None
    view: View | None = None
    characters: int | None = None
    """Of the view as the agent reads it, with dates and statements. None: a line from before it was counted."""
    seen: MemoraOutcome | None = None
    """The judge-free score of the view itself."""
    reach: MemoraOutcome | None = None
    """The most that any view drawn from the same checkpoint could score so, where the method draws from it."""
    memora: MemoraOutcome | None = None
    stale: StaleOutcome | None = None
    manbench: ManBenchOutcome | None = None
    eligible: bool = True
    candidates: dict[str, str] = msgspec.field(default_factory=dict)
    """ManBench's rows as they stood, since agents may have given them."""
    true_pair: Literal["", "missed", "proposed", "confirmed"] = ""
    """STALE: the outcome of the one pair that the benchmark knows to be true."""
    answers: tuple[str, ...] = ()
    judgment: str = ""
    usage: tuple[StageUsage, ...] = ()
    peak_context: int = 0
    repairs: int = 0
    """Answers that were asked for again because they did not have the requested form."""
    retries: int = 0
    """Attempts repeated after a failure at the provider: rate limits, server errors, lost connections."""
    milliseconds: int = 0
    failure: str = ""

    @property
    def key(self) -> tuple[str, str, int | None]:
        return (self.method, self.episode, self.agents)

    @property
    def cluster(self) -> str:
        """The unit that was drawn independently of all others."""
        return self.history or self.unit

    @property
    def tokens(self) -> int:
        """What the method and the actor took."""
        return sum(stage.tokens for stage in self.usage if stage.stage != JUDGE)

    @property
    def judge_tokens(self) -> int:
        """What it took to score them."""
        return sum(stage.tokens for stage in self.usage if stage.stage == JUDGE)


def start(out: Path, plan: RunPlan) -> None:
    """Begin a run in a directory, or resume the same one."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / RUN
    if file.exists():
        held = read_plan(out)
        differing = [name for name in RunPlan.__struct_fields__ if getattr(held, name) != getattr(plan, name)]
        if differing:
            raise RecordError(
                f"{file}: holds another run ({', '.join(differing)} differ); name another --out, or repeat its options"
            )
        return
    partial = file.with_suffix(".partial")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1))
    partial.replace(file)


def read_plan(out: Path) -> RunPlan:
    """The plan of a run."""
    file = out / RUN
    if not file.exists():
        raise RecordError(f"{out}: holds no {RUN}; name a directory that `readmit bench run --out` wrote")
    return decode(file.read_bytes(), RunPlan, what=str(file))


def read_results(out: Path) -> list[Result]:
    """Every whole line, the last one of a key counting."""
    file = out / RESULTS
    if not file.exists():
        return []
    *whole, torn = file.read_bytes().split(b"\n")
    found: dict[tuple[str, str, int | None], Result] = {}
    for number, line in enumerate(whole, start=1):
        if line.strip():
            result = decode(line, Result, what=f"{file}, line {number}")
            found[result.key] = result
    if torn.strip() and _whole(torn):
        result = decode(torn, Result, what=f"{file}, last line")
        found[result.key] = result
    return list(found.values())


class Results:
    """The lines of a run, as they are written."""

    def __init__(self, out: Path) -> None:
        self._file = out / RESULTS
        self._lock = threading.Lock()
        self._mend()

    def append(self, results: Iterable[Result]) -> None:
        """Add lines, durably."""
        data = b"".join(msgspec.json.encode(result) + b"\n" for result in results)
        with self._lock, self._file.open("ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _mend(self) -> None:
        """Remove a truncated last line after a kill, so that the next one starts on its own line."""
        if not self._file.exists():
            return
        with self._file.open("r+b") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                # In place: a kill during the repair must not lose a line either.
                if _whole(data.rpartition(b"\n")[2]):
                    file.write(b"\n")
                else:
                    file.truncate(data.rfind(b"\n") + 1)


class KeptAnswer(NamedTuple):
    """An answer, and how often it had to be asked for until the provider gave it."""

    reply: Reply
    retries: int


class AnswerStore:
    """Model answers by the digest of their request."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30)
        weakref.finalize(self, self._db.close)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS answer "
            "(request TEXT PRIMARY KEY, reply BLOB NOT NULL, tokens INTEGER NOT NULL, retries INTEGER NOT NULL)"
        )
        self._lock = threading.Lock()

    def get(self, request: str) -> KeptAnswer | None:
        """The answer, if it was given before."""
        with self._lock:
            row = self._db.execute("SELECT reply, retries FROM answer WHERE request = ?", (request,)).fetchone()
        if row is None:
            return None
        return KeptAnswer(msgspec.structs.replace(decode(row[0], Reply, what="answer"), replayed=True), row[1])

    def put(self, request: str, reply: Reply, *, retries: int) -> KeptAnswer:
        """Store an answer and return the stored one. The first one wins, because several runs may share a store."""
        tokens = reply.usage.input + reply.usage.output
        with self._lock:
            done = self._db.execute(
                "INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?)",
                (request, msgspec.json.encode(reply), tokens, retries),
            )
        earlier = None if done.rowcount else self.get(request)
        return earlier or KeptAnswer(reply, retries)

    def __len__(self) -> int:
        with self._lock:
            return int(self._db.execute("SELECT count(*) FROM answer").fetchone()[0])

    @property
    def tokens(self) -> int:
        """Tokens of all kept answers, each counted once however many episodes use it."""
        with self._lock:
            return int(self._db.execute("SELECT coalesce(sum(tokens), 0) FROM answer").fetchone()[0])

    def close(self) -> None:
        """Release the file."""
        self._db.close()


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Hold a run's directory: two processes in one would pay for the same answers. A kill releases it."""
    out.mkdir(parents=True, exist_ok=True)
    lock = sqlite3.connect(out / LOCK, isolation_level=None, timeout=0)
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise RecordError(f"{out}: another process is running there; let it end, or name another --out") from None
        yield
    finally:
        lock.close()


def _whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=Result)
    except msgspec.MsgspecError:
        return False
    return True
