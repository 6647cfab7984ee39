"""What supports what, and what takes whose place: between retrieval and the library's cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.bench.methods.state import Duty, Ending, Statement, session_of
from readmit.records.items import Obligation, Scope
from readmit.records.quotes import quoted
from readmit.records.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit.bench.episodes import Checkpoint, Row
    from readmit.bench.methods.proposing import Judged
    from readmit.bench.retrieval import Ranker
    from readmit.models.stages.plan import Plan


def duties_of(
    checkpoint: Checkpoint, plans: Sequence[Plan | None], ranker: Ranker
) -> tuple[list[Duty], dict[str, tuple[str, ...]]]:
    """The planned obligations, and the dependencies that each row speaks for: it ranks among the best for them.

    A task whose plan failed still obliges: something that retrieval finds for it must stand.
    """
    most = checkpoint.budget.per_query
    duties: list[Duty] = []
    supports: dict[str, list[str]] = {}
    for number, (task, planned) in enumerate(zip(checkpoint.tasks, plans, strict=True)):
        if planned is not None:
            needs = {f"t{number}.{one.id}": one for duty in planned.duties for one in duty.dependencies}
            duties += [
                Duty(
                    duty.text,
                    tuple(f"t{number}.{name}" for name in duty.required),
                    tuple(f"t{number}.{name}" for name in duty.critical),
                )
                for duty in planned.duties
            ]
            found = {name: ranker.best(one.text, most) or ranker.best(task, most) for name, one in needs.items()}
        else:
            name = f"t{number}"
            duties.append(Duty(task, (name,), (name,)))
            found = {name: checkpoint.relevance[number][:most]}
        for name, rows in found.items():
            for row in rows:
                supports.setdefault(row, []).append(name)
    return duties, {row: tuple(dict.fromkeys(names)) for row, names in supports.items()}


def obligations_of(duties: Sequence[Duty]) -> list[Obligation]:
    """The duties as the coverage check takes them."""
    scope = Scope(workspace="bench")
    return [
        Obligation(
            id=f"duty-{n}", text=duty.text, by="bench", scope=scope, required=duty.required, critical=duty.critical
        )
        for n, duty in enumerate(duties)
    ]


def reach(checkpoint: Checkpoint, ranker: Ranker, queries: Sequence[str]) -> frozenset[str]:
    """The rows that retrieval could hand over."""
    budget = checkpoint.budget
    ranked = [*checkpoint.relevance, *(ranker.best(query, budget.per_query) for query in queries)]
    best = [row for place in range(budget.per_query) for ranking in ranked for row in ranking[place : place + 1]]
    return frozenset(list(dict.fromkeys(best))[: budget.union])


def confirmed(verdicts: Sequence[Judged]) -> Iterator[tuple[str, str, str]]:
    """Of each confirmed invalidation: the statement, the session that invalidates it, and the words that do."""
    for one in verdicts:
        if isinstance(one.verdict, Verdict) and one.confirmed:
            yield one.pair.item, one.pair.evidence, one.verdict.evidence_quote


def found_by(checkpoint: Checkpoint, statements: Sequence[Statement], verdicts: Sequence[Judged]) -> list[Statement]:
    """The turns whose words invalidated something although nobody had taken those words down: items by that."""
    by_session = _by_session(statements)
    found: dict[str, Statement] = {}
    for _, session, words in confirmed(verdicts):
        if not any(quoted(words, one.row.text) for one in by_session.get(session, ())):
            turns = (row for row in checkpoint.heard if session_of(row) == session and quoted(words, row.text))
            found |= {row.id: Statement(row.id, row, row.text) for row in turns}
    return [one for name, one in found.items() if all(name != other.id for other in statements)]


def updated(rows: Sequence[Row]) -> Iterator[Ending]:
    """What rows that were taken down as updates of their slot replace."""
    for row in rows:
        if row.operation == "update" and row.slot is not None:
            for other in rows:
                if other.slot == row.slot and other.at < row.at:
                    yield Ending(other.id, row.at, f"updated by {row.id}", row.id)


def heirs_of(
    statements: Sequence[Statement], verdicts: Sequence[Judged], endings: Sequence[Ending] = ()
) -> dict[str, str]:
    """For each statement that something took the place of, the row that did, and of several the latest.

    That is a later value of its slot, its named successor, or the words of a confirmed invalidation.
    """
    by_session = _by_session(statements)
    newest = {one.slot: one for one in sorted(statements, key=lambda one: one.row.at) if one.slot is not None}
    heirs: dict[str, tuple[int, str]] = {
        one.id: (newest[one.slot].row.at, newest[one.slot].row.id)
        for one in statements
        if one.slot is not None and newest[one.slot].id != one.id
    }
    known = {one.id: one for one in statements}
    for ending in endings:
        if ending.target in known and ending.successor in known:
            heir = known[ending.successor].row
            heirs[ending.target] = max(heirs.get(ending.target, (-1, "")), (heir.at, heir.id))
    for item, session, words in confirmed(verdicts):
        for later in by_session.get(session, ()):
            if quoted(words, later.row.text):
                heirs[item] = max(heirs.get(item, (-1, "")), (later.row.at, later.row.id))
    return {name: row for name, (_, row) in heirs.items()}


def _by_session(statements: Sequence[Statement]) -> dict[str, list[Statement]]:
    sessions: dict[str, list[Statement]] = {}
    for statement in statements:
        sessions.setdefault(session_of(statement.row), []).append(statement)
    return sessions


def inherited(
    statements: Sequence[Statement], supports: Mapping[str, tuple[str, ...]], heirs: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Each statement's own support, and that of what it took the place of."""
    own = {row: list(names) for row, names in supports.items()}
    # Oldest first, so that what an heir inherits passes on when it has an heir itself.
    for statement in sorted(statements, key=lambda one: one.row.at):
        heir = heirs.get(statement.id)
        if heir is not None:
            own.setdefault(heir, []).extend(own.get(statement.row.id, ()))
    return {one.id: tuple(dict.fromkeys(own.get(one.row.id, ()))) for one in statements}


