"""Lines of memory files that have an item, and which line of a changed file is which of them.

Kept in a file beside the store, so that an import knows what it imported. If that file is lost, lines are imported
again, and items of lines that were deleted meanwhile fall at the next look at their source.
"""

from __future__ import annotations

import os
import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from readmit.check.check_values import CheckedStatement, Voucher
from readmit.records.canonical import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

_LIKE = 0.6
"""Least share of characters in common of a line and what it was edited to."""
_MOST_COMPARED = 10_000
"""Most pairs of lines that are compared for one file."""
_LONGEST_PART = 36


class KnownLine(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of a memory file, and the item that stands for it."""

    item: str
    slot: str
    first: int
    heading: str
    thing: str
    """The first name in it."""
    text: str
    source: str
    """Start of the digest of its lines in the file, which its probe looks for."""
    finding: str = ""
    """Why it does not hold; empty if it may."""
    vouchers: tuple[Voucher, ...] = ()


class KnownFile(msgspec.Struct, frozen=True, kw_only=True):
    """A memory file as it was read last."""

    path: str
    digest: str
    lines: tuple[KnownLine, ...]
    unread: tuple[str, ...] = ()
    """Statements without an item, each with the reason."""


class KnownLines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that were imported into one scope."""

    files: dict[str, KnownFile] = {}
    tree: str = ""
    """The state of the checkout when all statements were checked last."""
    seen: dict[str, tuple[int, ...]] = {}
    """Versions of files in which vouchers stood."""

    @property
    def vouchers(self) -> set[Voucher]:
        """The places that vouch for some line that holds."""
        lines = (line for file in self.files.values() for line in file.lines if not line.finding)
        return {one for line in lines for one in line.vouchers}


def load_lines(path: Path) -> KnownLines:
    """Load the lines of earlier imports; none if the file is missing or malformed."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=KnownLines)
    except (OSError, msgspec.MsgspecError):
        return KnownLines()


def save_lines(path: Path, lines: KnownLines) -> None:
    """Save the lines that have an item, in one piece."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_bytes(msgspec.json.encode(lines))
    fresh.replace(path)


class LineChanges(NamedTuple):
    """The lines of a file, compared with those that were known."""

    kept: list[tuple[KnownLine, CheckedStatement]]
    edited: list[tuple[KnownLine, CheckedStatement]]
    added: list[CheckedStatement]
    deleted: list[KnownLine]


def compared_lines(before: Iterable[KnownLine], now: Iterable[CheckedStatement]) -> LineChanges:
    """Which statement is which line: by its text, by its heading and the thing it names, or by likeness."""
    old, new = list(before), list(now)
    kept: list[tuple[KnownLine, CheckedStatement]] = []
    edited: list[tuple[KnownLine, CheckedStatement]] = []
    for pairs, same in (
        (kept, lambda one, said: one.text == said.text and one.heading == said.heading),
        (kept, lambda one, said: one.text == said.text),
        (edited, lambda one, said: bool(one.thing) and (one.heading, one.thing) == (said.heading, thing_of(said))),
        (edited, lambda one, said: bool(one.thing) and one.thing == thing_of(said) and _is_like(one, said)),
        (edited, lambda one, said: one.heading == said.heading and _is_like(one, said)),
    ):
        pairs.extend(_paired(old, new, same))
    return LineChanges(kept, edited, new, old)


def _paired(
    old: list[KnownLine], new: list[CheckedStatement], same: Callable[[KnownLine, CheckedStatement], bool]
) -> list[tuple[KnownLine, CheckedStatement]]:
    """Pair lines with statements, in order, and take both out of their lists."""
    if len(old) * len(new) > _MOST_COMPARED:
        by_text: dict[str, list[CheckedStatement]] = {}
        for said in reversed(new):
            by_text.setdefault(said.text, []).append(said)
        pairs = [(one, by_text[one.text].pop()) for one in old if by_text.get(one.text)]
    else:
        left = list(new)
        pairs = []
        for one in old:
            if (at := next((at for at, said in enumerate(left) if same(one, said)), None)) is not None:
                pairs.append((one, left.pop(at)))
    taken, met = {id(one) for one, _ in pairs}, {id(said) for _, said in pairs}
    old[:] = [one for one in old if id(one) not in taken]
    new[:] = [said for said in new if id(said) not in met]
    return pairs


def _is_like(one: KnownLine, said: CheckedStatement) -> bool:
    match = SequenceMatcher(None, one.text, said.text, autojunk=False)
    return match.real_quick_ratio() >= _LIKE and match.quick_ratio() >= _LIKE and match.ratio() >= _LIKE


def thing_of(said: CheckedStatement) -> str:
    """The first name in a statement."""
    return said.names[0] if said.names else ""


def slot_of(task: str | None, said: CheckedStatement, taken: Collection[str]) -> str:
    """A slot for a new line: readable, and of no other line."""
    parts = (said.file.rpartition("/")[2], said.heading.rpartition(" / ")[2], thing_of(said))
    shown = ":".join(re.sub(r"[^!-~]+|[:~]", "-", part)[:_LONGEST_PART] for part in parts)
    number = 0
    while (slot := f"{shown}~{digest((task, said.file, said.heading, thing_of(said), number))[:12]}") in taken:
        number += 1
    return slot
