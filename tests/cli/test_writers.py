"""``readmit writers`` and ``--signer``: a team that signs, on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from tests.cli.run import WHO, run, said

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A workspace in which the owner and bob have keys, and signatures are required."""
    monkeypatch.chdir(tmp_path)
    db = str(tmp_path / "team.db")
    run("init", "--db", db)
    for name in ("owner", "bob", "A1"):
        run("writers", "new", f"{name}.pem")
    run("writers", "enrol", "owner", "owner.pub", "--signer", "owner.pem", "--db", db)
    run("writers", "enrol", "bob", "bob.pub", "--signer", "owner.pem", "--db", db)
    run("writers", "enrol", "A1", "A1.pub", "--signer", "owner.pem", "--db", db)
    (tmp_path / "policy.json").write_text(json.dumps({"evidence": {"writers_signed": "required"}}))
    run("admin", "govern", "policy.json", "--signer", "owner.pem", "--db", db)
    return db


def test_a_team_that_signs(db: str) -> None:
    signed = ("--by", "bob", "--signer", "bob.pem", "--db", db)
    run("oblige", "Prepare the hotel", "--requires", "hotel", "--id", "o", *signed)
    run("record", "Sunrise is booked", "--id", "h", "--slot", "hotel", "--source", "Sunrise confirms.", *signed)
    run("depart", *WHO, "--signer", "A1.pem", "--db", db)
    assert said("return", *WHO, "--db", db)["kind"] == "admitted"
    with Workspace.open(db) as team:
        assert team._desk.log.evidence(team._desk.log.item("h").receipts[0].evidence).signature is not None


def test_without_the_key_nothing_is_written(db: str) -> None:
    for words in (("observe", "x", "--by", "bob"), ("record", "x", "--as-owner"), ("depart", *WHO)):
        assert "must sign this" in run(*words, "--db", db, status=1).stderr
    assert "must sign this key" in run("keys", "rotate", "--db", db, status=1).stderr
    run("keys", "rotate", "--signer", "owner.pem", "--db", db)


def test_a_key_writes_for_its_principal_alone(db: str) -> None:
    refused = run("observe", "x", "--by", "ann", "--signer", "bob.pem", "--db", db, status=1)
    assert "this handle writes as 'bob'" in refused.stderr
    refused = run("observe", "x", "--as-owner", "--signer", "bob.pem", "--db", db, status=1)
    assert "not enrolled for 'owner'" in refused.stderr
    run("writers", "new", "eve.pem")
    refused = run("observe", "x", "--by", "bob", "--signer", "eve.pem", "--db", db, status=1)
    assert "enrolled for nobody here" in refused.stderr


def test_the_signer_comes_from_the_environment(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_SIGNER", "bob.pem")
    run("observe", "x", "--by", "bob", "--db", db)


def test_rotate_and_revoke(db: str) -> None:
    run("writers", "new", "bob2.pem")
    owner = ("--signer", "owner.pem", "--db", db)
    made = said("writers", "rotate", "bob", "bob2.pub", *owner)["key"]
    assert (
        "not enrolled for 'bob'"
        in run("observe", "x", "--by", "bob", "--signer", "bob.pem", "--db", db, status=1).stderr
    )
    run("observe", "x", "--by", "bob", "--signer", "bob2.pem", "--db", db)
    run("writers", "revoke", made[:12], "--since", "3", "--reason", "stolen", *owner)
    bobs = [one for one in said("writers", "list", "--db", db)["writers"] if one["principal"] == "bob"]
    assert [one["end"] is not None for one in bobs] == [True, True]
    assert bobs[1]["end"] == 3
    assert "before epoch" in run("writers", "list", "--db", db).stdout
    assert "no key" in run("writers", "revoke", "ffff", "--reason", "x", *owner, status=1).stderr


def test_a_key_file_is_for_its_owner_alone(db: str, tmp_path: Path) -> None:
    assert (tmp_path / "bob.pem").stat().st_mode & 0o777 == 0o600
    assert "exists already" in run("writers", "new", "bob.pem", status=1).stderr
    (tmp_path / "bob.pem").chmod(0o644)
    assert "chmod 600" in run("observe", "x", "--by", "bob", "--signer", "bob.pem", "--db", db, status=1).stderr
    private = run("writers", "enrol", "eve", "owner.pem", "--signer", "owner.pem", "--db", db, status=1)
    assert "this is a private key" in private.stderr