def with_heirs(checkpoint: Checkpoint, statements: Sequence[Statement], heirs: Mapping[str, str]) -> Checkpoint:
    """The same checkpoint, ranked so that an invalidated row's place goes to its terminal invalidator."""
    after: dict[str, str] = {one.row.id: heirs[one.id] for one in statements if one.id in heirs}

    def terminal(row: str) -> str:
        seen = {row}
        while row in after and after[row] not in seen:
            row = after[row]
            seen.add(row)
        return row

    ranked = tuple(
        tuple(dict.fromkeys(name for row in ranking for name in (row, terminal(row))))
        for ranking in checkpoint.relevance
    )
    return msgspec.structs.replace(checkpoint, relevance=ranked)


def by_relevance(checkpoint: Checkpoint, rows: Sequence[str]) -> tuple[str, ...]:
    """The rows in the order in which retrieval would have found them."""
    best = {
        row: min(ranking.index(row) if row in ranking else len(ranking) for ranking in checkpoint.relevance)
        for row in rows
    }
    return tuple(sorted(rows, key=lambda row: best[row]))


def private_bank(checkpoint: Checkpoint, statements: Sequence[Statement], most: int) -> list[str]:
    """What the returning agent remembers on its own that is most relevant: statements from before its departure."""
    held: dict[str, str] = {}
    for one in statements:
        if one.row.departure:
            held.setdefault(one.row.id, one.id)
    places = max((len(ranking) for ranking in checkpoint.relevance), default=0)
    rows = (r for place in range(places) for ranking in checkpoint.relevance for r in ranking[place : place + 1])
    return [held[row] for row in dict.fromkeys(rows) if row in held][:most]
