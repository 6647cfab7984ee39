from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from readmit.diagnosis import history
from tests.cli.run import WHO, run, said, script, view_items
from tests.keys import keys_of


def test_the_whole_flow_in_separate_processes(tmp_path: Path) -> None:
    def go(*args: object, status: int = 0) -> str:
        done = script(*args, cwd=tmp_path, READMIT_DB="team.db", READMIT_TASK="trip")
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    go("init")
    source = ("--source", "The office says so.", "--by", "A2", "--task", "trip")
    go("oblige", "Write the plan", "--id", "o", "--requires", "d", "--critical", "d", *source)
    go("depart", "--principal", "A1", "--role", "planner")
    blocked = json.loads(go("return", "--principal", "A1", "--role", "planner", "--json", status=3))
    assert (blocked["kind"], blocked["report"]["missing"]) == ("blocked", ["d"])
    assert blocked["reasons"] == ["coverage_short"]
    go("record", "It is arranged", "--id", "k", "--supports", "d", *source)
    admitted = json.loads(go("return", "--principal", "A1", "--role", "planner", "--json"))
    handing = (
        "expose",
        admitted["return"],
        "--secret",
        admitted["secret"],
        "--principal",
        "A1",
        "--role",
        "planner",
    )
    bundle = go(*handing)
    assert "It is arranged" in bundle
    assert go(*handing) == bundle, "lost on the way, it is handed over once more"
    go("acknowledge", *handing[1:])
    go("acknowledge", *handing[1:])
    go(*handing, status=3)
    assert "The log and its audit are intact." in go("audit", "verify")


def test_the_printed_command_hands_the_view_over(team: str) -> None:
    import shlex

    printed = run("return", *WHO, "--db", team).stdout
    [line] = [line.strip() for line in printed.splitlines() if "readmit expose" in line]
    bundle = run(*shlex.split(line)[1:])
    assert "Sunrise is booked" in bundle.stdout


def test_a_view_is_handed_over_in_the_brief_form_for_a_message(team: str) -> None:
    import shlex

    printed = run("return", *WHO, "--db", team).stdout
    [line] = [line.strip() for line in printed.splitlines() if "readmit expose" in line]
    words = shlex.split(line)[1:]
    assert "## Holds now" in run(*words, "--form", "brief", "--asked", "Which hotel is it?").stdout
    assert "--asked is for --form brief" in run(*words, "--asked", "Which hotel is it?", status=2).stderr
    assert "leave out --retractions and --json" in run(*words, "--form", "brief", "--retractions", status=2).stderr


def test_the_printed_command_hands_over_what_no_longer_holds(team: str) -> None:
    import shlex

    run("record", "--file", "-", "--db", team, input=json.dumps([{"do": "revoke", "target": "h0", "by": "A2"}]))
    printed = run("return", *WHO, "--db", team, status=3).stdout
    assert "No longer holds: h0 about hotel, revoked since" in printed
    [line] = [line.strip() for line in printed.splitlines() if "--retractions" in line]
    words = shlex.split(line)[1:]
    told = run(*words, "--envelope", "notice.json")
    assert "`h0`, about `hotel`: revoked since" in told.stdout
    assert "Sunrise" not in told.stdout
    assert said(*words)["admitted"] is False
    run(*[word for word in words if word != "--retractions"], status=3)
    assert "retraction: row" in run("audit", "show", words[1], "--db", team).stdout
    described = said("verify", "notice.json", "--db", team)
    assert (described["admitted"], described["retracted"]) == (False, ["h0"])


def test_a_return_says_what_changed_as_json(team: str) -> None:
    steps = [
        {"do": "observe", "id": "e9", "text": "Riverside replaces it.", "by": "A2", "task": "trip"},
        {"do": "record", "by": "A2", "id": "h1", "text": "Riverside is booked", "sources": ["e9"],
         "slot": "hotel", "supports": ["d_h"], "task": "trip"},
    ]  # fmt: skip
    run("record", "--file", "-", "--db", team, input=json.dumps(steps))
    whole = said("return", *WHO, "--db", team)
    assert [item["id"] for item in whole["view"]["items"] if item["news"] == "new"] == ["h1"]
    (fallen,) = whole["view"]["retractions"]["fallen"]
    assert (fallen["id"], fallen["state"], fallen["instead"]) == ("h0", "superseded", "h1")


