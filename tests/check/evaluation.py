"""How well ``readmit check`` finds: documents of this project's past as memory files, at a later state of its code.

    python -m tests.check.evaluation

``labels.json`` names, for each document, what was gone by then: every name in code, links, commands and imports was
looked up by hand, in the code and in the documents of the later state. What changed without a name changing is not in
it. The documents of commits that are held out were not looked at while the rules were written.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from readmit.check.checking import check, read_memories
from tests.conftest import ROOT

Name = tuple[str, str, int, str]
"""Commit, file, line and name."""


class Checked(NamedTuple):
    """What a check of all documents came to."""

    documents: int
    looked_for: int
    held_out: list[str]
    found: set[Name]
    gone: set[Name]

    def figures(self, *, held_out: bool | None = None) -> Figures:
        """Of all documents, of those that were held out, or of the others."""
        chosen = [
            {one for one in names if held_out is None or (one[0] in self.held_out) is held_out}
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
        report = check(read_memories([clone / file for file in files]))
        documents += len(files)
        looked_for += report.held + len(report.findings)
        found |= {(commit[:7], one.place.file, one.place.line, _short(one.looked_for)) for one in report.findings}
    return Checked(documents, looked_for, labels["held_out"], found, gone)


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
    for what, held_out in (("all", None), ("held out", True), ("others", False)):
        some = made.figures(held_out=held_out)
        found, gone = len(some.right) + len(some.wrong), len(some.right) + len(some.missed)
        print(
            f"{what}: precision {some.precision:.2f} ({len(some.right)} of {found}), "
            f"recall {some.recall:.2f} ({len(some.right)} of {gone})"
        )


if __name__ == "__main__":
    main()
