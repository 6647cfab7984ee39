"""Verification changes nothing, gets its trust from outside the file, and goes on from where it ended."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.diagnosis.verification.head_proofs import signed_head
from readmit.diagnosis.verification.log_verifier import LogVerifier
from readmit.errors import SealError, StoreError, TamperedError
from tests.keys import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.diagnosis.verification.audit_check import AuditReport

NAME = "default"
NOBODY = 65_534


@pytest.fixture
def team(tmp_path: Path) -> Path:
    file = tmp_path / "team.db"
    with Workspace.open(file) as workspace:
        for number in range(20):
            source = workspace.observe(f"Observed {number}.", by="bob", task="trip")
            workspace.record(
                f"Fact {number}", id=f"i{number}", slot=f"s{number}", sources=[source], by="bob", task="trip"
            )
    return file


def checked(file: Path, *, trusted: tuple[bytes, ...] = (), kept: bytes | None = None) -> AuditReport:
    with closing(LogVerifier(file, NAME, trusted=trusted)) as verifier:
        return verifier.verify(kept=kept)


def key_of(file: Path) -> bytes:
    with Workspace.open(file) as workspace:
        return workspace._desk.keys.signer().public


def test_it_goes_on_from_where_the_last_check_ended(team: Path) -> None:
    first = checked(team)
    assert (first.intact, first.since) == (True, 0)
    with Workspace.open(team) as workspace:
        workspace.revoke("i3", by="bob", reason="cancelled")
    second = checked(team)
    assert (second.problems, second.since, second.commits) == ((), first.commits, first.commits + 1)
    assert "was not looked at again" in second.notes[0]
    assert checked(team).since == second.commits


def test_a_store_set_back_behind_the_last_check_shows_even_if_the_pin_is_lost(team: Path, tmp_path: Path) -> None:
    shutil.copy(team, tmp_path / "old.db")
    with Workspace.open(team) as workspace:
        workspace.revoke("i3", by="bob", reason="cancelled")
    assert checked(team).intact
    shutil.copy(tmp_path / "old.db", team)
    for pin in (*keys_of(team).glob("*.head"), *keys_of(team).glob("*.trust")):
        pin.unlink()
    assert any("it was rolled back" in problem for problem in checked(team).problems)


def test_without_a_pin_the_first_key_is_trusted_and_the_report_says_so(team: Path) -> None:
    public = key_of(team)
    shutil.rmtree(keys_of(team))
    report = checked(team)
    assert report.problems == ()
    assert "nothing was known here of this workspace" in report.notes[0]
    named = checked(team, trusted=(public,))
    assert (named.problems, named.notes) == ((), ())


def test_a_store_of_another_key_is_refused(team: Path, tmp_path: Path) -> None:
    """Swapped for another store of the same name: it is whole and signed, by somebody else."""
    public = key_of(team)
    swapped = tmp_path / "swapped.db"
    with Workspace.open(swapped) as workspace:
        workspace.observe("Something else.", by="mallory")
    assert checked(swapped).intact
    assert any("is not signed by a key" in one for one in checked(swapped, trusted=(public,)).problems)
    swapped.replace(team)
    with pytest.raises(TamperedError, match="is another store than before"):
        checked(team)


@pytest.mark.parametrize("named", ["the first", "the last"])
def test_any_key_of_the_log_leads_to_the_newest(team: Path, named: str) -> None:
    first = key_of(team)
    with Workspace.open(team) as workspace:
        workspace.as_owner().admin.keys.rotate()
        workspace.revoke("i3", by="bob", reason="cancelled")
        last = workspace._desk.keys.signer().public
    assert first != last
    assert checked(team, trusted=(first if named == "the first" else last,)).problems == ()


def test_the_log_extends_a_head_that_was_kept(team: Path) -> None:
    with Workspace.open(team) as workspace:
        kept = signed_head(workspace._desk.log)
        size = int(kept.split(b"\n")[1])
        workspace.revoke("i3", by="bob", reason="cancelled")
    report = checked(team, kept=kept)
    assert (report.problems, report.kept) == ((), size)


def test_two_who_saw_forked_logs_find_out(team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each store is whole and signed by the right key; a head of one is not in the other."""
    fork, theirs = tmp_path / "fork.db", tmp_path / "keys of the fork"
    shutil.copy(team, fork)
    shutil.copytree(keys_of(team), keys_of(team, theirs))
    with Workspace.open(team) as workspace:
        workspace.revoke("i3", by="bob", reason="cancelled")
    assert checked(team).intact
    with monkeypatch.context() as patch:
        patch.setenv("READMIT_KEYS", str(theirs))
        with Workspace.open(fork) as workspace:
            workspace.revoke("i4", by="bob", reason="cancelled")
            kept = signed_head(workspace._desk.log)
        assert checked(fork).intact
    found = checked(team, kept=kept).problems
    assert any("it was rewritten" in problem for problem in found), found


