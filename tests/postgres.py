"""A real PostgreSQL server that lives as long as the tests: started as a user that is not root, on a free port."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ADMINISTRATOR, ROLE, PASSWORD = "admin", "readmit", "s3cret-w0rd"
LONG = 240
"""Seconds for what takes one or two, unless the machine is busy."""


def binaries() -> Path:
    """Where the server's programs are; skips the test where there are none."""
    found = shutil.which("initdb")
    # A link to one of the programs has the others where it leads.
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").exists():
            return place
    pytest.skip("needs PostgreSQL's server: no initdb on PATH or in /usr/lib/postgresql")


def on_server(place: Path | str) -> bool:
    """Whether a store is in a database of a server."""
    return "://" in str(place)


class ChangedServerError(RuntimeError):
    """The programs of a running server are not those that it was started from."""


def _programs(folder: Path) -> dict[str, tuple[int, int, int]]:
    """What tells the server's programs from others: of each its inode, size and time of change."""
    found = {path.name: path.stat() for path in folder.iterdir() if path.name in {"initdb", "pg_ctl", "postgres"}}
    return {name: (one.st_ino, one.st_size, one.st_mtime_ns) for name, one in found.items()}


def as_other_user() -> list[str]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    for user in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            continue
        return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    pytest.skip("needs a user other than root to run PostgreSQL's server: neither postgres nor nobody exists")


