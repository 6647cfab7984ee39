"""Rights that a name, a role, a side or a clock does not give by itself."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from readmit import AsyncWorkspace, Reason, Subscription
from readmit.errors import ExposureError, LeaseError, NotAllowedError, QuarantineError, RecordError, UnknownError
from readmit.events import EventKind
from readmit.lab import as_readmit
from readmit.memory import Memory
from readmit.pages import return_page, slot_page
from readmit.types import Sweeper
from tests.keys import new_signer
from tests.scene import HOUR, START, Scene

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MINUTE = timedelta(minutes=1)


# A role is not self-declared.


def owed(task: str | None = "trip") -> Scene:
    """Planners owe something, and bob opened it."""
    scene = Scene()
    scene.duty(roles=["planner"], task=task)
    scene.duty("o2", roles=["planner"], task=task)
    scene.fact("h", supports=["d"])
    return scene


def left_and_back(scene: Scene, by: str) -> None:
    agent = scene.team.agent(by, role="planner", task="trip")
    agent.depart()
    agent.come_back().expose()


ENDS: dict[str, Callable[[Scene, str], object]] = {
    "settle": lambda it, by: it.team.settle("o", by=by),
    "revoke": lambda it, by: it.team.revoke("o", by=by),
    "supersede": lambda it, by: it.team.supersede("o", "o2", by=by),
    "settle as an agent in that role": lambda it, by: it.team.agent(by, role="planner", task="trip").settle("o"),
    "say the role": lambda it, by: it.team.settle("o", by=by, role="planner"),  # type: ignore[call-arg]
    "say the role in the event": lambda it, by: it.team._desk.writer.write(
        EventKind.SETTLE, {"target": "o", "role": "planner"}, by=by
    ),
}
CLAIMS: dict[str, Callable[[Scene, str], object]] = {
    "nothing": lambda _, by: by,
    "left and came back in that role": left_and_back,
    "is present in that role": lambda it, by: it.team.agent(by, role="planner", task="trip").present(lease=60),
    "has another role": lambda it, by: it.team.admin.reassign(by, task="trip", role="guest", by="boss"),
    "has it elsewhere": lambda it, by: it.team.admin.reassign(by, task="garden", role="planner", by="boss"),
    "had it": lambda it, by: [
        it.team.admin.reassign(by, task="trip", role=role, by="boss") for role in ("planner", "guest")
    ],
}


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("way", ENDS)
def test_nobody_has_a_role_by_its_own_word(way: str, claim: str) -> None:
    scene = owed()
    CLAIMS[claim](scene, "mal")
    before = scene.team.epoch
    with pytest.raises((NotAllowedError, RecordError), match=r"role"):
        ENDS[way](scene, "mal")
    assert scene.team.epoch == before


@pytest.mark.parametrize("task", ["trip", None])
@pytest.mark.parametrize("way", ["settle", "revoke", "supersede", "settle as an agent in that role"])
def test_a_role_is_the_owners_and_the_overseers_to_say(way: str, task: str | None) -> None:
    scene = owed(task)
    scene.team.as_owner().admin.reassign("mal", task="trip", role="guest")
    with pytest.raises(NotAllowedError, match="role 'planner', which the owner or an overseer gives"):
        ENDS[way](scene, "ann")
    with pytest.raises(NotAllowedError):
        scene.team.admin.reassign("mal", task="trip", role="planner", by="mal")
    scene.team.admin.reassign("ann", task="trip", role="planner", by="boss")
    with pytest.raises(NotAllowedError):
        ENDS[way](scene, "mal")
    ENDS[way](scene, "ann")


def test_a_role_comes_with_the_signature_of_a_departure() -> None:
    scene = owed()
    keys = {name: new_signer() for name in ("owner", "ann")}
    owner = scene.team.as_owner(signer=keys["owner"])
    for name, key in keys.items():
        owner.admin.writers.enrol(name, key.public)
    own = scene.team.principal("ann", signer=keys["ann"])
    ann = own.agent("ann", role="planner", task="trip")
    with pytest.raises(NotAllowedError, match="role"):
        ann.settle("o")
    ann.depart()
    ann.come_back().expose()
    ann.settle("o")
    # What the owner says counts instead.
    owner.admin.reassign("ann", task="trip", role="guest")
    with pytest.raises(NotAllowedError, match="role"):
        ann.settle("o2")
    with pytest.raises(NotAllowedError, match="must sign this reassign"):
        scene.team.admin.reassign("ann", task="trip", role="planner", by="boss")


# A handle of one principal acts for nobody else.


class Away(Scene):
    """Ann has a private note, left, and was admitted; her view has not been exposed yet."""

    RETURN = "ann-is-back"

    def __init__(self) -> None:
        super().__init__()
        self.covered()
        self.ann().remember("my note", bound_to="h")
        self.depart()
        self.back = self.come_back(id=self.RETURN)
        self.issued = (self.back.id, self.back.request.identity, self.back.secret)


AS_ANN: dict[str, Callable[[Any, Any], object]] = {
    "an agent of ann": lambda mal, _: mal.agent("ann", role="planner", task="trip"),
    "recall": lambda mal, _: mal.agent("ann", role="planner", task="trip").recall(),
    "come back": lambda mal, _: mal.agent("ann", role="planner", task="trip").come_back(),
    "expose": lambda mal, it: mal._desk.expose(*it.issued),
    "expose retractions": lambda mal, it: mal._desk.expose_retractions(*it.issued),
    "acknowledge": lambda mal, it: mal._desk.acknowledge(*it.issued),
    "subscribe": lambda mal, it: Subscription(mal._desk.writer, it.ann().identity),
    "look": lambda mal, it: mal._desk.look(it.ann().identity),
    "notices": lambda mal, _: mal.admin.notices(by="ann"),
    "observe": lambda mal, _: mal.observe("x", by="ann"),
    "a handle of ann": lambda mal, _: mal.principal("ann"),
    "a handle of the owner": lambda mal, _: mal.as_owner(),
    "a handle of ann by way of readmit's": lambda mal, _: as_readmit(mal).principal("ann"),
    "ann by way of readmit's": lambda mal, _: as_readmit(mal).agent("ann", role="planner", task="trip"),
}


@pytest.mark.parametrize("way", AS_ANN)
def test_a_handle_of_one_principal_acts_for_another_in_nothing(way: str) -> None:
    scene = Away()
    before = scene.team.epoch
    with pytest.raises(NotAllowedError, match=r"'mal'|'readmit'"):
        AS_ANN[way](scene.team.principal("mal"), scene)
    assert scene.team.epoch == before
    assert {item.id for item in scene.back.expose().items} == {"h", "o"}


def test_a_handle_of_ann_does_for_ann_what_it_did() -> None:
    scene: Any = Away()
    own = scene.team.principal("ann")
    own._desk.expose(*scene.issued)
    own.agent("ann", role="planner", task="trip").subscribe().close()
    assert own.principal("ann").observe("noted")
    assert own.admin.notices(by="ann") == ()


def remembered(handle: Any) -> Memory:
    """The team's memory store, by way of this handle."""
    return Memory.open(handle, "scopedmem")


