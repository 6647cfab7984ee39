"""A real pgbouncer before the server: sessions of their own work, and borrowed ones are refused at once."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.errors import StoreError
from tests.crash.team import prepare, usable, verify
from tests.postgres import PASSWORD, ROLE, as_other_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.postgres import Server

pytest.importorskip("psycopg", reason="needs psycopg: the postgres extra")
PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs pgbouncer, as in Debian's package of that name")


@contextmanager
def pooler(server: Server, mode: str, *, most: int = 20) -> Iterator[int]:
    """A pooler before the server's database. Gives its port."""
    folder = Path(mkdtemp(dir=server.folder))
    folder.chmod(0o777)
    (folder / "users").write_text(f'"{ROLE}" "{PASSWORD}"\n')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    (folder / "settings").write_text(
        f"[databases]\nteam = host=127.0.0.1 port={server.port} dbname=team\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = plain\nauth_file = {folder}/users\npool_mode = {mode}\n"
        f"default_pool_size = {most}\nlogfile = {folder}/log\n"
    )
    command = [*as_other_user(), str(PROGRAM), "-q", str(folder / "settings")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        try:
            for _ in range(200):
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            yield port
        finally:
            running.terminate()


def through(url: str, port: int) -> str:
    server, _, rest = url.rpartition("/")
    return f"{server.rpartition(':')[0]}:{port}/{rest}"


@pytest.mark.parametrize("most", [1, 20])
@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pooler_that_lends_sessions_is_refused_with_the_way_out(
    mode: str, most: int, server: Server, fresh_url: Callable[[], str]
) -> None:
    url = fresh_url()
    with Workspace.open(url) as team, pooler(server, mode, most=most) as port:
        head = team._desk.log.head
        for _ in range(3):
            with pytest.raises(StoreError, match="set pool_mode=session for this database") as refused:
                Workspace.open(through(url, port))
            assert PASSWORD not in str(refused.value)
        assert team._desk.log.head == head


def test_a_pooler_that_lends_sessions_is_found_while_others_use_it(
    server: Server, fresh_url: Callable[[], str]
) -> None:
    import psycopg

    url = fresh_url()
    with pooler(server, "transaction") as port:
        others = [psycopg.connect(through(url, port).partition("?")[0], autocommit=True) for _ in range(6)]
        for number, one in enumerate(others):
            if number % 2:
                one.execute("BEGIN")
            one.execute("SELECT 1")
        with pytest.raises(StoreError, match="set pool_mode=session for this database"):
            Workspace.open(through(url, port))
        for one in others:
            one.close()


def test_a_pooler_of_whole_sessions_serves_a_store(server: Server, fresh_url: Callable[[], str]) -> None:
    with pooler(server, "session") as port:
        place = through(fresh_url(), port)
        prepare(place)
        with Workspace.open(place) as one, Workspace.open(place) as two:
            one.observe("From one.", by="bob", id="one")
            two.observe("From another.", by="bob", id="two")
            usable(one, "last")
        with verify(place, ["observe:one", "observe:two"]):
            pass


def test_a_pooler_without_a_session_to_spare_serves_the_first(server: Server, fresh_url: Callable[[], str]) -> None:
    with pooler(server, "session", most=1) as port, Workspace.open(through(fresh_url(), port)) as team:
        team.observe("Alone.", by="bob")
