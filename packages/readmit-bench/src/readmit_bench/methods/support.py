"""Which rows support which needs, and which rows replace others: between retrieval and the library's cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.lab import (
    Candidate,
    NeedLook,
    ask_links,
    common_words,
    named_by,
    near,
    packed,
    quoted,
    same_theme,
    worded,
    words_of,
)
from readmit.models import Failure
from readmit.types import Obligation, Scope
from readmit_bench.methods.state import Duty, Ending, Statement, session_of
from readmit_bench.retrieval import in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from readmit.lab import Plan
    from readmit.models import Model
    from readmit_bench.episodes import Checkpoint, Row
    from readmit_bench.retrieval import Ranker


LINKS_PER_NEED = 3
"""Most rows that one need is linked to, where links are drafted: a few facts about it, as in the product."""
NEAREST = 40
"""Most statements that are compared with the needs: as many as one request takes."""


def duties_of(
    checkpoint: Checkpoint,
    plans: Sequence[Plan | None],
    ranker: Ranker,
    *,
    planner: str | None = None,
    with_lists: bool = True,
) -> tuple[list[Duty], dict[str, tuple[str, ...]]]:
    """The planned obligations, and the dependencies that each row speaks for: it ranks among the best for them.

    A task whose plan failed is still an obligation: something that retrieval finds for it must hold. With ``planner``,
    what was planned counts as drafted by it, and only the few best rows that share a content word with a need speak for
    it.
    """
    most = checkpoint.budget.per_query if planner is None else LINKS_PER_NEED
    wording = str if planner is None else topic_of
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
                    tuple(f"t{number}.{name}" for name in duty.lists if planner is not None and with_lists),
                    planner,
                )
                for duty in planned.duties
            ]
            found = {}
            for name, one in needs.items():
                room = (checkpoint.budget.at_most or most) if one.many and planner and with_lists else most
                found[name] = ranker.best(wording(one.text), room) or ranker.best(wording(task), room)
        else:
            name = f"t{number}"
            duties.append(Duty(task, (name,), (name,), planner=planner))
            found = {name: checkpoint.relevance[number][:most]}
        for name, rows in found.items():
            for row in rows:
                supports.setdefault(row, []).append(name)
    return duties, {row: tuple(dict.fromkeys(names)) for row, names in supports.items()}


def needs_in(plans: Sequence[Plan | None]) -> dict[str, str]:
    """The planned needs in words, by the names that the duties give them."""
    return {
        f"t{number}.{one.id}": one.text
        for number, planned in enumerate(plans)
        for duty in (() if planned is None else planned.duties)
        for one in duty.dependencies
    }


def nearest(
    checkpoint: Checkpoint, ranker: Ranker, texts: Sequence[str], usable: AbstractSet[str]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The usable rows that rank best for the tasks and these texts, in turn; and those of them on topic.

    A row is on topic if it shares a content word with one of these: it may be handed over without being linked.
    """
    by_words = [ranker.best(topic_of(text), len(usable)) for text in (*checkpoint.tasks, *texts)]
    ranked = [[row for row in ranking if row in usable] for ranking in (*checkpoint.relevance, *by_words)]
    near = tuple(in_turn(ranked))[:NEAREST]
    return near, frozenset(near).intersection({row for ranking in by_words for row in ranking})


def bearing(
    model: Model, needs: Mapping[str, str], lists: AbstractSet[str], rows: Sequence[Row]
) -> dict[str, tuple[str, ...]]:
    """By row, the needs that it bears on: by one request, or by the product's measure of nearness if that fails.

    A need that is no list takes the first few.
    """
    shown = tuple(Candidate(row.id, row.text) for row in rows)
    questions = list(packed([NeedLook(name, text, shown) for name, text in needs.items()]))
    found: dict[str, list[str]] = {name: [] for name in needs}
    for question, said in zip(questions, ask_links(model, questions), strict=True):
        if isinstance(said, Failure):
            texts = {one.item: one.text for one in question.candidates}
            for name, ranked in near(dict(question.needs), texts, None).items():
                found[name] += [row for score, row in ranked if score >= 1]
        else:
            for tie in said.links:
                found[tie.need].append(tie.item)
    supports: dict[str, list[str]] = {}
    for name, linked in found.items():
        for row in linked if name in lists else linked[:LINKS_PER_NEED]:
            supports.setdefault(row, []).append(name)
    return {row: tuple(dict.fromkeys(names)) for row, names in supports.items()}


def topic_of(text: str) -> str:
    """The content words of a text, which a search for it would use."""
    common = common_words()
    return " ".join(word for word in words_of(text) if word not in common)