def test_reset_has_its_own_status(team: str) -> None:
    Path("policy.json").write_text(json.dumps({"returns": {"on_incomplete": "reset"}}), encoding="utf-8")
    assert said("admin", "govern", "policy.json", "--db", team)["policy_changed"] == [
        "returns.on_incomplete is 'reset', not 'block'"
    ]
    assert "in force already" in run("admin", "govern", "policy.json", "--db", team).stdout
    assert said("init", "--db", team)["created"] is False
    other = run("init", "--policy", "-", "--db", team, input="{}", status=1).stderr
    assert "readmit admin govern FILE" in other
    run("record", "--file", "-", "--db", team, input=json.dumps([{"do": "revoke", "target": "h0", "by": "A2"}]))
    assert said("return", *WHO, "--db", team, status=4)["kind"] == "reset"


def test_the_operator_sees_every_disposition_and_the_agent_none(team: str) -> None:
    """THREATS, "Rejection oracle": of what is left out, the agent gets the ids of what it held, and no text."""
    steps = [
        {"do": "observe", "id": "e9", "text": "Riverside replaces it.", "by": "A2", "task": "trip"},
        {"do": "record", "by": "A2", "id": "h-hidden-1", "text": "Riverside is booked", "sources": ["e9"],
         "slot": "hotel", "supports": ["d_h"], "task": "trip"},
        {"do": "record", "id": "h-hidden-2", "text": "A suite, perhaps", "by": "A2", "task": "trip"},
    ]  # fmt: skip
    run("record", "--file", "-", "--db", team, input=json.dumps(steps))
    whole = said("return", *WHO, "--db", team)
    assert {one["item"]: one["state"] for one in whole["dispositions"]} == {
        "o": "admitted", "h0": "superseded", "h-hidden-1": "admitted", "h-hidden-2": "unproven",
    }  # fmt: skip
    assert "h-hidden-2" in run("return", *WHO, "--db", team).stdout
    seen = [run("return", *WHO, "--db", team, "--agent-facing").stdout]
    seen.append(json.dumps(said("return", *WHO, "--db", team, "--agent-facing")))
    last = json.loads(seen[-1])
    seen.append(run("expose", last["return"], "--secret", last["secret"], *WHO, "--db", team).stdout)
    for text in seen:
        assert "h-hidden-2" not in text
        assert "suite" not in text
        assert "h0" in text
        assert "Sunrise" not in text
    # The same holds when nothing is handed over.
    run("depart", *WHO, "--db", team)
    run("record", "--file", "-", "--db", team, input=json.dumps([{"do": "revoke", "target": "h-hidden-1", "by": "A2"}]))
    for extra in ((), ("--json",)):
        text = run("return", *WHO, "--db", team, "--agent-facing", *extra, status=3).stdout
        assert "d_h" in text
        assert "h-hidden-1" in text
        assert "h-hidden-2" not in text
        assert "Riverside" not in text


