"""The client against a real server: the same story, values and errors as with a file, and a server that goes away."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Answer, Pair, Policy, ReadmitError, Verdict, Workspace
from readmit.errors import CredentialError, NotAllowedError, RecordError, StoreError, UnknownError
from readmit.remote import RemoteWorkspace, connect, connect_async
from tests.server.hosting import OTHER, TEAM, hosted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.server.hosting import Hosted


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    folder = tmp_path_factory.mktemp("remote")
    for name in (TEAM, OTHER):
        Workspace.open(folder / "team.db", name=name, keys=folder / "keys").close()
    with hosted(folder / "team.db", keys=folder / "keys") as running:
        yield running


@pytest.fixture
def remote(host: Hosted) -> Iterator[RemoteWorkspace]:
    with connect(host.url, key="all", name=TEAM) as team:
        yield team


@pytest.fixture(params=["file", "server"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A handle of A1 on a file, or on a server. This is the line that changes."""
    if request.param == "file":
        with Workspace.open(tmp_path / "team.db", name=TEAM) as opened:
            yield opened.principal("A1")
    else:
        yield request.getfixturevalue("remote")


def test_one_story_on_a_file_and_on_a_server(team: Any) -> None:
    on = "trip" if isinstance(team, RemoteWorkspace) else "journey"
    seen = team.observe(f"Sunrise confirms for {on}.", source="message")
    until = "2099-01-01T00:00:00Z"
    h0 = team.record("Sunrise is booked", slot=f"hotel.{on}", sources=[seen], valid_until=until, task=on)
    pair = Pair(item=h0, evidence=seen)
    team.judge(pair, signal="eyes")
    team.judge(Verdict(pair=pair, answer=Answer.COMPATIBLE, confidence=Decimal("0.5")))
    duty = team.oblige("Book", required=[f"hotel.{on}"], roles=["planner"], task=on)
    agent = team.agent("A1", role="planner", task=on)
    left = agent.depart()
    assert agent.departed() == left
    change = team.observe_many([{"text": "Riverside confirms.", "task": on}, "Sunrise cancels."])[0]
    h1 = team.record("Riverside is booked", slot=f"hotel.{on}", sources=[change], task=on)
    returned = agent.come_back(purpose="booking")
    assert (returned.kind, returned.missing, set(returned.items)) == ("admitted", (), {duty, h1})
    bundle = returned.expose()
    assert "Riverside is booked" in bundle.markdown()
    assert {type(item).__name__ for item in bundle.items} == {"Obligation", "Fact"}
    again = agent.delivery(returned.id, secret=returned.secret)
    assert again.expose() == bundle
    again.acknowledge()
    past = team.returned(returned.id)
    assert (past.request.checkpoint, past.items, past.replay().matches) == (left.id, returned.items, True)
    assert {one.item: one.state for one in past.dispositions}[h0] == "superseded"
    assert str(past.explain(h0)) == str(returned.explain(h0))
    assert str(past.why()).startswith(f"Return {returned.id} of A1 (planner, {on}) was admitted")
    name = agent.remember("The lift is slow", bound_to=h1)
    assert [one.id for one in agent.recall()] == [name]
    with agent.subscribe() as subscription:
        team.revoke(h1, reason="flooded")
        assert {one.item for one in subscription.wait(30)} == {h1}
    presence = agent.present(lease=timedelta(minutes=5))
    first = presence.until
    assert presence.renew() >= first
    assert agent.now() < first


def planner(team: Any) -> Any:
    return team.agent("A1", role="planner", task="trip")


