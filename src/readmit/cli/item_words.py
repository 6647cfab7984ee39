"""Items in words: whether each stands or was handed over, and why. For the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.cli.output import plain, table
from readmit.diagnosis.cause_words import sentence
from readmit.diagnosis.history import draft_in_words, in_words
from readmit.diagnosis.item_states import facets
from readmit.diagnosis.trial import FIT
from readmit.records.reasons import State
from readmit.text.escapes import one_line, shorten_digests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.table import Table

    from readmit.diagnosis.item_states import ListedItem
    from readmit.records.decisions import Disposition
    from readmit.records.identity import Identity
    from readmit.records.items import Drafted


def standing(one: ListedItem) -> str:
    """The state of an item, in one word."""
    return "stands" if one.state is None else str(one.state)


def reasons_of(one: ListedItem) -> list[str]:
    """The causes against an item, a sentence each."""
    return [shorten_digests(one_line(sentence(cause))) for cause in one.causes]


def listed_json(one: ListedItem) -> dict[str, Any]:
    """An item with its fields, its epoch, and why it does not stand."""
    said = {"epoch": one.epoch, "state": standing(one), "because": reasons_of(one)}
    return {**plain(one.item), **said}


def item_table(found: list[ListedItem]) -> Table:
    """Items, one to a row."""
    columns = ["item", "kind", "state", "slot", "text"]
    rows = [[one.item.id, str(one.item.kind), standing(one), one.item.slot or "", one.item.text] for one in found]
    if not any(one.item.slot for one in found):
        del columns[3]
        for row in rows:
            del row[3]
    return table(columns, rows, prose="text")


def item_lines(one: ListedItem) -> Iterator[str]:
    """An item in full, without its evidence and its history."""
    said = one.item
    yield f"{said.id}: {said.kind}, {standing(one)}"
    yield f"“{one_line(said.text)}”"
    yield f"Written by {one_line(said.by)} at epoch {one.epoch}"
    yield from (f"{label}: {one_line(words)}" for label, words in facets(said))
    if said.drafted:
        yield f"drafted by: {one_line(said.drafted.model)}"
    yield from (f"Does not stand: {reason}" for reason in reasons_of(one))


def disposition_table(entries: Iterable[Disposition]) -> Table:
    """One row per candidate of a return."""
    from rich.text import Text

    styles = dict.fromkeys(FIT, "dim") | {State.ADMITTED: "green"}
    rows = [
        (one.item, Text(str(one.state), style=styles.get(one.state, "red")), shorten_digests(" ".join(in_words(one))))
        for one in entries
    ]
    return table(("item", "state", "why"), rows, prose="why")


def draft_lines(found: Mapping[str, Drafted]) -> Iterator[str]:
    """One line for each candidate that a model drafted."""
    if found:
        yield ""
    yield from (f"{name}: {one_line(draft_in_words(one))}" for name, one in found.items())


def agent_in_words(identity: Identity) -> str:
    """An agent in words: principal, role and task."""
    return f"{identity.principal} ({identity.role}, {identity.task})"