OF_EVERYBODY: dict[str, Callable[[Any, Path], object]] = {
    "the log": lambda mal, _: mal.admin.log,
    "the keys": lambda mal, _: mal.admin.keys,
    "a copy of the store": lambda mal, folder: mal.admin.backup(folder / "copy.db"),
    "acts that wait": lambda mal, _: mal.admin.waiting(),
    "a checkup of all agents": lambda mal, _: mal.doctor(),
    "the page of a return": lambda mal, _: return_page(mal),
    "the page of a slot": lambda mal, _: slot_page(mal, "hotel", principal="ann"),
    "the memory store": lambda mal, _: remembered(mal).backend,
    "all memories": lambda mal, _: list(remembered(mal).records()),
    "all memories, to take along": lambda mal, _: list(remembered(mal).export()),
    "what a return reads of them": lambda mal, _: remembered(mal).review(Away.RETURN),
    "memories from elsewhere": lambda mal, _: remembered(mal).load([]),
    "sources for all memories": lambda mal, _: remembered(mal).adopt({}, by="mal"),
    "leftovers": lambda mal, _: remembered(mal).mend(),
}


@pytest.mark.parametrize("way", OF_EVERYBODY)
def test_a_handle_of_one_principal_shows_nothing_of_the_others(way: str, tmp_path: Path) -> None:
    scene = Away()
    with pytest.raises(NotAllowedError, match="this handle is that of 'mal'"):
        OF_EVERYBODY[way](scene.team.principal("mal"), tmp_path)
    assert not list(tmp_path.iterdir())
    for handle in (scene.team, scene.team.as_owner(), scene.team.principal("boss")):
        if way not in ("a copy of the store", "sources for all memories", "the page of a slot"):
            OF_EVERYBODY[way](handle, tmp_path)


