"""The server of the tests: if its programs change under it, that is what a test fails with."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests import postgres
from tests.postgres import ChangedServerError, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROGRAMS = ("initdb", "pg_ctl", "postgres")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that nobody starts."""
    for name in PROGRAMS:
        (tmp_path / name).write_text(f"{name} 15.4")
    monkeypatch.setattr(postgres, "binaries", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def idle(programs: Path) -> Iterator[Server]:
    server = Server()
    yield server
    shutil.rmtree(server.folder)


USES: dict[str, Callable[[Server], object]] = {
    "an address": Server.url,
    "a statement": lambda server: server.sql("SELECT 1"),
    "a restart": Server.start,
}


@pytest.mark.parametrize("use", USES)
def test_an_upgrade_under_the_server_is_named(use: str, idle: Server, programs: Path) -> None:
    (programs / "postgres").write_text("postgres 15.10")
    with pytest.raises(ChangedServerError, match=r"^postgres in .* changed while .*; run the tests again"):
        USES[use](idle)


def test_a_removed_program_is_named(idle: Server, programs: Path) -> None:
    (programs / "pg_ctl").unlink()
    with pytest.raises(ChangedServerError, match=r"^pg_ctl in "):
        idle.url()


def test_programs_that_stay_are_used(idle: Server) -> None:
    assert idle.url("team").endswith("schema=team")
