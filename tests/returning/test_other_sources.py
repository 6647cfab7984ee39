"""Rows, pages, branches and commands that items rest on: from observation to a return that notices the change."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from readmit import LookRules, Policy, Reason, Workspace
from readmit.errors import ProbeError
from readmit.sources import Command, Git, Http, Looker, Sql
from tests.scene import HOUR, Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def story(team: Workspace, clock: Clock, observe: Callable[[], str], change: Callable[[], object]) -> None:
    """What was observed is handed over until it changes."""
    team.record("The price is 12", id="p", sources=[observe()], by="bob")
    ann = team.agent("ann", role="clerk", task="shop")
    ann.depart()
    clock.now += HOUR
    assert ann.come_back().items == ("p",)
    change()
    clock.now += HOUR
    back = ann.come_back()
    assert back.dispositions[0].reasons == (Reason.SOURCE_CHANGED,)
    assert team.returned(back.id).replay().matches


def shop(folder: Path, **policy: Any) -> tuple[Workspace, Clock]:
    clock = Clock()
    prober = partial(Looker, databases={"shop": str(folder / "shop.db")})
    return Workspace.open(folder / "team.db", clock=clock, policy=Policy(**policy), prober=prober), clock


def test_a_row(tmp_path: Path) -> None:
    def run(statement: str) -> None:
        with sqlite3.connect(tmp_path / "shop.db") as file:
            file.execute(statement)
        file.close()

    run("CREATE TABLE price (id INTEGER, cents INTEGER)")
    run("INSERT INTO price VALUES (7, 1200)")
    team, clock = shop(tmp_path)
    query = "SELECT cents FROM price WHERE id = ?"
    story(
        team,
        clock,
        lambda: team.observe(probe=Sql("shop", query, [7]), by="bob"),
        lambda: run("UPDATE price SET cents = 900 WHERE id = 7"),
    )


def test_a_branch(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    def write(text: str) -> None:
        (tmp_path / "price.txt").write_text(text, encoding="utf-8")
        git("add", "price.txt")
        git("commit", "-qm", text)

    git("init", "-q", "-b", "main")
    write("The price is 12.")
    team, clock = shop(tmp_path)
    observe = lambda: team.observe(probe=Git("price.txt", ref="main"), by="bob")  # noqa: E731
    story(team, clock, observe, lambda: write("The price is 9."))


def test_what_a_command_prints(tmp_path: Path) -> None:
    (tmp_path / "price.txt").write_text("12", encoding="utf-8")
    script = "print(open('price.txt').read())"
    argv = (sys.executable, "-c", script)
    team, clock = shop(tmp_path, looks=LookRules(commands=(argv,), sandbox="limits"))
    with pytest.raises(ProbeError):
        team.observe(probe=Command([sys.executable, "-c", "print(1)"]), by="bob")
    story(
        team,
        clock,
        lambda: team.observe(probe=Command(argv), by="bob"),
        lambda: (tmp_path / "price.txt").write_text("9", encoding="utf-8"),
    )


class Page(BaseHTTPRequestHandler):
    """A page that the test writes."""

    text = "The price is 12."

    def do_GET(self) -> None:
        body = type(self).text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    Page.text = "The price is 12."


def test_a_page(tmp_path: Path, address: str) -> None:
    team, clock = shop(tmp_path, looks=LookRules(hosts=(address,), private_hosts=(address,)))
    story(
        team,
        clock,
        lambda: team.observe(probe=Http(f"http://{address}/price"), by="bob"),
        lambda: setattr(Page, "text", "The price is 9."),
    )


def test_a_page_that_the_policy_no_longer_allows_is_unseen(tmp_path: Path, address: str) -> None:
    team, clock = shop(tmp_path, looks=LookRules(hosts=(address,), private_hosts=(address,)))
    team.record("The price is 12", id="p", sources=[team.observe(probe=Http(f"http://{address}/"), by="bob")], by="bob")
    ann = team.agent("ann", role="clerk", task="shop")
    ann.depart()
    team.as_owner().admin.govern(Policy())
    clock.now += HOUR
    back = ann.come_back()
    assert back.items == ("p",), "nothing critical rests on it"
    assert "looks.hosts" in back.dispositions[0].unseen[0].note
    assert back.sources[0].finding == "unseen"
