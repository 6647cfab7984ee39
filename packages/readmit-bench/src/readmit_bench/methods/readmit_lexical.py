"""readmit without any model: explicit lifecycle, read off the rows and the words, decided by the library.

* The slot, predecessor, premises or interval that a row names is taken as given. A new value of a slot
  replaces the old one; a deletion revokes it.
* A plain turn is read by general rules (``reading``): what it states is an item; what it says has ended names
  the earlier statements that share its rarest phrase, and those are revoked, or replaced by what the turn puts
  in their place. Questions and messages that only withdraw something are not statements.
* A row that replaces another source's row about the same version of the task opens a dispute. This method cannot settle
  it, so neither row is handed over and the return is blocked. A row about another version of the task is not
  applicable.

The view is retrieval over what stands, within the budget of every other method: what speakers said about themselves
or asked for comes first, other remarks fill what room is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.lab import WIDEST
from readmit_bench.episodes import View
from readmit_bench.methods.method import retrieved
from readmit_bench.methods.state import Contest, Duty, Ending, Statement, Work, come_back, policy_for
from readmit_bench.plain_turns import Phrases, Reading, excerpt, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from readmit_bench.episodes import Checkpoint, Row
    from readmit_bench.methods.state import Returned


class ReadmitLexical:
    """Admits by explicit evidence only, and nothing that is contested."""

    name = "readmit-lexical"

    def view(self, checkpoint: Checkpoint) -> View:
        readings = [reading_of(row) for row in checkpoint.rows]
        returned = come_back(checkpoint, explicit_work(checkpoint, readings), policy_for(checkpoint))
        if not returned.admitted:
            return View(
                method=self.name, rows=(), blocked=True, left_out=dict(returned.reasons), missing=returned.missing
            )
        return shown(self.name, checkpoint, returned, readings)


def explicit_work(checkpoint: Checkpoint, readings: Sequence[Reading]) -> Work:
    """The log of a history whose lifecycle is read off its rows and words alone."""
    contests = tuple(contested(checkpoint))
    duties = (Duty(checkpoint.tasks[0], ("answer",), ("answer",)),) if contests else ()
    statements = [
        Statement(
            id=name,
            row=one.row,
            text=part,
            # A later answer does not replace a contested one: that is the dispute.
            slot=None if duties else one.row.slot,
            supports=("answer",) if duties else (),
            depends_on=one.row.depends_on,
        )
        for one in readings
        for name, part in one.named().items()
    ]
    endings = (*declared(checkpoint, contests), *spoken(readings))
    return Work(statements=statements, endings=endings, contests=contests, duties=duties)


def shown(name: str, checkpoint: Checkpoint, returned: Returned, readings: Sequence[Reading]) -> View:
    """Retrieval over what stands: what speakers said about themselves first, then what else was said."""
    parts: dict[str, list[str]] = {}
    for one in readings:
        for part_name, part in one.named().items():
            if part_name in returned.standing:
                parts.setdefault(one.row.id, []).append(part)
    own = {one.row.id for one in readings if one.own and one.row.id in parts}
    rows = retrieved(checkpoint, parts, first=retrieved(checkpoint, own))
    texts = {row.id: row.text for row in checkpoint.rows}
    excerpts = {row: cut for row in rows if (cut := excerpt(texts[row], parts[row])) != texts[row]}
    return View(method=name, rows=rows, excerpts=excerpts, left_out=dict(returned.reasons))


def reading_of(row: Row) -> Reading:
    """A row with structure is a statement, unless it deletes; a plain turn is read."""
    if row.operation == "delete" or not row.text.strip():
        return Reading(row, ())
    structured = row.slot or row.entity or row.task_version or row.supersedes or row.operation != "add"
    return Reading(row, (row.text,)) if structured else read(row)


def declared(checkpoint: Checkpoint, contests: Sequence[Contest] = (), *, by_slot: bool = True) -> Iterator[Ending]:
    """What the rows themselves say has ended, where that is not contested. ``by_slot``: a deletion ends its slot."""
    disputed = {frozenset(contest.statements) for contest in contests}
    for row in checkpoint.rows:
        if row.invalidated:
            yield Ending(row.id, row.at, "marked as invalidated")
        for target in row.supersedes:
            if frozenset((target, row.id)) not in disputed:
                yield Ending(target, row.at, "named as its predecessor", row.id)
        if by_slot and row.operation == "delete":
            for other in checkpoint.rows:
                if other.slot is not None and other.slot == row.slot and other.at < row.at:
                    yield Ending(other.id, row.at, f"deleted by {row.id}")


def contested(checkpoint: Checkpoint, *, any_version: bool = False) -> Iterator[Contest]:
    """Another source's replacement of an answer to the very same version of the task, or to any.

    Two sources that give the same answer do not contradict each other, whatever question each was asked.
    """
    rows = {row.id: row for row in checkpoint.rows}
    for row in checkpoint.rows:
        for target in row.supersedes:
            old = rows.get(target)
            if old is None or row.task_version is None or answer_of(old) == answer_of(row):
                continue
            if old.source != row.source and (any_version or old.task_version == row.task_version):
                yield Contest((target, row.id))


def answer_of(row: Row) -> list[str]:
    """The bare answer for comparison: every character counts, except white space."""
    return (row.answer or row.text).split()


def spoken(readings: Sequence[Reading]) -> Iterator[Ending]:
    """What turns say has ended: earlier statements that hold the rarest phrase of the ending words."""
    phrases = Phrases(readings)
    place = {name: number for number, one in enumerate(readings) for name in one.named()}
    for number, one in enumerate(readings):
        successor = next(iter(one.named()), None)
        for target in _named(one, number, phrases, place):
            yield Ending(target, one.row.at, f"ended by {one.row.id}", successor)


def _named(reading: Reading, own: int, phrases: Phrases, place: Mapping[str, int]) -> list[str]:
    best: tuple[int, int, list[str]] | None = None
    for run in reading.ended:
        for part in _parts(run):
            holding = phrases.holding(part)
            earlier = [name for name in holding if place[name] < own]
            if earlier:
                candidate = (len(holding), -len(part), earlier)
                best = candidate if best is None else min(best, candidate)
                break
    return best[2] if best is not None and best[0] <= WIDEST else []


def _parts(run: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The run and its contiguous parts, longest first."""
    for length in range(len(run), 0, -1):
        for start in range(len(run) - length + 1):
            yield run[start : start + length]
