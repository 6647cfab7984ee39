"""The commands that write what happens to an item, made from the declarations of their kinds."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from readmit.records.acts.kinds import KINDS
from tests.cli.run import WHO, run, said

if TYPE_CHECKING:
    from readmit.events import DeclaredKind

WRITTEN = [kind for kind in KINDS.values() if kind.wording is not None]


@pytest.fixture(autouse=True)
def _on_team(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_DB", team)


def states() -> dict[str, str]:
    return {one["id"]: one["state"] for one in said("items")["items"]}


@pytest.mark.parametrize("kind", WRITTEN, ids=str)
def test_every_verb_says_who_writes_and_shows_an_example(kind: DeclaredKind) -> None:
    assert kind.wording is not None
    words = shlex.split(kind.wording.examples[0])
    path = words[1:3] if words[1] == "admin" else words[1:2]
    assert path[-1] == kind.verb.replace("_", "-"), "a command is named as the library's verb"
    shown = run(*path, "--help").stdout
    assert all(example in shown for example in kind.wording.examples)
    assert "--by" in run(*path, *("1" for _ in kind.wording.arguments), status=2).stderr


def test_revoke_takes_an_item_out() -> None:
    done = run("revoke", "h0", "--by", "A2", "--reason", "flooded", "--id", "r1")
    assert done.stdout == "Revoked h0 at epoch 7 (revoke r1)\n"
    assert states()["h0"] == "revoked"


def test_supersede_names_a_successor() -> None:
    run("record", "Riverside is booked", "--id", "h1", "--by", "A2", "--source", "Riverside confirms.")
    assert said("supersede", "h0", "h1", "--by", "A2")["successor"] == "h1"
    assert (states()["h0"], states()["h1"]) == ("superseded", "stands")


def test_close_ends_validity_at_a_moment() -> None:
    run("close-validity", "h0", "--end", "2026-01-01T00:00:00Z", "--by", "A2")
    assert states()["h0"] == "expired"


def test_settle_ends_a_duty() -> None:
    run("settle", "o", "--by", "A2", "--reason", "sent")
    assert said("return", *WHO)["duties"][0]["state"] == "settled"


def test_a_dispute_holds_items_back_until_it_is_resolved() -> None:
    dispute = said("dispute", "h0", "--by", "A2", "--reason", "which one?")["id"]
    assert states()["h0"] == "disputed"
    run("resolve", dispute[:6], "--keep", "h0", "--by", "A3")
    assert states()["h0"] == "stands"


def test_remember_is_for_an_agent_at_work() -> None:
    note = ("remember", "Quiet rooms.", "--bound-to", "h0", "--role", "planner", "--task", "trip", "--id", "x1")
    assert said(*note, "--principal", "A7") == {"id": "x1", "bound_to": "h0", "epoch": 7}
    assert "come back before remembering" in run(*note, "--principal", "A1", status=1).stderr


def test_the_same_command_with_an_id_twice_is_one_event() -> None:
    again = ("revoke", "h0", "--by", "A2", "--id", "r1")
    assert said(*again)["epoch"] == said(*again)["epoch"] == 7


def test_an_event_can_have_been_true_earlier() -> None:
    run("revoke", "h0", "--by", "A2", "--at", "2026-05-04T09:00:00Z")
    assert said("log", "--kind", "revoke")["events"][0]["at"] == "2026-05-04T09:00:00+00:00"
