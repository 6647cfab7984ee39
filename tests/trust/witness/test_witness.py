"""A witness in this process: which checkpoints it cosigns, and what it keeps."""

from __future__ import annotations

import stat
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.errors import WitnessError
from readmit.trust.notes import LogCheckpoint, NoteKey, note_text, sign, verify_note
from readmit.trust.private_keys import MemoryRing
from readmit.trust.witness.cosigner import SIZE_TYPE, Witness, WitnessAnswer, WitnessRequest, open_witness

from .logs import KEY, ORIGIN, SIGNER, Log

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_800_000_000
OTHER = MemoryRing().generate()


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return open_witness(tmp_path / "witness.db", [KEY], lambda: NOW)


def ask(witness: Witness, note: bytes, old: int = 0, proof: tuple[bytes, ...] | list[bytes] = ()) -> WitnessAnswer:
    return witness.add(WitnessRequest(old, tuple(proof), note).to_bytes())


def test_the_first_head_and_each_extension_is_cosigned(witness: Witness) -> None:
    log = Log("a", "b", "c")
    assert ask(witness, log.note()).status is HTTPStatus.OK
    log.entries += ["d", "e"]
    answer = ask(witness, log.note(), 3, log.prove(3))
    assert answer.status is HTTPStatus.OK
    _, (found,) = verify_note(log.note() + answer.body, [witness.key])
    assert found == (witness.key, NOW)


def test_the_same_head_is_cosigned_again(witness: Witness) -> None:
    log = Log("a", "b")
    ask(witness, log.note())
    assert ask(witness, log.note(), 2).status is HTTPStatus.OK


def test_an_empty_log_is_cosigned_if_its_root_is_that_of_no_leaves(witness: Witness) -> None:
    wrong = sign(LogCheckpoint(ORIGIN, 0, bytes(32)).text, ORIGIN, SIGNER)
    assert ask(witness, wrong).status is HTTPStatus.UNPROCESSABLE_ENTITY
    assert ask(witness, Log().note()).status is HTTPStatus.OK
    assert ask(witness, wrong).status is HTTPStatus.CONFLICT


def test_a_rollback_gets_the_size_that_was_seen(witness: Witness) -> None:
    log = Log("a", "b", "c")
    ask(witness, log.note())
    answer = ask(witness, log.note(2))
    assert (answer.status, answer.kind, answer.body) == (HTTPStatus.CONFLICT, SIZE_TYPE, b"3\n")


def test_another_log_of_the_same_size_is_refused(witness: Witness) -> None:
    ask(witness, Log("a", "b").note())
    assert ask(witness, Log("a", "x").note(), 2).status is HTTPStatus.CONFLICT


def test_a_larger_fork_is_refused(witness: Witness) -> None:
    ask(witness, Log("a", "b").note())
    fork = Log("a", "x", "c")
    assert ask(witness, fork.note(), 2, fork.prove(2)).status is HTTPStatus.UNPROCESSABLE_ENTITY
    assert ask(witness, fork.note(), 0).body == b"2\n"


def test_an_old_size_beyond_the_head_is_a_bad_request(witness: Witness) -> None:
    assert ask(witness, Log("a").note(), 2).status is HTTPStatus.BAD_REQUEST


def test_an_unknown_log_is_not_found(witness: Witness) -> None:
    text = note_text(Log("a").note()).replace(ORIGIN, "readmit.example/other")
    assert ask(witness, sign(text, "readmit.example/other", SIGNER)).status is HTTPStatus.NOT_FOUND


@pytest.mark.parametrize("name", [ORIGIN, "readmit.example/mallory"])
def test_a_head_that_the_log_did_not_sign_is_forbidden(witness: Witness, name: str) -> None:
    assert ask(witness, sign(note_text(Log("a").note()), name, OTHER)).status is HTTPStatus.FORBIDDEN


def test_the_key_of_one_log_does_not_sign_for_another(tmp_path: Path) -> None:
    other = NoteKey("readmit.example/other", OTHER.public)
    witness = open_witness(tmp_path / "witness.db", [KEY, other], lambda: NOW)
    assert ask(witness, sign(note_text(Log("a").note()), other.name, OTHER)).status is HTTPStatus.FORBIDDEN


