"""Witnesses as processes: logs that extend are cosigned, forks and rollbacks are found by name."""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import closing
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import pytest

from readmit.errors import AuditError, SealError, WitnessError
from readmit.trust.notes import COSIGNATURE, NoteKey, open_note, verify_note
from readmit.trust.witness.client import request_cosignature, witnessed
from readmit.trust.witness.cosigner import LONGEST_REQUEST, PATH

from .logs import KEY, SIGNER, Log, Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One witness for the tests that leave nothing behind."""
    with running(tmp_path_factory.mktemp("shared") / "witness.db") as one:
        yield one


def test_a_log_that_grows_is_cosigned_each_time(tmp_path: Path) -> None:
    log = Log("a")
    with running(tmp_path / "witness.db", "--name", "second.example") as witness:
        for entry in "bcdefg":
            note = witnessed(witness.url, log.note(), log.prove, keys=[witness.key])
            assert open_note(note, [witness.key]).names == ("second.example",)
            assert open_note(note, [KEY]).text == open_note(log.note(), [KEY]).text
            log.entries.append(entry)


def test_a_rollback_is_refused_by_name_also_after_a_crash(tmp_path: Path) -> None:
    log = Log("a", "b", "c")
    with running(tmp_path / "witness.db") as witness:
        witnessed(witness.url, log.note(), log.prove)
        key = witness.key
    older = Log("a", "b")
    with running(tmp_path / "witness.db") as witness:
        assert witness.key == key
        with pytest.raises(AuditError, match=r"rollback: .* at size 3, but this log has only 2"):
            witnessed(witness.url, older.note(), older.prove)
        log.entries.append("d")
        assert witnessed(witness.url, log.note(), log.prove, keys=[key])


@pytest.mark.parametrize("entries", [("a", "b", "x"), ("a", "x", "c", "d", "e")], ids=["same size", "larger"])
def test_a_fork_is_refused_by_name(tmp_path: Path, entries: tuple[str, ...]) -> None:
    log, fork = Log("a", "b", "c"), Log(*entries)
    with running(tmp_path / "witness.db") as witness:
        witnessed(witness.url, log.note(), log.prove)
        with pytest.raises(AuditError, match="fork: "):
            witnessed(witness.url, fork.note(), fork.prove)


def test_two_verifiers_that_see_forked_logs_find_out(tmp_path: Path) -> None:
    """Each has a head that the workspace's key signed, and cannot tell by itself that another exists."""
    alice, bob = Log("a", "b", "revoked"), Log("a", "b", "something else", "more")
    assert open_note(alice.note(), [KEY]).names == open_note(bob.note(), [KEY]).names
    with running(tmp_path / "witness.db") as witness:
        kept = witnessed(witness.url, alice.note(), alice.prove, keys=[witness.key])
        with pytest.raises(AuditError, match="fork: "):
            witnessed(witness.url, bob.note(), bob.prove, keys=[witness.key])
        assert open_note(kept, [witness.key])
        with pytest.raises(SealError, match="none of the trusted keys"):
            open_note(bob.note(), [witness.key])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", HTTPStatus.BAD_REQUEST),
        (b"old 0\n\nno note\n", HTTPStatus.BAD_REQUEST),
        (b"\x00" * 5_000, HTTPStatus.BAD_REQUEST),
        (b"a" * (LONGEST_REQUEST + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    ],
    ids=["empty", "no note", "zeros", "too long"],
)
def test_garbage_is_refused_and_the_server_goes_on(shared: Running, body: bytes, status: HTTPStatus) -> None:
    assert post(shared, body) == status
    assert request_cosignature(shared.url, Log("a").note(), 0, []).status in {HTTPStatus.OK, HTTPStatus.CONFLICT}


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01 not http",
        b"GET /add-checkpoint HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999999\r\n\r\n",
        b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nold 1",
        b"POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nold 1",
    ],
)
def test_what_is_hardly_http_gets_no_success(shared: Running, raw: bytes) -> None:
    parts = urlsplit(shared.url)
    with closing(socket.create_connection((parts.hostname, parts.port or 0), timeout=20)) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(4_096), b""))
    assert b" 200 " not in answer
    assert request_cosignature(shared.url, Log("a").note(), 0, []).status in {HTTPStatus.OK, HTTPStatus.CONFLICT}


