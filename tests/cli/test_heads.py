"""Heads with a witness, and proofs, on the command line: from the store to a verifier without one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.run import run, said
from tests.keys import keys_of
from tests.trust.witness.logs import Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def witness(team: str) -> Iterator[Running]:
    run("keys", "export", "--verifier", "--output", "log.txt", "--db", team)
    with running(Path("witness.db"), trust="@log.txt") as one:
        yield one


def copied(team: str, to: str) -> dict[str, str]:
    """Settings for a copy with its keys and pin: what somebody with access to the whole machine could put back."""
    shutil.copy(team, to)
    shutil.copytree(keys_of(team), keys_of(team, Path("theirs")))
    return {"READMIT_DB": to, "READMIT_KEYS": "theirs"}


def observe(text: str, **settings: Any) -> None:
    run("observe", text, "--by", "A2", **settings)


def test_an_event_is_proven_under_a_head_that_a_witness_cosigned(team: str, witness: Running) -> None:
    key = Path("log.txt").read_text(encoding="ascii").strip()
    run("audit", "prove", "h0", "--witness", witness.url, "--output", "proof.json", "--db", team)
    trusted = ("--key", key, "--witness", witness.key.vkey)
    found = said("verify", "proof.json", *trusted, "--db", "nowhere.db")
    assert (found["verified"], found["id"]) == (True, "item:h0")
    assert list(found["cosigned"]) == [witness.key.name]
    assert not Path("nowhere.db").exists()


def test_a_head_that_was_kept_proves_an_event_later(team: str) -> None:
    run("audit", "head", "--output", "head.txt", "--db", team)
    run("keys", "export", "--output", "team.pem", "--db", team)
    observe("Something else.", READMIT_DB=team)
    run("audit", "prove", "1", "--head", "head.txt", "--output", "proof.json", "--db", team)
    assert said("verify", "proof.json", "--key", "team.pem")["epoch"] == 1


def test_a_rollback_of_database_and_keys_together_is_refused_by_the_witness(team: str, witness: Running) -> None:
    older = copied(team, "older.db")
    observe("Sunrise cancelled.", READMIT_DB=team)
    run("audit", "head", "--witness", witness.url, "--db", team)
    done = run("audit", "head", "--witness", witness.url, status=1, **older)
    assert "rollback: " in done.stderr


def test_a_fork_is_refused_by_the_witness(team: str, witness: Running) -> None:
    fork = copied(team, "fork.db")
    observe("Sunrise cancelled.", READMIT_DB=team)
    observe("Sunrise confirmed.", **fork)
    run("audit", "head", "--witness", witness.url, "--witness-key", witness.key.vkey, "--db", team)
    done = run("audit", "head", "--witness", witness.url, status=1, **fork)
    assert "fork: " in done.stderr


def test_what_names_no_event_is_an_error_with_the_fix(team: str) -> None:
    assert "`readmit log`" in run("audit", "prove", "nothing-like-it", "--db", team, status=1).stderr
    assert "its log ends at" in run("audit", "prove", "99999", "--db", team, status=1).stderr


def test_options_that_contradict_are_wrong_usage(team: str) -> None:
    Path("head.txt").write_text("", encoding="ascii")
    both = ("--head", "head.txt", "--witness", "http://localhost:1")
    assert "give either" in run("audit", "prove", "1", *both, "--db", team, status=2).stderr
    alone = ("--witness-key", "x")
    assert "no use without --witness" in run("audit", "head", *alone, "--db", team, status=2).stderr


def test_a_witness_that_is_down_is_an_error_with_the_fix(team: str) -> None:
    done = run("audit", "head", "--witness", "http://127.0.0.1:1", "--db", team, status=1)
    assert "cannot be reached" in done.stderr
