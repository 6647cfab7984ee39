from __future__ import annotations

import base64
import json
from pathlib import Path

from tests.cli.run import WHO, run, said


def signed_view(team: str) -> dict[str, object]:
    run("return", *WHO, "--db", team, "--envelope", "view.json")
    envelope: dict[str, object] = json.loads(Path("view.json").read_text(encoding="utf-8"))
    return envelope


def test_a_view_verifies_offline_under_the_exported_key(team: str) -> None:
    signed_view(team)
    run("keys", "export", "--output", "team.pem", "--db", team)
    checked = said("verify", "view.json", "--key", "team.pem", "--db", "nowhere.db")
    assert (checked["verified"], checked["items"], checked["expired"]) == (True, ["o", "h0"], False)
    assert "valid" in run("verify", "view.json", "--db", team).stdout


def test_an_altered_view_does_not(team: str) -> None:
    envelope = signed_view(team)
    payload = base64.b64decode(str(envelope["payload"])).replace(b'"A1"', b'"A7"')
    altered = envelope | {"payload": base64.b64encode(payload).decode()}
    assert said("verify", "-", "--db", team, input=json.dumps(altered), status=5)["verified"] is False
    assert run("verify", "-", "--db", team, input="{}", status=5).stderr.startswith("does not verify: ")
    assert run("verify", "-", "--db", team, input="no json", status=5).stdout == ""


def test_nor_does_one_under_a_stranger_s_key(team: str) -> None:
    signed_view(team)
    run("init", "--db", "other.db")
    run("keys", "export", "-o", "other.pem", "--db", "other.db")
    assert said("verify", "view.json", "--key", "other.pem", status=5)["verified"] is False
    Path("junk.pem").write_text("junk", encoding="utf-8")
    assert "--key: junk.pem is not" in run("verify", "view.json", "--key", "junk.pem", status=1).stderr


def test_rotate_overlaps_and_revoke_does_not(team: str) -> None:
    signed_view(team)
    old = said("keys", "list", "--db", team)["keys"][0]["key"]
    new = said("keys", "rotate", "--overlap", "1h", "--db", team)["key"]
    listed = {one["key"]: one["status"] for one in said("keys", "list", "--db", team)["keys"]}
    assert listed == {new: "active", old: "retiring"}
    assert said("verify", "view.json", "--db", team)["verified"] is True
    run("keys", "revoke", old[:10], "--reason", "stolen", "--db", team)
    listed = {one["key"]: one["status"] for one in said("keys", "list", "--db", team)["keys"]}
    assert listed == {new: "active", old: "revoked"}
    run("verify", "view.json", "--db", team, status=5)
    assert "no longer trusted" in run("keys", "export", old, "--db", team, status=1).stderr


def test_a_retired_key_ends(team: str) -> None:
    signed_view(team)
    run("keys", "rotate", "--overlap", "0s", "--db", team)
    assert [one["status"] for one in said("keys", "list", "--db", team)["keys"]] == ["active", "retired"]
    run("verify", "view.json", "--db", team, status=5)


def test_the_last_key_is_revoked_only_after_another_was_made(team: str) -> None:
    [last] = said("keys", "list", "--db", team)["keys"]
    refused = run("keys", "revoke", last["key"], "--reason", "stolen", "--db", team, status=1).stderr
    assert "is the only one that signs this log" in refused
    assert "readmit keys rotate" in refused
    run("keys", "rotate", "--db", team)
    assert said("keys", "revoke", last["key"], "--reason", "stolen", "--db", team)["active_left"] is True
    run("return", *WHO, "--db", team)


def test_a_key_is_named_without_doubt(team: str) -> None:
    assert "no key 'zz'" in run("keys", "revoke", "zz", "--reason", "r", "--db", team, status=1).stderr
    run("keys", "rotate", "--db", team)
    assert "KEY is empty" in run("keys", "revoke", "", "--reason", "r", "--db", team, status=1).stderr
    assert (
        "'--overlap': 'soon' is not a duration"
        in run("keys", "rotate", "--overlap", "soon", "--db", team, status=2).stderr
    )