def post(witness: Running, body: bytes) -> int:
    parts = urlsplit(witness.url)
    with closing(http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=20)) as connection:
        connection.putrequest("POST", PATH)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        if len(body) <= LONGEST_REQUEST:
            connection.send(body)
        return connection.getresponse().status


def test_an_unknown_log_is_refused_with_the_fix(shared: Running) -> None:
    log = Log("a")
    note = log.note().replace(b"trip", b"boat")
    with pytest.raises(WitnessError, match=r"404 .* --trust"):
        witnessed(shared.url, note, log.prove)


def test_a_cosignature_of_another_key_does_not_count(tmp_path: Path) -> None:
    log = Log("a")
    with running(tmp_path / "witness.db") as witness:
        expected = NoteKey(witness.key.name, SIGNER.public, COSIGNATURE)
        with pytest.raises(WitnessError, match="did not cosign with a trusted key"):
            witnessed(witness.url, log.note(), log.prove, keys=[expected])


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://witness.example", "over http://"),
        ("ftp://localhost", "is not the address"),
        ("localhost:8420", "is not the address"),
        ("https://user@witness.example", "is not the address"),
        ("https://witness.example?x=1", "is not the address"),
        ("http://localhost:99999", "impossible port"),
        ("http://127.0.0.1:1", "cannot be reached"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_the_fix(url: str, message: str) -> None:
    with pytest.raises(WitnessError, match=message):
        request_cosignature(url, Log("a").note(), 0, [])


class Scripted(HTTPServer):
    """A server that answers the same to all."""

    def __init__(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (200, b"", "text/plain", "did not cosign with a trusted key"),
        (200, b"garbage\n", "text/plain", "cannot be used"),
        (200, b"\xff\n", "text/plain", "cannot be used"),
        (200, b"x" * 70_000, "text/plain", "longer than"),
        (409, b"many\n", "text/x.tlog.size", "not the size"),
        (409, b"3\n", "text/plain", "did not cosign: 409"),
        (302, b"", "text/plain", "did not cosign: 302"),
        (500, b"oops\n", "text/plain", "did not cosign: 500 oops"),
    ],
)
def test_a_server_that_is_no_witness_is_named(status: int, body: bytes, kind: str, message: str) -> None:
    log = Log("a", "b")
    with Scripted(status, body, kind) as server, pytest.raises(WitnessError, match=message):
        witnessed(server.url, log.note(), log.prove)


def test_a_witness_that_does_not_answer_is_given_up_in_time() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(WitnessError, match="cannot be reached"):
            request_cosignature(url, Log("a").note(), 0, [], deadline=0.2)


def test_a_witness_that_answers_byte_by_byte_is_given_up_in_time() -> None:
    stop = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with closing(connection):
            while not stop.wait(0.05):
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nX: "[:1])
                except OSError:
                    return

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        with pytest.raises(WitnessError, match="no answer in time"):
            request_cosignature(f"http://127.0.0.1:{server.getsockname()[1]}", Log("a").note(), 0, [], deadline=0.5)
        stop.set()
        thread.join()


def test_a_cosignature_can_be_renewed_and_counts_once(tmp_path: Path) -> None:
    log = Log("a", "b")
    with running(tmp_path / "witness.db") as witness:
        once = witnessed(witness.url, log.note(), log.prove, keys=[witness.key])
        twice = witnessed(witness.url, once, log.prove, keys=[witness.key])
        _, found = verify_note(twice, [KEY, witness.key])
        assert [one.key for one in found] == [KEY, witness.key]
