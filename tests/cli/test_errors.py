from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import WHO, run, said, script

EVIL = "[red]bold[/red] \x1b[31mred\x1b[0m \x07 \u202egnirts \x9b31m"


@pytest.mark.parametrize(
    "args",
    [
        ["status"], ["depart", *WHO], ["return", *WHO], ["explain", "r", "h0"], ["replay", "r"], ["audit", "list"],
        ["audit", "verify"], ["keys", "list"], ["record", "x", "--by", "A"], ["expose", "r", "--secret", "s", *WHO],
    ],
    ids=lambda args: args[0],
)  # fmt: skip
def test_a_missing_database_is_reported_and_not_made(args: list[str], tmp_path: Path) -> None:
    done = run(*args, "--db", "nowhere.db", status=1)
    assert done.stderr == "error: --db: nowhere.db does not exist; run `readmit init --db nowhere.db`\n"
    assert said(*args, "--db", "nowhere.db", status=1)["error"]["type"] == "StoreError"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_workspace_is_reported_and_not_made(team: str) -> None:
    done = run("status", "--db", team, "--workspace", "other", status=1)
    assert "has no workspace 'other'; it has 'default'; run `readmit init" in done.stderr
    assert "has no workspace 'other'" in run("status", "--db", team, "--workspace", "other", status=1).stderr


def test_a_file_that_is_no_database_is_left_alone() -> None:
    Path("notes.db").write_text("my notes", encoding="utf-8")
    for command in ("status", "init"):
        assert run(command, "--db", "notes.db", status=1).stderr.startswith("error: cannot open notes.db")
    assert Path("notes.db").read_text(encoding="utf-8") == "my notes"


def test_unknown_names_are_reported(team: str) -> None:
    assert "no return 'zz'" in run("explain", "zz", "h0", "--db", team, status=1).stderr
    assert "no return 'zz'" in run("replay", "zz", "--db", team, status=1).stderr
    assert "no return 'zz'" in run("audit", "show", "zz", "--db", team, status=1).stderr
    assert "has not departed" in run("return", "--principal", "A8", *WHO[2:], "--db", team, status=1).stderr
    issued = said("return", *WHO, "--db", team)
    assert "no item 'zz'" in run("explain", issued["return"], "zz", "--db", team, status=1).stderr
    run("record", "Later", "--id", "later", "--by", "A2", "--db", team)
    assert "recorded after return" in run("explain", issued["return"], "later", "--db", team, status=1).stderr


def test_a_traceback_only_on_demand(team: str, tmp_path: Path) -> None:
    plain = script("explain", "zz", "h0", "--db", team, cwd=tmp_path)
    assert (plain.returncode, plain.stdout, plain.stderr.count("\n")) == (1, "", 1)
    debug = script("explain", "zz", "h0", "--db", team, "--debug", cwd=tmp_path)
    assert "Traceback" in debug.stderr
    assert debug.returncode == 1


