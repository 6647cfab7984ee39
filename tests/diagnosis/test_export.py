from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from prov.model import (
    ProvActivity,
    ProvAgent,
    ProvAttribution,
    ProvDerivation,
    ProvDocument,
    ProvEntity,
    ProvGeneration,
    ProvInvalidation,
    ProvUsage,
)

from readmit.diagnosis.export import json_lines, prov_document
from readmit.errors import UnknownError
from readmit.events import EventKind
from readmit.lab import canonical
from readmit.records.decisions import Returned
from readmit.scenario import document as scenario
from readmit.scenario.play import played
from readmit.trust.merkle import tree_hash
from tests.board import Team
from tests.conftest import examples
from tests.diagnosis.prov_order import violations
from tests.properties.test_life import Life
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.scenario.play import Play


@pytest.fixture(scope="module")
def trip() -> Iterator[Play]:
    with played(scenario.shipped("travel")) as done:
        yield done


def test_the_tree_can_be_recomputed_from_the_lines(trip: Play) -> None:
    """Another program gets from the rows to the root that is signed, with nothing but the lines."""
    lines = [json.loads(line) for line in json_lines(trip.workspace._desk.log)]
    (head,) = [line for line in lines if line["kind"] == "head"]
    records = [line["record"] for line in lines if line["kind"] == "commit"]
    leaves = []
    for row in (line for line in lines if "leaf" in line):
        parts = json.dumps([row["seq"], row["return"], row["kind"], row["item"]], separators=(",", ":"))
        leaf = hashlib.sha256(b"\0" + parts.encode() + b"\n" + canonical(row["body"])).hexdigest()
        assert row["leaf"] == leaf
        leaves.append(bytes.fromhex(leaf))
    done = 0
    for record in records:
        assert record["rows"] == tree_hash(leaves[done : record["audit"]]).hex()
        done = record["audit"]
    assert done == len(leaves) > 0
    root = tree_hash([hashlib.sha256(b"\0" + canonical(record)).digest() for record in records])
    origin, size, said, *_ = head["note"].split("\n")
    expected = f"readmit/{trip.workspace._desk.log.store_id}/family-trip"
    assert (origin, int(size), base64.b64decode(said)) == (expected, len(records), root)


def test_one_return_alone(trip: Play) -> None:
    name = trip.returns[0].outcome.id
    *rows, _ = [json.loads(line) for line in json_lines(trip.workspace._desk.log, name)]
    assert {row["return"] for row in rows if row["kind"] != "piece"} == {name}
    pieces = {row["digest"]: row["body"] for row in rows if row["kind"] == "piece"}
    assert all(hashlib.sha256(canonical(body)).hexdigest() == digest for digest, body in pieces.items())
    (decision,) = [row["body"] for row in rows if row["kind"] == "decision"]
    ahead, judged = [decision["dispositions"]], 0
    while ahead:
        piece = pieces[ahead.pop()]
        names = [one for one in piece if isinstance(one, str)]
        ahead, judged = ahead + names, judged + len(piece) - len(names)
    assert judged == decision["candidates"] > 0
    with pytest.raises(UnknownError):
        list(json_lines(trip.workspace._desk.log, "zz"))


def loaded(document: ProvDocument) -> ProvDocument:
    """What another program gets."""
    again = ProvDocument.deserialize(content=document.serialize(format="json"), format="json")
    assert again == document
    return again


def ends(document: ProvDocument, kind: type) -> set[tuple[str, str]]:
    """The first two ends of every relation of a kind."""
    return {
        (str(relation.args[0]).partition(":")[2], str(relation.args[1]).partition(":")[2])
        for relation in document.get_records(kind)
    }


