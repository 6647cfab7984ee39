"""Nobody learns from an id whether something exists that is not for it.

What ann wrote for herself alone has, in every name space of the log, the id ``@ann/s``. Nothing has ``@ann/t``.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Answer, Pair, Verdict, Workspace
from readmit.errors import ConflictError, NotAllowedError, RateError, RecordError, UnknownError
from readmit.events import EventKind
from readmit.lab import Link, digest
from readmit.memory import Memory
from readmit.records.acts.event import Supersede
from readmit.records.identity import own_space
from tests.cli.run import run
from tests.scene import HOUR, START, Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Attempt = Callable[[Any, str], object]

THERE, NOT_THERE = "@ann/s", "@ann/t"
ALONE: dict[str, Any] = {"by": "ann", "principals": ["ann"], "private": True}


def verdict(scene: Scene, item: str, evidence: str | None = None) -> Verdict:
    pair = Pair(item=item, evidence=evidence or scene.source)
    return Verdict(pair=pair, answer=Answer.UNSURE, confidence=Decimal(1))


class Secrets(Scene):
    """Ann keeps things for herself. Mal may write, has a duty, a dispute and a departure of its own."""

    def __init__(self, **policy: Any) -> None:
        super().__init__(**policy)
        self.fact("h", slot="hotel", supports=["d"])
        self.fact("k", slot="hotel")
        self.duty("o", required=("d",))
        self.team.dispute(["h"], by="bob", id="q")
        self.digests = {THERE: self.team.observe("my salary", id=THERE, by="ann", principals=["ann"], at=START)}
        self.digests[NOT_THERE] = digest("never observed")
        own = [self.digests[THERE]]
        self.team.record("mine", id=THERE, sources=own, slot="salary", **ALONE)
        self.team.record("mine too", id="@ann/2", sources=own, **ALONE)
        self.team.oblige("my duty", id="@ann/o", required=["d"], sources=own, **ALONE)
        ann: dict[str, Any] = {"by": "ann", "id": THERE}
        self.team.supersede(THERE, "@ann/2", **ann)
        self.team.close_validity("@ann/2", end=START + HOUR, **ann)
        self.team.settle("@ann/o", **ann)
        self.team.dispute([THERE, "h"], **ann)
        self.team.resolve(THERE, keep=["h"], **ann)
        self.team.judge(Pair(item="@ann/2", evidence=self.source), **ann)
        self.team.judge(verdict(self, "@ann/2"), **ann)
        self.team.link("@ann/2", "d", **ann)
        self.team.revoke("@ann/2", **ann)
        self.team.admin.overrule("@ann/2", reason="mine", expires=HOUR, by="boss", id="@boss/s")
        self.ann().remember("mine", bound_to=THERE, id="s")
        self.ann().depart(id=THERE)
        self.ann().come_back(id=THERE).expose()
        self.mal = self.team.principal("mal")
        self.agent = self.mal.agent("mal", role="planner", task="trip")


def in_batch(scene: Scene, id: str) -> None:
    with scene.team.batch():
        scene.team.observe("before", by="mal")
        scene.team.observe("x", id=id, by="mal")


GIVING: dict[str, Attempt] = {
    "observe": lambda it, id: it.mal.observe("x", id=id),
    "observe for itself": lambda it, id: it.mal.observe("x", id=id, principals=["mal"]),
    "observe_many": lambda it, id: it.mal.observe_many([{"text": "x", "id": id}, {"text": "y"}]),
    "observe within a batch": in_batch,
    "record": lambda it, id: it.mal.record("x", id=id),
    "record for ann": lambda it, id: it.mal.record("mine", id=id, principals=["ann"], private=True),
    "record as its heir": lambda it, id: it.mal.record("x", id=id, sources=[it.source], supersedes=id, inherits=True),
    "record where nothing stands": lambda it, id: it.mal.record("x", id=id, slot="hotel", expects_nothing=True),
    "record where something stands": lambda it, id: it.mal.record("x", id=id, slot="hotel", expects="h"),
    "oblige": lambda it, id: it.mal.oblige("x", id=id, required=["d"]),
    "progress": lambda it, id: it.mal.progress("x", id=id, obligation="o"),
    "supersede": lambda it, id: it.mal.supersede("h", "k", id=id),
    "revoke": lambda it, id: it.mal.revoke("h", id=id),
    "close": lambda it, id: it.mal.close_validity("h", end=it.now, id=id),
    "settle": lambda it, id: it.mal.settle("o", id=id),
    "dispute": lambda it, id: it.mal.dispute(["h"], id=id),
    "resolve": lambda it, id: it.mal.resolve("q", keep=["h"], id=id),
    "suspect": lambda it, id: it.mal.judge(Pair(item="h", evidence=it.source), id=id),
    "judge": lambda it, id: it.mal.judge(verdict(it, "h"), id=id),
    "link": lambda it, id: it.mal.link("h", "d", id=id),
    "confirm": lambda it, id: it.mal.confirm("h", id=id),
    "overrule": lambda it, id: it.mal.admin.overrule("h", reason="x", expires=HOUR, id=id),
    "overrule for long": lambda it, id: it.mal.admin.overrule(
        "h", reason="x", expires=timedelta(days=2_900_000), id=id
    ),
    "govern": lambda it, id: it.mal.admin.govern(it.team.admin.policy, id=id),
    "reassign": lambda it, id: it.mal.admin.reassign("ann", task="trip", role="x", id=id),
    "void": lambda it, id: it.mal.admin.void(1, id=id),
    "depart": lambda it, id: it.agent.depart(id=id),
    "come_back": lambda it, id: it.agent.come_back(id=id),
    "append": lambda it, id: it.mal.admin.write(EventKind.LINK, Link(item="h", need="d"), id=id),
    "append what readmit writes": lambda it, id: it.mal.admin.write(EventKind.WAIT, {"events": [], "limit": ""}, id=id),
}
NAMING: dict[str, Attempt] = {
    "supersede": lambda it, id: it.mal.supersede(id, "h"),
    "supersede by it": lambda it, id: it.mal.supersede("h", id),
    "revoke": lambda it, id: it.mal.revoke(id),
    "close": lambda it, id: it.mal.close_validity(id, end=it.now),
    "settle": lambda it, id: it.mal.settle(id),
    "settle as an agent": lambda it, id: it.agent.settle(id),
    "dispute": lambda it, id: it.mal.dispute([id]),
    "dispute among others": lambda it, id: it.mal.dispute(["h", id]),
    "resolve": lambda it, id: it.mal.resolve(id),
    "resolve for it": lambda it, id: it.mal.resolve("q", keep=[id]),
    "suspect": lambda it, id: it.mal.judge(Pair(item=id, evidence=it.source)),
    "judge": lambda it, id: it.mal.judge(verdict(it, id)),
    "link": lambda it, id: it.mal.link(id, "d"),
    "confirm": lambda it, id: it.mal.confirm(id),
    "overrule": lambda it, id: it.mal.admin.overrule(id, reason="x", expires=HOUR),
    "approve": lambda it, id: it.mal.admin.approve(id),
    "decline": lambda it, id: it.mal.admin.decline(id),
    "depends_on": lambda it, id: it.mal.record("x", depends_on=[id]),
    "supersedes": lambda it, id: it.mal.record("x", supersedes=id),
    "inherits": lambda it, id: it.mal.record("x", sources=[it.source], supersedes=id, inherits=True),
    "expects": lambda it, id: it.mal.record("x", slot="hotel", expects=id),
    "expects where it stands": lambda it, id: it.mal.record("x", slot="salary", expects=id),
    "progress": lambda it, id: it.mal.progress("x", obligation=id),
    "remember": lambda it, id: it.agent.remember("x", bound_to=id),
    "come_back": lambda it, id: it.agent.come_back(checkpoint=id),
    "forget": lambda it, id: it.mal.admin.forget(id, reason="x"),
    "forget, with a guess of what it says": lambda it, id: it.mal.admin.forget(id, reason="mine"),
    "forget with what is there": lambda it, id: it.mal.admin.forget("h", id, reason="x"),
    "form a memory": lambda it, id: Memory.open(it.mal, "scopedmem").form("x", by="mal", sources=[id]),
    "append": lambda it, id: it.mal.admin.write(EventKind.SUPERSEDE, Supersede(target=id, successor=id)),
}
CITING: dict[str, Attempt] = {
    "sources": lambda it, id: it.mal.record("x", sources=[it.digests[id]]),
    "sources of a duty": lambda it, id: it.mal.oblige("x", required=["d"], sources=[it.digests[id]]),
    "sources of a frontier": lambda it, id: it.mal.progress("x", obligation="o", sources=[it.digests[id]]),
    "suspect": lambda it, id: it.mal.judge(Pair(item="h", evidence=it.digests[id])),
    "judge": lambda it, id: it.mal.judge(verdict(it, "h", it.digests[id])),
    "forget": lambda it, id: it.mal.admin.forget(it.digests[id], reason="x"),
    "form a memory": lambda it, id: Memory.open(it.mal, "scopedmem").form("x", by="mal", evidence=[it.digests[id]]),
    "form a memory of it": lambda it, id: Memory.open(it.mal, "scopedmem").observe(it.digests[id], by="mal"),
}
SITUATIONS: dict[str, Callable[[], Secrets]] = {
    "mal writes": Secrets,
    "mal is no allowed writer": lambda: Secrets(evidence={"writers": ("ann", "bob")}),
    "mal is at its limit": lambda: _limited(Secrets()),
    "mal is away": lambda: _left(Secrets()),
}


def _left(scene: Secrets) -> Secrets:
    scene.agent.depart()
    return scene


def _limited(scene: Secrets) -> Secrets:
    rules = scene.team.admin.policy.changed(limits={"invalidations": 1})
    scene.team.as_owner().admin.govern(rules)
    scene.team.revoke(scene.fact("gone", by="mal"), by="mal")
    return scene


def answer(attempt: Attempt, scene: Scene, id: str) -> object:
    """What a caller gets, without the id that it gave."""
    try:
        attempt(scene, id)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
        text = str(error).replace(id, "ID")
        return type(error), text.replace(scene.digests[id], "DIGEST") if isinstance(scene, Secrets) else text
    return "done"


def same_answers(attempts: dict[str, Attempt], scene: Secrets) -> dict[str, object]:
    """The answers to a table of attempts, each the same for what is there and for what is not."""
    found: dict[str, object] = {}
    for name, attempt in attempts.items():
        found[name] = answer(attempt, scene, NOT_THERE)
        assert answer(attempt, scene, THERE) == found[name], name
    return found


@pytest.mark.parametrize("situation", SITUATIONS)
def test_giving_an_id_tells_nobody_whether_it_is_taken(situation: str) -> None:
    scene = SITUATIONS[situation]()
    before = scene.team.epoch
    answers = same_answers(GIVING, scene)
    # Most often it is refused because it is somebody else's, before anything else is looked at.
    refused = [name for name, said in answers.items() if isinstance(said, tuple) and said[0] is NotAllowedError]
    assert len(refused) >= len(GIVING) - 3, answers
    assert scene.team.epoch == before


@pytest.mark.parametrize("situation", SITUATIONS)
def test_naming_an_id_tells_nobody_whether_it_is_there(situation: str) -> None:
    scene = SITUATIONS[situation]()
    before = scene.team.epoch
    answers = same_answers(NAMING, scene)
    assert "done" not in answers.values(), answers
    same_answers(CITING, scene)
    assert scene.team.epoch == before


def test_what_is_there_can_be_named_and_cited_by_those_whom_it_is_for() -> None:
    scene = Secrets()
    ann = scene.team.principal("ann")
    ann.record("and so", id="@ann/3", depends_on=[THERE], sources=[scene.digests[THERE]], principals=["ann"])
    # An overseer may know of everything; an id of its own is its own too.
    scene.team.revoke(THERE, by="boss", id="@boss/r")
    for id in (THERE, NOT_THERE):
        with pytest.raises(NotAllowedError, match="for the writer that it names"):
            scene.team.record("x", id=id, by="boss")


@pytest.mark.parametrize("kind", ["item", "observation", "supersession"])
def test_who_guesses_a_content_cannot_ask_for_it(kind: str) -> None:
    scene = Scene()
    ann = scene.team.principal("ann")
    text: dict[str, Any] = {"principals": ["ann"]}
    if kind == "item":
        taken = ann.record("I earn 100", **text)
        attempt: Attempt = lambda it, id: it.team.record("x", id=id, by="mal")  # noqa: E731
    elif kind == "observation":
        seen = ann.observe("I earn 100", at=START, **text)
        taken = scene.team._desk.log.evidence(seen).name
        attempt = lambda it, id: it.team.observe("x", id=id, by="mal")  # noqa: E731
    else:
        first = ann.record("I earn 100", **text)
        ann.record("I earn 200", supersedes=first, **text)
        (said,) = [
            one
            for one in scene.team._desk.log.about([first], until=scene.team.epoch)
            if isinstance(one.payload, Supersede)
        ]
        taken = said.name
        attempt = lambda it, id: it.team.supersede("a", "b", id=id, by="mal")  # noqa: E731
    scene.fact("a")
    scene.fact("b")
    other = taken[:-1] + ("0" if taken[-1] != "0" else "1")
    assert answer(attempt, scene, taken) == answer(attempt, scene, other)


def test_the_same_content_is_still_the_same_item() -> None:
    scene = Scene()
    mine: dict[str, Any] = {"by": "ann", "principals": ["ann"]}
    assert scene.team.record("I earn 100", **mine) == scene.team.record("I earn 100", **mine)
    seen = scene.team.observe("I earn 100", id="@ann/mail", **mine)
    assert seen == scene.team.observe("I earn 100", id="@ann/mail", **mine)
    first = scene.team.oblige("Ask for more", required=["d"], **mine)
    scene.team.settle(first, by="ann")
    assert scene.team.oblige("Ask for more", required=["d"], **mine) not in (first, None)


PLAIN: dict[str, Attempt] = {
    "observe": lambda it, id: it.team.observe("x", id=id, by="ann", principals=["ann"]),
    "record": lambda it, id: it.team.record("x", id=id, by="ann", principals=["bob"]),
    "oblige": lambda it, id: it.team.oblige("x", id=id, required=["d"], by="ann", principals=["ann"]),
    "revoke": lambda it, id: it.team.revoke("@ann/mine", id=id, by="ann"),
    "dispute": lambda it, id: it.team.dispute(["h", "@ann/mine"], id=id, by="ann"),
    "link": lambda it, id: it.team.link("@ann/mine", "d", id=id, by="ann"),
}


@pytest.mark.parametrize("verb", PLAIN)
def test_what_is_not_for_everybody_has_an_id_of_its_writers_own(verb: str) -> None:
    scene = Scene()
    scene.fact("h")
    scene.team.record("mine", id="@ann/mine", by="ann", principals=["ann"])
    with pytest.raises(RecordError, match=r"^id: .*leave id out, or give one that begins with '@ann/'$"):
        PLAIN[verb](scene, "plain")
    PLAIN[verb](scene, "@ann/own")


def test_without_an_id_any_event_about_it_is_written() -> None:
    scene = Scene()
    ann = scene.team.principal("ann")
    mine = ann.record("mine", principals=["ann"])
    ann.dispute([mine])
    ann.link(mine, "d")
    ann.revoke(mine)
    with pytest.raises(UnknownError):
        scene.team.principal("mal").revoke(mine)


def test_each_private_bank_has_ids_of_its_own() -> None:
    scene = Scene()
    scene.fact("h")
    agents = {name: scene.team.agent(name, role="planner", task="trip") for name in ("ann", "mal")}
    for name, agent in agents.items():
        assert agent.remember(f"of {name}", bound_to="h", id="x") == "x"
        assert [one.text for one in agent.recall()] == [f"of {name}"]
    with pytest.raises(ConflictError):
        agents["ann"].remember("something else", bound_to="h", id="x")


NAMES = ["ann", "Ann", "ann/x", "ann%2Fx", "a@b.org", "José", "Jos%C3%A9", "x" * 61, "é" * 256, "%%", "@", " ", "ann "]


def test_no_two_writers_share_ids() -> None:
    spaces = [own_space(name) for name in NAMES]
    for one in spaces:
        assert [other for other in spaces if one.startswith(other)] == [one]
        assert one.isascii()
        assert one.isprintable()
        assert " " not in one
        assert len(one) <= 62


@pytest.mark.parametrize("name", NAMES)
def test_any_writer_can_keep_something_to_itself(name: str) -> None:
    scene = Scene()
    own = scene.team.principal(name)
    own.record("mine", principals=[name])
    own.record("mine too", id=f"{own_space(name)}x", principals=[name])
    own.observe("mine", principals=[name])
    own.observe_many(["one", "two"], principals=[name])
    assert scene.team.agent(name, role="r", task="t").remember("mine", bound_to=f"{own_space(name)}x")


def test_a_contest_between_items_for_some_is_not_named_to_others() -> None:
    scene = Scene()
    own: dict[str, Any] = {"slot": "s", "task": "trip", "principals": ["ann", "bea"]}
    scene.fact("@bob/h0", **own)
    scene.depart()
    scene.wait(HOUR)
    scene.team.record("bea's", id="@bea/h1", by="bea", sources=[scene.news("new for bea")], **own)
    scene.team.record("ann's", id="@ann/h2", by="ann", sources=[scene.news("new for ann")], **own)
    contest = next(e for e in scene.team._desk.log.tail() if e.kind is EventKind.DISPUTE)
    assert contest.name.startswith("@readmit/")
    for id in ("concurrent-@ann/h2", "concurrent-@ann/h3"):
        scene.fact(f"for {id}".replace(" ", "-"))
        assert scene.team.dispute([f"for-{id}"], id=id, by="mal") == id


def test_who_may_not_write_an_event_is_not_told_that_its_id_is_taken() -> None:
    scene = Scene(limits={"invalidations": 1})
    scene.team.as_owner().admin.govern(scene.team.admin.policy, id="plain")
    for name in ("a", "b"):
        scene.fact(name, by="eve")
    scene.team.revoke("a", by="eve")
    with pytest.raises(RateError):
        scene.team.revoke("b", by="eve")
    (waits,) = scene.team.admin.waiting()
    scene.team.admin.approve(waits.name, by="boss")
    govern: Attempt = lambda it, id: it.team.admin.govern(it.team.admin.policy, id=id, by="mal")  # noqa: E731
    approve: Attempt = lambda it, id: it.team.admin.approve(id, by="mal")  # noqa: E731
    assert answer(govern, scene, "plain") == answer(govern, scene, "other")
    assert answer(approve, scene, waits.name) == answer(approve, scene, "0" * 16)
    with pytest.raises(ConflictError):
        scene.team.admin.govern(scene.team.admin.policy.changed(budgets={"items": 1}), id="plain", by="boss")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """A command line on a file in which ann keeps two things for herself, whose ids begin alike."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("READMIT_DB", "team.db")

    def command(*words: str) -> tuple[int, str]:
        done = run(*words, status=None)
        return done.exit_code, done.output

    mine = ("--by", "ann", "--principal", "ann", "--private")
    for words in (
        ("init",),
        ("record", "All can read this", "--id", "h", "--by", "bob", "--source", "It was seen."),
        ("observe", "my salary", "--id", "@ann/mail", "--by", "ann", "--principal", "ann"),
        ("record", "I earn 100", "--id", "@ann/s1", "--source", "@ann/mail", *mine),
        ("record", "I earn 200", "--id", "@ann/s2", "--source", "Seen too.", *mine),
        ("dispute", "@ann/s1", "--id", "@ann/q", "--by", "ann"),
    ):
        assert command(*words)[0] == 0, (words, command(*words))
    return command


