"""What supports what, and what takes whose place: between retrieval and the library's cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.bench.methods.state import Duty, session_of
from readmit.models.stages.plan import Plan
from readmit.records.items import Obligation, Scope
from readmit.records.quotes import quoted
from readmit.records.verdicts import Answer, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from readmit.bench.episodes import Checkpoint
    from readmit.bench.methods.proposing import Judged
    from readmit.bench.methods.state import Statement
    from readmit.bench.retrieval import Ranker
    from readmit.ports.models import Failure


def duties_of(
    checkpoint: Checkpoint, plans: Sequence[Plan | Failure], ranker: Ranker
) -> tuple[list[Duty], dict[str, tuple[str, ...]]]:
    """The planned obligations, and the dependencies that each row speaks for: it ranks among the best for them.

    A task whose plan failed still obliges: something that retrieval finds for it must stand.
    """
    most = checkpoint.budget.per_query
    duties: list[Duty] = []
    supports: dict[str, list[str]] = {}
    for number, (task, planned) in enumerate(zip(checkpoint.tasks, plans, strict=True)):
        if isinstance(planned, Plan):
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
    """The rows that retrieval could hand over: only their premises are worth a verdict."""
    budget = checkpoint.budget
    ranked = [*checkpoint.relevance, *(ranker.best(query, budget.per_query) for query in queries)]
    best = [row for place in range(budget.per_query) for ranking in ranked for row in ranking[place : place + 1]]
    return frozenset(list(dict.fromkeys(best))[: budget.union])


def heirs_of(statements: Sequence[Statement], verdicts: Sequence[Judged]) -> dict[str, str]:
    """For each statement that was invalidated, the row whose words did it; the latest confirmed invalidator wins."""
    rows: dict[str, list[Statement]] = {}
    for statement in statements:
        rows.setdefault(session_of(statement.row), []).append(statement)
    heirs: dict[str, tuple[int, str]] = {}
    for one in verdicts:
        if not isinstance(one.verdict, Verdict) or one.verdict.answer is not Answer.INVALIDATES:
            continue
        for later in rows.get(one.pair.evidence, ()):
            if quoted(one.verdict.evidence_quote, later.row.text):
                heirs[one.pair.item] = max(heirs.get(one.pair.item, (-1, "")), (later.row.at, later.row.id))
    return {name: row for name, (_, row) in heirs.items()}


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
