"""What a server adds to a store: roles, addresses, connections that are lost, and other programs on the same tables."""

from __future__ import annotations

import random
import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Workspace
from readmit.backends import ScopedMem
from readmit.errors import SealError, StoreError, TamperedError
from readmit.lab import Entry
from readmit.log.engines import sqlite_schema as schema
from readmit.log.engines.sql import SHIFT
from readmit.log.location import names
from readmit.memory import Binding, Material
from tests.crash.team import prepare, usable, verify
from tests.postgres import LONG, PASSWORD, ROLE
from tests.scene import START, Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.postgres import Server

psycopg = pytest.importorskip("psycopg", reason="needs psycopg: the postgres extra")


@pytest.fixture
def url(fresh_url: Callable[[], str]) -> str:
    return fresh_url()


def schema_of(url: str) -> str:
    return url.rpartition("schema=")[2]


def as_administrator(server: Server) -> Any:
    return closing(psycopg.connect(server.administrator, dbname="team", autocommit=True))


# Cost.


def scanned(server: Server, schema: str) -> int:
    """Rows of events that were read without an index, once every connection to the store has said so."""
    alive = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s"
    read = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = %s AND relname = 'event'"
    with as_administrator(server) as client:
        for _ in range(1_000):
            if not client.execute(alive, (ROLE,)).fetchone()[0]:
                break
            client.execute("SELECT pg_sleep(0.01)")
        return int(client.execute(read, (schema,)).fetchone()[0])


@pytest.mark.parametrize("statistics", [False, True])
def test_no_call_reads_all_events_to_find_some(statistics: bool, url: str, server: Server) -> None:
    """Under row-level security an index serves a plain value only, not a sum of a base and an epoch."""
    count = 1_000
    with Workspace.open(url) as team, team.batch():
        source = team.observe("All were counted.", by="bob", task="else")
        for number in range(count):
            team.record(f"Crate {number} is there.", by="bob", task="else", sources=[source])
    if statistics:
        with as_administrator(server) as client:
            client.execute(f"ANALYZE {schema_of(url)}.event, {schema_of(url)}.audience, {schema_of(url)}.binding")
    before = scanned(server, schema_of(url))
    with Workspace.open(url) as team:
        ann = team.agent("ann", role="planner", task="trip")
        call = team.observe("The hotel confirms.", by="bob", task="trip", id="call")
        team.oblige("Book it.", id="o", by="bob", required=["d"], task="trip", sources=[call])
        team.record("It is booked.", id="h", by="bob", supports=["d"], slot="hotel", task="trip", sources=[call])
        ann.depart()
        news = team.observe("Another hotel.", by="bob", task="trip")
        team.record("Another is booked.", id="h2", by="bob", supports=["d"], slot="hotel", task="trip", sources=[news])
        back = ann.come_back()
        assert [item.id for item in back.expose().items] == ["o", "h2"]
        ann.remember("I liked it.", bound_to="h2")
        assert len(ann.recall()) == 1
        back.explain("h")
        back.replay()
    assert scanned(server, schema_of(url)) - before < count


# Row-level security.


def fill(team: Workspace) -> None:
    """Something in every table."""
    source = team.observe("The hotel confirms.", by="bob", id="call")
    team.oblige("Book it.", id="o", by="bob", required=["d"], sources=[source])
    team.record("It is booked.", id="h", by="bob", supports=["d"], slot="hotel", sources=[source])
    team.record("It may change.", id="r", by="bob")
    team.revoke("r", by="bob")
    ann = team.agent("ann", role="planner", task="trip")
    ann.depart()
    ann.come_back().expose()
    team._desk.log.derived.write("facts", "m", {"a": b"1"})
    ScopedMem(team._desk.log.memories, team.name).form(Material(text="Ask for a late check-in.", key="k"))
    bound = (Binding(of="evidence", ref=source),)
    team._desk.log.sources.write("x", [Entry(record="r", text="0" * 64, bindings=bound, by="bob")])