BEGINNINGS = [
    ("revoke", "{}"),
    ("dispute", "h", "{}"),
    ("supersede", "h", "{}"),
    ("link", "{}", "d"),
    ("resolve", "{}"),
]


@pytest.mark.parametrize("words", BEGINNINGS, ids=" ".join)
def test_the_beginning_of_an_id_matches_nothing_that_its_writer_may_not_know_of(
    words: tuple[str, ...], shell: Callable[..., tuple[int, str]]
) -> None:
    refusals = set()
    for beginning in ("@ann/s", "@ann/s1", "@ann/t", "@ann/q", "@a"):
        status, said = shell(*(word.format(beginning) for word in words), "--by", "mal")
        assert status != 0
        refusals.add(said.replace(beginning, "ID"))
    assert len(refusals) == 1, refusals
    if words[0] == "revoke":
        assert "is the beginning of @ann/s1, @ann/s2" in shell("revoke", "@ann/s", "--by", "ann")[1]
        assert shell("revoke", "@ann/s1", "--by", "ann")[0] == 0


def test_the_beginning_of_a_digest_matches_no_evidence_that_its_writer_may_not_know_of(
    shell: Callable[..., tuple[int, str]],
) -> None:
    with Workspace.open("team.db") as team:
        hidden = next(one.digest for one in team._desk.log.tail() if one.name == "@ann/mail")
    refusals = set()
    for beginning in (hidden[:12], hidden, "0" * 12, "0" * 64):
        status, said = shell("record", "x", "--by", "mal", "--source", beginning)
        assert status != 0
        refusals.add(said.replace(beginning, "DIGEST"))
    assert len(refusals) == 1, refusals
    assert shell("record", "x", "--by", "ann", "--source", hidden[:12])[0] == 0
