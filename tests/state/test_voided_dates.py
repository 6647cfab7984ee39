"""One write from a host whose clock says 2060, or 9999: who can move the log's moment, and how its date is voided."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Policy, Reason, Workspace
from readmit.backends import ScopedMem
from readmit.diagnosis.export import prov_document
from readmit.diagnosis.item_states import read_items
from readmit.errors import ExposureError, LeaseError, NotAllowedError, QuarantineError, RecordError, UnknownError
from readmit.events import EventKind
from readmit.lab import as_readmit
from readmit.memory import Memory
from readmit.pages.gather_slot import slot_values
from readmit.state.load import requested
from readmit.types import Sweeper
from tests.cli.run import paste
from tests.diagnosis.prov_order import violations
from tests.scene import HOUR, START, Scene, audited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.postgres import Server

MINUTE = timedelta(minutes=1)
FAR = {"2060": datetime(2060, 1, 1, tzinfo=UTC), "9999": datetime(9999, 12, 30, tzinfo=UTC)}
far = pytest.mark.parametrize("year", FAR)


@contextmanager
def host(scene: Scene, year: str) -> Iterator[None]:
    """What happens meanwhile happens on a host whose clock says this year."""
    true = scene.now
    scene.now = FAR[year]
    yield
    scene.now = true


def jump(scene: Scene, year: str = "2060", by: str = "bob") -> int:
    """An observation from such a host: its epoch."""
    with host(scene, year):
        scene.team.observe("Good morning.", by=by)
    return scene.team.epoch


# Whose clocks move the log's moment.

OUTSIDER: dict[str, Callable[[Scene], object]] = {
    "observes": lambda scene: scene.team.observe("Good morning.", by="eve"),
    "observes several": lambda scene: scene.team.observe_many(["one", "two"], by="eve"),
    "records": lambda scene: scene.fact("x", by="eve"),
    "departs": lambda scene: scene.team.agent("eve", role="planner", task="trip").depart(),
    "is present": lambda scene: scene.team.agent("eve", role="planner", task="trip").present(lease=60),
}


@far
@pytest.mark.parametrize("act", OUTSIDER)
def test_one_who_is_not_an_allowed_writer_does_not_move_the_logs_moment(act: str, year: str) -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    scene.covered()
    scene.depart()
    with host(scene, year):
        OUTSIDER[act](scene)
        with scene.team.batch():
            scene.team.observe("Good evening.", by="eve")
            scene.team.observe("Good night.", by="eve")
    assert scene.team._desk.writer.now() == START
    assert scene.come_back().admitted
    assert not audited(scene.team, full=True).problems


def test_a_returning_agent_that_is_no_writer_does_not_move_it_either() -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    scene.covered()
    scene.depart()
    with host(scene, "2060"):
        bundle = scene.come_back()
        bundle.expose()
        bundle.acknowledge()
    assert scene.team._desk.writer.now() == START


def rolled_back(scene: Scene) -> None:
    """A policy that does not come into force."""
    with scene.team.batch():
        scene.team.as_owner().admin.govern(Policy())
        scene.team.observe("Good afternoon.", by="eve")
        _ = 1 / 0


def test_the_policy_in_force_says_who_is_an_allowed_writer() -> None:
    scene = Scene()
    with scene.team.batch():
        scene.team.as_owner().admin.govern(Policy(evidence={"writers": ("bob",)}))
        with host(scene, "2060"):
            scene.team.observe("Good morning.", by="eve")
        with pytest.raises(ZeroDivisionError):
            rolled_back(scene)
        with host(scene, "2060"):
            scene.team.observe("Good evening.", by="eve")
    assert scene.team._desk.writer.now() == START
    scene.wait(MINUTE)
    scene.team.observe("Good night.", by="bob")
    assert scene.team._desk.log.learnt == START + MINUTE


# The blocked return names the event, its writer and the command.


@far
def test_the_blocked_return_names_the_event_its_writer_and_the_command_and_the_command_mends_it(
    tmp_path: Path, year: str
) -> None:
    db = tmp_path / "team.db"
    with Workspace.open(db, policy=Policy(evidence={"overseers": ("boss",)})) as team:
        source = team.observe("Both confirm.", by="bob")
        team.oblige("Know the hotel", id="o", required=["hotel"], by="bob")
        team.record("Sunrise", id="h", slot="hotel", sources=[source], by="bob")
        team.record("Night train", id="t", slot="train", sources=[source], by="bob")
        team.agent("A1", role="planner", task="trip").depart()
    with Workspace.open(db, clock=lambda: FAR[year]) as team:
        team.revoke("t", by="carol", reason="cancelled")
        moved = team.epoch
        team.observe("Good morning.", by="carol")
    with Workspace.open(db) as team:
        agent = team.agent("A1", role="planner", task="trip")
        blocked = agent.come_back()
        assert blocked.reasons == (Reason.CLOCK_SKEW,)
        command = f"readmit admin void {moved} --by boss"
        for said in (blocked.decision.note, str(blocked.why()), str(team.doctor())):
            assert f"'carol' wrote event {moved} (revoke)" in said
            assert command in said
        assert f'workspace.admin.void({moved}, by="boss")' in {one.call for one in blocked.why().symptoms[0].remedies}
    assert "what it says stays in effect" in paste(command, db).output
    with Workspace.open(db) as team:
        assert team.returned(blocked.id).replay().matches
        agent = team.agent("A1", role="planner", task="trip")
        returned = agent.come_back()
        assert returned.items == ("o", "h")
        assert next(one for one in returned.dispositions if one.item == "t").reasons == (Reason.REVOKED,)
        assert "Sunrise" in returned.expose().markdown()
        assert team.returned(blocked.id).replay().matches
        assert team.returned(returned.id).replay().matches
        assert not audited(team, full=True).problems


def test_without_overseers_the_owner_voids() -> None:
    scene = Scene(evidence={"overseers": ()})
    scene.covered()
    scene.depart()
    moved = jump(scene)
    note = scene.come_back().decision.note
    assert f"`readmit admin void {moved} --as-owner`" in note
    scene.team.as_owner().admin.void(moved, reason="its host said 2060")
    assert scene.come_back().admitted


def test_the_first_event_beyond_the_limit_is_named_and_voiding_it_is_enough() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    scene.wait(HOUR / 2)
    scene.news("half an hour ahead is allowed")
    scene.wait(-HOUR / 2)
    moved = jump(scene, "2060")
    jump(scene, "9999", by="carol")
    scene.news("after both")
    assert f"event {moved} (observe)" in scene.come_back().decision.note
    scene.team.admin.void(moved, by="boss")
    assert scene.team._desk.writer.now() == START + HOUR / 2
    assert scene.come_back().admitted


@far
def test_a_second_jump_is_named_and_voided_like_the_first(year: str) -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    for _ in range(3):
        moved = jump(scene, year)
        assert f"`readmit admin void {moved} --by boss`" in scene.come_back().decision.note
        scene.team.admin.void(moved, by="boss")
        assert scene.come_back().admitted
        scene.wait(MINUTE)
    assert not audited(scene.team, full=True).problems


# Who may void, and what.

REFUSED: dict[str, tuple[Callable[[Scene, int], object], type[Exception], str]] = {
    "by a writer": (lambda scene, at: scene.team.admin.void(at, by="bob"), NotAllowedError, "'bob' may not void"),
    "by the host's own writer": (
        lambda scene, at: scene.team.admin.void(at, by="carol"),
        NotAllowedError,
        "may not void",
    ),
    "by readmit": (lambda scene, at: as_readmit(scene.team).admin.void(at), NotAllowedError, "may not void"),
    "no such event": (lambda scene, _: scene.team.admin.void(99, by="boss"), UnknownError, "no event 99"),
    "event 0": (lambda scene, _: scene.team.admin.void(0, by="boss"), RecordError, "event"),
    "an earlier one": (lambda scene, at: scene.team.admin.void(at - 1, by="boss"), RecordError, "by 'carol' did"),
    "a later one": (lambda scene, at: scene.team.admin.void(at + 1, by="boss"), RecordError, "by 'carol' did"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_void_that_may_not_be_or_changes_nothing_is_refused(case: str) -> None:
    scene = Scene()
    moved = jump(scene, by="carol")
    scene.news()
    act, error, words = REFUSED[case]
    head = scene.team.epoch
    with pytest.raises(error, match=words):
        act(scene, moved)
    assert scene.team.epoch == head
    scene.team.admin.void(moved, by="boss", id="v")
    scene.team.admin.void(moved, by="boss", id="v")
    assert scene.team.epoch == head + 1
    with pytest.raises(RecordError, match="is void already"):
        scene.team.admin.void(moved, by="boss")


def test_nothing_is_voided_on_a_host_whose_own_clock_is_as_far_ahead() -> None:
    scene = Scene()
    moved = jump(scene)
    with host(scene, "9999"), pytest.raises(RecordError, match="did not move the log's moment ahead of the clock"):
        scene.team.admin.void(moved, by="boss")


# The order.


def said(scene: Scene, id: str, **observed: Any) -> None:
    source = scene.team.observe(f"what {id} rests on", by="bob", **observed)
    scene.fact(id, slot="hotel", sources=[source])


def standing(scene: Scene) -> tuple[str, ...]:
    return tuple(name for name in scene.away().items if name != "o")


@far
def test_voiding_does_not_reorder_undated_statements(year: str) -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    said(scene, "h0")
    moved = scene.team.epoch + 1
    with host(scene, year):
        said(scene, "h1")
    said(scene, "h2")
    scene.team.admin.void(moved, by="boss")
    assert standing(scene) == ("h2",)
    said(scene, "h3")
    assert standing(scene) == ("h3",)
    scene.wait(HOUR)
    scene.team.revoke("h3", by="bob")
    assert standing(scene) == ()


def test_a_dated_statement_counts_from_its_date_but_never_from_later_than_the_void() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    scene.wait(24 * HOUR)
    with host(scene, "2060"):
        moved = scene.team.epoch + 1
        said(scene, "dated2050", at=datetime(2050, 1, 1, tzinfo=UTC))
    said(scene, "undated")
    said(scene, "dated-back", at=START)
    scene.team.admin.void(moved, by="boss")
    assert standing(scene) == ("undated",)
    scene.wait(HOUR)
    said(scene, "dated-since", at=scene.now - MINUTE)
    assert standing(scene) == ("dated-since",)


def test_an_act_with_a_date_that_had_passed_only_by_the_void_moment_waits_for_it() -> None:
    scene = Scene()
    scene.covered()
    moved = jump(scene)
    scene.team.revoke("h", by="bob", at=START + 48 * HOUR)
    scene.team.admin.void(moved, by="boss")
    assert scene.away().admitted
    scene.wait(49 * HOUR)
    assert not scene.away().admitted


def test_decisions_from_before_during_and_after_replay_to_the_same_bytes() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    said(scene, "h0")
    decided = [scene.away()]
    with host(scene, "2060"):
        said(scene, "h1")
        scene.fact("h9", slot="hotel", valid_from=datetime(2050, 1, 1, tzinfo=UTC))
        decided.append(scene.away())
    decided.append(scene.away())
    moved = next(event.epoch for event in scene.team._desk.log.tail() if event.learnt > START)
    scene.team.admin.void(moved, by="boss")
    decided.append(scene.away())
    assert [one.kind for one in decided] == ["admitted", "admitted", "blocked", "admitted"]
    for one in decided:
        assert scene.team.returned(one.id).replay().matches


# Everything that uses the log's moment recovers.


def test_an_exposure_recovers() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    issued = scene.come_back()
    moved = jump(scene)
    with pytest.raises(ExposureError, match=f"`readmit admin void {moved} --by boss`"):
        issued.expose()
    scene.team.admin.void(moved, by="boss")
    assert "the text of h" in issued.expose().markdown()


def test_a_view_that_was_issued_at_a_void_moment_is_not_handed_over() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    moved = jump(scene)
    with host(scene, "2060"):
        issued = scene.come_back()
    assert issued.admitted
    scene.team.admin.void(moved, by="boss")
    with pytest.raises(ExposureError, match="view_expired"):
        issued.expose()


def test_memory_reads_recover() -> None:
    scene = Scene()
    scene.covered()
    scene.depart()
    memory = Memory(scene.team, ScopedMem(scene.team._desk.log.memories, scene.team.name))
    memory.form("Sunrise is booked", sources=["h"], by="bob")
    handle = memory.returned(scene.come_back().expose())
    moved = jump(scene)
    with pytest.raises(QuarantineError, match=f"readmit admin void {moved}"):
        handle.search("Sunrise")
    scene.team.admin.void(moved, by="boss")
    assert [hit.text for hit in handle.search("Sunrise")] == ["Sunrise is booked"]


def test_sweeping_recovers_and_a_lease_from_a_void_moment_runs_from_the_void() -> None:
    scene = Scene()
    scene.covered()
    scene.ann().present(lease=MINUTE)
    with host(scene, "2060"):
        moved = scene.team.epoch + 1
        scene.team.agent("carl", role="planner", task="trip").present(lease=MINUTE)
    with pytest.raises(LeaseError, match=f"readmit admin void {moved}"):
        scene.team.admin.sweep()
    scene.team.admin.void(moved, by="boss")
    assert scene.team.admin.sweep().departed == ()
    scene.wait(MINUTE)
    assert {one.identity.principal for one in scene.team.admin.sweep(trust_clock=True).departed} == {"ann", "carl"}


def test_a_lease_of_an_agent_that_is_no_writer_and_whose_clock_is_ahead_ends_once_a_sweeper_has_watched_it() -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    with host(scene, "2060"):
        scene.team.agent("carl", role="planner", task="trip").present(lease=MINUTE)
    elapsed = [0.0]
    sweeper = Sweeper(scene.team._desk.writer, elapsed=lambda: elapsed[0])
    assert sweeper.sweep().departed == ()
    elapsed[0] = 61.0
    assert [one.identity.principal for one in sweeper.sweep().departed] == ["carl"]
    assert scene.team._desk.writer.now() == START


def test_an_overrule_from_a_void_moment_lasts_as_long_as_it_was_granted_for() -> None:
    scene = Scene()
    scene.covered()
    moved = jump(scene)
    scene.team.revoke("h", by="bob")
    scene.team.admin.overrule("h", by="boss", reason="asked them", expires=HOUR)
    scene.team.admin.void(moved, by="boss")
    assert scene.away().admitted
    scene.wait(HOUR)
    assert not scene.away().admitted


def test_limits_recover() -> None:
    scene = Scene(limits={"invalidations": 2, "duties": 2, "window_seconds": 60})
    for name in "abcd":
        scene.fact(name)
    moved = jump(scene, by="carol")
    for name in "ab":
        scene.team.revoke(name, by="bob")
        scene.duty(f"o{name}")
    scene.team.admin.void(moved, by="boss")
    scene.wait(2 * MINUTE)
    for name in "cd":
        scene.team.revoke(name, by="bob")
        scene.duty(f"o{name}")
    assert scene.team.admin.waiting() == ()
    assert not audited(scene.team, full=True).problems


def test_what_is_listed_and_shown_recovers() -> None:
    scene = Scene()
    scene.duty(required=("hotel",))
    said(scene, "h")
    moved = jump(scene)
    scene.team.revoke("h", by="bob")
    scene.team.admin.overrule("h", by="boss", reason="asked them", expires=HOUR)
    said(scene, "ahead", at=datetime(2050, 1, 1, tzinfo=UTC))
    scene.team.admin.void(moved, by="boss")
    said(scene, "since")
    scene.wait(2 * HOUR)
    stands = {"since"}
    listed = read_items(scene.team._desk.log, scene.team.admin.policy, scene.team._desk.writer.now()).items
    assert {name for name, one in listed.items() if one.state is None and name != "o"} == stands
    page = slot_values(scene.team._desk.log, "hotel", now=scene.team._desk.writer.now(), task="trip")
    assert set(page.moments[-1].standing) == stands
    assert violations(str(prov_document(scene.team._desk.log).serialize(format="json"))) == []


def test_a_departure_counts_from_no_later_than_the_log_learnt_it() -> None:
    scene = Scene(evidence={"writers": ("bob",)})
    scene.covered()
    with host(scene, "2060"):
        scene.depart()
    returned = scene.come_back()
    departed = scene.team._desk.log.departure(returned.request.checkpoint)
    assert departed.at == FAR["2060"]
    assert requested(scene.team._desk.log, departed, returned.request).checkpoint.at == START


# A server has a clock of its own.


def off_by(skew: timedelta) -> datetime:
    return datetime.now(UTC) + skew


@pytest.mark.parametrize("year", ["2060", "9999", "1999"])
def test_on_postgresql_a_write_whose_clock_differs_from_the_servers_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, year: str
) -> None:
    monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))
    url = server.url(f"clock{year}", simulated=False)
    wrong = FAR.get(year, datetime(1999, 1, 1, tzinfo=UTC))
    with pytest.raises(NotAllowedError, match=r"clock: this host says .*, and the database server .*max_clock_skew"):
        Workspace.open(url, clock=lambda: wrong)
    with Workspace.open(url) as team:
        team.observe("Both confirm.", by="bob")
        head = team.epoch
    with Workspace.open(url, clock=lambda: wrong) as team:
        for act in (
            lambda: team.observe("Good morning.", by="bob"),
            lambda: team.observe_many(["one", "two"], by="bob"),
            lambda: team.agent("A1", role="planner", task="trip").depart(),
            lambda: team.as_owner().admin.govern(Policy(returns={"max_clock_skew": 10**9})),
        ):
            with pytest.raises(NotAllowedError, match="set this host's clock right"):
                act()
        with pytest.raises(NotAllowedError, match="set this host's clock right"), team.batch():
            team.observe("Good morning.", by="bob")
        assert team.epoch == head
    for skew in (timedelta(minutes=50), timedelta(minutes=-50)):
        with Workspace.open(url, clock=partial(off_by, skew)) as team:
            team.observe("Good morning.", by="bob")


def test_simulated_time_is_declared_in_the_url(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))
    with Workspace.open(server.url("simulated"), clock=lambda: FAR["2060"]) as team:
        team.observe("Good morning.", by="bob")
        assert team._desk.log.event(team.epoch).kind is EventKind.OBSERVE