def test_prov_describes_the_whole_return(trip: Play) -> None:
    document = loaded(prov_document(trip.workspace._desk.log))
    before, after = (one.outcome.id for one in trip.returns)
    entities = {str(one.identifier) for one in document.get_records(ProvEntity)}
    activities = {str(one.identifier) for one in document.get_records(ProvActivity)}
    agents = {str(one.identifier) for one in document.get_records(ProvAgent)}
    assert {"ws:item/h0", "ws:item/p1", f"ws:view/{after}"} <= entities
    assert f"ws:view/{before}" not in entities
    assert {f"ws:return/{before}", f"ws:return/{after}", f"ws:exposure/{after}"} <= activities
    assert f"ws:exposure/{before}" not in activities
    assert {"ws:principal/A1", "ws:principal/A2", "ws:principal/A4"} <= agents
    evidence = {str(receipt.evidence) for receipt in trip.workspace._desk.log.item("h1").receipts}
    assert ("item/h1", f"evidence/{evidence.pop()}") in ends(document, ProvDerivation)
    assert {("item/h1", "item/h0"), (f"view/{after}", "item/p1")} <= ends(document, ProvDerivation)
    assert (f"view/{after}", "item/p0") not in ends(document, ProvDerivation)
    assert {item for item, _ in ends(document, ProvInvalidation)} == {"item/h0", "item/t0"}
    assert ("item/h1", "principal/A2") in ends(document, ProvAttribution)
    assert {(f"return/{before}", "item/p0"), (f"exposure/{after}", f"view/{after}")} <= ends(document, ProvUsage)
    views = {pair for pair in ends(document, ProvGeneration) if pair[0].startswith("view/")}
    assert views == {(f"view/{after}", f"return/{after}")}


def test_a_slot_that_was_taken_or_is_contested_is_an_invalidation() -> None:
    """No event names the item that falls: the return that found it says so, once."""
    scene = Scene()
    scene.fact("old", slot="hotel")
    scene.fact("calm", slot="train", task="trip")
    scene.frontier("f0", scene.duty())
    scene.wait(HOUR)
    later = [scene.news("Another hotel.")]
    scene.depart()
    scene.fact("@bob/new", slot="hotel", sources=later, principals=["ann", "cy"])
    scene.fact("rumor", slot="train", sources=later)
    scene.frontier("f1", sources=later)
    scene.team.dispute(["rumor"], by="bob")
    returned = scene.come_back()
    again = scene.come_back()
    for name in (None, returned.id, again.id):
        document = loaded(prov_document(scene.team._desk.log, name))
        found = {
            (str(one.args[0]), str(next(iter(one.get_attribute("readmit:reason")), "")))
            for one in document.get_records(ProvInvalidation)
        }
        assert found == {
            ("ws:item/old", "slot_updated"),
            ("ws:item/calm", "slot_contested"),
            ("ws:item/f0", "frontier_moved"),
        }
        assert len(list(document.get_records(ProvInvalidation))) == 3
        assert ("item/%40bob%2Fnew", "item/old") in ends(document, ProvDerivation)
        assert ("item/rumor", "item/calm") not in ends(document, ProvDerivation)
        assert_whole(document)
        assert violations(str(document.serialize(format="json"))) == []


def invalidated(document: ProvDocument) -> list[tuple[str, str, str]]:
    """Entity, activity and reason of every invalidation."""
    return [
        (
            str(one.args[0]).removeprefix("ws:"),
            str(one.args[1]).removeprefix("ws:"),
            str(next(iter(one.get_attribute("readmit:reason")), "")),
        )
        for one in document.get_records(ProvInvalidation)
    ]


def epoch_of(scene: Scene, item: str) -> int:
    event = scene.team._desk.log.named(EventKind.RECORD, item)
    assert event is not None
    return event.epoch


def test_a_slot_that_was_taken_is_an_invalidation_although_nobody_returned() -> None:
    scene = Scene()
    for name in ("first", "second", "third"):
        scene.wait(HOUR)
        scene.fact(name, slot="hotel", sources=[scene.news(f"About {name}.")])
    document = loaded(prov_document(scene.team._desk.log))
    assert invalidated(document) == [
        ("item/first", f"event/{epoch_of(scene, 'second')}", "slot_updated"),
        ("item/second", f"event/{epoch_of(scene, 'third')}", "slot_updated"),
    ]
    assert {("item/second", "item/first"), ("item/third", "item/second")} <= ends(document, ProvDerivation)
    assert_whole(document)