def test_a_replay_under_other_rules_says_so_and_does_not_verify(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    past = said("return", *WHO, "--db", team)["return"]
    monkeypatch.setattr(history, "RULES", 2)
    assert "under version 1 of the rules" in run("replay", past, "--db", team, status=5).stdout
    (found,) = said("replay", "--all", "--db", team, status=5)["replays"]
    assert (found["matches"], bool(found["refused"])) == (False, True)


def test_an_exposure_is_refused_with_its_reasons(team: str) -> None:
    issued = said("return", *WHO, "--db", team)
    other = ("--principal", "A7", "--role", "planner", "--task", "trip")
    stolen = said("expose", issued["return"], "--secret", issued["secret"], *other, "--db", team, status=3)
    assert (stolen["exposed"], "binding_mismatch" in stolen["reasons"]) == (False, True)
    guessed = said("expose", issued["return"], "--secret", "guess", *WHO, "--db", team, status=3)
    assert guessed["reasons"] == ["binding_mismatch"]
    assert "binding_mismatch" in run("expose", issued["return"], "--secret", "g", *WHO, "--db", team, status=3).stderr


def test_a_secret_is_nowhere_in_the_store_and_needed_to_acknowledge(team: str) -> None:
    issued = said("return", *WHO, "--db", team)
    asked = (issued["return"], "--secret", issued["secret"], *WHO, "--db", team)
    run("acknowledge", *asked, status=1)
    run("expose", *asked)
    guessed = said("acknowledge", issued["return"], "--secret", "guess", *WHO, "--db", team, status=3)
    assert (guessed["acknowledged"], guessed["reasons"]) == (False, ["binding_mismatch"])
    assert said("acknowledge", *asked) == {"return": issued["return"], "acknowledged": True}
    kept = b"".join(path.read_bytes() for path in Path(team).parent.glob(f"{Path(team).name}*") if path.is_file())
    assert issued["return"].encode() in kept
    assert issued["secret"].encode() not in kept


def test_overrule_brings_an_item_back_and_the_audit_shows_it(team: str) -> None:
    Path("policy.json").write_text(json.dumps({"evidence": {"overseers": ["lead"]}}), encoding="utf-8")
    run("admin", "govern", "policy.json", "--db", team)
    run("record", "--file", "-", "--db", team, input=json.dumps([{"do": "revoke", "target": "h0", "by": "A2"}]))
    run("return", *WHO, "--db", team, status=3)
    restore = ("admin", "overrule", "h0", "--reason", "it was right", "--for", "2h", "--db", team)
    assert "may not overrule" in run(*restore, "--by", "A1", status=1).stderr
    run(*restore, "--by", "lead")
    issued = said("return", *WHO, "--db", team)
    explained = said("explain", issued["return"], "h0", "--db", team)
    assert (explained["disposition"]["state"], explained["disposition"]["overruled"][0]["reason"]) == (
        "admitted",
        "revoked",
    )


def test_record_takes_texts_files_and_digests_as_sources(team: str) -> None:
    Path("mail.txt").write_text("Riverside confirms.", encoding="utf-8")
    digest = said("observe", "Riverside called.", "--by", "A2", "--db", team)["evidence"]
    done = said("record", "Riverside is booked", "--by", "A2", "--db", team,
                "--source", "@mail.txt", "--source", digest, "--source", "They wave.")  # fmt: skip
    assert len(done["evidence"]) == 3
    assert digest in done["evidence"]
    run("record", "x", "--source", "@nowhere.txt", "--by", "A2", "--db", team, status=1)
    Path("binary").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in run("record", "x", "--source", "@binary", "--by", "A2", "--db", team, status=1).stderr


def test_a_refused_record_leaves_no_evidence_behind(team: str) -> None:
    epoch = said("status", "--db", team)["epoch"]
    run("record", "x", "--source", "new evidence", "--depends-on", "zz", "--by", "A2", "--db", team, status=1)
    steps = [{"do": "observe", "text": "x", "by": "A"}, {"do": "revoke", "target": "zz", "by": "A"}]
    run("record", "--file", "-", "--db", team, status=1, input=json.dumps(steps))
    assert said("status", "--db", team)["epoch"] == epoch


def test_the_same_record_twice_is_one(team: str) -> None:
    note = ("record", "Noted", "--id", "n", "--by", "A2", "--db", team)
    assert said(*note)["epoch"] == said(*note)["epoch"]
    assert "already used" in run("record", "Other", "--id", "n", "--by", "A2", "--db", team, status=1).stderr
    seen = ("observe", "It was seen", "--id", "e", "--by", "A2", "--db", team)
    assert said(*seen) == said(*seen)
    sourced = ("record", "It is so", "--id", "s", "--source", "It was seen", "--source", "Twice", "--by", "A2")
    assert said(*sourced, "--db", team) == said(*sourced, "--db", team)


def test_frontier_and_constraints(team: str) -> None:
    both = ("--by", "A2", "--source", "said", "--task", "trip", "--db", team)
    run("progress", "Hotel is open", "--id", "f", "--obligation", "o", *both)
    run("record", "Be quiet", "--kind", "role_constraint", "--id", "c", "--role", "planner", *both)
    view = said("return", *WHO, "--db", team)
    assert view_items(view) == ["o", "f", "h0", "c"]
    wrong = run("progress", "x", "--requires", "d", "--obligation", "o", *both, status=2)
    assert "No such option '--requires'" in wrong.stderr


USAGE = [
    ["record"],
    ["record", "x", "--file", "-"],
    ["record", "nobody records this"],
    ["observe", "nobody observed this"],
    ["replay"],
    ["admin", "overrule", "x"],
]


@pytest.mark.parametrize("args", USAGE)
def test_usage_errors_have_status_two(args: list[Any], team: str) -> None:
    run(*args, "--db", team, status=2)


def test_a_return_that_failed_claims_no_coverage(tmp_path: Path) -> None:
    db = ("--db", tmp_path / "team.db")
    run("init", *db)
    run("record", "The plan", "--source", "The office says so.", "--by", "A2", "--task", "trip", *db)
    run("depart", *WHO, *db)
    with sqlite3.connect(tmp_path / "team.db") as file:
        file.execute("DELETE FROM audience WHERE epoch = (SELECT max(epoch) FROM audience)")
    file.close()
    answer = said("return", *WHO, *db, status=3)
    assert (answer["report"]["obligations"], answer["report"]["covered"], answer["reasons"]) == (0, 0, ["log_altered"])
    assert "nothing was judged" in run("return", *WHO, *db, status=3).stdout


def test_without_its_keys_nothing_is_written_and_everything_can_be_read(tmp_path: Path) -> None:
    db = ("--db", tmp_path / "team.db")
    run("init", *db)
    run("depart", *WHO, *db)
    keys_of(tmp_path / "team.db").rename(tmp_path / "lost")
    before = run("log", *db).stdout
    refused = run("return", *WHO, *db, status=1).stderr
    assert f"no private key in {keys_of(tmp_path / 'team.db')} for any" in refused
    assert "run `readmit keys rotate --lost` if there is none" in refused
    assert run("log", *db).stdout == before
    run("keys", "rotate", "--lost", *db)
    run("return", *WHO, *db)


def test_the_writer_of_news_that_passes_a_plan_over_is_told(tmp_path: Path) -> None:
    db = ("--db", tmp_path / "week.db")
    run("init", *db)
    run(
        "record",
        "Riverside",
        "--id",
        "plan",
        "--slot",
        "room",
        "--valid-from",
        "2099-01-07T09:00:00Z",
        "--source",
        "We move.",
        "--by",
        "A2",
        *db,
    )
    news = ("record", "Sunrise", "--id", "news", "--slot", "room", "--source", "All week.", "--by", "A3", *db)
    told = run(*news).stdout.splitlines()
    assert told[1].startswith("From 2099-01-07 09:00 UTC on, room is contested: A2 planned plan for then, and A3 wrote")
    assert told[2].strip() == "readmit supersede plan news --by A3"
    assert said(*news)["notices"] == [told[1]]
    steps = [
        {"do": "observe", "id": "e", "text": "All month.", "by": "A4"},
        {"do": "record", "id": "more", "text": "Hillside", "slot": "room", "sources": ["e"], "by": "A4"},
    ]
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    told = run("record", "--file", str(tmp_path / "steps.json"), *db).stdout.splitlines()
    assert told[0].startswith("Wrote 2 steps")
    assert "A2 planned plan for then, and A4 wrote more after that" in told[1]
    assert "room is contested" in run("doctor", *db, status=8).stdout