def obligations_of(duties: Sequence[Duty]) -> list[Obligation]:
    """The duties as the coverage check takes them."""
    scope = Scope(workspace="bench")
    return [
        Obligation(
            id=f"duty-{n}", text=duty.text, by="bench", scope=scope, required=duty.required, critical=duty.critical
        )
        for n, duty in enumerate(duties)
    ]


def reach(checkpoint: Checkpoint, ranker: Ranker, queries: Sequence[str], usable: AbstractSet[str]) -> frozenset[str]:
    """The usable rows that retrieval finds for the tasks or queries and that share a content word with one of them."""
    budget = checkpoint.budget
    topics = [topic_of(query) for query in (*checkpoint.tasks, *queries)]
    on_topic = {row for topic in topics for row in ranker.best(topic, len(checkpoint.rows))} & usable
    ranked = [[row for row in ranking if row in on_topic][: budget.per_query] for ranking in checkpoint.relevance]
    ranked += [list(ranker.best(topic, budget.per_query)) for topic in topics]
    return frozenset(list(in_turn(ranked))[: budget.union])


def found_by(
    checkpoint: Checkpoint, statements: Sequence[Statement], changes: Sequence[tuple[str, str, str]]
) -> list[Statement]:
    """What changed something although no row was extracted from it: its sentences become items, not the whole turn."""
    by_session = _by_session(statements)
    found: dict[str, Statement] = {}
    for _, session, quote in changes:
        if not any(quoted(quote, one.row.text) for one in by_session.get(session, ())):
            turns = (row for row in checkpoint.heard if session_of(row) == session and quoted(quote, row.text))
            found |= {row.id: Statement(row.id, row, _sentences(quote, row.text)) for row in turns}
    return [one for name, one in found.items() if all(name != other.id for other in statements)]


def _sentences(quote: str, turn: str) -> str:
    """The quoted sentences, with what they cannot be understood without; the whole turn where they are not found."""
    found = worded(quote, quote, turn)
    return turn if found is None or found[0] not in turn else found[0]


def kept_rows(named: AbstractSet[str], rows: Sequence[Row], endings: Sequence[Ending]) -> frozenset[str]:
    """These rows with their successors and premises, transitively."""
    after: dict[str, list[str]] = {row.id: list(row.depends_on) for row in rows}
    for ending in endings:
        if ending.successor is not None and ending.target in after:
            after[ending.target].append(ending.successor)
    kept: set[str] = set()
    ahead = list(named)
    while ahead:
        name = ahead.pop()
        if name not in kept:
            kept.add(name)
            ahead += after.get(name, ())
    return frozenset(kept)


def ended_by_name(rows: Sequence[Row]) -> Iterator[Ending]:
    """What rows that were extracted as updates or deletions end: the earlier rows of their theme that they name.

    The rule is the product's. A deletion is no statement, so nothing takes the place of what it ends.
    """
    for row in rows:
        if row.operation != "add" and row.slot is not None:
            earlier = {one.id: one.text for one in rows if one.at < row.at and same_theme(one.slot, row.slot)}
            successor = row.id if row.operation == "update" else None
            for name in named_by(row.text, earlier, about=row.slot):
                yield Ending(name, row.at, f"ended by {row.id}", successor)


def updated(rows: Sequence[Row]) -> Iterator[Ending]:
    """What rows replace that were extracted as updates of their slot."""
    for row in rows:
        if row.operation == "update" and row.slot is not None:
            for other in rows:
                if other.slot == row.slot and other.at < row.at:
                    yield Ending(other.id, row.at, f"updated by {row.id}", row.id)


def heirs_of(
    statements: Sequence[Statement], changes: Sequence[tuple[str, str, str]], endings: Sequence[Ending] = ()
) -> dict[str, str]:
    """The row that replaced each replaced statement; the latest if there are several.

    A replacement is a later value of the slot, a named successor, or the words of a confirmed invalidation.
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
    for item, session, quote in changes:
        for later in by_session.get(session, ()):
            if quoted(quote, later.row.text):
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
    """Each statement's own support, and that of what it replaced."""
    own = {row: list(names) for row, names in supports.items()}
    # Oldest first, so that inherited support passes on along a chain of replacements.
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
    """The agent's most relevant private memories: statements from before its departure."""
    held: dict[str, str] = {}
    for one in statements:
        if one.row.departure:
            held.setdefault(one.row.id, one.id)
    places = max((len(ranking) for ranking in checkpoint.relevance), default=0)
    rows = (r for place in range(places) for ranking in checkpoint.relevance for r in ranking[place : place + 1])
    return [held[row] for row in dict.fromkeys(rows) if row in held][:most]
