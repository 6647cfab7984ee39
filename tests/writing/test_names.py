"""Names in one spelling, and names with one meaning."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Identity, Policy, Workspace
from readmit.errors import ConflictError, NotAllowedError, RecordError, UnknownError
from readmit.events import EventKind
from readmit.records.identity import own_id
from readmit.types import Evidence, Fact, Scope
from tests.scene import START, Scene

if TYPE_CHECKING:
    from pathlib import Path

NFC = unicodedata.normalize("NFC", "José")
NFD = unicodedata.normalize("NFD", "José")
OWN = own_id(NFC, "f")
assert NFC != NFD


def spelled(name: str) -> str:
    """The same name in the other spelling."""
    return unicodedata.normalize("NFD" if unicodedata.is_normalized("NFC", name) else "NFC", name)


@pytest.mark.parametrize("first", [NFC, NFD])
def test_a_duty_for_somebody_is_owed_whichever_way_the_name_is_typed(first: str) -> None:
    second = spelled(first)
    scene = Scene()
    scene.duty("@bob/o", principals=[first], roles=[first], task=first)
    scene.fact("h", supports=["d"])
    agent = scene.team.agent(second, role=second, task=second)
    agent.depart()
    outcome = agent.come_back()
    assert {item.id for item in outcome.view.items} >= {"@bob/o", "h"}  # type: ignore[union-attr]
    identity = Identity(workspace="default", principal=first, role=first, task=first)
    assert scene.team._desk.expose(outcome.id, identity, outcome.secret) == outcome.expose()
    scene.team.as_owner().admin.reassign(second, task=first, role=second)
    scene.team.settle("@bob/o", by=first)


def test_one_principal_in_two_spellings_has_one_bank_and_one_absence() -> None:
    scene = Scene()
    scene.fact("h")
    scene.team.agent(NFD, role="r", task="t").remember("late check-in", bound_to="h", id="x")
    same = scene.team.agent(NFC, role="r", task="t")
    assert [one.id for one in same.recall()] == ["x"]
    scene.team.agent(NFD, role="r", task="t").depart()
    with pytest.raises(Exception, match="quarantined"):
        same.recall()
    assert same.come_back(purpose=NFD).request.purpose == NFC


def test_writers_and_overseers_are_found_in_either_spelling() -> None:
    team = Workspace.open(policy=Policy(evidence={"writers": (NFD,), "overseers": (NFD,)}), clock=lambda: START)
    assert team.admin.policy.evidence.writers == (NFC,)
    for by in (NFC, NFD):
        source = team.observe("seen", by=by, id=None)
        team.record(f"so it is {by!a}", sources=[source], by=by, id=f"m{by!a}".replace("'", "").replace("\\", ""))
        team.admin.govern(team.admin.policy.changed(evidence={"overseers": (by,)}), by=by)
        team.admin.keys.rotate(by=by)
    item = next(event.payload for event in team._desk.log.tail() if event.kind is EventKind.RECORD)
    team.revoke(item.id, by=NFD)  # type: ignore[attr-defined]
    team.admin.overrule(item.id, by=NFD, reason="read it", expires=START.replace(year=2030))  # type: ignore[attr-defined]
    with pytest.raises(NotAllowedError):
        team.revoke(item.id, by="Jose")  # type: ignore[attr-defined]


def test_opening_with_the_same_policy_in_another_spelling_governs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    with Workspace.open(path, policy=Policy(evidence={"writers": (NFC,)})) as team:
        before = team.epoch
    with Workspace.open(path, policy=Policy(evidence={"writers": (NFD,)})) as team:
        assert team.epoch == before


def test_a_workspace_is_found_in_either_spelling(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    with Workspace.open(path, name=NFD) as team:
        assert team.name == NFC
        key = team._desk.keys.signer().keyid
    with Workspace.open(path, name=NFC) as team:
        assert team._desk.keys.signer().keyid == key


def test_the_same_item_in_two_spellings_is_one() -> None:
    team = Scene().team
    fields: dict[str, Any] = {"principals": [NFD], "roles": [NFD], "applies_to": [NFD], "purposes": [NFD], "task": NFD}
    first = team.record("so it is", by=NFD, **fields)
    before = team.epoch
    same: dict[str, Any] = {name: NFC if isinstance(value, str) else [NFC] for name, value in fields.items()}
    assert team.record("so it is", by=NFC, **same) == first
    assert team.epoch == before
    assert team._desk.log.item(first).scope.principals == (NFC,)


def test_observations_in_two_spellings_are_by_one_principal() -> None:
    team = Scene().team
    one = team.observe("seen", by=NFD, principals=[NFD], roles=[NFD], task=NFD, at=START)
    many = team.observe_many(["seen", {"text": "more", "by": NFD}], by=NFC, principals=[NFC], roles=[NFC], task=NFC)
    assert team._desk.log.evidence(many[0]).payload == team._desk.log.evidence(one).payload
    assert {event.by for event in team._desk.log.tail() if event.kind is EventKind.OBSERVE} == {"bob", NFC}


def test_what_is_appended_as_it_is_gets_the_same_spelling() -> None:
    team = Scene().team
    scope = Scope(workspace="default", principals=(NFD,), visibility="private")
    team._desk.writer.write(EventKind.RECORD, Fact(id=OWN, text=NFD, by=NFD, scope=scope), by=NFD, id=OWN)
    found = team._desk.log.item(OWN)
    assert (found.by, found.scope.principals, found.text) == (NFC, (NFC,), NFD), "texts are kept as they are"
    team._desk.writer.write(EventKind.OBSERVE, Evidence(text="x", by=NFD, at=START, scope=scope), by=NFC, id=OWN)


def test_a_name_that_is_no_text_is_refused_by_its_field() -> None:
    team = Scene().team
    for attempt in (
        lambda: team.agent(7, role="r", task="t"),  # type: ignore[arg-type]
        lambda: team.record("x", by="bob", roles=[7]),  # type: ignore[list-item]
        lambda: team.observe_many(["x"], by=7),  # type: ignore[arg-type]
    ):
        with pytest.raises(RecordError):
            attempt()


# One meaning.


def test_a_name_is_a_slot_or_a_dependency() -> None:
    scene = Scene()
    scene.fact("a", slot="hotel")
    with pytest.raises(ConflictError, match=r"supports: 'hotel' is a slot.*required=\['hotel'\].*leave it out"):
        scene.fact("b", supports=["hotel"])
    scene.fact("c", supports=["pickup"])
    with pytest.raises(ConflictError, match=r"slot: 'pickup' is a dependency.*choose another name"):
        scene.fact("d", slot="pickup")
    with pytest.raises(ConflictError, match="choose another name"):
        scene.fact("e", slot="both", supports=["both"])
    with pytest.raises(ConflictError, match="leave it out"):
        scene.fact("e", slot="hotel", supports=["hotel"])
    scene.fact("f", slot="hotel", supports=["pickup"])
    scene.duty("o", required=("hotel", "pickup"))
    before = scene.team.epoch
    scene.fact("a", slot="hotel")
    assert scene.team.epoch == before, "the same again changes nothing"


# What a replacement takes over.


def test_a_replacement_supports_what_it_says_and_inherits_only_if_it_says_so() -> None:
    scene = Scene()
    scene.fact("p0", slot="pickup.place", supports=["d_p", "d_t"])
    scene.fact("p1", slot="pickup.place", text="pickup still to be confirmed", supersedes="p0")
    assert scene.team._desk.log.item("p1").supports == ()
    scene.fact("p2", supersedes="p0", inherits=True)
    assert scene.team._desk.log.item("p2").supports == ("d_p", "d_t")
    assert scene.team._desk.log.item("p2").receipts[0].binds == ("item", "d_p", "d_t"), (
        "its own evidence vouches for them"
    )
    scene.fact("p3", supersedes="p0", inherits=True, supports=["d_x", "d_t"])
    assert scene.team._desk.log.item("p3").supports == ("d_x", "d_t", "d_p")


def test_nothing_is_inherited_from_nothing_or_without_evidence() -> None:
    scene = Scene()
    scene.fact("a", slot="pickup", supports=["one"])
    before = scene.team.epoch
    for fields in ({}, {"slot": "pickup"}):
        with pytest.raises(RecordError, match="inherits: give supersedes too"):
            scene.fact("b", inherits=True, **fields)
    with pytest.raises(RecordError, match="give sources"):
        scene.fact("b", inherits=True, slot="pickup", sources=[])
    with pytest.raises(UnknownError, match="no item 'nobody'"):
        scene.fact("b", inherits=True, supersedes="nobody")
    assert scene.team.epoch == before
