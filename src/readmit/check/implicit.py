"""Statements whose names all hold and that may be wrong all the same, because a file that they name changed.

What changed in the file since the statement's line was written goes to a verifier as a later observation. As in a
return, a finding needs a quote from both sides that code finds again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.check.naming import named
from readmit.check.values import CheckFinding, Mention, NameKind, StatementPlace, Unchecked
from readmit.models.open import open_model
from readmit.models.stages.verify import PairCase, Verifier
from readmit.ports.models import Failure
from readmit.records.canonical import digest
from readmit.records.policy import Policy
from readmit.records.verdicts import Answer, Pair

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.check.checking import MemoryFiles
    from readmit.check.values import CheckReport

_LONGEST = 12_000
"""Most characters of a change that are shown to the model. Of a longer one, nothing would be a fair part."""
MOST = 200
"""Most changes that are asked about in one check."""


class FileChange(msgspec.Struct, frozen=True):
    """A statement, and what changed since in a file that it names."""

    place: StatementPlace
    path: str
    diff: str


def with_changes(report: CheckReport, memories: MemoryFiles, verifier: str) -> CheckReport:
    """A report with what a verifier finds."""
    known = {(one.place.file, one.place.line) for one in report.findings}
    changes: list[FileChange] = []
    unchecked: list[Unchecked] = []
    for change in _changes(memories):
        if (change.place.file, change.place.line) in known:
            continue
        if len(change.diff) > _LONGEST:
            unchecked.append(Unchecked(change.place, change.path, f"changed by more than {_LONGEST} characters"))
        elif len(changes) == MOST:
            unchecked.append(Unchecked(change.place, change.path, f"more than {MOST} changes to ask about"))
        else:
            changes.append(change)
    model = open_model(verifier)
    try:
        verdicts = Verifier(model=model).verify([_case(one) for one in changes]) if changes else []
    finally:
        model.close()
    findings: list[CheckFinding] = []
    for change, said in zip(changes, verdicts, strict=True):
        if isinstance(said, Failure):
            unchecked.append(Unchecked(change.place, change.path, f"the verifier gave no answer: {said.message}"))
        elif said.answer is Answer.UNSURE:
            unchecked.append(Unchecked(change.place, change.path, f"the verifier is unsure: {said.note}"))
        elif said.answer is Answer.INVALIDATES and (said.stale or 0) >= Policy().invalid_at:
            now = f"{change.path} says now: {said.evidence_quote}"
            findings.append(CheckFinding(change.place, NameKind.CHANGE, said.item_quote, now))
    return msgspec.structs.replace(
        report,
        held=report.held - len(findings),
        findings=(*report.findings, *findings),
        unchecked=(*report.unchecked, *unchecked),
    )


def _changes(memories: MemoryFiles) -> Iterator[FileChange]:
    """Each statement with each file that it names, if that changed since the statement's line was written."""
    tree = memories.tree
    mentions = (one for span in memories.spans for one in named(span) if isinstance(one, Mention))
    wanted = dict.fromkeys((one.place, one.name) for one in mentions if one.kind is NameKind.PATH)
    texts = {name: file.read_text("utf-8-sig").splitlines() for name, file in memories.files.items()}
    commits = {name: tree.written(name) for name in memories.files}
    for place, path in wanted:
        lines = texts[place.file]
        commit = commits[place.file].get(lines[place.line - 1].strip()) if place.line <= len(lines) else None
        if commit is not None and path in tree.paths and (diff := tree.changes(commit, path)):
            yield FileChange(place, path, diff)


def _case(change: FileChange) -> PairCase:
    pair = Pair(item=digest(change.place)[:32], evidence=digest((change.path, change.diff)))
    return PairCase(
        pair=pair,
        item_text=change.place.statement,
        evidence_text=f"{change.path} changed since then:\n{change.diff}",
    )
