"""A full disk, under the database or under the keys: an error by name, and a view that can be asked for again."""

from __future__ import annotations

import resource
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.errors import ReadmitError, SealError, StoreError
from readmit.trust.pin import FileWatermark
from tests.crash.team import prepare, verify
from tests.scene import audited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HELD = {"o", "f", "h"}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A real disk with little room."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"needs the right to mount a small disk: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Without any room left."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as out:
        for size in (4_096, 1):
            try:
                while out.write(b"x" * size):
                    pass
            except OSError:
                continue
    for number in range(10_000):  # and no file can be made
        try:
            (folder / f"filler{number}").touch()
            (folder / f"filler{number}").write_text("x")
        except OSError:
            break
    try:
        yield
    finally:
        for one in folder.glob("filler*"):
            one.unlink()


@contextmanager
def limited(room: int) -> Iterator[None]:
    """No file may become longer than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def folder(tmp_path: Path, name: str) -> Path:
    made = tmp_path / name
    made.mkdir()
    return made


def until_full(write: Callable[[], object]) -> None:
    """The files may have a little room of their own left."""

    def write_on() -> None:
        for _ in range(1_000):
            write()

    with pytest.raises(StoreError, match=r"the disk of .*team\.db is full .*make room and call again"):
        write_on()


def test_an_exposure_survives_a_full_disk_under_the_database(small: Path, tmp_path: Path) -> None:
    file, keys = small / "team.db", folder(tmp_path, "keys")
    prepare(file, keys=keys)
    with Workspace.open(file, keys=keys) as team:
        outcome = team.agent("ann", role="planner", task="trip").come_back(checkpoint="left")
        with filled(small):
            until_full(lambda: team.observe("x" * 500, by="bob", task="elsewhere"))
            until_full(outcome.expose)
        assert {item.id for item in outcome.expose().items} == HELD
        with filled(small):
            until_full(lambda: team.observe("x" * 500, by="bob", task="elsewhere"))
            until_full(outcome.acknowledge)
        outcome.acknowledge()
    verify(file, keys=keys).close()


def test_an_exposure_survives_a_full_disk_under_the_keys(small: Path, tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    prepare(file, keys=small)
    with Workspace.open(file, keys=small) as team:
        outcome = team.agent("ann", role="planner", task="trip").come_back(checkpoint="left")
        with filled(small), pytest.raises(SealError, match=r"No space left on device.*expose the view again"):
            outcome.expose()
        assert {item.id for item in outcome.expose().items} == HELD
        outcome.acknowledge()
        assert audited(team).intact


def test_a_delivery_survives_a_disk_under_the_keys_that_fills_up_later(small: Path, tmp_path: Path) -> None:
    """The mark exists by then and is as long as it will ever be."""
    file = tmp_path / "team.db"
    prepare(file, keys=small)
    with Workspace.open(file, keys=small) as team:
        ann = team.agent("ann", role="planner", task="trip")
        first = ann.come_back(checkpoint="left")
        first.expose()
        second = ann.come_back(checkpoint="left")
        with filled(small):
            assert {item.id for item in second.expose().items} == HELD
            second.acknowledge()


@pytest.mark.parametrize("room", [0, 7, 19])
def test_a_mark_that_does_not_fit_is_refused_by_name_and_stays_as_it_was(tmp_path: Path, room: int) -> None:
    mark = FileWatermark(tmp_path / "m.mark")
    with limited(room), pytest.raises(SealError, match="expose the view again"):
        mark.raise_to(9)
    assert mark.read() == 0
    mark.raise_to(12)
    assert mark.read() == 12


def test_a_new_store_on_a_full_disk_is_refused_by_name(small: Path, tmp_path: Path) -> None:
    with filled(small):
        with pytest.raises(ReadmitError, match=r"full|No space left"):
            Workspace.open(small / "new.db")
        with pytest.raises(ReadmitError, match="No space left"):
            Workspace.open(tmp_path / "new.db", keys=small)
    Workspace.open(small / "new.db").close()
    Workspace.open(tmp_path / "new.db", keys=small).close()


@pytest.mark.parametrize("room", [40_000, 80_000, 160_000])
def test_an_exposure_survives_a_file_that_may_not_grow(tmp_path: Path, room: int) -> None:
    file = tmp_path / "team.db"
    prepare(file)
    with Workspace.open(file) as team:
        ann = team.agent("ann", role="planner", task="trip")

        def until_it_fails() -> None:
            for number in range(200):
                ann.come_back(checkpoint="left", id=f"r{number}").expose()

        with limited(room), pytest.raises(StoreError, match=r"repeat this with the same ids|is full"):
            until_it_fails()
        outcome = ann.come_back(checkpoint="left")
        assert {item.id for item in outcome.expose().items} == HELD
    verify(file).close()


def test_nothing_is_written_after_the_database_undid_a_transaction(tmp_path: Path) -> None:
    """Statement by statement, the rest would be committed without what came before."""
    with Workspace.open(tmp_path / "team.db") as team:
        before = team.epoch

        def work() -> None:
            with team.batch():
                team.record("one", by="bob")
                team._desk.log.connection.sql.ahead("ROLLBACK", ())
                with pytest.raises(StoreError, match="undid this transaction"):
                    team.record("two", by="bob")

        with pytest.raises(StoreError, match="undid this transaction"):
            work()
        assert team.epoch == before
    verify(tmp_path / "team.db").close()