@pytest.fixture
def raw(url: str) -> Iterator[tuple[Any, list[str], dict[str, int]]]:
    """Two workspaces, and a plain connection of the same role: its tables, and the number of each workspace."""
    for name in ("red", "blue"):
        with Workspace.open(url, name=name) as team:
            fill(team)
    base, within = url.partition("?")[0], schema_of(url)
    with closing(psycopg.connect(base, autocommit=True)) as client:
        client.execute(f"SET search_path TO {within}")
        listed = client.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (within,)).fetchall()
        client.execute("SET readmit.directory TO 'on'")
        numbers = dict(client.execute("SELECT name, ws FROM workspace").fetchall())
        client.execute("RESET readmit.directory")
        yield client, [table for (table,) in listed if table != "store"], numbers


def owned(client: Any, table: str) -> set[int]:
    """The workspaces whose rows of a table the connection sees."""
    column = f"pos >> {SHIFT}" if table in {"event", "audit", "commit_record"} else "ws"
    return {number for (number,) in client.execute(f"SELECT DISTINCT {column} FROM {table}")}


def test_a_plain_connection_sees_one_workspace_or_none(raw: tuple[Any, list[str], dict[str, int]]) -> None:
    client, tables, numbers = raw
    assert len(tables) == 21
    assert all(owned(client, table) == set() for table in tables), "none said, none seen"
    for name in ("red", "blue"):
        client.execute(f"SET readmit.ws TO '{numbers[name]}'")
        assert {table: owned(client, table) for table in tables} == {table: {numbers[name]} for table in tables}


