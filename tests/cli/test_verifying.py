"""``readmit verify`` on the proof of an event: no store is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from readmit.trust.notes import cosign_note
from readmit.trust.private_keys import public_pem
from tests.cli.run import run, said
from tests.trust.issued_view import SIGNER
from tests.trust.test_proofs import KEY, ORIGIN, OTHER, PROOF, WITNESS, WORLD

COSIGNED = WORLD.prove(1, 2, WORLD.note + cosign_note(WORLD.note, WITNESS.name, OTHER, 1_800_000_000))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("proof.json").write_bytes(PROOF)
    Path("team.pem").write_text(public_pem(SIGNER.public), encoding="ascii")
    Path("other.pem").write_text(public_pem(OTHER.public), encoding="ascii")
    return tmp_path


@pytest.mark.parametrize("key", [KEY.vkey, "team.pem"], ids=["a verifier key", "a PEM file"])
def test_a_proof_verifies_under_a_key_without_a_store(folder: Path, key: str) -> None:
    before = sorted(folder.iterdir())
    found = said("verify", "proof.json", "--key", key)
    assert (found["verified"], found["log"], found["epoch"], found["by"]) == (True, ORIGIN, 4, "A2")
    assert found["says"] == {"text": "Sunrise is booked. é"}
    assert sorted(folder.iterdir()) == before


def test_a_proof_is_shown_to_a_person() -> None:
    shown = run("verify", "proof.json", "--key", KEY.vkey).stdout
    assert shown.startswith("The proof holds.\n")
    assert "epoch: 4\n" in shown
    assert '"text":"Sunrise is booked. é"' in shown


def test_a_proof_under_another_key_does_not_verify() -> None:
    assert said("verify", "proof.json", "--key", "other.pem", status=5)["verified"] is False


@pytest.mark.parametrize("key", [pytest.param(KEY.vkey, id="a key"), "team.pem", "logs.txt"])
def test_a_key_can_be_named_in_the_environment(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    Path("logs.txt").write_text(f"# ours\n{KEY.vkey}\n\n", encoding="ascii")
    monkeypatch.setenv("READMIT_TRUST", key)
    assert said("verify", "proof.json")["verified"] is True


def test_an_altered_proof_does_not_verify() -> None:
    Path("proof.json").write_bytes(PROOF.replace(b"Sunrise", b"Riverside"))
    done = run("verify", "proof.json", "--key", KEY.vkey, status=5)
    assert "does not verify: proof.body" in done.stderr


def test_a_witness_can_be_required() -> None:
    required = ("--key", KEY.vkey, "--witness", WITNESS.vkey)
    assert "did not cosign" in run("verify", "proof.json", *required, status=5).stderr
    Path("proof.json").write_bytes(COSIGNED)
    assert said("verify", "proof.json", *required)["cosigned"] == {WITNESS.name: "2027-01-15T08:00:00+00:00"}


def test_a_view_has_no_witness() -> None:
    Path("view.json").write_text("{}", encoding="ascii")
    done = run("verify", "view.json", "--key", "team.pem", "--witness", WITNESS.vkey, status=2)
    assert "a view has no cosignatures" in done.stderr


def test_a_key_that_is_none_is_an_error_that_names_it() -> None:
    assert "an Ed25519 key has 32 bytes" in run("verify", "proof.json", "--key", "team+00000000+AAAA", status=1).stderr
    assert "missing.pem" in run("verify", "proof.json", "--key", "missing.pem", status=1).stderr
