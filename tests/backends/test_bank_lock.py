"""One writer at a time on a bank: between threads, connections and processes, on a file and on a server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.backends.bank_lock import WAIT_SECONDS, bank_lock, lock_name, pauses
from readmit.errors import BackendError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.postgres import Server

HOLD = """
import sys
from readmit import Workspace
from readmit.backends.bank_lock import bank_lock

team = Workspace.open(sys.argv[1])
with bank_lock(team.admin.log.sources, sys.argv[2]):
    print("held", flush=True)
    sys.stdin.readline()
print("freed", flush=True)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "team.db")
    fresh: Callable[[], str] = request.getfixturevalue("fresh_url")
    return fresh()


@contextmanager
def holding_elsewhere(place: str, bank: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a bank until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, place, bank], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            yield child
        finally:
            child.kill()


def test_another_process_waits_until_the_holder_is_done(place: str) -> None:
    with Workspace.open(place) as team, holding_elsewhere(place, "mem0:a") as holder:
        late = pytest.raises(BackendError, match=r"mem0:a: other writers kept this bank for 0\.2 seconds")
        with late, bank_lock(team._desk.log.sources, "mem0:a", seconds=0.2):
            pass
        threading.Timer(0.2, lambda: holder.stdin and holder.stdin.close()).start()
        with bank_lock(team._desk.log.sources, "mem0:a", seconds=120):
            assert holder.stdout is not None
            assert holder.stdout.readline() == "freed\n"


def test_a_killed_holder_leaves_no_lock(place: str) -> None:
    with Workspace.open(place) as team, holding_elsewhere(place, "mem0:a") as holder:
        os.kill(holder.pid, signal.SIGKILL)
        with bank_lock(team._desk.log.sources, "mem0:a", seconds=120):
            pass


def test_another_bank_and_another_workspace_do_not_wait(place: str) -> None:
    with (
        Workspace.open(place) as team,
        Workspace.open(place, name="other") as other,
        bank_lock(team._desk.log.sources, "mem0:a"),
        bank_lock(team._desk.log.sources, "mem0:b", seconds=0),
        bank_lock(other._desk.log.sources, "mem0:a", seconds=0),
    ):
        pass


def test_threads_of_one_connection_take_turns(place: str) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        with bank_lock(team._desk.log.sources, "mem0:a"):
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1

    with Workspace.open(place) as team:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert (most, inside) == (1, 0)


def test_async_tasks_take_turns_without_blocking_the_loop(place: str) -> None:
    order: list[str] = []

    async def work(name: str) -> None:
        for pause in pauses(team._desk.log.sources, "mem0:a"):
            await asyncio.sleep(pause)
        order.append(name)
        await asyncio.sleep(0.02)
        order.append(name)
        team._desk.log.sources.free("mem0:a")

    async def both() -> None:
        await asyncio.gather(work("one"), work("two"))

    with Workspace.open(place) as team:
        asyncio.run(both())
    assert order in (["one", "one", "two", "two"], ["two", "two", "one", "one"])


def test_within_a_transaction_nobody_waits_for_a_writer_that_may_wait_for_it(place: str) -> None:
    with Workspace.open(place) as team, holding_elsewhere(place, "mem0:a"):
        started = time.monotonic()
        refused = pytest.raises(BackendError, match="before or after the batch")
        with team._desk.log.atomic(), refused, bank_lock(team._desk.log.sources, "mem0:a"):
            pass
        assert time.monotonic() - started < WAIT_SECONDS / 2


def test_a_closed_workspace_holds_nothing(place: str) -> None:
    team = Workspace.open(place)
    assert team._desk.log.sources.take("mem0:a")
    team.close()
    with Workspace.open(place) as again, bank_lock(again._desk.log.sources, "mem0:a", seconds=120):
        pass


def test_a_server_that_lost_the_session_is_noticed_before_sources_are_filed(
    fresh_url: Callable[[], str], server: Server
) -> None:
    with Workspace.open(fresh_url()) as team, bank_lock(team._desk.log.sources, "mem0:a") as held:
        held.check()
        server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT 1'")
        with pytest.raises(BackendError, match="the lock on this bank was lost"):
            held.check()


def test_the_lock_files_are_private_and_few(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "team.db") as team:
        for number in range(500):
            with bank_lock(team._desk.log.sources, lock_name("langgraph:a", f"key {number}")):
                pass
    folder = tmp_path / "team.db.locks"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {one.stat().st_mode & 0o777 for one in folder.iterdir()} == {0o600}
    assert len(list(folder.iterdir())) <= 64


def test_a_group_that_shares_the_file_shares_the_locks(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "team.db") as team:
        (tmp_path / "team.db").chmod(0o660)
        with bank_lock(team._desk.log.sources, "mem0:a"):
            pass
    folder = tmp_path / "team.db.locks"
    assert folder.stat().st_mode & 0o777 == 0o770
    assert [one.stat().st_mode & 0o777 for one in folder.iterdir()] == [0o660]


def test_a_server_that_lost_a_session_between_two_writes_is_asked_again(
    fresh_url: Callable[[], str], server: Server
) -> None:
    with Workspace.open(fresh_url()) as team:
        with bank_lock(team._desk.log.sources, "mem0:a") as held:
            held.check()
        server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_advisory_unlock%'"
            " AND pid <> pg_backend_pid()"
        )
        with bank_lock(team._desk.log.sources, "mem0:a") as held:
            held.check()


def test_a_link_to_the_store_leads_to_the_same_lock(tmp_path: Path) -> None:
    Workspace.open(tmp_path / "team.db").close()
    (tmp_path / "link.db").symlink_to(tmp_path / "team.db")
    with (
        Workspace.open(tmp_path / "team.db") as team,
        Workspace.open(tmp_path / "link.db") as linked,
        bank_lock(team._desk.log.sources, "mem0:a"),
    ):
        assert not linked._desk.log.sources.take("mem0:a")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "team.db") as team:
        (tmp_path / "team.db.locks").write_text("in the way")
        named = pytest.raises(StoreError, match=r"team\.db\.locks: cannot lock there")
        with named, bank_lock(team._desk.log.sources, "mem0:a"):
            pass
