"""Looking again at resources of a real MCP server, started as a process of its own."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from readmit import LookRules
from readmit.errors import GoneError, ProbeError
from readmit.sources import Finding, Looker, Mcp

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.backends
pytest.importorskip("mcp", reason="needs the mcp extra")

SERVER = """
import sys, time
from pathlib import Path
from mcp.server import MCPServer

server = MCPServer("notes")
notes = Path(sys.argv[1])

@server.resource("notes://today")
def today() -> str:
    return notes.read_text()

@server.resource("notes://slow")
def slow() -> str:
    time.sleep(600)
    return "late"

@server.resource("notes://picture")
def picture() -> bytes:
    return b"PNG"

server.run("stdio")
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "notes.txt").write_text("ship on Friday")
    return tmp_path / "notes.txt"


def looker(notes: Path, **limits: object) -> Looker:
    command = (sys.executable, str(notes.with_name("server.py")), str(notes))
    given = {"seconds": 30, "total_seconds": 60, **limits}
    return Looker(LookRules(**given), mcp={"notes": command})  # type: ignore[arg-type]


def test_a_resource_is_captured_and_a_new_text_is_seen(notes: Path) -> None:
    text, probe = looker(notes).capture(Mcp("notes", "notes://today"))
    assert text == "ship on Friday"
    assert looker(notes).look([probe, probe]) == [(Finding.UNCHANGED, probe, "", "")] * 2
    notes.write_text("ship on Monday")
    [found] = looker(notes).look([probe])
    assert (found.outcome, found.text) == (Finding.CHANGED, "ship on Monday")


def test_a_resource_that_the_server_does_not_have_is_gone(notes: Path) -> None:
    with pytest.raises(GoneError, match="the server has no notes://yesterday"):
        looker(notes).capture(Mcp("notes", "notes://yesterday"))


def test_a_resource_that_is_no_text_and_an_unknown_server_are_refused(notes: Path) -> None:
    with pytest.raises(ProbeError, match="is not text"):
        looker(notes).capture(Mcp("notes", "notes://picture"))
    with pytest.raises(ProbeError, match=r"^server: the prober knows no 'other'; add it to mcp"):
        looker(notes).capture(Mcp("other", "notes://today"))


def test_a_server_that_hangs_is_given_up_until_the_next_look(notes: Path) -> None:
    one = looker(notes, seconds=15)
    _, probe = one.capture(Mcp("notes", "notes://today"))
    slow = msgspec.structs.replace(probe, uri="notes://slow")
    start = time.monotonic()
    found = one.look([slow, probe])
    assert [result.outcome for result in found] == [Finding.UNSEEN, Finding.UNSEEN]
    assert time.monotonic() - start < 240
    assert [result.outcome for result in one.look([probe])] == [Finding.UNCHANGED]


def test_a_server_that_does_not_start_is_unseen(notes: Path) -> None:
    _, probe = looker(notes).capture(Mcp("notes", "notes://today"))
    for command in (("/no/such/program",), (sys.executable, "-c", "raise SystemExit"), ("sleep", "600")):
        start = time.monotonic()
        [found] = Looker(LookRules(seconds=3), mcp={"notes": command}).look([probe])
        assert (found.outcome, time.monotonic() - start < 240) == (Finding.UNSEEN, True)
