"""Idempotent writes, and an audience index that never shows or hides wrongly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit import Identity, Pair, Workspace
from readmit.errors import ConflictError
from readmit.events import EventKind
from readmit.types import Item
from tests.conftest import examples
from tests.properties.team import START

names = ("ann", "bob")
scopes = st.fixed_dictionaries(
    {
        "principals": st.lists(st.sampled_from(names), unique=True, max_size=2),
        "roles": st.lists(st.sampled_from(["r", "s"]), unique=True, max_size=2),
        "task": st.sampled_from([None, "t", "u"]),
        "slot": st.sampled_from([None, None, "x", "y"]),
    }
)
EVERYONE = [
    Identity(workspace="default", principal=principal, role=role, task=task)
    for principal in (*names, "cy")
    for role in ("r", "s", "q")
    for task in ("t", "u", "v")
]


@given(st.lists(scopes, max_size=8))
@settings(max_examples=examples(50))
def test_the_index_shows_what_may_be_seen_and_slot_mates_of_it(made: list[dict[str, Any]]) -> None:
    with Workspace.open(clock=lambda: START) as team:
        items: list[Item] = []
        for number, scope in enumerate(made):
            team.record(f"statement {number}", by="bob", id=f"@bob/m{number}", **scope)
            items.append(team._desk.log.item(f"@bob/m{number}"))
        evidence = [
            team.observe(f"e{n}", by="bob", **{k: v for k, v in s.items() if k != "slot"}) for n, s in enumerate(made)
        ]
        for identity in EVERYONE:
            wanted = set()
            for number, item in enumerate(items):
                mates = [
                    one
                    for one in items[:number]
                    if item.slot and (one.slot, one.scope.task) == (item.slot, item.scope.task)
                ]
                if any(identity.may_see(one.scope) for one in (item, *mates)):
                    wanted.add(item.id)
            seen = team._desk.log.seen(identity, until=team.epoch)
            assert {event.payload.id for event in seen if isinstance(event.payload, Item)} == wanted
            observed = {event.digest for event in team._desk.log.observations(identity, until=team.epoch)}
            assert observed == {
                digest for digest, item in zip(evidence, items, strict=True) if identity.may_see(item.scope)
            }


def verbs(team: Workspace) -> None:
    """One of everything, each with an id."""
    source = team.observe("confirmed", by="bob", id="e")
    team.record("one", id="m", sources=[source], by="bob", slot="s", supports=["d"])
    team.record("two", id="n", sources=[source], by="bob", supersedes="m")
    team.oblige("do it", id="o", required=["d"], sources=[source], by="bob")
    team.progress("half way", id="f", obligation="o", sources=[source], by="bob")
    team.revoke("m", by="bob", id="v")
    team.close_validity("m", end=START, by="bob", id="c")
    team.dispute(["m", "n"], by="bob", id="q")
    team.resolve("q", keep=["n"], by="bob", id="a")
    team.judge(Pair(item="n", evidence=source), by="bob", id="s")
    ann = team.agent("ann", role="r", task="t")
    ann.remember("careful", bound_to="n", id="x")
    ann.depart(id="left")


def test_the_same_writes_again_change_nothing() -> None:
    with Workspace.open(clock=lambda: START) as team:
        verbs(team)
        before = team.epoch, [event.digest for event in team._desk.log.tail()]
        with pytest.raises(Exception, match="has departed"):
            verbs(team)  # up to ``remember``, which a departed agent may not
        assert (team.epoch, [event.digest for event in team._desk.log.tail()]) == before
        settled = team.settle("o", by="bob", id="z")
        assert team.settle("o", by="bob", id="z") == settled == team.epoch


def test_an_id_stands_for_one_content() -> None:
    with Workspace.open(clock=lambda: START) as team:
        verbs(team)
        before = team.epoch
        for attempt in (
            lambda: team.record("another", id="m", by="bob"),
            lambda: team.oblige("another", id="m", by="bob", required=[]),
            lambda: team.revoke("n", by="bob", id="v"),
            lambda: team.dispute(["n"], by="bob", id="q"),
            lambda: team.agent("bob", role="r", task="t").depart(id="left"),
        ):
            with pytest.raises(ConflictError, match="already used"):
                attempt()
        assert team.epoch == before


def test_a_batch_is_all_or_nothing() -> None:
    with Workspace.open(clock=lambda: START) as team:
        before = team.epoch

        def both() -> None:
            with team.batch():
                team.record("one", id="m", by="bob")
                team.record("two", id="m", by="bob")

        with pytest.raises(ConflictError):
            both()
        assert team.epoch == before
        assert team._desk.log.named(EventKind.RECORD, "m") is None
        with team.batch():
            team.record("one", id="m", by="bob")
            with pytest.raises(ConflictError):
                team.record("two", id="m", by="bob")
        assert team.epoch == before + 1