WRONG: dict[str, Callable[[Any], object]] = {
    "no id": lambda team: team.revoke("two words"),
    "an unknown item": lambda team: team.revoke("never"),
    "an unknown field": lambda team: team.record("x", slott="hotel"),
    "a misspelt argument": lambda team: team.revoke("h", reasn="x"),
    "no argument": lambda team: team.revoke(),
    "another writer": lambda team: team.observe("x", by="eve"),
    "another agent": lambda team: team.agent("eve", role="planner", task="trip"),
    "a reserved name": lambda team: team.principal("owner"),
    "no digest": lambda team: team.record("x", sources=["f1"]),
    "no moment": lambda team: team.close_validity("h", end="soon"),
    "no time zone": lambda team: team.observe("x", at="2026-01-01T00:00:00"),
    "an empty text": lambda team: team.observe(""),
    "too long a name": lambda team: team.agent("A1", role="x" * 300, task="trip"),
    "not departed": lambda team: team.agent("A1", role="planner", task="nowhere").come_back(),
    "an unknown return": lambda team: team.returned("never"),
    "no return": lambda team: team.returned("two words"),
    "a guessed secret": lambda team: planner(team).delivery("never", secret="x").expose(),
    "no verdict": lambda team: team.judge("h"),
    "a lease of no length": lambda team: planner(team).present(lease=0),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_an_error_is_the_same_on_a_file_and_on_a_server(case: str, remote: RemoteWorkspace, tmp_path: Path) -> None:
    said = []
    with Workspace.open(tmp_path / "team.db", name=TEAM) as opened:
        for team in (opened.principal("A1"), remote):
            with pytest.raises(ReadmitError) as raised:
                WRONG[case](team)
            said.append((type(raised.value), str(raised.value)))
    assert said[0] == said[1]


MISTYPED: dict[str, Callable[[Any], object]] = {
    "sources": lambda team: team.record("x", sources="f1"),
    "kind": lambda team: team.record("x", kind="rumour"),
    "text": lambda team: team.observe(7),
    "inherits": lambda team: team.record("x", inherits="yes"),
    "task": lambda team: team.observe("x", task=7),
}


@pytest.mark.parametrize("field", MISTYPED)
def test_a_value_of_a_wrong_type_is_refused_by_its_field(field: str, remote: RemoteWorkspace) -> None:
    with pytest.raises(RecordError, match=f"^{field}: "):
        MISTYPED[field](remote)


def test_a_batch_is_one_commit_with_its_results(remote: RemoteWorkspace) -> None:
    before = remote.epoch
    with remote.batch() as together:
        seen = together.observe_many(["one", "two"])
        item = together.record("It holds", id="batched", task="batches")
    assert (len(seen.value), item.value, remote.epoch) == (2, "batched", before + 3)
    together = remote.batch()
    together.observe("three")
    together.revoke("never")
    with pytest.raises(UnknownError), together:
        pass
    assert remote.epoch == before + 3


def test_what_it_holds_is_listed_page_after_page(remote: RemoteWorkspace) -> None:
    names = [f"listed/{number}?#%" for number in range(105)]
    for name in names:
        remote.record(f"Statement {name}", id=name, task="lists")
    assert [entry.item.id for entry in remote.listing.items(task="lists")] == names
    assert [entry.item.id for entry in remote.listing.items(task="lists", text="/12")] == [names[12], *names[120:]]
    assert remote.listing.item(names[3]).item.item.text == f"Statement {names[3]}"
    epochs = [entry.epoch for entry in remote.listing.log()]
    assert epochs == list(range(1, remote.epoch + 1))
    assert [entry.epoch for entry in remote.listing.log(after=len(epochs) - 2)] == epochs[-2:]
    assert remote.listing.proof(1).note == remote.listing.head().note
    assert len(remote.listing.keys()) == 1


def test_the_operators_listing_of_problems(remote: RemoteWorkspace) -> None:
    agent = remote.agent("A1", role="planner", task="checked")
    agent.depart()
    assert str(remote.doctor(agent)).startswith(f"Workspace {TEAM} at epoch {remote.epoch}: ")
    assert "A1 (planner, checked), away" in str(remote.doctor())


def test_an_agent_searches_its_view(remote: RemoteWorkspace) -> None:
    seen = remote.observe("The lift is slow.")
    remote.record("The lift takes a minute", id="lift", slot="lift", sources=[seen], task="searched")
    remote.oblige("Know the lift", required=["lift"], roles=["planner"], task="searched")
    agent = remote.agent("A1", role="planner", task="searched")
    agent.depart()
    agent.come_back().expose()
    assert "lift" in [one.id for one in agent.search("lift", limit=5).holds]
    remote.revoke("lift")
    assert "lift" not in [one.id for one in agent.search("lift").holds]


def test_rights_are_those_of_the_key(host: Hosted) -> None:
    with connect(host.url, key="agent", name=TEAM) as agent:
        agent.observe("I look around.")
        for refused in (
            lambda: agent.record("x"),
            lambda: list(agent.listing.items()),
            lambda: agent.admin.policy,
            lambda: agent.agent("A1", role="overlord", task="trip").depart(),
        ):
            with pytest.raises(NotAllowedError):
                refused()
    with connect(host.url, key="admin", name="new", policy=Policy(budgets={"items": 7})) as started:
        assert started.admin.policy.budgets.items == 7
        started.admin.govern(started.admin.policy.changed(budgets={"items": 8}))
        assert (started.admin.policy.budgets.items, started.admin.waiting(), started.admin.notices()) == (8, (), ())
    with pytest.raises(CredentialError):
        connect(host.url, key="guess", name=TEAM)
    for key in ("all", "rival"):
        with pytest.raises(UnknownError, match="no workspace 'nowhere' that this credential may reach"):
            connect(host.url, key=key, name="nowhere")


def test_an_event_loop(host: Hosted) -> None:
    async def story() -> None:
        async with connect_async(host.url, key="all", name=TEAM) as team:
            seen = await team.observe("Sunrise confirms.")
            item = await team.record("Sunrise is booked", slot="hotel.loop", sources=[seen], task="loop")
            await team.oblige("Book", required=["hotel.loop"], roles=["planner"], task="loop")
            agent = team.agent("A1", role="planner", task="loop")
            await agent.depart()
            stages: list[str] = []
            returned = await agent.come_back(progress=stages.append)
            assert (returned.admitted, item in returned.items, len(stages) > 1) == (True, True, True)
            bundle = await returned.expose()
            assert len(bundle.items) == 2
            past = await team.returned(returned.id)
            assert (await past.replay()).matches
            assert await team.admin.policy() == Policy()
            assert item in [entry.item.id async for entry in team.listing.items(task="loop")]
            async with team.batch() as together:
                epoch = together.revoke(item)
            async for fallen in agent.subscribe():
                assert fallen.item == item
                break
            assert await team.epoch() == epoch.value
            answers = await asyncio.gather(*(team.observe(f"at once {number}") for number in range(20)))
            assert len(set(answers)) == 20

    asyncio.run(asyncio.wait_for(story(), 120))


def test_a_server_that_is_started_again_is_waited_for(tmp_path: Path) -> None:
    place = tmp_path / "team.db"
    Workspace.open(place, name=TEAM, keys=tmp_path / "keys").close()
    with hosted(place, keys=tmp_path / "keys") as first:
        port = int(first.url.rpartition(":")[2])
        team = connect(first.url, key="all", name=TEAM)
        team.observe("before")
        agent = team.agent("A1", role="planner", task="trip")
        subscription = agent.subscribe()
    written: list[str] = []
    writing = threading.Thread(target=lambda: written.append(team.observe("while it was away")))
    writing.start()
    time.sleep(0.3)
    assert written == []
    with hosted(place, keys=tmp_path / "keys", port=port):
        writing.join(30)
        assert len(written) == 1
        texts = [entry.payload["text"] for entry in team.listing.log() if entry.kind == "observe"]
        assert texts == ["before", "while it was away"]
        subscription.close()
    with pytest.raises(StoreError, match="does not answer"):
        connect(first.url, key="all", name=TEAM, patience=0.2)
    team.close()
