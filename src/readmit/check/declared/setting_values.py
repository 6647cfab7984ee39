"""Settings and ports that a statement names with a value, against the values that files give them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readmit.check.check_values import CheckFinding, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.check_values import Mention
    from readmit.check.working_tree import WorkTree

NEVER = "nothing of this name was ever here"
_FEW = 3
_LITERAL = re.compile(r"-?[\w./:-]+")


def settings_checked(tree: WorkTree, mentions: list[Mention]) -> Iterator[Mention | CheckFinding | Unchecked]:
    """Whether files give settings the values that statements say."""
    ports = _ports(tree, [one for one in mentions if one.name == "port" and one.more.isdigit()])
    known = tree.settings({one.name for one in mentions})
    for one in mentions:
        values = {plain_value(value): file for value, file in known.get(one.name, ())}
        said = f"{one.name} = {one.more}"
        if not values and one in ports:
            yield ports[one]
        elif plain_value(one.more) in values:
            yield one
        elif not values or len(values) > _FEW or not all(_LITERAL.fullmatch(value) for value in values):
            yield Unchecked(one.place, said, "no file gives it one plain value")
        else:
            now = "; ".join(f"{file} says {value}" for value, file in values.items())
            yield CheckFinding(one.place, one.kind, said, now)


def _ports(tree: WorkTree, mentions: list[Mention]) -> dict[Mention, Mention | CheckFinding | Unchecked]:
    """A port is looked for as a number, which many a file gives another name."""
    absent = {one.more for one in mentions} - tree.numbers if mentions else set()
    removed = tree.removed(absent)
    return {
        one: one
        if one.more not in absent
        else CheckFinding(one.place, one.kind, said, f"no code holds {one.more}: {removed[one.more]}")
        if one.more in removed
        else Unchecked(one.place, said, NEVER)
        for one in mentions
        for said in [f"port {one.more}"]
    }


def plain_value(text: str) -> str:
    """A plain value in one spelling."""
    bare = text.strip().strip("\"'").strip()
    return bare.lower() if bare.lower() in {"true", "false"} else re.sub(r"(?<=\d)_(?=\d)", "", bare)