def test_nothing_is_written_but_where_the_check_ended(team: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(team)) as sql:
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folders = (tmp_path, keys_of(team).parent)
    before = [_files(folder) for folder in folders]
    assert checked(team).intact
    after = [_files(folder) for folder in folders]
    made = {name for old, new in zip(before, after, strict=True) for name in new if old.get(name) != new[name]}
    assert {name.rpartition(".")[2] for name in made} <= {"verified", "db-shm", "db-wal"}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def mounted(team: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the store that this process may read and nobody may write: as on a read-only mount."""
    folder = tmp_path_factory.mktemp("mounted")
    shutil.copy(team, folder / "team.db")
    shutil.copytree(keys_of(team).parent, folder / "keys")
    monkeypatch.setenv("READMIT_KEYS", str(folder / "keys"))
    yield folder / "team.db"
    folder.chmod(0o700)


def as_somebody_without_rights(file: Path, *, trusted: tuple[bytes, ...] = ()) -> str:
    """What a check by a user who may not write finds: its problems, or the error."""
    folder = file.parent
    for one in (folder, file, *folder.rglob("*")):
        one.chmod(0o555 if one.is_dir() else 0o444)
    # The third is the folder of one of several processes, or the public one above.
    for above in folder.parents[:3]:
        above.chmod(above.stat().st_mode | 0o055)
    reader, writer = os.pipe()
    if not (child := os.fork()):  # a process of its own: the rights of this one cannot be given back
        try:
            if not os.getuid():
                os.setuid(NOBODY)
            said = "; ".join(checked(file, trusted=trusted).problems)
        except (StoreError, SealError) as error:
            said = str(error)
        except BaseException as error:  # noqa: BLE001 - the parent reports it
            said = repr(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader, encoding="utf-8") as pipe:  # noqa: PTH123 - a file descriptor
        return pipe.read()


def test_it_works_where_nothing_can_be_written(mounted: Path) -> None:
    before = _files(mounted.parent)
    assert as_somebody_without_rights(mounted) == ""
    assert _files(mounted.parent) == before


def test_commits_that_cannot_be_read_there_are_named(team: Path, mounted: Path) -> None:
    with Workspace.open(team) as workspace:
        workspace.observe("Still in the write-ahead log.", by="bob")
        shutil.copy(team, mounted)
        shutil.copy(team.with_name("team.db-wal"), mounted.with_name("team.db-wal"))
    said = as_somebody_without_rights(mounted)
    assert "team.db-wal beside it holds commits that cannot be read here" in said
    assert "readmit admin backup" in said


def test_keys_that_cannot_be_read_can_be_named(team: Path, mounted: Path) -> None:
    public = key_of(team)
    (pin,) = keys_of(mounted).glob("*.trust")
    pin.unlink()
    pin.mkdir()
    assert "name the key of the log with --key" in as_somebody_without_rights(mounted)
    assert as_somebody_without_rights(mounted, trusted=(public,)) == ""


def test_a_head_at_a_rotation_is_trusted_although_its_pin_was_lost(team: Path) -> None:
    """The old key signed the commit that trusts the new one. The keys are pinned durably, the head only in time."""
    with Workspace.open(team) as workspace:
        workspace.as_owner().admin.keys.rotate()
    for file in keys_of(team).glob("*.head"):
        file.unlink()
    assert checked(team).problems == ()
    with Workspace.open(team) as workspace:
        workspace.observe("It goes on.", by="bob")
    assert checked(team).problems == ()