class Server:
    """A server with one database, owned by a role that is no superuser."""

    def __init__(self, *, fsync: bool = False) -> None:
        self._binaries, self._become = binaries(), as_other_user()
        self._programs = _programs(self._binaries)
        # Not below pytest's own directory, which only its owner may enter.
        self.folder = Path(tempfile.mkdtemp(prefix="readmit-pg-"))
        if self._become:
            self.folder.chmod(0o777)
        self.port = 0
        self._fsync = fsync
        self._numbers = count(1)
        self._data = self.folder / "data"
        self._waits = ("-w", "-t", str(LONG))

    def __enter__(self) -> Self:
        try:
            self._run("initdb", "-D", str(self._data), "-U", ADMINISTRATOR, "-A", "trust", "--no-sync", "-E", "UTF8")
            rules = [f"local all {ADMINISTRATOR} trust", f"host all {ADMINISTRATOR} 127.0.0.1/32 trust"]
            rules += [f"host replication {ADMINISTRATOR} 127.0.0.1/32 trust"]
            rules += ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256"]
            (self._data / "pg_hba.conf").write_text("\n".join([*rules, ""]))
            self._start_on_a_free_port()
            self.sql(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
            self.sql(f"CREATE DATABASE team OWNER {ROLE}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.folder.exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_on_a_free_port(self) -> None:
        """Below those that connections get from the system, one of which might have it while the server restarts."""
        for last in (False, False, True):
            self.port = 20_000 + secrets.randbelow(10_000)
            try:
                self.start()
            except subprocess.CalledProcessError:  # another program listens there
                if last:
                    raise
            else:
                break

    def check_programs(self) -> None:
        """Refuse to go on after an upgrade: new processes of an old server load new libraries, and fail in any way."""
        now = _programs(self._binaries)
        changed = sorted(
            name for name in self._programs.keys() | now.keys() if self._programs.get(name) != now.get(name)
        )
        if changed:
            raise ChangedServerError(
                f"{', '.join(changed)} in {self._binaries} changed while the tests' PostgreSQL server was running: "
                "it was upgraded or removed. What failed since then says nothing about the code; run the tests again"
            )

    def start(self) -> None:
        durable = "" if self._fsync else "-c fsync=off -c full_page_writes=off"
        # A workspace that a test leaves behind keeps its connection until the garbage collector comes by.
        room = "-c max_connections=1000 -c shared_buffers=64MB"
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 {room} {durable}"
        self._run("pg_ctl", "-D", str(self._data), "-o", options, "-l", str(self.folder / "log"), *self._waits, "start")

    def stop(self, mode: str = "immediate") -> None:
        """``immediate`` is the server's ``kill -9``: it recovers when it starts again."""
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, *self._waits, "stop", check=False)

    def kill(self) -> None:
        """Kill every process of the server, as a machine that loses its power does."""
        self.hang(signal.SIGKILL)

    def lead(self) -> None:
        """From now on, no commit returns before a standby has it on disk."""
        self.sql("ALTER SYSTEM SET synchronous_standby_names TO '*'")
        self.sql("SELECT pg_reload_conf()")

    def hang(self, signal_: signal.Signals = signal.SIGSTOP) -> None:
        """Stop every process of the server where it stands, or let them go on with ``SIGCONT``."""
        main = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        for _ in range(2):  # a process may have been forked meanwhile
            listed = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(main)], capture_output=True, text=True, check=False
            )
            for process in (main, *map(int, listed.stdout.split())):
                with suppress(ProcessLookupError):  # a connection may have ended since
                    os.kill(process, signal_)
            time.sleep(0.05)

    def _run(self, program: str, *arguments: str, check: bool = True) -> None:
        if check:  # a server that is left behind is stopped all the same
            self.check_programs()
        command = [*self._become, str(self._binaries / program), *arguments]
        quiet = subprocess.DEVNULL
        subprocess.run(
            command, check=check, cwd=self.folder, stdout=quiet, stderr=None if check else quiet, timeout=LONG
        )

    def url(
        self, schema: str = "", *, role: str = ROLE, password: str = PASSWORD, database: str = "team",
        simulated: bool = True,
    ) -> str:  # fmt: skip
        """How a store, or the database, is opened. Most tests have clocks that the server's does not agree with."""
        self.check_programs()
        within = f"?{'clock=simulated&' if simulated else ''}schema={schema}" if schema else ""
        secret = f":{password}" if password else ""
        return f"postgresql://{role}{secret}@127.0.0.1:{self.port}/{database}{within}"

    @property
    def administrator(self) -> str:
        return f"postgresql://{ADMINISTRATOR}@127.0.0.1:{self.port}/postgres"

    def sql(self, statement: str, *, database: str = "postgres") -> None:
        """Run something as the administrator."""
        self.check_programs()
        import psycopg

        with psycopg.connect(self.administrator, dbname=database, autocommit=True) as client:
            client.execute(statement.encode())

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """What the administrator reads."""
        import psycopg

        with psycopg.connect(self.administrator, autocommit=True) as client:
            return client.execute(statement.encode()).fetchall()

    def next_store(self) -> Callable[[], str]:
        """Places for a test: the first is a schema that all tests share, emptied of names; others are new.

        Making the tables takes a tenth of a second, which hundreds of tests would wait for.
        """
        import psycopg

        with suppress(psycopg.errors.UndefinedTable):
            self.sql(
                "UPDATE shared.workspace SET name = 'left behind ' || ws WHERE name NOT LIKE 'left behind %'",
                database="team",
            )
        places = chain([self.url("shared")], (self.url(f"more{number}") for number in self._numbers))
        return lambda: next(places)


class Standby(Server):
    """A server that follows another one, until it is promoted."""

    def __init__(self, primary: Server, *, port: int = 0) -> None:
        super().__init__(fsync=True)
        self._primary = primary
        self._wanted = port

    def __enter__(self) -> Self:
        try:
            source = f"host=127.0.0.1 port={self._primary.port} user={ADMINISTRATOR}"
            self._run("pg_basebackup", "-D", str(self._data), "-d", source, "-R", "-c", "fast", "-X", "stream")
            # What the primary waits for is its own business.
            with (self._data / "postgresql.auto.conf").open("a") as settings:
                settings.write("synchronous_standby_names = ''\n")
            if self._wanted:
                self.port = self._wanted
                self.start()
            else:
                self._start_on_a_free_port()
        except BaseException:
            self.__exit__()
            raise
        return self

    def promote(self) -> None:
        """Make it the primary."""
        self._run("pg_ctl", "-D", str(self._data), *self._waits, "promote")

    def part(self) -> None:
        """Receive nothing more from the primary, as when the network between them fails."""
        self.sql("ALTER SYSTEM SET primary_conninfo TO ''")
        self.sql("SELECT pg_reload_conf()")
        end = time.monotonic() + LONG
        while time.monotonic() < end and self.rows("SELECT FROM pg_stat_wal_receiver"):
            time.sleep(0.01)