def test_a_plain_connection_writes_to_one_workspace_or_none(raw: tuple[Any, list[str], dict[str, int]]) -> None:
    client, _, numbers = raw
    client.execute(f"SET readmit.ws TO '{numbers['red']}'")
    blue = numbers["blue"]
    for statement in (
        f"INSERT INTO name VALUES ({blue}, 'item:x', 1)",
        f"INSERT INTO audience VALUES ({blue}, 'state', '', '', '', 1)",
        f"INSERT INTO event VALUES ({blue << SHIFT | 999}, 'x', 'record', 'b', '', '', '', '', '', NULL, 0)",
        f"INSERT INTO derived VALUES ({blue}, 'facts', 'm', 'b', '')",
        f"UPDATE name SET ws = {blue}",
        "INSERT INTO workspace (name) VALUES ('green')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            client.execute(statement)
    for statement in (
        f"DELETE FROM audience WHERE ws = {blue}",
        f"DELETE FROM derived WHERE ws = {blue}",
        f"UPDATE workspace SET head = 0 WHERE ws = {blue}",
    ):
        assert client.execute(statement).rowcount == 0


def test_a_server_holds_the_tables_of_a_file(url: str, server: Server) -> None:
    Workspace.open(url).close()
    with closing(sqlite3.connect(":memory:")) as file, as_administrator(server) as client:
        schema.make(file)
        ours = {
            (table, column)
            for (table,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for _, column, *_ in file.execute(f"PRAGMA table_info({table})")
        }
        theirs = client.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = %s", (schema_of(url),)
        ).fetchall()
    assert set(theirs) - ours == {("store", "version")}
    assert ours <= set(theirs)


@pytest.mark.parametrize("table", schema.APPEND_ONLY_TABLES)
def test_the_log_and_the_audit_are_append_only_for_other_programs_too(table: str, url: str, server: Server) -> None:
    with Workspace.open(url) as team:
        fill(team)
    with as_administrator(server) as client:
        client.execute(f"SET search_path TO {schema_of(url)}")
        column = "pos" if table in {"event", "audit", "commit_record"} else "ws"
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET {column} = {column}", f"TRUNCATE {table}"):
            with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
                client.execute(statement)


# Versions.


@pytest.mark.parametrize("version", [0, 8, 99])
def test_a_schema_of_another_version_is_refused(version: int, url: str, server: Server) -> None:
    Workspace.open(url).close()
    server.sql(f"UPDATE {schema_of(url)}.store SET version = {version}", database="team")
    with pytest.raises(StoreError, match=rf"has schema {version}, and this readmit reads and writes schema 1 alone"):
        Workspace.open(url)


def test_a_store_that_another_process_makes_meanwhile_is_ours(url: str) -> None:
    """The first look finds nothing and is remembered by the session; the next one, under the lock, must look again."""
    from readmit.log.engines.connecting.store_address import Address
    from readmit.log.engines.postgres_schema import recognize

    address = Address(url)
    with closing(address.connect()) as client, closing(address.connect()) as other:
        client.execute("BEGIN")
        assert recognize(client, address) is None
        # No more than this: a session that fell far behind is told of every change, and would not show the fault.
        other.execute(f"CREATE SCHEMA {address.schema}")
        other.execute(f"CREATE TABLE store AS SELECT 1 AS version, '{'0f' * 16}' AS id")
        assert recognize(client, address) == "0f" * 16


def test_a_store_that_another_process_has_just_made_is_not_locked(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process writes already: making its tables again would fail."""
    from readmit.log.engines import postgres_schema
    from readmit.log.engines.connecting.store_address import Address

    with Workspace.open(url) as team:
        team.observe("The hotel confirms.", by="bob")
    address, recognize = Address(url), postgres_schema.recognize
    looks = iter([None])  # the first look is from before the other process was done
    monkeypatch.setattr(postgres_schema, "recognize", lambda *args: next(looks, ...) and recognize(*args))
    with closing(address.connect()) as writer, closing(address.connect()) as client:
        writer.execute("BEGIN")
        writer.execute("LOCK TABLE event IN ROW EXCLUSIVE MODE")
        client.execute("SET lock_timeout = '1s'")
        assert postgres_schema.make(client, address)


@pytest.mark.parametrize(
    "named", ["../../elsewhere", "/nowhere/readmit", "", ".", "0F" * 16, "0f" * 15, "0f" * 16 + "\n", "0f" * 17]
)
def test_an_id_that_is_none_names_no_folder(
    named: str, url: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "a" / "keys"
    monkeypatch.setenv("READMIT_KEYS", str(keys))
    with Workspace.open(url) as team:
        team.observe("The hotel confirms.", by="bob")
        team._desk.keys.signer()
    before = sorted(tmp_path.rglob("*"))
    with as_administrator(server) as client:
        client.execute(f"UPDATE {schema_of(url)}.store SET id = %s", (named,))
    for opening in (Workspace.open, names):
        with pytest.raises(StoreError, match=r"store\.id: '.*' is not 32 lower-case hex digits; restore"):
            opening(url)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_schema_of_another_program_is_refused_and_left_alone(url: str, server: Server) -> None:
    name = schema_of(url)
    server.sql(f"CREATE SCHEMA {name} AUTHORIZATION {ROLE}", database="team")
    server.sql(f"CREATE TABLE {name}.theirs (x int)", database="team")
    with pytest.raises(StoreError, match=r"belongs to another program; name another with \?schema=NAME"):
        Workspace.open(url)
    server.sql(f"CREATE TABLE {name}.store (x int)", database="team")
    server.sql(f"GRANT SELECT ON {name}.store TO {ROLE}", database="team")
    with pytest.raises(StoreError, match="belongs to another program"):
        Workspace.open(url)
    with as_administrator(server) as client:
        tables = client.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,)).fetchall()
    assert sorted(tables) == [("store",), ("theirs",)]


# Roles.


def test_a_role_that_may_not_create_is_told_what_to_run(url: str, server: Server) -> None:
    server.sql("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    theirs = server.url(schema_of(url), role="guest", password="guest")
    with pytest.raises(StoreError, match="permission denied for database team; let an administrator run: ") as refused:
        Workspace.open(theirs)
    server.sql(str(refused.value).partition("run: ")[2], database="team")
    prepare(theirs)
    verify(theirs).close()
    # Another role is let in by the owner.
    with pytest.raises(StoreError, match="GRANT USAGE") as refused:
        Workspace.open(url)
    for statement in str(refused.value).partition("run: ")[2].split("; "):
        server.sql(statement, database="team")
    with Workspace.open(url) as team:
        team.observe("Both write.", by="bob")
    verify(theirs).close()


# Addresses.


@dataclass(frozen=True)
class Wrong:
    """An address that leads nowhere, and what the error must name."""

    address: Callable[[Server], str]
    said: str


WRONG = {
    "no such host": Wrong(lambda s: s.url().replace("127.0.0.1", "nowhere.invalid"), "check the host and the port"),
    "nobody listens": Wrong(lambda s: s.url().replace(str(s.port), "1"), "check the host and the port"),
    "wrong password": Wrong(lambda s: s.url(password=f"{PASSWORD}x"), "check the user and the password"),
    "no such database": Wrong(lambda s: s.url(database="absent"), "make it: createdb absent"),
    "a schema that is no name": Wrong(lambda s: s.url('x"; DROP'), "schema: .* use lower-case letters"),
    "a port that is no number": Wrong(
        lambda s: s.url().replace(str(s.port), "port"), "check the host|write postgresql"
    ),
    "an odd percent sign": Wrong(lambda s: s.url(password=f"{PASSWORD}%zz"), "write postgresql://"),
    "an unknown parameter": Wrong(lambda s: s.url() + "?colour=blue", "write postgresql://"),
    "a password that was not encoded": Wrong(lambda s: s.url(password=f"a/{PASSWORD}#?b@c"), "write postgresql|check"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_address_is_told_in_one_line_without_its_password(
    case: str, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tests.cli.run import run

    monkeypatch.setenv("READMIT_KEYS", str(tmp_path))
    address = WRONG[case].address(server)
    with pytest.raises(StoreError, match=f"cannot open postgres.*{WRONG[case].said}") as refused:
        Workspace.open(address)
    assert PASSWORD not in str(refused.value)
    assert "\n" not in str(refused.value)
    for command in (["init"], ["status"], ["return", "--principal", "a", "--role", "b", "--task", "c", "--json"]):
        told = run(*command, "--db", address, status=1)
        assert PASSWORD not in told.output
        assert "cannot open" in told.output


def test_without_the_package_the_error_names_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(StoreError, match=r"pip install 'readmit\[postgres\]'"):
        Workspace.open(url)


def test_the_password_is_in_nothing_that_is_said(url: str, caplog: pytest.LogCaptureFixture, server: Server) -> None:
    from readmit.log.engines.connecting.store_address import Address

    caplog.set_level("DEBUG")
    scene = Scene(url)
    scene.covered()
    bundle = scene.away().expose()
    said = [
        bundle.markdown(),
        repr(scene.team),
        repr(scene.team._desk.log),
        repr(vars(scene.team._desk.log)),
        repr(Address(url)),
    ]
    said += [repr(vars(scene.team._desk.log.connection)), str(scene.team._desk.log.connection)]
    said += [repr(row) for row in scene.team._desk.log.audit.rows()] + [
        repr(event) for event in scene.team._desk.log.tail()
    ]

    def interrupted() -> None:
        with scene.team.batch():
            scene.fact("x")
            terminate(server)
            scene.fact("y")

    with pytest.raises(StoreError) as lost:
        interrupted()
    assert PASSWORD not in "\n".join([*said, str(lost.value), caplog.text])


def test_the_command_line_works_on_a_server_and_shows_it_without_password(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.cli.run import WHO, run, said

    monkeypatch.setenv("READMIT_DB", url)
    outputs = [run("status", status=1).output]
    assert "has no workspace 'default'; run `readmit init --db 'postgresql://readmit:***@" in outputs[0]
    outputs.append(run("init").output)
    assert "Started workspace default in postgresql://readmit:***@" in outputs[-1]
    assert said("init")["created"] is False
    duty = ("Book it", "--requires", "d", "--source", "Do.", "--by", "b")
    outputs.append(run("oblige", *duty).output)
    outputs.append(run("record", "It is booked", "--supports", "d", "--source", "Done.", "--by", "b").output)
    outputs.append(run("depart", *WHO).output)
    outputs.append(run("return", *WHO).output)
    assert "--db 'postgresql://readmit:***@" in outputs[-1]
    returned = said("return", *WHO)
    outputs.append(run("expose", returned["return"], "--secret", returned["secret"], *WHO).output)
    assert "It is booked" in outputs[-1]
    looking = (["status"], ["audit", "verify"], ["audit", "list"], ["keys", "list"])
    outputs += [run(*command).output for command in looking]
    assert PASSWORD not in "".join(outputs) + str(returned)


def test_keys_lie_in_the_folder_that_was_named(url: str, tmp_path: Path) -> None:
    with Workspace.open(url, keys=tmp_path / "elsewhere", clock=lambda: START) as team:
        key = team._desk.keys.signer().keyid
        ring = tmp_path / "elsewhere" / team._desk.log.store_id
    assert (ring / f"{key}.pem").is_file()
    assert ring.stat().st_mode & 0o077 == 0
    with Workspace.open(url) as team, pytest.raises(SealError, match=r"no private key in .* set READMIT_KEYS to the"):
        team.observe("The hotel confirms.", by="bob")


# Connections that are lost.


def terminate(server: Server) -> None:
    """Every connection of the role has ended, as when the server restarts or a firewall forgets it."""
    server.sql(f"SELECT pg_terminate_backend(pid, {LONG}000) FROM pg_stat_activity WHERE usename = '{ROLE}'")


def test_a_connection_lost_between_calls_is_made_anew(url: str, server: Server) -> None:
    prepare(url)
    with Workspace.open(url) as team:
        for step in (
            lambda: team.observe("It goes on.", by="bob"),
            lambda: team.epoch,
            lambda: list(team._desk.log.tail()),
            lambda: team.agent("ann", role="planner", task="trip").come_back(checkpoint="left").expose(),
        ):
            terminate(server)
            assert step()
        usable(team, "last")
    verify(url).close()


def test_a_connection_lost_within_a_transaction_leaves_nothing_of_it(url: str, server: Server) -> None:
    with Workspace.open(url, clock=lambda: START) as team:
        epoch = team.epoch

        def interrupted() -> None:
            with team.batch():
                team.record("one", by="bob", id="one")
                terminate(server)
                with pytest.raises(StoreError, match="nothing of this was written; call again to reconnect"):
                    team.record("two", by="bob", id="two")
                # Somebody who goes on regardless must not write the second half of a batch without its first.
                with pytest.raises(StoreError, match="nothing of this was written"):
                    team.record("three", by="bob", id="three")

        with pytest.raises(StoreError, match="nothing of this was written"):
            interrupted()
        assert team.epoch == epoch
        team.record("one", by="bob", id="one")
        assert team.epoch == epoch + 1
    verify(url).close()


@pytest.mark.parametrize("committed", [False, True])
def test_an_answer_that_never_came_is_said_to_be_unknown(
    url: str, server: Server, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The word to commit was sent, and the connection ended: repeating it with the same id is right either way."""
    with Workspace.open(url, clock=lambda: START) as team:
        connection: Any = team._desk.log.connection
        epoch, send = team.epoch, connection._send

        def lose(waiting: list[Any]) -> None:
            if waiting[-1].statement != "COMMIT":
                send(waiting)
                return
            if committed:
                send(waiting)
                connection._client.close()
                raise psycopg.OperationalError("server closed the connection unexpectedly")
            terminate(server)
            send(waiting)

        monkeypatch.setattr(connection, "_send", lose)
        with pytest.raises(StoreError, match="unknown; repeat it with the same ids, which writes nothing twice"):
            team.record("one", by="bob", id="one")
        monkeypatch.setattr(connection, "_send", send)
        assert team.epoch == epoch + committed
        team.record("one", by="bob", id="one")
        assert team.epoch == epoch + 1
    verify(url).close()


def test_a_statement_that_failed_unnoticed_keeps_the_transaction_from_counting(url: str) -> None:
    with Workspace.open(url, clock=lambda: START) as team:
        epoch = team.epoch
        sql = team._desk.log.connection.sql

        def careless() -> None:
            with team.batch():
                team.record("one", by="bob", id="one")
                with pytest.raises(StoreError):
                    sql.execute("SELECT nonsense")

        with pytest.raises(StoreError, match="nothing of it was written"):
            careless()
        assert team.epoch == epoch


def test_a_server_that_hangs_ends_in_an_error_and_nothing_is_handed_over(
    url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(url)
    scene.covered()
    outcome = scene.away()
    head = scene.team._desk.log.audit.last
    address: Any = scene.team.admin.log.connection._address  # type: ignore[attr-defined]
    server.hang()
    try:
        # The limits are short only while it hangs: it may be slow to answer otherwise.
        with monkeypatch.context() as patch:
            patch.setattr("readmit.log.engines.postgres_client.ANSWER_SECONDS", 1)
            patch.setattr(address, "_conninfo", psycopg.conninfo.make_conninfo(address._conninfo, connect_timeout=2))
            with pytest.raises(StoreError, match="did not answer within 1 seconds"):
                outcome.expose()
            with pytest.raises(StoreError, match=r"cannot open .*timeout"):
                scene.come_back()
    finally:
        server.hang(signal.SIGCONT)
    # What was asked may still be carried out by the server; what was not answered is not known, and not handed over.
    assert scene.team._desk.log.audit.last == head
    assert outcome.expose().items


def test_another_writer_is_waited_for_but_not_forever(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readmit.log.engines.postgres_client.LOCK_SECONDS", 1)
    with Workspace.open(url) as team, Workspace.open(url) as other, Workspace.open(url, name="apart") as apart:
        with team.batch():
            team.observe("Writing.", by="bob")
            with pytest.raises(StoreError, match="another writer kept the workspace for 1 seconds; call again"):
                other.observe("Waiting.", by="cy")
            apart.observe("Another workspace need not wait.", by="cy")
            assert other.epoch < team.epoch, "nor need a reader"
        assert other.observe("Now.", by="cy")


def test_a_statement_may_take_its_time_but_not_forever(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Workspace.open(url).close()
    monkeypatch.setattr("readmit.log.engines.postgres_client.STATEMENT_SECONDS", 3)
    with Workspace.open(url) as team:
        sql = team._desk.log.connection.sql
        with pytest.raises(StoreError, match="a statement took longer than 3 seconds; call again"):
            sql.execute("SELECT pg_sleep(60)")
        assert team.observe("It goes on.", by="bob")


def test_a_writer_that_stopped_does_not_keep_the_others_from_writing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Workspace.open(url).close()
    with monkeypatch.context() as patch:
        patch.setattr("readmit.log.engines.postgres_client.IDLE_SECONDS", 3)
        stopped = Workspace.open(url)
    with stopped, Workspace.open(url) as other:

        def stop() -> None:
            with stopped.batch():
                stopped.observe("Then the machine was put to sleep.", by="bob")
                assert other.observe("Waited seconds for it.", by="cy")

        with pytest.raises(StoreError, match="the connection was lost"):
            stop()
        assert stopped.observe("Awake again.", by="bob")
    with verify(url) as team:
        assert [event.by for event in team._desk.log.tail()][1:] == ["cy", "bob"]


def test_names_that_no_index_holds_are_refused_with_the_way_out(url: str) -> None:
    chance = random.Random(1)
    names = ["".join(chr(chance.randrange(0x20000, 0x2A000)) for _ in range(256)) for _ in range(3)]
    with Workspace.open(url, clock=lambda: START) as team:
        source = team.observe("text", by="bob", task=names[0], roles=[names[1]], principals=[names[2]])
        epoch = team.epoch
        who = {"task": names[0], "roles": [names[1]], "principals": [names[2]]}
        with pytest.raises(StoreError, match="use shorter names: the parts of a key take at most 2,704 bytes together"):
            team.record("text", sources=[source], by="bob", **who)  # type: ignore[arg-type]
        assert team.epoch == epoch
        assert team.record("text", sources=[source], by="bob", task=names[0], roles=[names[1]])
    verify(url).close()


@pytest.mark.parametrize(("asked", "kept"), [("off", "on"), ("remote_apply", "remote_apply"), ("on", "on")])
def test_a_commit_is_on_disk_whatever_the_server_is_set_to(url: str, server: Server, asked: str, kept: str) -> None:
    server.sql(f"ALTER ROLE {ROLE} SET synchronous_commit TO {asked}")
    try:
        with Workspace.open(url) as team:
            sql = team._desk.log.connection.sql
            assert sql.execute("SELECT current_setting('synchronous_commit')").fetchone() == (kept,)
    finally:
        server.sql(f"ALTER ROLE {ROLE} RESET synchronous_commit")


# Backups.


def test_a_consumed_view_stays_consumed_when_a_backup_is_restored(url: str, server: Server) -> None:
    """The mark lies with the keys, under the store's id: also a restored copy elsewhere is the same store."""
    scene = Scene(url)
    scene.covered()
    outcome = scene.away()
    terminate(server)
    server.sql("CREATE DATABASE restored TEMPLATE team")
    outcome.expose()
    copy = server.url(schema_of(url), database="restored")
    with Workspace.open(copy, clock=lambda: START) as restored, pytest.raises(TamperedError, match="was rolled back"):
        restored._desk.expose(outcome.id, outcome.request.identity, outcome.secret)
