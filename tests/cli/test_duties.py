"""What became of every duty, what is missing and what is withheld, as each command shows it, and to whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import WHO, run, said, view_items

DUTIES: list[dict[str, Any]] = [
    {"do": "oblige", "id": "done", "text": "Book a table", "required": ["d_r"], "by": "A2", "task": "trip"},
    {"do": "oblige", "id": "theirs", "text": "Pay", "required": ["d_m"], "by": "A2", "roles": ["payer"]},
    {"do": "oblige", "id": "late", "text": "Call", "required": ["d_h"], "by": "A2",
     "valid_until": "2020-01-01T00:00:00Z"},
    {"do": "settle", "obligation": "done", "by": "A2"},
]  # fmt: skip
TRANSFER: list[dict[str, Any]] = [
    {"do": "observe", "id": "e1", "text": "The car comes at 8:00 to Sunrise.", "by": "A4", "task": "trip"},
    {"do": "record", "by": "A4", "id": "p-left-out", "text": "Pickup by a green car", "sources": ["e1"],
     "slot": "pickup", "supports": ["d_p"], "task": "trip"},
    {"do": "oblige", "id": "o_t", "text": "Prepare the transfer", "required": ["d_p"], "critical": ["d_p"],
     "by": "A2", "task": "trip"},
    {"do": "revoke", "target": "p-left-out", "by": "A4", "reason": "the driver is ill"},
]  # fmt: skip


def write(team: str, steps: list[dict[str, Any]]) -> None:
    run("record", "--file", "-", "--db", team, input=json.dumps(steps))


def govern(team: str, **policy: Any) -> None:
    Path("policy.json").write_text(json.dumps(policy), encoding="utf-8")
    run("admin", "govern", "policy.json", "--db", team)


def test_every_duty_is_listed_with_what_became_of_it(team: str) -> None:
    write(team, DUTIES)
    returned = said("return", *WHO, "--db", team)
    expected = {
        "o": ("owed", True),
        "done": ("settled", False),
        "late": ("overdue", True),
    }
    states = {one["obligation"]: (one["state"], one["handed_over"]) for one in returned["duties"]}
    assert states == expected
    assert said("audit", "show", returned["return"], "--db", team)["duties"] == returned["duties"]
    text = run("audit", "show", returned["return"], "--db", team).stdout
    assert "late  overdue  Its time has passed, and it is still owed. Handed over." in text
    assert "It was settled." in text
    assert "It was settled." in run("return", *WHO, "--db", team).stdout


def test_an_obligation_is_explained_as_a_duty(team: str) -> None:
    write(team, [*DUTIES, *TRANSFER])
    name = said("return", *WHO, "--db", team, status=3)["return"]
    explained = said("explain", name, "o_t", "--db", team)
    assert explained["duty"] == {
        "obligation": "o_t", "state": "owed", "handed_over": False, "lacks": ["d_p"], "questions": [],
    }  # fmt: skip
    assert (
        "o_t: owed. It binds the returning agent.\no_t: It lacks d_p."
        in run("explain", name, "o_t", "--db", team).stdout
    )
    assert "done: settled. It was settled." in run("explain", name, "done", "--db", team).stdout
    assert said("explain", name, "h0", "--db", team)["duty"] is None


def test_missing_gives_the_operator_something_to_act_on(team: str) -> None:
    write(team, TRANSFER)
    returned = said("return", *WHO, "--db", team, status=3)
    [lack] = returned["why"]["lacks"]
    assert (lack["name"], lack["kind"], lack["duties"], lack["critical"]) == ("d_p", "dependency", ["o_t"], True)
    [former] = lack["last"]
    assert (former["item"], former["state"], former["reasons"]) == ("p-left-out", "revoked", ["revoked"])
    assert former["why"][0].startswith("It fell because A4 withdrew it at epoch")
    assert former["why"][0].endswith(": the driver is ill.")
    call = 'workspace.record("…", by="A4", slot="pickup", supports=["d_p"], sources=[…], task="trip")'
    assert [one["call"] for one in lack["remedies"]] == [call]
    assert said("audit", "show", returned["return"], "--db", team)["why"] == returned["why"]
    for text in (
        run("return", *WHO, "--db", team, status=3).stdout,
        run("audit", "show", returned["return"], "--db", team).stdout,
    ):
        assert "o_t requires d_p as critical, and nothing eligible supplies it." in text
        assert "p-left-out “Pickup by a green car” supplies d_p, but it is revoked." in text
        assert 'readmit record "…" --by A4 --slot pickup --supports d_p --source "…" --task trip' in text


@pytest.mark.parametrize(
    "policy", [{}, {"returns": {"on_incomplete": "reset"}}, {"returns": {"on_incomplete": "partial"}}], ids=str
)
@pytest.mark.parametrize("extra", [(), ("--json",)], ids=str)
def test_an_agent_learns_dependency_ids_and_nothing_more(
    team: str, policy: dict[str, Any], extra: tuple[str, ...]
) -> None:
    """I8, and THREATS, "Rejection oracle": no text, id or reason of an item left out, and no call that names one."""
    govern(team, **policy)
    unfit = {"do": "dispute", "items": ["gone"], "by": "A2", "id": "q-left-out", "reason": "whose is it?"}
    gone = {"do": "oblige", "id": "gone", "text": "Buy presents", "required": ["d_h"], "by": "A2", "roles": ["payer"]}
    write(team, [*TRANSFER, gone, unfit])
    status = {"reset": 4, "partial": 0}.get(policy.get("returns", {}).get("on_incomplete", ""), 3)
    text = run("return", *WHO, "--db", team, "--agent-facing", *extra, status=status).stdout
    assert "d_p" in text
    for kept in ("left-out", "green car", "pickup", "driver", "revoked", "A4", "gone", "presents", "workspace.", "…"):
        assert kept not in text
    for operators_only in ("why", "duties", "dispositions", "absent"):
        assert f'"{operators_only}"' not in text


def test_a_duty_that_cannot_be_handed_over_is_named_to_the_operator_alone(team: str) -> None:
    write(team, [{"do": "dispute", "items": ["o"], "by": "A2", "id": "q", "reason": "whose is it?"}])
    returned = said("return", *WHO, "--db", team, status=3)
    assert (returned["absent"], returned["reasons"]) == (["o"], ["mandatory_missing"])
    [lack] = returned["why"]["lacks"]
    assert (lack["name"], lack["kind"]) == ("o", "duty")
    text = run("return", *WHO, "--db", team, status=3).stdout
    assert "The duty o has to be handed over and cannot be" in text
    assert "readmit resolve q --keep o --by A2" in text
    agent = said("return", *WHO, "--db", team, "--agent-facing", status=3)
    assert "absent" not in agent
    assert "whose" not in json.dumps(agent)


def test_a_partial_view_says_so_everywhere(team: str) -> None:
    """Admitted in part is admitted: exit status 0, because the policy asks for it."""
    govern(team, returns={"on_incomplete": "partial"})
    write(team, TRANSFER)
    returned = said("return", *WHO, "--db", team)
    assert (returned["kind"], returned["view"]["withheld"]) == ("admitted", ["o_t"])
    assert (returned["report"]["missing"], view_items(returned)) == (["d_p"], ["o", "h0"])
    assert [one["name"] for one in returned["why"]["lacks"]] == ["d_p"]
    for agent in ((), ("--agent-facing",)):
        text = run("return", *WHO, "--db", team, *agent).stdout
        assert text.startswith("ADMITTED IN PART  coverage 0.5 (1 of 2 obligations)")
        assert "Withheld: o_t." in text
    shown = said("audit", "show", returned["return"], "--db", team)
    assert shown["view"]["withheld"] == ["o_t"]
    assert [one["partial"] for one in said("audit", "list", "--db", team)["returns"]] == [True] * 3
    assert "  partial" in run("audit", "list", "--db", team).stdout


def test_a_recovered_item_says_through_what(team: str) -> None:
    steps: list[dict[str, Any]] = [
        {"do": "observe", "id": "e1", "text": "Sunrise has parking.", "by": "A2", "task": "trip"},
        {"do": "record", "by": "A2", "id": "premise", "text": "There is parking", "sources": ["e1"], "task": "trip"},
        {"do": "record", "by": "A2", "id": "rests", "text": "Come by car", "sources": ["e1"], "depends_on": ["premise"],
         "supports": ["d_c"], "task": "trip"},
        {"do": "oblige", "id": "o_c", "text": "Say how to come", "required": ["d_c"], "by": "A2", "task": "trip"},
        {"do": "revoke", "target": "premise", "by": "A2"},
        {"do": "observe", "id": "e2", "text": "Sunrise has parking after all.", "by": "A2", "task": "trip"},
        {"do": "record", "by": "A2", "id": "again", "text": "There is parking", "sources": ["e2"], "task": "trip"},
    ]  # fmt: skip
    write(team, steps)
    returned = said("return", *WHO, "--db", team)
    explained = said("explain", returned["return"], "rests", "--db", team)
    assert explained["disposition"]["state"] == "admitted"
    [recovered] = explained["disposition"]["recovered"]
    assert (recovered["reason"], recovered["ref"], recovered["root"]) == ("recovered", "again", "premise")
    text = run("explain", returned["return"], "rests", "--db", team).stdout
    assert "`rests` stands again through again, which says from later evidence what premise said." in text
    assert "stands again through again, which says from later evidence what premise said." in " ".join(
        run("audit", "show", returned["return"], "--db", team).stdout.split()
    )


def test_nothing_owed_is_said_in_words(tmp_path: Path) -> None:
    db = ("--db", tmp_path / "team.db")
    run("init", *db)
    run("depart", *WHO, *db)
    text = run("return", *WHO, *db).stdout
    assert text.startswith("ADMITTED  nothing is owed")
    assert "The view is empty" in text


def test_one_of_a_kind_is_not_a_plural(team: str) -> None:
    assert "(1 of 1 obligation), critical 1 (1 of 1 dependency)" in run("return", *WHO, "--db", team).stdout
    note = [{"do": "observe", "text": "Noted.", "by": "A2"}]
    assert "Wrote 1 step;" in run("record", "--file", "-", "--db", team, input=json.dumps(note)).stdout


def test_play_shows_duties_and_what_is_missing() -> None:
    from tests.conftest import ROOT

    played = said("play", ROOT / "examples" / "travel.json")
    before, after = played["returns"]
    assert {one["obligation"]: one["lacks"] for one in before["duties"]} == {"o_h": [], "o_t": ["d_p"]}
    assert [one["name"] for one in before["why"]["lacks"]] == ["d_p"]
    assert after["why"] is None
    assert all(one["handed_over"] for one in after["duties"])
    text = run("play", ROOT / "examples" / "travel.json").stdout
    assert "o_t requires d_p as critical, and nothing eligible supplies it." in text


def test_who_is_away_and_what_was_handed_over(team: str) -> None:
    assert said("status", "--db", team)["away"] == ["A1 (planner, trip)"]
    issued = said("return", *WHO, "--db", team)
    asked = (issued["return"], "--secret", issued["secret"], *WHO, "--db", team)
    run("expose", *asked)
    run("expose", *asked)
    assert said("status", "--db", team)["away"] == []
    assert [one["acknowledged"] for one in said("audit", "list", "--db", team)["returns"]] == [False]
    run("acknowledge", *asked)
    run("expose", *asked, status=3)
    [listed] = said("audit", "list", "--db", team)["returns"]
    assert (listed["exposed"], listed["acknowledged"]) == (True, True)
    shown = run("audit", "show", issued["return"], "--db", team).stdout
    lines = [line.partition(":")[0] for line in shown.splitlines() if ": row " in line]
    assert lines == ["exposure", "exposure once more", "acknowledgement", "refusal"]


def test_a_reset_ends_the_absence(team: str) -> None:
    govern(team, returns={"on_incomplete": "reset"})
    write(team, TRANSFER)
    assert said("return", *WHO, "--db", team, status=4)["view"] is None
    assert said("status", "--db", team)["away"] == []


def test_a_decision_says_whether_implicit_changes_were_looked_for(team: str) -> None:
    """I10: what was not examined, and what is suspected and not settled."""
    seen = said("observe", "Sunrise may close.", "--by", "A2", "--task", "trip", "--db", team)["evidence"]
    write(team, [{"do": "suspect", "item": "h0", "evidence": seen, "by": "A2"}])
    returned = said("return", *WHO, "--db", team, status=3)
    assert (returned["examination"], returned["open_pairs"], returned["unheeded"]) == (None, 1, 0)
    text = "Implicit changes: no examination is on record; 1 open pair"
    assert text in run("return", *WHO, "--db", team, status=3).stdout
    assert text in run("audit", "show", returned["return"], "--db", team).stdout
    assert said("audit", "show", returned["return"], "--db", team)["open_pairs"] == 1


def test_an_examination_is_described_in_words() -> None:
    from readmit.diagnosis.history import looked_in_words
    from readmit.records.decisions import Examination
    from readmit.types import CoverageReport, Decision

    nothing = CoverageReport(obligations=0, covered=0, critical=0, critical_covered=0)
    examined = Examination(verifier="friend", until=7, unexamined=1)
    decision = Decision(
        kind="admitted",
        return_id="r",
        epoch=9,
        report=nothing,
        dispositions="0" * 64,
        examination=examined,
        open_pairs=2,
    )
    assert looked_in_words(decision) == "looked for by friend up to epoch 7, not in 1 later observation; 2 open pairs"
