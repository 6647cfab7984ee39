"""Drafts on the command line: marked wherever they are shown, confirmed and linked by people."""

from __future__ import annotations

import json

import pytest

from readmit import Policy, Workspace
from readmit.types import Drafted
from tests.cli.run import WHO, run, said, view_items

DRAFT = Drafted(model="reader/extract@3", quote="Riverside confirms two nights.")


@pytest.fixture
def drafted(team: str) -> str:
    """The team, in which a model drafted what took the hotel's place, under a policy that wants drafts confirmed."""
    with Workspace.open(team) as workspace:
        workspace.as_owner().admin.govern(Policy(evidence={"drafts": "confirm"}))
        seen = workspace.observe("Riverside confirms two nights.", by="A2", task="trip")
        fields = {"slot": "hotel", "supports": ["d_h"], "task": "trip", "supersedes": "h0"}
        workspace.record("Riverside confirms two nights.", id="x1", sources=[seen], by="A2", drafted=DRAFT, **fields)  # type: ignore[arg-type]
        workspace.revoke("h0", by="A2")
    return team


def test_a_draft_counts_once_somebody_confirms_it(drafted: str) -> None:
    blocked = said("return", *WHO, "--db", drafted, status=3)
    assert {one["item"]: one["reasons"] for one in blocked["dispositions"]}["x1"] == ["draft_unconfirmed"]
    remedies = [remedy["command"] for lack in blocked["why"]["lacks"] for remedy in lack["remedies"]]
    assert remedies[0] == "readmit confirm x1 --by A2"
    done = said("confirm", "x1", "--by", "A2", "--id", "c1", "--db", drafted)
    assert done["item"] == "x1"
    assert (
        f"Confirmed x1 at epoch {done['epoch']}"
        in run("confirm", "x1", "--by", "A2", "--id", "c1", "--db", drafted).stdout
    )
    admitted = said("return", *WHO, "--db", drafted)
    assert view_items(admitted) == ["o", "x1"]
    handing = ("expose", admitted["return"], "--secret", admitted["secret"], *WHO, "--db", drafted)
    line = "- Drafted by `reader/extract@3`, quote: `Riverside confirms two nights.`"
    assert line in run(*handing).stdout


def test_explain_and_the_audit_name_who_drafted_what(drafted: str) -> None:
    name = said("return", *WHO, "--db", drafted, status=3)["return"]
    drafted_by = {"model": DRAFT.model, "quote": DRAFT.quote, "instead_of": None}
    assert said("explain", name, "x1", "--db", drafted)["drafted"] == drafted_by
    assert said("explain", name, "h0", "--db", drafted)["drafted"] is None
    words = "x1: Drafted by reader/extract@3, quote: “Riverside confirms two nights.”"
    for asked in (("explain", name, "x1"), ("audit", "show", name)):
        assert words in " ".join(run(*asked, "--db", drafted).stdout.split())
    assert said("audit", "show", name, "--db", drafted)["drafts"] == {"x1": drafted_by}


def test_prov_names_the_model_and_whom_it_acted_for(drafted: str) -> None:
    pytest.importorskip("prov")
    document = json.loads(run("audit", "export", "--format", "prov", "--db", drafted).stdout)
    [delegation] = document["actedOnBehalfOf"].values()
    assert "extract" in delegation["prov:delegate"]
    assert "A2" in delegation["prov:responsible"]


def test_what_was_not_drafted_cannot_be_confirmed(team: str) -> None:
    assert "nothing to confirm" in run("confirm", "h0", "--by", "A2", "--db", team, status=1).stderr
    assert "the name 'readmit' is reserved" in _confirmed_by_readmit(team)


def _confirmed_by_readmit(team: str) -> str:
    with Workspace.open(team) as workspace:
        workspace.record("Sunrise confirms.", id="x", by="A2", drafted=DRAFT)
    return run("confirm", "x", "--by", "readmit", "--db", team, status=1).stderr


def test_a_link_is_written_and_withdrawn(team: str) -> None:
    done = said("link", "h0", "d_train", "--by", "A2", "--db", team)
    assert (done["item"], done["need"], done["withdrawn"]) == ("h0", "d_train", False)
    again = run("link", "h0", "d_train", "--by", "A2", "--withdraw", "--db", team).stdout
    assert "h0 is no longer evidence for d_train" in again
    with Workspace.open(team) as workspace:
        links = [event.payload for event in workspace._desk.log.tail() if event.kind == "link"]
    assert [(one.item, one.need, one.withdrawn, one.drafted) for one in links] == [  # type: ignore[attr-defined]
        ("h0", "d_train", False, None),
        ("h0", "d_train", True, None),
    ]
    assert "link a fact or a constraint" in run("link", "o", "d_train", "--by", "A2", "--db", team, status=1).stderr
