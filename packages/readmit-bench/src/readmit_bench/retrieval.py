"""From an episode to a checkpoint of plain turns.

BM25 comes with SQLite (FTS5), over the whole history as it stands at return. With an embedder, sessions and rows are
ranked by the facts that they state (``facts``), words and vectors fused. Rows are the user's turns, verbatim. Where
there is an extractor, ``work_state`` draws statements from the same turns.
"""

from __future__ import annotations

import re
import sqlite3
import weakref
from typing import TYPE_CHECKING, TypeVar

from readmit_bench.episodes import Budget, Checkpoint, Row
from readmit_bench.facts import Facts
from readmit_bench.plain_turns import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from readmit.models import Embedder
    from readmit_bench.episodes import Episode, Session

# Positions on an episode's clock: session index × this + turn number.
CLOCK = 1000

T = TypeVar("T", bound="Hashable")

_WORD = re.compile(r"\w+")


class IndexedHistory:
    """One history, indexed once for every question and departure over it."""

    def __init__(self, sessions: Sequence[Session], embedder: Embedder | None = None) -> None:
        """Without an embedder, ranked by words alone."""
        self.sessions = tuple(sessions)
        self.last = self.sessions[-1].index
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._db.close)
        for table in ("sessions", "rows"):
            self._db.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(text, tokenize='porter unicode61')")
        self._db.executemany(
            "INSERT INTO sessions (rowid, text) VALUES (?, ?)",
            ((s.index, "\n".join(turn.text for turn in s.turns)) for s in self.sessions),
        )
        self._turns = {
            session.index: {
                session.index * CLOCK + number: turn.text
                for number, turn in enumerate(session.turns, start=1)
                if turn.speaker == "user"
            }
            for session in self.sessions
        }
        self._db.executemany(
            "INSERT INTO rows (rowid, text) VALUES (?, ?)",
            (pair for turns in self._turns.values() for pair in turns.items()),
        )
        said = ((at, fact) for turns in self._turns.values() for at, text in turns.items() for fact in facts(text))
        self._facts = None if embedder is None else Facts(said, embedder)

    def close(self) -> None:
        """Release the index."""
        self._db.close()

    def sessions_for(
        self, queries: Sequence[str], *, after: int, until: int, ranked: int, recent: int
    ) -> tuple[int, ...]:
        """The ``ranked`` best sessions in (after, until] and the ``recent`` last ones, in time order.

        Several queries take turns: the best of each, then the second best of each.
        """
        rankings = [self._sessions(query, after + 1, until) for query in queries]
        found = list(in_turn(rankings))[:ranked]
        window = [s.index for s in self.sessions if after < s.index <= until]
        return tuple(sorted({*found, *window[len(window) - recent :]}))

    def rows(self, sessions: Iterable[int], *, departure: int) -> tuple[Row, ...]:
        """The user's turns of these sessions, in time order."""
        return tuple(
            Row(id=_row_id(at), text=text, at=at, source="user", departure=index <= departure)
            for index in sorted(sessions)
            for at, text in self._turns[index].items()
        )

    def relevance(self, query: str, rows: Sequence[Row]) -> tuple[str, ...]:
        """These rows from the most relevant to the least: by their facts, then by words, then newest first."""
        wanted = {row.at for row in rows}
        stated = self._stating(query, wanted.__contains__)
        matched = [at for at in self._ranked("rows", query, 0, (self.last + 1) * CLOCK) if at in wanted]
        return tuple(_row_id(at) for at in dict.fromkeys((*stated, *matched, *sorted(wanted, reverse=True))))

    def _sessions(self, query: str, first: int, last: int) -> list[int]:
        stated = self._stating(query, lambda at: first <= at // CLOCK <= last)
        return list(dict.fromkeys((*(at // CLOCK for at in stated), *self._ranked("sessions", query, first, last))))

    def _stating(self, query: str, within: Callable[[int], bool]) -> list[int]:
        """Turns that state facts, ranked by them; none without an embedder."""
        if self._facts is None:
            return []
        places = {session: place for place, session in enumerate(self._ranked("sessions", query, 0, self.last))}
        return self._facts.ranked(query, lambda at: places.get(at // CLOCK, len(places)), within)

    def _ranked(self, table: str, query: str, first: int, last: int) -> list[int]:
        words = dict.fromkeys(_WORD.findall(query.casefold()))
        if not words:
            return []
        # Each word is quoted, so that none is read as an operator of the query language.
        match = " OR ".join(f'"{word}"' for word in words)
        sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rank, rowid"  # noqa: S608
        return [rowid for (rowid,) in self._db.execute(sql, (match, first, last))]


def in_turn(rankings: Sequence[Sequence[T]]) -> Iterator[T]:
    """The first of each ranking, then the second of each, without duplicates."""
    seen = set()
    for place in range(max(map(len, rankings), default=0)):
        for ranking in rankings:
            if place < len(ranking) and ranking[place] not in seen:
                seen.add(ranking[place])
                yield ranking[place]


class Ranker:
    """Rows of one checkpoint, ranked for whatever is asked. An extracted row is found by its statement as well."""

    def __init__(self, rows: Sequence[Row], embedder: Embedder | None = None) -> None:
        """Rows are in time order; with an embedder each counts as a fact."""
        self._ids = [row.id for row in rows]
        said = ((number, row.statement or row.text) for number, row in enumerate(rows))
        self._facts = None if embedder is None else Facts(said, embedder)
        self._newest = [row.id for row in sorted(rows, key=lambda row: -row.at)]
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._db.close)
        self._db.execute("CREATE VIRTUAL TABLE rows USING fts5(text, tokenize='porter unicode61')")
        self._db.executemany(
            "INSERT INTO rows (rowid, text) VALUES (?, ?)", enumerate(f"{row.text}\n{row.statement}" for row in rows)
        )

    def best(self, query: str, most: int) -> tuple[str, ...]:
        """At most so many rows that share a word with the query, the most relevant first."""
        words = dict.fromkeys(_WORD.findall(query.casefold()))
        if not words:
            return ()
        match = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT rowid FROM rows WHERE rows MATCH ? ORDER BY rank, rowid LIMIT ?"
        return tuple(self._ids[number] for (number,) in self._db.execute(sql, (match, most)))

    def ranking(self, query: str) -> tuple[str, ...]:
        """All rows: by the facts that they are, or by words, those without a common word last, newest first."""
        matched = self.best(query, len(self._ids))
        if self._facts is not None:
            places = {name: place for place, name in enumerate(matched)}
            fused = self._facts.ranked(query, lambda n: places.get(self._ids[n], len(places)), lambda _: True)
            return tuple(self._ids[number] for number in fused)
        return tuple(dict.fromkeys((*matched, *self._newest)))

    def close(self) -> None:
        """Release the index."""
        self._db.close()


def _row_id(at: int) -> str:
    return f"s{at // CLOCK}.t{at % CLOCK}"


def over(episode: Episode, history: IndexedHistory, sessions: Iterable[int], budget: Budget) -> Checkpoint:
    """The user's turns of these sessions as rows, ranked by each task."""
    rows = history.rows(sessions, departure=episode.departure)
    return Checkpoint(
        tasks=episode.tasks,
        rows=rows,
        relevance=tuple(history.relevance(task, rows) for task in episode.tasks),
        budget=budget,
        now=(history.last + 1) * CLOCK,
        history=history.sessions,
        departure=episode.departure,
    )