def refusal(call: Callable[[], object], name: str) -> str:
    """The words with which something unknown is refused, but for its name."""
    with pytest.raises(UnknownError) as error:
        call()
    return str(error.value).replace(name, "…")


def test_memories_are_written_for_oneself_or_the_team_from_what_one_may_know() -> None:
    scene: Any = Away()
    hers = scene.team.observe("Ann earns 9,000.", id="@ann/e", by="ann", principals=["ann"])
    scene.fact("@ann/salary", by="ann", principals=["ann"], sources=[hers])
    record, *_ = remembered(scene.team).form("The hotel is booked.", by="bob", sources=["h"])
    own = remembered(scene.team.principal("mal"))
    for refused in (
        lambda: own.form("x", by="mal", owner="ann", sources=["h"]),
        lambda: own.update(record, "x", by="mal", sources=["h"]),
        lambda: own.delete(record),
    ):
        with pytest.raises(NotAllowedError, match="this handle is that of 'mal'"):
            refused()
    for memory in (own, remembered(scene.team)):
        items, evidence = partial(memory.form, "x", by="mal"), partial(memory.observe, by="mal")
        said = {
            refusal(partial(items, **{way: [it]}), it)
            for way, names in (("sources", ("@ann/salary", "@ann/nothing")), ("evidence", (hers, "0" * 64)))
            for it in names
        }
        assert said | {refusal(partial(evidence, it), it) for it in (hers, "0" * 64)} == said
        assert len(said) == 2
    (mine,) = own.form("We sleep there.", by="mal", owner="mal", sources=["h"])
    assert {one.id: one.owner for one, _ in remembered(scene.team).records()} == {record: "", mine: "mal"}


def test_a_return_of_another_principal_is_as_unknown_as_one_that_never_was() -> None:
    scene: Any = Away()
    said = []
    for name in (scene.back.id, "never"):
        with pytest.raises(UnknownError) as error:
            scene.team.principal("mal").returned(name)
        said.append(str(error.value).replace(name, "…"))
    assert said[0] == said[1]
    for name in ("ann", "boss"):
        assert scene.team.principal(name).returned(scene.back.id).items == scene.back.items


def test_who_asks_for_the_view_of_another_learns_nothing_of_how_it_stands() -> None:
    scene: Any = Away()
    mal = scene.team.principal("mal").agent("mal", role="planner", task="trip").delivery(Away.RETURN, secret="guessed")
    said = []
    # It waits, it is outdated because its reader left again, and its item fell.
    for change in (lambda: None, scene.depart, lambda: scene.team.revoke("h", by="bob")):
        change()
        with pytest.raises(ExposureError) as error:
            mal.expose()
        said.append((error.value.reasons, str(error.value)))
    assert said == [said[0]] * 3
    assert said[0][0] == (Reason.BINDING_MISMATCH,)


