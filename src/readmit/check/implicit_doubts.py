"""Asks a verifier about statements whose names all hold, but whose named files changed.

The diff of the file since the statement's line was written goes to a verifier as a later observation. As in a return,
a finding needs a quote from both sides that code finds again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.check.changed_files import LONGEST
from readmit.check.check_values import CheckFinding, NameKind, Unchecked
from readmit.models.model_lines import open_model
from readmit.models.protocols import Failure
from readmit.models.stages.verify import PairCase, Verifier
from readmit.records.canonical import digest
from readmit.records.policy import Policy
from readmit.records.verdicts import Answer, Pair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from readmit.check.changed_files import FileChange
    from readmit.check.check_values import CheckReport

MOST = 200
"""Most changes that one check puts to the verifier."""


def with_changes(report: CheckReport, found: Iterable[FileChange], verifier: str) -> CheckReport:
    """The report with the verifier's findings added."""
    known = {(one.place.file, one.place.line) for one in report.findings}
    changes: list[FileChange] = []
    unchecked: list[Unchecked] = []
    for change in found:
        if (change.place.file, change.place.line) in known:
            continue
        if len(change.diff) > LONGEST:
            unchecked.append(Unchecked(change.place, change.path, f"changed by more than {LONGEST} characters"))
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
        elif said.answer is Answer.INVALIDATES and (said.stale or 0) >= Policy().evidence.invalid_at:
            now = f"{change.path} says now: {said.evidence_quote}"
            findings.append(CheckFinding(change.place, NameKind.CHANGE, said.item_quote, now))
    return msgspec.structs.replace(
        report,
        held=report.held - len(findings),
        findings=(*report.findings, *findings),
        unchecked=(*report.unchecked, *unchecked),
    )


def _case(change: FileChange) -> PairCase:
    pair = Pair(item=digest(change.place)[:32], evidence=digest((change.path, change.diff)))
    return PairCase(
        pair=pair,
        item_text=change.place.statement,
        evidence_text=f"{change.path} changed since then:\n{change.diff}",
    )