def test_what_nobody_expected_is_one_line_too(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom\x1b[31m")

    monkeypatch.setattr("readmit.workspace.workspace.Workspace.returned", broken)
    done = run("explain", "r", "h0", "--db", team, status=1)
    assert done.stderr.startswith("error: unexpected RuntimeError: boom")
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE event SET body = CAST(body || ' ' AS BLOB)", "does not match its digest: it was altered"),
        ("UPDATE event SET body = CAST(X'FF' || body AS TEXT)", "a row of team.db was altered"),
    ],
    ids=["other bytes", "a text that the database cannot read"],
)
def test_an_altered_row_names_what_to_do(change: str, said: str, team: str) -> None:
    with closing(sqlite3.connect(team)) as store, store:
        guards = store.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            store.execute(f"DROP TRIGGER {name}")
        store.execute(change)
        for _, guard in guards:
            store.execute(guard)
    done = run("items", "--db", team, status=1)
    assert said in done.stderr
    assert "readmit admin restore FILE" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_bad_policy_names_the_field(tmp_path: Path) -> None:
    Path("policy.json").write_text('{"paper": {"gamma": "7"}}', encoding="utf-8")
    assert "gamma must be between 0 and 1" in run("admin", "govern", "policy.json", status=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["policy.json"]


def test_control_characters_and_markup_never_reach_the_terminal() -> None:
    """THREATS, "Terminal and page injection"."""
    run("init")
    steps: list[dict[str, Any]] = [
        {"do": "observe", "id": "e", "text": EVIL, "by": EVIL, "task": "trip"},
        {"do": "oblige", "by": "A2", "id": "o", "text": EVIL, "required": ["d"], "sources": ["e"], "task": "trip"},
        {
            "do": "record",
            "by": "A2",
            "id": "[red]k[/red]",
            "text": EVIL,
            "supports": ["d"],
            "sources": ["e"],
            "task": "trip",
        },
        {"do": "depart", **dict(zip(("principal", "role", "task"), WHO[1::2], strict=True))},
        {"do": "revoke", "target": "[red]k[/red]", "by": EVIL, "reason": EVIL},
    ]
    run("record", "--file", "-", input=json.dumps(steps))
    scenario: dict[str, Any] = {
        "readmit": 1,
        "name": EVIL,
        "steps": [*steps, {"do": "return", "as": EVIL, **steps[3], "id": None}],
    }
    scenario["steps"][-1]["do"] = "return"
    issued = said("return", *WHO, status=3)
    outputs = [
        run("return", *WHO, status=3),
        run("explain", issued["return"], "[red]k[/red]"),
        run("audit", "show", issued["return"]),
        run("audit", "show", issued["return"], "--json"),
        run("audit", "list"),
        run("audit", "export"),
        run("audit", "export", "--format", "prov"),
        run("status"),
        run("play", "-", input=json.dumps(scenario)),
        run("play", "-", "--json", input=json.dumps(scenario)),
    ]
    for done in outputs:
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(done.output)
    assert "[red]k[/red]" in outputs[0].output
    assert EVIL in json.loads(outputs[-1].stdout)["scenario"]


def test_a_pipe_that_closes_early_is_no_error(team: str, tmp_path: Path) -> None:
    import subprocess

    from tests.cli.run import SCRIPT

    for _ in range(3):
        run("return", *WHO, "--db", team)
    line = f"{SCRIPT} audit export --db {team} | head -n 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, timeout=240, check=False)
    assert json.loads(done.stdout)["kind"] == "piece", "what the first row of the audit names comes before it"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            (
                "record",
                "x",
                "--by",
                "A",
                "--valid-from",
                "2027-01-01T00:00:00Z",
                "--valid-until",
                "2026-01-01T00:00:00Z",
            ),
            "--valid-until must be later than --valid-from",
        ),
        (("revoke", "o", "--by", ""), "--by: "),
        (("settle", "h0", "--by", "A2"), "OBLIGATION: 'h0' is not an obligation"),
        (("record", "x", "--by", "A", "--depends-on", "zz"), "--depends-on: no item 'zz'"),
        (("record", "x", "--by", "A", "--id", "a b"), "--id: "),
        (("progress", "x", "--by", "A", "--obligation", "h0"), "--obligation: 'h0' is not an obligation"),
        (("oblige", "x", "--by", "A", "--requires", "a", "--critical", "b"), "--critical"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_error_names_the_option(args: tuple[str, ...], words: str, team: str) -> None:
    assert run(*args, "--db", team, status=1).stderr.startswith(f"error: {words}")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("revoke", "--by", "A"), "Missing argument 'TARGET'"),
        (("revoke", "h0"), "Missing option '--by'"),
        (("revoke", "h0", "--bye", "A"), "No such option '--bye'"),
        (("nothing",), "No such command 'nothing'"),
        (("audit", "nothing"), "No such command 'nothing'"),
        (("replay",), "give either RETURN or --all"),
        (
            ("record", "x", "--by", "A", "--valid-until", "soon"),
            "Invalid value for '--valid-until': 'soon' is no moment",
        ),
        (("close-validity", "o", "--by", "A2", "--end", "3"), "Invalid value for '--end': '3' is no moment"),
        (("present", *WHO, "--lease", "soon"), "Invalid value for '--lease': 'soon' is not a duration"),
        (("observe", "--by", "A2"), "give either TEXT or one of --file, --git, --http, --command"),
        (("observe", "x", "--file", "y", "--by", "A2"), "give either TEXT or one of"),
        (("observe", "x", "--lines", "1-2", "--by", "A2"), "--lines goes with --file and --git"),
        (("observe", "--file", "y", "--ref", "main", "--by", "A2"), "--ref goes with --git"),
        (("observe", "x", "--lifetime", "60", "--by", "A2"), "--lifetime is for a source that is looked at again"),
        (("observe", "--command", "echo 'x", "--by", "A2"), "--command: No closing quotation"),
    ],
)
def test_wrong_usage_is_json_where_json_is_asked_for(args: tuple[str, ...], words: str, team: str) -> None:
    done = run(*args, "--json", status=2)
    assert done.stderr == ""
    error = json.loads(done.stdout)["error"]
    assert error["type"] == "UsageError"
    assert words in error["message"]
    assert "--help`" in error["message"]
    assert words in run(*args, status=2).stderr


MALFORMED = "\n\n          }"


@pytest.mark.parametrize(
    "args", [("play", "bad.json"), ("init", "--policy", "bad.json"), ("record", "--file", "bad.json")], ids=" ".join
)
def test_a_malformed_file_is_named_with_line_and_column(args: tuple[str, ...], team: str) -> None:
    Path("bad.json").write_text(MALFORMED, encoding="utf-8")
    where = () if args[0] == "play" else ("--db", team)
    assert "bad.json: line 3, column 11: JSON is malformed" in run(*args, *where, status=1).stderr


def test_a_malformed_envelope_or_standard_input_is_located_too(team: str) -> None:
    Path("view.json").write_text(MALFORMED, encoding="utf-8")
    assert "view.json: line 3, column 11" in run("verify", "view.json", "--db", team, status=5).stderr
    assert "standard input: line 3, column 11" in run("play", "-", input=MALFORMED, status=1).stderr


def test_a_missing_folder_is_named_with_the_fix(team: str) -> None:
    fix = "the folder no/where does not exist; make it with `mkdir -p no/where`"
    assert fix in run("keys", "export", "--output", "no/where/key.pem", "--db", team, status=1).stderr
    assert fix in run("init", "--db", "no/where/team.db", status=1).stderr
