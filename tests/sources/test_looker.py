"""What holds for a look as a whole, whatever the kinds of its sources."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec
import pytest

from readmit import LookRules
from readmit.errors import RecordError
from readmit.sources import File, FileProbe, Finding, Git, GitProbe, Looker, SqlProbe
from readmit.sources.look import LookDeadline
from readmit.sources.looker import _Sources
from tests.sources.conftest import Repo, limits_of

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.sources import Probe

D = "0" * 64


def test_every_file_descriptor_of_a_look_is_closed_whatever_fails(root: Path, looker: Looker) -> None:
    for number in range(100):
        (root / f"d{number}").mkdir()
        (root / f"d{number}" / "a.txt").write_text("text")
    (root / "link").symlink_to("d1")
    os.mkfifo(root / "fifo")
    Repo(root / "repo").commit(a__txt="text\n")
    paths = [*(f"d{number}/a.txt" for number in range(100)), "link/a.txt", "fifo", "none/a.txt", "../a.txt", "d1/b/c"]
    git = GitProbe(digest=D, repository="repo", ref="main", commit="0" * 40, path="a.txt")
    missing = msgspec.structs.replace(git, path="b.txt")
    probes: list[Probe] = [*(FileProbe(digest=D, path=path) for path in paths), git, missing]
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - of this process
    for _ in range(3):
        looker.look(probes)
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_many_repositories_are_looked_at_with_few_processes(root: Path, looker: Looker) -> None:
    repos = [Repo(root / f"r{number}") for number in range(20)]
    for repo in repos:
        repo.commit(a__txt="text\n")
    _, probe = looker.capture(Git("a.txt", repository="r0"))
    probes = [msgspec.structs.replace(probe, repository=f"r{number}") for number in range(20)]
    with _Sources(looker) as sources:
        assert {looker._one(sources, one, LookDeadline(60)).outcome for one in probes} == {Finding.UNCHANGED}
        assert len(sources.of(probe)._open) == 16


def test_a_database_that_hangs_is_asked_once_in_a_look(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"")
    looker = Looker(limits_of(seconds=0.3), databases={"a": str(tmp_path / "a.db")})
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
    found = looker.look([SqlProbe(digest=D, database="a", query=endless)] * 20)
    assert [one.why for one in found[1:]] == ["a took too long before in this look"] * 19


def test_one_looker_serves_several_threads(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text("text")
    repo = Repo(root / "repo")
    repo.commit(a__txt="text\n")
    probes = [looker.capture(File("a.txt")).probe, looker.capture(Git("a.txt", repository="repo")).probe]
    with ThreadPoolExecutor(8) as pool:
        rounds = list(pool.map(lambda _: [one.outcome for one in looker.look(probes)], range(40)))
    assert rounds == [[Finding.UNCHANGED, Finding.UNCHANGED]] * 40


def test_a_look_at_nothing_finds_nothing() -> None:
    assert Looker().look([]) == []


def test_roots_do_not_move_with_the_working_directory(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_text("text")
    monkeypatch.chdir(root)
    looker = Looker(LookRules(roots=(".",)))
    monkeypatch.chdir(tmp_path)
    assert looker.capture(File("a.txt")).text == "text"


@pytest.mark.parametrize("field", ["roots", "hosts", "private_hosts", "commands"])
def test_a_text_in_place_of_a_list_of_limits_is_refused(field: str) -> None:
    """It would be read as a list of letters, and / is a root."""
    with pytest.raises(RecordError, match=f"LookRules.{field}: Expected `array`, got `str`"):
        LookRules(**{field: "/srv"})  # type: ignore[arg-type]
    with pytest.raises(RecordError, match=r"LookRules.commands\[0\]: Expected `array`, got `str`"):
        LookRules(commands=("git --version",))  # type: ignore[arg-type]


def test_importing_the_prober_loads_no_network_and_no_database() -> None:
    script = "import sys, readmit.sources; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert {"http.client", "sqlite3", "mcp", "psycopg", "ssl", "asyncio"} & set(loaded) == set()
