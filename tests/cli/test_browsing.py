"""``items``, ``show`` and ``log``: what is there, one thing in full, and what happened."""

from __future__ import annotations

import pytest

from tests.cli.run import WHO, run, said


@pytest.fixture(autouse=True)
def _on_team(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_DB", team)


def ids(*args: str) -> list[str]:
    return [one["id"] for one in said("items", *args)["items"]]


def test_items_come_with_their_texts_and_states() -> None:
    run(
        "record",
        "Riverside is booked",
        "--id",
        "h1",
        "--slot",
        "hotel",
        "--task",
        "trip",
        "--by",
        "A2",
        "--source",
        "R.",
    )
    lines = run("items").stdout.splitlines()
    assert lines[0].split() == ["item", "kind", "state", "slot", "text"]
    assert lines[2].split(maxsplit=4) == ["h0", "fact", "superseded", "hotel", "Sunrise is booked"]
    assert lines[3].split(maxsplit=4) == ["h1", "fact", "stands", "hotel", "Riverside is booked"]
    assert lines[-1] == "3 items"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (("--slot", "hotel"), ["h0"]),
        (("--kind", "obligation"), ["o"]),
        (("--task", "trip"), ["o", "h0"]),
        (("--task", "other"), []),
        (("--state", "revoked"), ["loose"]),
        (("--state", "stands"), ["o", "h0"]),
        (("--by", "A3"), ["loose"]),
        (("--text", "sunRISE"), ["h0"]),
        (("--text", "booked", "--state", "revoked"), []),
    ],
)
def test_items_are_filtered(wanted: tuple[str, ...], found: list[str]) -> None:
    run("record", "A rumor", "--id", "loose", "--by", "A3", "--source", "Somebody says so.")
    run("revoke", "loose", "--by", "A3")
    assert ids(*wanted) == found


def test_one_item_is_counted_in_the_singular() -> None:
    assert run("items", "--slot", "hotel").stdout.endswith("\n1 item\n")
    assert run("items", "--slot", "bus").stdout == "None of 2 items is like that.\n"


def test_an_empty_workspace_says_how_to_begin() -> None:
    run("init", "--workspace", "empty")
    assert run("items", "--workspace", "empty").stdout.startswith("No items yet. Record one: readmit record")
    assert said("items", "--workspace", "empty") == {"items": []}
    assert run("log", "--kind", "revoke").stdout == "None of 6 events is like that.\n"


def test_an_item_without_a_source_does_not_stand() -> None:
    run("record", "A guess", "--id", "guess", "--by", "A3")
    assert ids("--state", "unproven") == ["guess"]


def test_a_private_item_is_judged_for_those_it_is_for() -> None:
    mine = ("--principal", "A3", "--private", "--slot", "mood", "--by", "A3", "--source", "Me.")
    run("record", "Tired", "--id", "@A3/m0", *mine)
    run("record", "Awake", "--id", "@A3/m1", *mine)
    assert ids("--slot", "mood", "--state", "superseded") == ["@A3/m0"]


def test_show_gives_evidence_history_and_what_relies_on_it() -> None:
    run("record", "Pickup at 8 at Sunrise", "--id", "p0", "--depends-on", "h0", "--by", "A4", "--source", "Car.")
    run("link", "h0", "d_x", "--by", "A2")
    found = said("show", "h0")
    assert (found["text"], found["state"], found["relied_on_by"]) == ("Sunrise is booked", "stands", ["p0"])
    assert [one["text"] for one in found["evidence"]] == ["Sunrise confirms."]
    assert [one["kind"] for one in found["history"]] == ["record", "link"]
    shown = run("show", "h0").stdout
    assert "h0 is evidence for d_x" in shown
    assert "Relied on by: p0" in shown


def test_show_names_the_agents_that_work_with_an_item() -> None:
    assert said("show", "h0")["handed_over_to"] == []
    issued = said("return", *WHO)
    run("expose", issued["return"], "--secret", issued["secret"], *WHO)
    assert said("show", "h0")["handed_over_to"] == ["A1 (planner, trip)"]
    run("depart", *WHO)
    assert said("show", "h0")["handed_over_to"] == []


def test_show_says_why_an_item_does_not_stand() -> None:
    run("revoke", "h0", "--by", "A2", "--reason", "flooded")
    assert "Does not stand: It fell because A2 withdrew it at epoch 7: flooded." in run("show", "h0").stdout


def test_show_gives_an_observation_and_the_items_drawn_from_it() -> None:
    digest = said("show", "h0")["receipts"][0]["evidence"]
    assert said("show", digest[:10])["evidence_for"] == ["h0"]
    run("observe", "By name.", "--by", "A2", "--id", "mail")
    assert said("show", "mail")["text"] == "By name."
    assert "Evidence for: no item yet" in run("show", "mail").stdout


def test_show_of_nothing_says_where_to_look() -> None:
    assert run("show", "zz", status=1).stderr == (
        "error: ID: no item and no observation 'zz'; `readmit items` and `readmit log` list them\n"
    )


def test_the_log_ends_with_the_newest() -> None:
    assert [event["kind"] for event in said("log")["events"]] == [
        "key",
        "observe",
        "open",
        "observe",
        "record",
        "depart",
    ]
    assert [event["epoch"] for event in said("log", "--limit", "2")["events"]] == [5, 6]
    assert [event["epoch"] for event in said("log", "--since", "4")["events"]] == [5, 6]


def test_the_log_is_filtered() -> None:
    run("revoke", "h0", "--by", "A3")
    assert [event["epoch"] for event in said("log", "--item", "h0")["events"]] == [5, 7]
    assert [event["epoch"] for event in said("log", "--item", "h0", "--since", "5")["events"]] == [7]
    assert [event["epoch"] for event in said("log", "--by", "A3")["events"]] == [7]
    assert [event["epoch"] for event in said("log", "--kind", "record", "--kind", "open")["events"]] == [3, 5]
    assert [event["epoch"] for event in said("log", "--kind", "observe", "--limit", "1")["events"]] == [4]
    assert "--kind: 'nope' is none of" in run("log", "--kind", "nope", status=2).stderr
    assert "no item 'zz'" in run("log", "--item", "zz", status=1).stderr