def test_an_event_loop_refuses_it_too(place: Path | str) -> None:
    async def story() -> None:
        async with AsyncWorkspace.open(place) as team:
            ann = team.agent("ann", role="planner", task="trip")
            await ann.depart()
            back = await ann.come_back()
            mal = team.principal("mal")
            with pytest.raises(NotAllowedError, match="'mal'"):
                mal.agent("ann", role="planner", task="trip")
            with pytest.raises(NotAllowedError, match="'mal'"):
                await mal.run(lambda twin: twin._desk.look(ann.identity))
            with pytest.raises(NotAllowedError, match="'mal'"):
                await mal.run(lambda twin: twin._desk.expose(back.id, ann.identity, back.secret))
            with pytest.raises(NotAllowedError, match="'mal'"):
                mal.as_owner()

    asyncio.run(story())


# A lease that ran out is over for every handle of its agent.


def test_the_lease_decides_not_the_sweeper_also_without_a_presence() -> None:
    scene = Scene()
    scene.covered()
    scene.ann().present(lease=MINUTE)
    scene.ann().remember("my note", bound_to="h")
    assert len(scene.ann().recall()) == 1
    scene.wait(MINUTE)
    with pytest.raises(QuarantineError, match="quarantined"):
        scene.ann().recall()
    with pytest.raises(QuarantineError, match="come back"):
        scene.ann().remember("too late", bound_to="h")
    with pytest.raises(LeaseError, match="come back"):
        scene.ann().settle("o")
    scene.come_back().expose()
    assert [one.text for one in scene.ann().recall()] == ["my note"]


# A wrong clock sends nobody away.


@pytest.mark.parametrize("wrong", [MINUTE, HOUR / 2, HOUR, 5 * HOUR, timedelta(days=400)])
@pytest.mark.parametrize("again", [False, True], ids=["once", "again and again"])
def test_a_wrong_clock_given_to_sweep_sends_nobody_away(wrong: timedelta, *, again: bool) -> None:
    scene = Scene()
    ann = scene.ann()
    ann.present(lease=MINUTE)
    scene.wait(MINUTE / 2)
    true, before = scene.now, scene.team.epoch
    for number in range(1, 4 if again else 2):
        scene.now = true + number * wrong
        swept = scene.team.admin.sweep()
        assert swept.departed == ()
        assert [one.identity.principal for one in swept.unjudged] == ["ann"]
    assert scene.team.epoch == before
    scene.now = true
    ann.recall()
    assert scene.team._desk.log.latest(EventKind.DEPART, ann.identity.agent) is None


def test_what_others_write_shows_that_a_lease_is_over() -> None:
    scene = Scene()
    scene.ann().present(lease=MINUTE)
    scene.wait(MINUTE)
    scene.news()
    (departed,) = scene.team.admin.sweep().departed
    assert departed.identity.principal == "ann"


def test_what_a_sweeper_departs_for_teaches_the_log_no_wrong_moment() -> None:
    scene = Scene()
    scene.ann().present(lease=MINUTE)
    elapsed = [0.0]
    sweeper = Sweeper(scene.team._desk.writer, elapsed=lambda: elapsed[0])
    scene.now = START + 400 * HOUR
    assert len(sweeper.sweep().unjudged) == 1
    elapsed[0] = 60.0
    assert len(sweeper.sweep().departed) == 1
    assert scene.team._desk.log.learnt == START


def test_only_those_who_govern_say_that_a_clock_is_right() -> None:
    scene = Scene()
    scene.ann().present(lease=MINUTE)
    scene.wait(MINUTE)
    with pytest.raises(NotAllowedError, match="trust_clock"):
        scene.team.principal("mal").admin.sweep(trust_clock=True)
    assert len(scene.team.principal("boss").admin.sweep(trust_clock=True).departed) == 1


# A party to a contested slot.


