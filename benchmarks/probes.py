"""How long does it take to look at sources again?

Files are judged by their status once they were found unchanged; files that changed are read, searched and hashed; git
is read without a process. Run it with ``python -m benchmarks probes``.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.result import Result, at_most, sized
from readmit import LookRules
from readmit.records.probes import Finding, GitProbe
from readmit.sources import File, Git, Looker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from readmit.records.probes import Probe

FILES, CHANGED, IN_GIT = sized(10_000, 200), sized(1_000, 20), sized(1_000, 20)
LINES = 100
PER_FOLDER = 100
ROUNDS = 3


def run(report: Callable[[int], object]) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        looker = Looker(LookRules(roots=(folder,), total_seconds=600))
        files = _files(Path(folder))
        probes = [looker.capture(File(str(path), lines="40-44")).probe for path in files]
        report(FILES)
        # The version of a file that has just changed is not trusted.
        time.sleep(2.5)
        cold, found = _timed(looker, probes)
        assert found == {Finding.UNCHANGED}
        warm = min(_timed(looker, probes)[0] for _ in range(ROUNDS))
        report(FILES)
        for path in files[:CHANGED]:
            path.write_text(path.read_text().replace("line 42 ", "line forty-two "))
        changed, found = _timed(looker, probes[:CHANGED])
        assert found == {Finding.CHANGED}
        for path in files[CHANGED : 2 * CHANGED]:
            path.write_text("inserted above\n" + path.read_text())
        moved, found = _timed(looker, probes[CHANGED : 2 * CHANGED])
        assert found == {Finding.MOVED}
        report(CHANGED)
        git = _git(Path(folder), looker, probes[-IN_GIT:])
    return [
        at_most(f"{FILES:,} file probes, unchanged, status and digest known", warm, 0.5, "s"),
        at_most(f"{FILES:,} file probes, unchanged, looked at for the first time", cold, None, "s"),
        at_most(f"{CHANGED:,} file probes, changed", changed, 2, "s"),
        at_most(f"{CHANGED:,} file probes, moved within their file", moved, None, "s"),
        at_most(f"{IN_GIT:,} git probes in one repository", git, 2, "s"),
    ]


def _files(folder: Path) -> list[Path]:
    made = []
    for number in range(FILES):
        path = folder / f"part{number // PER_FOLDER}" / f"file{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"line {line} of file {number}\n" for line in range(1, LINES + 1)))
        made.append(path)
    return made


def _git(folder: Path, looker: Looker, probes: Sequence[Probe]) -> float:
    """The same quotes, in a repository."""
    for words in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "m"],
    ):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    commit = looker.capture(Git("part0/file0.txt")).probe.commit  # type: ignore[union-attr]  # a GitProbe
    places = [{name: getattr(one, name) for name in GitProbe.__struct_fields__ if hasattr(one, name)} for one in probes]
    committed = [GitProbe(**{**place, "repository": ".", "ref": "HEAD", "commit": commit}) for place in places]
    times = [_timed(looker, committed) for _ in range(ROUNDS)]
    assert [found for _, found in times] == [{Finding.UNCHANGED}] * ROUNDS
    return min(seconds for seconds, _ in times)


def _timed(looker: Looker, probes: Sequence[Probe]) -> tuple[float, set[Finding]]:
    start = time.perf_counter()
    results = looker.look(probes)
    return time.perf_counter() - start, {result.outcome for result in results}
