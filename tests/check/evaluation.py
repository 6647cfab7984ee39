"""How well ``readmit check`` finds: documents of this project's past as memory files, at a later state of its code.

    python -m tests.check.evaluation

``labels.json`` names, for each document, what was gone by then. A person read what the command finds, the names that
have left these documents since, and a list of names that are defined nowhere; tables of options were compared by a
script. A name that is gone and that none of these showed would lower the recall. What changed without a name changing
is not in it. One commit was chosen after the rules were written, and no rule was changed for it; its documents are
earlier versions of pages that the rules were written on.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from readmit.check.statement_checks import check_memories, read_memories
from tests.conftest import ROOT

Name = tuple[str, str, int, str]
"""Commit, file, line and name."""


class Checked(NamedTuple):
    """What a check of all documents came to."""

    documents: int
    looked_for: int
    chosen_later: list[str]
    found: set[Name]
    gone: set[Name]

    def figures(self, *, chosen_later: bool | None = None) -> Figures:
        """Of all documents, of those that were chosen after the rules were written, or of the others."""
        chosen = [
            {one for one in names if chosen_later is None or (one[0] in self.chosen_later) is chosen_later}
            for names in (self.found & self.gone, self.found - self.gone, self.gone - self.found)
        ]
        return Figures(*map(sorted, chosen))


class Figures(NamedTuple):
    """What was found rightly and wrongly, and what was missed."""

    right: list[Name]
    wrong: list[Name]
    missed: list[Name]

    @property
    def precision(self) -> float:
        return len(self.right) / (len(self.right) + len(self.wrong))

    @property
    def recall(self) -> float:
        return len(self.right) / (len(self.right) + len(self.missed))


def measure(folder: Path) -> Checked:
    """Check every document of the sample in a clone of this repository below a folder."""
    labels = json.loads((Path(__file__).parent / "labels.json").read_text())
    clone = folder / "clone"
    _git(ROOT, "clone", "-q", "--shared", "--no-checkout", str(ROOT), str(clone))
    looked_for = documents = 0
    found: set[Name] = set()
    gone: set[Name] = set()
    for commit, files in labels["gone"].items():
        _git(clone, "checkout", "-q", "-f", labels["at"])
        _git(clone, "clean", "-fdq")
        for file, names in files.items():
            path = clone / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_git(clone, "show", f"{commit}:{file}"))
            gone |= {(commit[:7], file, line, name) for line, name in names}
        report = check_memories(read_memories([clone / file for file in files]))
        documents += len(files)
        looked_for += report.held + len(report.findings)
        found |= {(commit[:7], one.place.file, one.place.line, _short(one.looked_for)) for one in report.findings}
    return Checked(documents, looked_for, labels["chosen_later"], found, gone)


def _short(looked_for: str) -> str:
    return looked_for.rpartition(" import ")[2]


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Print the figures, and what was missed or found wrongly."""
    with tempfile.TemporaryDirectory() as folder:
        made = measure(Path(folder))
    every = made.figures()
    for what, names in (("wrong", every.wrong), ("missed", every.missed)):
        for commit, file, line, name in names:
            print(f"{what}: {commit} {file}:{line} {name}")
    print(f"documents {made.documents}, names looked for {made.looked_for}, gone {len(made.gone)}")
    for what, chosen_later in (("all", None), ("chosen later", True), ("others", False)):
        some = made.figures(chosen_later=chosen_later)
        found, gone = len(some.right) + len(some.wrong), len(some.right) + len(some.missed)
        print(
            f"{what}: precision {some.precision:.2f} ({len(some.right)} of {found}), "
            f"recall {some.recall:.2f} ({len(some.right)} of {gone})"
        )


if __name__ == "__main__":
    main()