def test_a_slot_that_was_taken_for_one_principal_is_an_invalidation() -> None:
    scene = Scene()
    scene.fact("old", slot="hotel")
    scene.wait(HOUR)
    scene.fact("@bob/new", slot="hotel", sources=[scene.news()], principals=["ann"])
    document = loaded(prov_document(scene.team._desk.log))
    assert [(item, why) for item, _, why in invalidated(document)] == [("item/old", "slot_updated")]


def test_a_late_report_of_what_was_replaced_before_is_no_revision_backwards() -> None:
    scene = Scene()
    early = scene.news("Sunrise, from the first mail.")
    scene.wait(HOUR)
    scene.fact("new", slot="hotel", sources=[scene.news("Riverside.")])
    scene.fact("late", slot="hotel", sources=[early])
    document = loaded(prov_document(scene.team._desk.log))
    assert invalidated(document) == [("item/late", f"event/{epoch_of(scene, 'late')}", "slot_updated")]
    assert ("item/%40bob%2Fnew", "item/late") not in ends(document, ProvDerivation)


def test_a_return_after_the_end_of_an_item_uses_the_version_that_followed() -> None:
    scene = Scene()
    scene.fact("h", slot="hotel")
    scene.depart()
    scene.team.revoke("h", by="bob", reason="flooded")
    first = scene.come_back()
    scene.team.admin.overrule("h", by="boss", reason="dry again", expires=scene.now + 9 * HOUR)
    second = scene.away()
    document = loaded(prov_document(scene.team._desk.log))
    used = {pair for pair in ends(document, ProvUsage) if pair[1].startswith("item/h")}
    (revoked, _, _), (gone, _, _) = invalidated(document)
    assert revoked == "item/h"
    assert (f"return/{first.id}", gone) in used
    assert f"return/{second.id}" in {activity for activity, item in used if item not in {revoked, gone}}
    assert violations(str(document.serialize(format="json"))) == []


def test_a_revocation_dated_back_does_not_precede_a_use() -> None:
    scene = Scene()
    scene.fact("h")
    scene.wait(HOUR)
    scene.away()
    scene.team.revoke("h", by="bob", reason="never true", at=scene.now - HOUR)
    assert violations(str(prov_document(scene.team._desk.log).serialize(format="json"))) == []


class ExportedLife(Life):
    """A life of a team, with clocks set back and events dated back and ahead, exported when it is over."""

    def teardown(self) -> None:
        if hasattr(self, "team"):
            log = self.team.workspace._desk.log
            returns = [event.name for event in log.tail() if isinstance(event.payload, Returned)]
            for chosen in (None, *returns[-3:]):
                document = prov_document(log, chosen)
                assert violations(str(document.serialize(format="json"))) == [], chosen
                assert_whole(document)
        super().teardown()


def test_what_is_exported_of_any_life_keeps_the_order_that_prov_asks_for() -> None:
    run_state_machine_as_test(ExportedLife, settings=settings(max_examples=examples(8), stateful_step_count=30))


@pytest.mark.parametrize(
    ("relation", "problem"),
    [
        ({"used": {"_:u": {"prov:activity": "a", "prov:entity": "e", "prov:time": "2026-01-03"}}}, "used after"),
        ({"used": {"_:u": {"prov:activity": "a", "prov:entity": "e", "prov:time": "2026-01-00"}}}, "used before"),
        ({"wasDerivedFrom": {"_:d": {"prov:generatedEntity": "f", "prov:usedEntity": "e"}}}, "invalidated before"),
    ],
)
def test_the_check_of_the_order_can_fail(relation: dict[str, Any], problem: str) -> None:
    """Entity e lives on the first of January, f begins on the second."""
    span = {"prov:startTime": "2026-01-00", "prov:endTime": "2026-01-04"}
    born = {
        "_:g": {"prov:activity": "a", "prov:entity": "e", "prov:time": "2026-01-01"},
        "_:h": {"prov:activity": "a", "prov:entity": "f", "prov:time": "2026-01-02"},
    }
    gone = {"_:i": {"prov:activity": "a", "prov:entity": "e", "prov:time": "2026-01-01"}}
    document = {"activity": {"a": span}, "wasGeneratedBy": born, "wasInvalidatedBy": gone, **relation}
    assert any(problem in one for one in violations(json.dumps(document)))


