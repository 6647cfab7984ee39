"""``readmit witness`` as a command: what it says, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit.trust.witness.client import witnessed
from tests.trust.witness.logs import KEY, Log, running

from .run import run

if TYPE_CHECKING:
    from pathlib import Path


def test_keys_of_logs_can_be_in_a_file(tmp_path: Path) -> None:
    logs = tmp_path / "logs.txt"
    logs.write_text(f"# the trip\n\n{KEY.vkey}\n", encoding="utf-8")
    log = Log("a")
    with running(tmp_path / "witness.db", trust=f"@{logs}") as witness:
        assert witnessed(witness.url, log.note(), log.prove, keys=[witness.key])


@pytest.mark.parametrize("listen", ["8420", "localhost", "localhost:", "localhost:x", "localhost:70000"])
def test_an_address_that_is_none_is_wrong_usage(tmp_path: Path, listen: str) -> None:
    done = run("witness", "--state", tmp_path / "w.db", "--trust", KEY.vkey, "--listen", listen, status=2)
    assert "is not HOST:PORT" in done.output


def test_a_key_that_is_none_is_an_error_and_nothing_is_made(tmp_path: Path) -> None:
    done = run("witness", "--state", tmp_path / "w.db", "--trust", "nonsense", status=1)
    assert "NAME+KEYID+KEY" in done.output
    assert not list(tmp_path.iterdir())


def test_an_address_in_use_is_an_error_in_one_line(tmp_path: Path) -> None:
    with running(tmp_path / "witness.db") as witness:
        address = witness.url.removeprefix("http://")
        done = run("witness", "--state", tmp_path / "w.db", "--trust", KEY.vkey, "--listen", address, status=1)
    assert "--listen" in done.output
    assert len(done.output.splitlines()) == 1