class Contested(Scene):
    """Bea and ann each updated the hotel without knowing of the other."""

    def __init__(self, **policy: Any) -> None:
        super().__init__(**policy)
        self.duty(required=("hotel",))
        self.fact("h0", slot="hotel")
        for name in ("ann", "bea"):
            self.planner(name).depart()
            self.planner(name).come_back().expose()
        self.says("h1", "bea")
        self.says("h2", "ann")

    def planner(self, name: str) -> Any:
        return self.team.agent(name, role="planner", task="trip")

    def says(self, id: str, by: str, **fields: Any) -> None:
        self.wait(timedelta(seconds=1))
        self.fact(id, slot="hotel", by=by, sources=[self.team.observe(f"{id} is confirmed.", by=by)], **fields)

    def stands(self) -> set[str]:
        dora = self.planner("dora")
        dora.depart()
        return {*dora.come_back().items} - {"o"}


FOR_ITSELF: dict[str, Callable[[Contested], object]] = {
    "keeps its own": lambda it: it.team.resolve("concurrent-h2", keep=["h2"], by="ann"),
    "keeps both": lambda it: it.team.resolve("concurrent-h2", keep=["h1", "h2"], by="ann"),
    "keeps neither": lambda it: it.team.resolve("concurrent-h2", by="ann"),
    "the other side too": lambda it: it.team.resolve("concurrent-h2", keep=["h1"], by="bea"),
    "replaces the other": lambda it: it.team.supersede("h1", "h2", by="ann"),
    "replaces the other, other side": lambda it: it.team.supersede("h2", "h1", by="bea"),
    "through its own handle": lambda it: it.team.principal("ann").resolve("concurrent-h2", keep=["h2"]),
}


@pytest.mark.parametrize("way", FOR_ITSELF)
@pytest.mark.parametrize("overseers", [("boss",), ("ann", "bea")], ids=["a writer", "an overseer"])
def test_a_party_to_a_contested_slot_does_not_resolve_it_for_itself(way: str, overseers: tuple[str, ...]) -> None:
    scene = Contested(evidence={"overseers": overseers})
    before = scene.team.epoch
    with pytest.raises(NotAllowedError, match=r"may not (resolve|supersede).*Concede"):
        FOR_ITSELF[way](scene)
    assert scene.team.epoch == before
    assert scene.stands() == set()


def test_a_party_that_lost_does_not_turn_it_round() -> None:
    scene = Contested()
    scene.team.resolve("concurrent-h2", keep=["h1"], by="bob")
    with pytest.raises(NotAllowedError):
        scene.team.supersede("h1", "h2", by="ann")
    with pytest.raises(NotAllowedError):
        scene.team.resolve("concurrent-h2", keep=["h2"], by="ann")
    assert scene.stands() == {"h1"}


def test_an_overseer_does_not_overrule_for_its_own_side() -> None:
    scene = Contested(evidence={"overseers": ("ann", "boss")})
    with pytest.raises(NotAllowedError, match="Concede"):
        scene.team.admin.overrule("h2", by="ann", reason="mine", expires=HOUR)
    scene.team.admin.overrule("h2", by="boss", reason="I called them", expires=HOUR)
    assert scene.stands() == {"h2"}


CONCEDES: dict[str, Callable[[Contested], object]] = {
    "resolve": lambda it: it.team.resolve("concurrent-h2", keep=["h1"], by="ann"),
    "supersede": lambda it: it.team.supersede("h2", "h1", by="ann"),
}


@pytest.mark.parametrize("way", CONCEDES)
def test_a_party_concedes_its_own_side(way: str) -> None:
    scene = Contested()
    CONCEDES[way](scene)
    assert scene.stands() == {"h1"}


def test_a_party_restates_having_seen_both() -> None:
    scene = Contested()
    scene.says("h3", "ann", supersedes="h1")
    assert scene.stands() == {"h3"}


@pytest.mark.parametrize("by", ["bob", "boss", "owner"])
def test_somebody_else_resolves_it(by: str) -> None:
    scene = Contested()
    handle = scene.team.as_owner() if by == "owner" else scene.team.principal(by)
    handle.resolve("concurrent-h2", keep=["h2"])
    assert scene.stands() == {"h2"}