@pytest.mark.slow
def test_the_oldest_prov_that_the_extra_allows_is_enough_by_itself(tmp_path: Path) -> None:
    """Older ones import packages that they do not ask for, so nothing of this environment may help."""
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (allowed,) = extras["prov"]
    oldest = allowed.replace(">=", "==")
    core = ["click", "cryptography", "highspy", "msgspec", "rich", oldest]
    installed = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path), *core],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if installed.returncode:
        pytest.skip(f"no package index at hand: {installed.stderr[-200:]}")
    program = """
from readmit.scenario import document
from readmit.scenario.play import played
from readmit.diagnosis.export import prov_document
with played(document.shipped("travel")) as done:
    print(prov_document(done.workspace.admin.log).serialize(format="json"))
"""
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": f"{tmp_path}:{root / 'src'}"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "wasInvalidatedBy" in ran.stdout


def test_a_return_uses_items_with_their_reasons(trip: Play) -> None:
    document = prov_document(trip.workspace._desk.log, trip.returns[0].outcome.id)
    [proposed] = [one for one in document.get_records(ProvUsage) if str(one.args[1]) == "ws:item/p_proposed"]
    assert [str(one) for one in proposed.get_attribute("readmit:reason")] == ["unproven"]


def assert_whole(document: ProvDocument) -> None:
    """Whatever a relation names is in the document."""
    known = {one.identifier for kind in (ProvEntity, ProvActivity, ProvAgent) for one in document.get_records(kind)}
    for kind in (ProvDerivation, ProvAttribution, ProvUsage, ProvGeneration, ProvInvalidation):
        for relation in document.get_records(kind):
            assert {relation.args[0], relation.args[1]} <= known


def test_every_reference_has_its_record(trip: Play) -> None:
    for name in (None, *(one.outcome.id for one in trip.returns)):
        assert_whole(loaded(prov_document(trip.workspace._desk.log, name)))


def test_prov_of_one_return_knows_nothing_of_the_next(trip: Play) -> None:
    before, after = (one.outcome.id for one in trip.returns)
    text = str(prov_document(trip.workspace._desk.log, before).serialize(format="json"))
    assert before in text
    assert after not in text
    assert "item/p1" not in text


def test_prov_holds_no_text(trip: Play) -> None:
    assert "Sunrise" not in str(prov_document(trip.workspace._desk.log).serialize(format="json"))


def test_odd_names_survive() -> None:
    steps = [
        {"do": "observe", "id": "e", "text": "x", "by": "a b:c/ü", "task": "t"},
        {"do": "record", "by": "A2", "id": "a:b/c%20'\"", "text": "y", "sources": ["e"], "task": "t"},
    ]
    document = {"readmit": 1, "name": "odd", "workspace": "über uns: 1", "steps": steps}
    with played(scenario.read_scenario(json.dumps(document))) as done:
        again = loaded(prov_document(done.workspace._desk.log))
    assert len(list(again.get_records(ProvEntity))) == 2


def test_without_the_library_it_says_what_to_install(trip: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from readmit.errors import ReadmitError

    monkeypatch.setitem(sys.modules, "prov.model", None)
    with pytest.raises(ReadmitError, match=r"pip install 'readmit\[prov\]'"):
        prov_document(trip.workspace._desk.log)


def test_what_a_look_found_derives_from_what_was_there_and_ends_the_item() -> None:
    team = Team()
    old = team.note("hotel", "Sunrise is booked.")
    team.fact("h0", "Sunrise is booked", old)
    team.ann.depart()
    team.clock.now += HOUR
    team.board.notes["hotel"] = "Riverside is booked."
    back = team.back()
    [look] = [event for event in team.team._desk.log.tail() if event.kind is EventKind.LOOK]
    for name in (None, back.id):
        document = prov_document(team.team._desk.log, name)
        assert violations(document.serialize() or "") == []
        now = back.dispositions[0].causes[0].ref
        derived = [str(one) for one in document.get_records(ProvDerivation)]
        assert any(now in one and old in one for one in derived)
        ended = [str(one) for one in document.get_records(ProvInvalidation)]
        assert any("item/h0" in one and f"event/{look.epoch}" in one for one in ended)
