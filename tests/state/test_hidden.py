"""What a principal may not see does not exist for it, whichever verb and name it tries."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit import Answer, Pair, Verdict, Workspace
from readmit.errors import NotAllowedError, UnknownError
from readmit.events import EventKind
from readmit.lab import as_readmit
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    Attempt = Callable[[Scene, str, str], object]


def judged(scene: Scene, item: str) -> Verdict:
    return Verdict(pair=Pair(item=item, evidence=scene.source), answer=Answer.UNSURE, confidence=Decimal(1))


NAMING: dict[str, Attempt] = {
    "supersede": lambda scene, item, by: scene.team.supersede(item, "h", by=by),
    "supersede by": lambda scene, item, by: scene.team.supersede("h", item, by=by),
    "revoke": lambda scene, item, by: scene.team.revoke(item, by=by),
    "close": lambda scene, item, by: scene.team.close_validity(item, end=scene.now, by=by),
    "settle": lambda scene, item, by: scene.team.settle(item, by=by),
    "dispute": lambda scene, item, by: scene.team.dispute([item], by=by),
    "dispute among others": lambda scene, item, by: scene.team.dispute(["h", item], by=by),
    "suspect": lambda scene, item, by: scene.team.judge(Pair(item=item, evidence=scene.source), by=by),
    "judge": lambda scene, item, by: scene.team.judge(judged(scene, item), by=by),
    "remember": lambda scene, item, by: scene.team.agent(by, role="r", task="t").remember("x", bound_to=item),
    "depends_on": lambda scene, item, by: scene.team.record("x", by=by, depends_on=[item]),
    "supersedes": lambda scene, item, by: scene.team.record("x", by=by, supersedes=item),
    "inherits": lambda scene, item, by: scene.team.record(
        "x", by=by, sources=[scene.source], supersedes=item, inherits=True
    ),
    "progress": lambda scene, item, by: scene.team.progress("x", by=by, obligation=item),
}
SCOPES: dict[str, dict[str, Any]] = {
    "private": {"principals": ["cy"], "private": True},
    "for named principals": {"principals": ["cy"]},
}

HANDLES: dict[str, Callable[[Workspace], Workspace]] = {
    **dict.fromkeys(("bob", "cy", "boss"), lambda team: team),
    "owner": Workspace.as_owner,
    "readmit": as_readmit,
}


def secret(scope: str) -> Scene:
    scene = Scene()
    scene.fact("h")
    scene.fact("@bob/theirs", **SCOPES[scope])
    return scene


def refusal(attempt: Callable[[], object]) -> tuple[type[Exception], str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever it is, it is compared
        attempt()
    return caught.type, str(caught.value)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("verb", NAMING)
def test_a_hidden_item_is_refused_like_an_unknown_one(verb: str, scope: str) -> None:
    scene = secret(scope)
    before = scene.team.epoch
    hidden = refusal(lambda: NAMING[verb](scene, "@bob/theirs", "eve"))
    unknown = refusal(lambda: NAMING[verb](scene, "nobody", "eve"))
    assert hidden == (unknown[0], unknown[1].replace("nobody", "@bob/theirs"))
    assert hidden == (UnknownError, "no item '@bob/theirs' in workspace 'default'; record it first")
    assert scene.team.epoch == before


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("who", HANDLES)
def test_an_agent_that_may_see_it_may_build_on_it(scope: str, who: str) -> None:
    HANDLES[who](secret(scope).team).record("x", by=who, depends_on=["@bob/theirs"])


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("who", ["bob", "boss", "owner", "readmit"])
def test_its_author_and_overseers_may_end_it(scope: str, who: str) -> None:
    team = HANDLES[who](secret(scope).team)
    team.dispute(["@bob/theirs"], by=who)
    team.revoke("@bob/theirs", by=who)


def test_a_dispute_about_a_hidden_item_is_unknown() -> None:
    scene = secret("private")
    name = scene.team.dispute(["h", "@bob/theirs"], by="bob", id="@bob/quarrel")
    for keep in ([], ["h"], ["@bob/theirs"], ["nobody"]):
        hidden = refusal(partial(scene.team.resolve, name, keep=keep, by="eve"))
        unknown = refusal(partial(scene.team.resolve, "nobody", keep=keep, by="eve"))
        assert hidden == (unknown[0], unknown[1].replace("nobody", name))
    scene.team.resolve(name, keep=["h"], by="boss")


def test_a_dispute_about_a_private_item_is_resolved_by_its_author_and_overseers_not_by_its_reader() -> None:
    scene = secret("private")
    name = scene.team.dispute(["h", "@bob/theirs"], by="bob", id="@bob/quarrel")
    before = scene.team.epoch
    with pytest.raises(NotAllowedError, match="'cy' may not resolve '@bob/theirs': a private item is for its author"):
        scene.team.resolve(name, keep=["@bob/theirs"], by="cy")
    assert scene.team.epoch == before
    scene.team.resolve(name, keep=["h"], by="bob")
    scene.team.resolve(name, keep=["@bob/theirs"], by="boss")


def test_a_dispute_about_what_is_shared_with_named_principals_is_theirs_to_resolve() -> None:
    scene = secret("for named principals")
    scene.team.dispute(["h", "@bob/theirs"], by="bob", id="@bob/quarrel")
    scene.team.resolve("@bob/quarrel", keep=["@bob/theirs"], by="cy")


def test_a_role_is_no_secret() -> None:
    """A role is not authenticated when something is written, so it hides nothing here."""
    scene = Scene()
    scene.fact("h", roles=["planner"])
    scene.team.revoke("h", by="eve")


def test_a_private_note_gives_no_name_its_meaning() -> None:
    """Otherwise an error about a name would reveal what another agent keeps private."""
    scene = Scene()
    scene.fact("@bob/note", slot="hotel", supports=["d"], principals=["cy"], private=True)
    scene.fact("a", supports=["hotel"])
    scene.fact("b", slot="d")


def test_nobody_writes_a_departure_in_anothers_name() -> None:
    scene = Scene()
    left = scene.ann().depart(id="left")
    scene.ann().come_back().expose()
    before = scene.team.epoch
    forged = msgspec.structs.replace(left, id="again")
    with pytest.raises(NotAllowedError, match="in the name of 'ann'"):
        scene.team._desk.writer.write(EventKind.DEPART, forged, by="eve", id="again")
    assert scene.team.epoch == before


TOUCHING = ("supersede", "revoke", "close", "dispute", "suspect", "judge")


@pytest.mark.parametrize("verb", TOUCHING)
def test_a_private_item_is_judged_by_its_author_and_overseers_not_by_its_reader(verb: str) -> None:
    scene = secret("private")
    with pytest.raises(NotAllowedError, match="for its author and the overseers"):
        NAMING[verb](scene, "@bob/theirs", "cy")
    NAMING[verb](scene, "@bob/theirs", "bob")
    NAMING[verb](scene, "@bob/theirs", "boss")


@pytest.mark.parametrize("verb", TOUCHING)
def test_what_is_shared_with_named_principals_is_theirs_to_judge(verb: str) -> None:
    NAMING[verb](secret("for named principals"), "@bob/theirs", "cy")
