"""Files that changed since the statements that name them were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.check.check_values import Mention, NameKind, StatementPlace
from readmit.check.named_things import mentions_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.memory_files import MemoryFiles

LONGEST = 12_000
"""Most characters of a change that are shown to the model. A longer change is not shown: a part of it could mislead."""


class FileChange(msgspec.Struct, frozen=True):
    """A statement, and the diff since then of a file that it names. A diff that was cut is never shown to a model."""

    place: StatementPlace
    path: str
    diff: str


def changes_of(memories: MemoryFiles) -> Iterator[FileChange]:
    """Each statement with each file that it names, if that changed since the statement's line was written."""
    tree = memories.tree
    mentions = (one for span in memories.spans for one in mentions_in(span) if isinstance(one, Mention))
    wanted = dict.fromkeys((one.place, one.name) for one in mentions if one.kind is NameKind.PATH)
    texts = {name: file.read_text("utf-8-sig").splitlines() for name, file in memories.files.items()}
    commits = {name: tree.written(name) for name in memories.files}
    for place, path in wanted:
        lines = texts[place.file]
        commit = commits[place.file].get(lines[place.line - 1].strip()) if place.line <= len(lines) else None
        if commit is not None and path in tree.paths and (diff := tree.changes(commit, path)):
            yield FileChange(place, path, diff[: LONGEST + 1])