def test_a_log_that_changed_its_key_is_known_by_both(tmp_path: Path) -> None:
    state, log = tmp_path / "witness.db", Log("a", "b")
    ask(open_witness(state, [KEY], lambda: NOW), log.note(1))
    both = open_witness(state, [KEY, NoteKey(ORIGIN, OTHER.public)], lambda: NOW)
    assert ask(both, sign(note_text(log.note()), ORIGIN, OTHER), 1, log.prove(1)).status is HTTPStatus.OK


def test_what_was_refused_is_not_remembered(witness: Witness) -> None:
    log = Log("a", "b", "c")
    ask(witness, log.note(2))
    ask(witness, log.note(), 2, [bytes(32)])
    assert ask(witness, log.note(), 2, log.prove(2)).status is HTTPStatus.OK


def test_a_restart_keeps_key_and_state(tmp_path: Path) -> None:
    state, log = tmp_path / "witness.db", Log("a", "b", "c")
    first = open_witness(state, [KEY], lambda: NOW)
    ask(first, log.note())
    again = open_witness(state, [KEY], lambda: NOW)
    assert again.key == first.key
    assert ask(again, log.note(2)).body == b"3\n"


def test_of_many_requests_at_once_only_those_that_extend_are_cosigned(witness: Witness) -> None:
    """Two forks of one beginning race; the winner's branch is the only one that is ever cosigned."""
    ask(witness, Log("a").note())
    forks = [Log("a", *(f"{branch}{number}" for number in range(6))) for branch in "xy"]
    cosigned: list[tuple[int, int]] = []

    def push(branch: int) -> None:
        log = forks[branch]
        for size in range(2, 8):
            answers = [ask(witness, log.note(size), old, log.prove(old, size)) for old in range(1, size)]
            cosigned.extend((branch, size) for answer in answers if answer.status is HTTPStatus.OK)

    threads = [threading.Thread(target=push, args=(branch,)) for branch in (0, 1, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({branch for branch, _ in cosigned}) == 1
    assert max(cosigned)[1] == 7


def test_state_and_key_are_private(tmp_path: Path) -> None:
    open_witness(tmp_path / "witness.db", [KEY], lambda: NOW)
    (key,) = (tmp_path / "witness.db.keys").iterdir()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "witness.db", key)} == {0o600}


def test_a_witness_without_its_memory_does_not_start(tmp_path: Path) -> None:
    state = tmp_path / "witness.db"
    open_witness(state, [KEY], lambda: NOW)
    state.unlink()
    with pytest.raises(WitnessError, match="restore the file"):
        open_witness(state, [KEY], lambda: NOW)
    assert not state.exists()


def test_a_state_that_vanishes_is_not_replaced_by_an_empty_one(tmp_path: Path, witness: Witness) -> None:
    (tmp_path / "witness.db").unlink()
    with pytest.raises(Exception, match="unable to open"):
        ask(witness, Log("a").note())


@pytest.mark.parametrize("content", [b"", b"not a database, but as long as the header of one would be " * 9])
def test_another_file_is_not_taken_for_a_state(tmp_path: Path, content: bytes) -> None:
    state = tmp_path / "witness.db"
    state.write_bytes(content)
    with pytest.raises(WitnessError, match="not the state of a witness"):
        open_witness(state, [KEY], lambda: NOW)
    assert state.read_bytes() == content


def test_two_keys_are_one_too_many(tmp_path: Path) -> None:
    state = tmp_path / "witness.db"
    open_witness(state, [KEY], lambda: NOW)
    folder = tmp_path / "witness.db.keys"
    (key,) = folder.iterdir()
    (folder / f"{'0' * 64}.pem").write_bytes(key.read_bytes())
    with pytest.raises(WitnessError, match="2 keys"):
        open_witness(state, [KEY], lambda: NOW)


@settings(max_examples=200)
@given(at=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_bit_is_never_cosigned(tmp_path_factory: pytest.TempPathFactory, at: int, bit: int) -> None:
    witness = open_witness(tmp_path_factory.mktemp("w") / "witness.db", [KEY], lambda: NOW)
    log = Log("a", "b", "c", "d", "e")
    ask(witness, log.note(3))
    body = bytearray(WitnessRequest(3, tuple(log.prove(3)), log.note()).to_bytes())
    body[at % len(body)] ^= 1 << bit
    answer = witness.add(bytes(body))
    assert answer.status in set(HTTPStatus) - {HTTPStatus.OK, HTTPStatus.INTERNAL_SERVER_ERROR}
