"""``owner`` and ``readmit`` are reserved: a name that a caller passes on never makes it either of them."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Answer, AsyncWorkspace, Pair, Verdict, Workspace
from readmit.errors import NotAllowedError, RecordError, ScenarioError
from readmit.events import EventKind
from readmit.lab import as_readmit
from readmit.memory import Memory
from readmit.policies import Policy
from readmit.records.acts.event import Revoke
from readmit.scenario.document import read_scenario
from readmit.scenario.play import played
from tests.cli.run import run
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESERVED = ("owner", "readmit")

WAYS: dict[str, Callable[[Scene, str], object]] = {
    "observe": lambda it, by: it.team.observe("x", by=by),
    "observe under an id": lambda it, by: it.team.observe("x", by=by, id="e"),
    "observe_many": lambda it, by: it.team.observe_many(["x", "y"], by=by),
    "one of observe_many": lambda it, by: it.team.observe_many(["x", {"text": "y", "by": by}], by="bob"),
    "record": lambda it, by: it.team.record("x", by=by),
    "record that supersedes": lambda it, by: it.team.record("x", by=by, supersedes="h"),
    "record that inherits": lambda it, by: it.team.record(
        "x", by=by, supersedes="h", inherits=True, sources=[it.source]
    ),
    "oblige": lambda it, by: it.team.oblige("x", by=by, required=[]),
    "progress": lambda it, by: it.team.progress("x", by=by, obligation="o"),
    "supersede": lambda it, by: it.team.supersede("h", "i", by=by),
    "revoke": lambda it, by: it.team.revoke("h", by=by),
    "close": lambda it, by: it.team.close_validity("h", end=it.now, by=by),
    "settle": lambda it, by: it.team.settle("o", by=by),
    "dispute": lambda it, by: it.team.dispute(["h"], by=by),
    "resolve": lambda it, by: it.team.resolve("q", by=by),
    "suspect": lambda it, by: it.team.judge(Pair(item="h", evidence=it.source), by=by),
    "judge": lambda it, by: it.team.judge(
        Verdict(pair=Pair(item="h", evidence=it.source), answer=Answer.UNSURE, confidence=Decimal(1)), by=by
    ),
    "link": lambda it, by: it.team.link("h", "d", by=by),
    "confirm": lambda it, by: it.team.confirm("h", by=by),
    "overrule": lambda it, by: it.team.admin.overrule("h", by=by, reason="r", expires=timedelta(1)),
    "govern": lambda it, by: it.team.admin.govern(Policy(evidence={"overseers": ("eve",)}), by=by),
    "append": lambda it, by: it.team._desk.writer.write(EventKind.REVOKE, Revoke(target="h"), by=by),
    "rotate keys": lambda it, by: it.team.admin.keys.rotate(by=by),
    "revoke a key": lambda it, by: it.team.admin.keys.revoke(it.team._desk.keys.signer().keyid, by=by, reason="r"),
    "agent": lambda it, by: it.team.agent(by, role="planner", task="trip"),
    "principal": lambda it, by: it.team.principal(by),
    "handle of another": lambda it, by: it.team.principal("eve").admin.govern(Policy(), by=by),
    "memory": lambda it, by: Memory.open(it.team, "scopedmem").form("x", by=by, sources=["h"]),
    "memory of evidence": lambda it, by: Memory.open(it.team, "scopedmem").observe(it.source, by=by),
    "memory adopted": lambda it, by: Memory.open(it.team, "scopedmem").adopt({}, by=by),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RESERVED)
def test_a_reserved_name_is_refused_however_it_comes_in(way: str, name: str) -> None:
    scene = Scene()
    scene.fact("h")
    scene.fact("i")
    scene.team.oblige("x", id="o", by="bob", required=[])
    scene.team.dispute(["i"], by="bob", id="q")
    before = scene.team.epoch
    with pytest.raises(NotAllowedError, match=f"reserved|writes as 'eve'; '{name}' needs"):
        WAYS[way](scene, name)
    assert scene.team.epoch == before


def test_one_refused_writer_undoes_the_batch() -> None:
    team = Scene().team
    before = team.epoch

    def both() -> None:
        with team.batch():
            team.observe("y", by="bob")
            team.observe("y", by="owner")

    with pytest.raises(NotAllowedError):
        both()
    assert team.epoch == before


ALIKE = {
    "case": ("Owner", "OWNER", "Readmit"),
    "width": ("\uff4f\uff57\uff4e\uff45\uff52", "\U0001d428\U0001d430\U0001d427\U0001d41e\U0001d42b"),
    "white space": ("owner ", " owner", "\u00a0owner", "owner\u3000", "ow\u200aner"),
    "turned round": ("\u202erenwo", "ow\u202eren\u202c", "\u2067timdaer\u2069"),
    "letters in signs": (
        "\u24aa\u24b2\u24a9\u24a0\u24ad",
        "\U0001f15e\U0001f166\U0001f15d\U0001f154\U0001f161",
        "\U0001f17ewner",
        "\U0001f1f4wner",
    ),
    "digits of other scripts": ("\u0e50wner", "\u0966wner", "readm\u0661t"),
    "zero width": (
        "own\u200ber",
        "\ufeffowner",
        "ow\u00adner",
        "o\u2060wner",
        "owner\ufe0f",
        "\u202eowner",
        "o\u034fwner",
    ),
    "cyrillic": ("\u043ewner", "own\u0435r", "\u041e\u051dn\u0435r", "r\u0435\u0430dm\u0456t"),
    "greek": ("\u03bfwner", "o\u03c9ner", "read\u03bcit"),
    "another alphabet": (
        "\u0585wner",
        "o\u13b3ner",
        "o\u2c96ner",
        "\ua4f3wner",
        "own\u1971r",
        "\ua4f3\ua4ea\ua4e0\ua4f0\ua4e3",
        "O\u13b3N\u13ac\u13d2",
    ),
    "strokes over letters": ("owner\u0332", "o\u0337wner", "readmi\u20dft"),
    "blanks": ("owner\u2800", "\u2800readmit"),
    "digits and pairs": ("0wner", "readm1t", "readmlt", "ovvner", "readrnit", "readm|t", "reaclmit"),
}
UNLIKE = ("owners", "own", "downer", "Anna", "\u674e\u9752", "\u0410\u043d\u043d\u0430", "boss2", "\u00f6wner", "bosse")


@pytest.mark.parametrize("spelled", [one for some in ALIKE.values() for one in some], ids=ascii)
def test_a_name_that_looks_like_a_reserved_one_is_refused(spelled: str) -> None:
    team = Scene().team
    before = team.epoch
    ways: list[Callable[[], object]] = [
        lambda: team.admin.govern(Policy(), by=spelled),
        lambda: team.observe("x", by=spelled),
        lambda: team.observe_many(["x", "y"], by=spelled),
        lambda: team.agent(spelled, role="planner", task="trip"),
        lambda: team.principal(spelled),
        lambda: Policy(evidence={"writers": (spelled,)}),
        lambda: Policy(evidence={"overseers": (spelled,)}),
        lambda: team.as_owner().admin.writers.enrol(spelled, bytes(32)),
        lambda: team.as_owner().admin.reassign(spelled, task="trip", role="planner"),
    ]
    for way in ways:
        with pytest.raises(NotAllowedError, match=r"looks like '(owner|readmit)'"):
            way()
    assert team.epoch == before


@pytest.mark.parametrize(
    "spelled", ["Boss", "b0ss", "bo\u200bss", "\u042c\u043e\u0455\u0455", "boss ", "bos\u0455", "BOSS"], ids=ascii
)
@pytest.mark.parametrize("field", ["overseers", "writers"])
def test_nobody_writes_under_a_name_that_looks_like_one_of_the_policy(spelled: str, field: str) -> None:
    named: dict[str, Any] = {field: ("boss", spelled)}
    rules: dict[str, Any] = {"overseers": ("boss",), field: ("boss", "bob")}
    scene = Scene(evidence=rules)
    scene.fact("h")
    before = scene.team.epoch
    for way in (
        lambda: scene.team.observe("x", by=spelled),
        lambda: scene.team.revoke("h", by=spelled),
        lambda: scene.team.agent(spelled, role="planner", task="trip").depart(),
        lambda: scene.team.agent(spelled, role="planner", task="trip").present(lease=60),
        lambda: scene.team.principal(spelled).observe_many(["x", "y"]),
    ):
        with pytest.raises(NotAllowedError, match=r"looks like 'boss'|may not revoke here"):
            way()
    assert scene.team.epoch == before
    with pytest.raises(NotAllowedError, match=f"{field}: the name .* looks like"):
        Policy(evidence=named)


@pytest.mark.parametrize("spelled", UNLIKE, ids=ascii)
def test_a_name_that_only_resembles_one_is_anybodys(spelled: str) -> None:
    scene = Scene()
    assert scene.team._desk.log.evidence(scene.team.observe("x", by=spelled)).by == spelled


def test_the_operator_writes_through_a_handle_of_the_owner() -> None:
    team = Scene().team
    team.as_owner().admin.govern(Policy(budgets={"items": 3}))
    team.as_owner().record("x", id="m")
    assert team.admin.policy.budgets.items == 3
    assert team._desk.log.item("m").by == "owner"
    with pytest.raises(NotAllowedError, match="writes as 'owner'; 'bob' needs a handle of its own"):
        team.as_owner().record("y", by="bob")


def test_a_principals_handle_writes_as_it_without_saying_so() -> None:
    bob = Scene().team.principal("bob")
    evidence = bob.observe_many(["Sunrise confirms."])
    assert bob._desk.log.item(bob.record("Sunrise is booked", sources=evidence)).by == "bob"
    assert bob._desk.log.evidence(evidence[0]).by == "bob"
    with pytest.raises(NotAllowedError, match="that of 'bob'"):
        bob.agent("ann", role="planner", task="trip").depart()


def test_without_a_writer_nothing_is_written() -> None:
    team = Scene().team
    for verb in (lambda: team.observe("x"), lambda: team.record("x"), lambda: team.revoke("h")):
        with pytest.raises(RecordError, match="by: say who writes this"):
            verb()
    with pytest.raises(RecordError, match="by"):
        team.observe_many(["x"])


@pytest.mark.parametrize("name", RESERVED)
def test_a_loop_refuses_them_too(name: str) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open() as team:
            with pytest.raises(NotAllowedError, match="reserved"):
                await team.admin.govern(Policy(), by=name)
            with pytest.raises(NotAllowedError, match="reserved"):
                team.agent(name, role="planner", task="trip")
            with pytest.raises(NotAllowedError, match="reserved"):
                async with team.batch():
                    await team.observe("x", by=name)
            await team.as_owner().admin.govern(Policy(budgets={"items": 3}))
            await team.principal("bob").observe("x")
            await team.run(lambda twin: as_readmit(twin).observe("y"))

    asyncio.run(story())


@pytest.mark.parametrize("name", RESERVED)
def test_a_scenario_refuses_them_too(name: str) -> None:
    steps = [{"do": "govern", "by": name, "policy": {}}]
    with (
        pytest.raises(ScenarioError, match=r"\$\.steps\[0\]: by: the name .* is reserved"),
        played(read_scenario(json.dumps({"readmit": 1, "name": "a case", "steps": steps}).encode())),
    ):
        pass


@pytest.mark.parametrize("name", RESERVED)
def test_the_command_line_refuses_them_too(tmp_path: Path, name: str) -> None:
    db = str(tmp_path / "team.db")
    run("init", "--db", db)
    run("record", "x", "--id", "h", "--by", "bob", "--db", db)
    steps = tmp_path / "steps.json"
    steps.write_text(json.dumps([{"do": "revoke", "target": "h", "by": name}]))
    who = ("--principal", name, "--role", "planner", "--task", "trip")
    for words in (
        ("observe", "x", "--by", name),
        ("record", "x", "--by", name),
        ("record", "--file", str(steps)),
        ("revoke", "h", "--by", name),
        ("keys", "rotate", "--by", name),
        ("depart", *who),
        ("return", *who),
        ("remember", "x", "--bound-to", "h", *who),
    ):
        assert f"the name '{name}' is reserved" in run(*words, "--db", db, status=1).stderr, words


def test_the_operator_says_as_owner_on_the_command_line(tmp_path: Path) -> None:
    db = str(tmp_path / "team.db")
    run("init", "--db", db)
    run("record", "x", "--id", "h", "--as-owner", "--db", db)
    run("revoke", "h", "--as-owner", "--db", db)
    run("keys", "rotate", "--db", db)
    with Workspace.open(db) as team:
        assert [event.by for event in team._desk.log.tail()] == ["owner"] * team.epoch
    both = run("observe", "x", "--by", "bob", "--as-owner", "--db", db, status=2)
    assert "give either --by or --as-owner" in both.stderr
    assert "--by" in run("observe", "x", "--db", db, status=2).stderr
