"""``readmit observe`` of sources that are looked at again, and ``readmit look``."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.run import WHO, paste, run, said, view_items

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def db(tmp_path: Path) -> str:
    (tmp_path / "limits.md").write_text("Limits\n\nA client may send 100 requests.\n", encoding="utf-8")
    db = str(tmp_path / "team.db")
    run("init", "--db", db)
    return db


def change(folder: Path) -> None:
    (folder / "limits.md").write_text("Limits\n\nA client may send 20 requests.\n", encoding="utf-8")


def test_a_file_that_changed_is_told_with_the_command_that_mends_it(db: str, tmp_path: Path) -> None:
    seen = run("observe", "--file", "limits.md", "--lines", "3-3", "--by", "bob", "--db", db).output.strip()
    run(
        "record",
        "A client may send 100 requests",
        "--id",
        "rate",
        "--slot",
        "rate",
        "--source",
        seen,
        "--by",
        "bob",
        "--db",
        db,
    )
    run("oblige", "Write the client", "--requires", "rate", "--by", "bob", "--task", "trip", "--db", db)
    run("depart", *WHO, "--db", db)
    change(tmp_path)
    back = said("return", *WHO, "--db", db, status=3)
    why = run("why", back["return"], "--db", db).output
    assert "limits.md:3-3 changed" in why
    [command] = [
        line.strip()
        for line in why.splitlines()
        if "readmit record" in line and back["dispositions"][0]["causes"][0]["ref"] in line
    ][:1]
    paste(command.replace('record "…"', "record 'A client may send 20 requests'"), db)
    again = said("return", *WHO, "--db", db)
    assert again["kind"] == "admitted"
    assert [one["finding"] for one in again["view"]["sources"]] == ["unchanged"]


def test_a_look_before_the_return_says_what_changed(db: str, tmp_path: Path) -> None:
    seen = said("observe", "--file", "limits.md", "--by", "bob", "--db", db)["evidence"]
    run("record", "A client may send 100 requests", "--id", "rate", "--source", seen, "--by", "bob", "--db", db)
    run("depart", *WHO, "--db", db)
    change(tmp_path)
    assert f"{seen[:12]} changed" in run("look", *WHO, "--db", db).output
    assert said("look", *WHO, "--db", db) == {"unchanged": [], "found": [], "again": []}, "it is on record"
    assert "Nothing to write down" in run("look", *WHO, "--db", db).output
    explained = run("explain", said("return", *WHO, "--db", db)["return"], "rate", "--db", db).output
    assert "Source limits.md: looked at on" in explained


def test_a_git_file_is_observed_at_its_ref(db: str, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", "limits.md")
    git("commit", "-qm", "limits")
    seen = run("observe", "--git", "limits.md", "--ref", "main", "--by", "bob", "--db", db).output.strip()
    run("record", "A client may send 100 requests", "--id", "rate", "--source", seen, "--by", "bob", "--db", db)
    run("depart", *WHO, "--db", db)
    change(tmp_path)
    assert view_items(said("return", *WHO, "--db", db)) == ["rate"], "the branch has not moved"
    git("commit", "-qam", "fewer")
    assert view_items(said("return", *WHO, "--db", db)) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("observe", "--http", "https://example.org/x"), "example.org"),
        (("observe", "--command", "true"), "true"),
        (("observe", "--file", "absent.md"), "absent.md"),
        (("observe", "--file", "../../etc/passwd"), "holds .."),
    ],
)
def test_what_the_policy_does_not_allow_is_refused_by_name(db: str, words: tuple[str, ...], message: str) -> None:
    command, *rest = words
    assert message in run(command, "--by", "bob", "--db", db, *rest, status=1).output
