"""A stricter value of a policy never admits more, whichever way leads to a view."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import pytest
from msgspec.structs import asdict

from readmit import Pair, Policy
from readmit.diagnosis.trial import FIT, rehearse
from readmit.errors import ExposureError, NotAllowedError
from readmit.events import Record
from readmit.inference import Inference, Settings, Signal
from readmit.types import Drafted
from tests.inference.world import Ruled, scored
from tests.keys import new_signer
from tests.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from readmit import Return
    from readmit.types import Disposition

ORDERS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "evidence.drafts": (("accept", "confirm", "refuse"),),
    "evidence.on_concurrent": (("newest", "ask"), (("bea",), "ask")),
    "evidence.writers_signed": (("optional", "required"),),
    "looks.sandbox": (("limits", "required"),),
    "paper.constraints": (("as_needed", "always"),),
    "paper.newest": (("as_needed", "always"),),
    "paper.on_unsure": (("exclude_critical", "exclude"),),
    # The greedy one does not find every cover; the other two do.
    "paper.selection": (("greedy_then_exact", "greedy"), ("cheapest", "greedy")),
    "returns.examination": (("optional", "required"),),
    "returns.fill": (("always", "nothing_owed", "never", "block"),),
    "returns.on_incomplete": (("partial", "reset", "block"),),
    "returns.require_frontier": ((False, True),),
}
"""For each literal of a policy its values, from the loosest to the strictest. Two that share no line do not compare."""
OF_THE_VIEW = {"returns.fill", "returns.on_incomplete"}
"""Those that decide how much of what stands is handed over: a stricter value then hands over a part of it."""


def literals(record: type[Record], within: str = "") -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every setting with a closed choice of values, also of records within."""
    for name, hint in get_type_hints(record).items():
        if isinstance(hint, type) and issubclass(hint, Record):
            yield from literals(hint, f"{within}{name}.")
        elif hint is bool:
            yield f"{within}{name}", (False, True)
        elif choices := [one for one in (hint, *get_args(hint)) if get_origin(one) is Literal]:
            yield f"{within}{name}", get_args(choices[0])


LITERALS = dict(literals(Policy))


def changed(policy: Policy, name: str, value: Any) -> Policy:
    group, _, setting = name.partition(".")
    return policy.changed(**{group: {setting: value}})


@pytest.mark.parametrize("name", LITERALS)
def test_every_literal_of_the_policy_has_an_order_of_strictness(name: str) -> None:
    assert name in ORDERS, f"say in ORDERS which value of {name} is stricter"
    assert {value for order in ORDERS[name] for value in order if not isinstance(value, tuple)} == set(LITERALS[name])


# What happens before ann comes back.


def plain(scene: Scene) -> None:
    scene.duty(critical=("d",))
    scene.fact("h", supports=["d"])
    scene.fact("beside")
    scene.depart()


def with_frontier(scene: Scene) -> None:
    plain(scene)
    scene.frontier()


def nothing_owed(scene: Scene) -> None:
    scene.fact("h")
    scene.fact("i")
    scene.depart()


def short(scene: Scene) -> None:
    """One duty is covered, the other is not."""
    plain(scene)
    scene.duty("p", required=("e",), critical=("e",))


def drafted(scene: Scene) -> None:
    said = scene.team.observe("We sleep at Sunrise.", by="bob")
    draft = Drafted(model="m", quote="We sleep at Sunrise.")
    scene.duty()
    scene.fact("h", text="We sleep at Sunrise.", supports=["d"], sources=[said], drafted=draft)
    scene.depart()


def confirmed(scene: Scene) -> None:
    drafted(scene)
    scene.team.confirm("h", by="bob")


def not_critical(scene: Scene) -> None:
    scene.duty()
    scene.fact("h", supports=["d"])
    scene.depart()


def suspected(scene: Scene) -> None:
    not_critical(scene)
    suspect(scene)


def suspect(scene: Scene) -> None:
    scene.team.judge(Pair(item="h", evidence=scene.news()), by="worker")


def inside(scene: Scene) -> None:
    """Of two statements in one view, the later ends the earlier."""
    scene.duty(required=("d_a", "d_b"))
    for name, text in (("a", "We meet at the pier."), ("b", "We no longer meet anywhere.")):
        scene.fact(name, text=text, supports=[f"d_{name}"], sources=[scene.news(text)])
    scene.depart()


def concurrent(scene: Scene) -> None:
    """Bea returns and updates the slot; cid, who has not seen it, does so too."""
    scene.duty(required=("hotel",))
    scene.fact("h0", slot="hotel")
    others = [scene.team.agent(name, role="planner", task="trip") for name in ("bea", "cid")]
    for agent in others:
        agent.depart()
    scene.depart()
    # Under a policy of their own, so that they have a view whatever is compared.
    policy = scene.team.admin.policy
    scene.team.as_owner().admin.govern(Policy())
    for agent in others:
        agent.come_back().expose()
    scene.team.as_owner().admin.govern(policy)
    for name in ("bea", "cid"):
        scene.fact(f"h-{name}", slot="hotel", by=name, sources=[scene.team.observe(f"{name} saw it.", by=name)])


def constrained(scene: Scene) -> None:
    """There is no room for the constraint beside what the duty needs."""
    plain(scene)
    scene.fact("c", kind="role_constraint")


def covered_by_few(scene: Scene) -> None:
    """Two items cover everything; whoever begins with the largest needs three."""
    scene.duty(required=tuple("abcdef"))
    for name, supports in (("large", "abcd"), ("odd", "ace"), ("even", "bdf")):
        scene.fact(name, supports=list(supports))
    scene.depart()


def replaced_by_a_long_text(scene: Scene) -> None:
    """There is no room for the newer of two items that meet the need."""
    not_critical(scene)
    scene.fact("n", text="a long text " * 20, supports=["d"], sources=[scene.news()])


@dataclass(frozen=True)
class Story:
    happens: Callable[[Scene], object]
    later: Callable[[Scene], object] = lambda _: None
    """What happens between the return and the exposure."""
    policy: Mapping[str, Any] = field(default_factory=dict)


STORIES = {
    "plain": Story(plain),
    "with a frontier": Story(with_frontier),
    "nothing owed": Story(nothing_owed),
    "one duty short": Story(short),
    "a draft": Story(drafted),
    "a draft that was confirmed": Story(confirmed),
    "a suspicion": Story(suspected),
    "a suspicion since": Story(not_critical, later=suspect),
    "an observation since": Story(not_critical, later=Scene.news),
    "a pair inside the view": Story(inside),
    "concurrent updates": Story(concurrent),
    "no room for a constraint": Story(constrained, policy={"budgets": {"items": 2}}),
    "a cover that greed misses": Story(
        covered_by_few, policy={"budgets": {"items": 3}, "paper": {"newest": "as_needed"}}
    ),
    "no room for the newest": Story(replaced_by_a_long_text, policy={"budgets": {"chars": 100}}),
}
DEFAULT = Policy(evidence={"overseers": ("boss",)})


# The ways to a view.


class Given(NamedTuple):
    """What a way leads to."""

    admitted: bool = False
    fit: frozenset[str] = frozenset()
    handed: frozenset[str] = frozenset()


def told(admitted: bool, judged: Iterable[Disposition], handed: Iterable[str]) -> Given:
    return Given(admitted, frozenset(one.item for one in judged if one.state in FIT), frozenset(handed))


def played(story: str, policy: Policy) -> Scene | None:
    """None if somebody may not write what the story needs."""
    policy = policy.changed(**STORIES[story].policy)
    unsigned = policy.changed(evidence={"writers_signed": "optional"})
    groups: dict[str, Any] = {name: asdict(getattr(unsigned, name)) for name in Policy.__struct_fields__}
    scene = Scene(**groups)
    govern(scene, policy)
    try:
        STORIES[story].happens(scene)
    except NotAllowedError:
        return None
    return scene


def govern(scene: Scene, policy: Policy) -> None:
    if policy == scene.team.admin.policy:
        return
    owner = scene.team.as_owner()
    if policy.evidence.writers_signed == "required":
        key = new_signer()
        owner = scene.team.as_owner(signer=key)
        owner.admin.writers.enrol("owner", key.public)
    owner.admin.govern(policy)


def prepared(scene: Scene) -> Return:
    """A later text that says "no longer" ends the statements that it is judged beside."""
    settings = Settings(signals=(Signal.SAME_SLOT,), linking=False)
    reader = Ruled(rules={"verify": lambda ask: scored(ask, lambda _, new: 0.9 if "no longer" in new else 0.0)})
    return Inference(scene.team, settings, verifier=reader).come_back(scene.ann())


def of_return(back: Return) -> Given:
    items = () if back.view is None else (item.id for item in back.view.items)
    return told(back.admitted, back.dispositions, items)


@cache
def decided(story: str, policy: Policy) -> Given:
    """A return, and its rehearsal right before: they are decided alike."""
    scene = played(story, policy)
    if scene is None:
        return Given()
    ann, team = scene.ann(), scene.team
    trial = rehearse(team._desk, ann.departed(), ann.identity, purpose=None)
    view = trial.decision.view
    found = told(trial.decision.admitted, trial.judged.values(), () if view is None else (one.id for one in view.items))
    assert found == of_return(ann.come_back())
    return found


@cache
def decided_prepared(story: str, policy: Policy) -> Given:
    scene = played(story, policy)
    return Given() if scene is None else of_return(prepared(scene))


@cache
def exposed(story: str, issued: Policy, policy: Policy) -> Given:
    """A view that was issued under one policy is asked for under another."""
    scene = played(story, issued)
    back = None if scene is None else prepared(scene)
    if scene is None or back is None or back.view is None:
        return Given()
    STORIES[story].later(scene)
    govern(scene, policy.changed(**STORIES[story].policy))
    try:
        back.expose()
    except ExposureError:
        return Given()
    items = frozenset(item.id for item in back.view.items)
    return Given(admitted=True, fit=items, handed=items)


WAYS: dict[str, Callable[[str, Policy, Policy], Given]] = {
    "return and rehearsal": lambda story, _, policy: decided(story, policy),
    "preparation": lambda story, _, policy: decided_prepared(story, policy),
    "exposure": exposed,
}
"""Each from a story, the policy that a view is issued under, and the one that decides."""


def every(_: str) -> list[str]:
    return list(STORIES)


def telling(name: str) -> list[str]:
    """The stories in which a return depends on a setting; one for a setting that no return depends on."""
    policies = [changed(DEFAULT, name, value) for order in ORDERS[name] for value in order]
    return [one for one in STORIES if len({decided(one, policy) for policy in policies}) > 1] or every(name)[:1]


@pytest.mark.parametrize(
    ("way", "stories"),
    [
        ("return and rehearsal", every),
        *((way, telling) for way in ("preparation", "exposure")),
        *(pytest.param(way, every, marks=pytest.mark.slow) for way in ("preparation", "exposure")),
    ],
)
@pytest.mark.parametrize("name", [name for name in ORDERS if name in LITERALS])
def test_a_stricter_value_never_admits_more(name: str, way: str, stories: Callable[[str], list[str]]) -> None:
    for order in ORDERS[name]:
        for looser, stricter in pairwise(changed(DEFAULT, name, value) for value in order):
            for story in stories(name):
                loose, strict = WAYS[way](story, looser, looser), WAYS[way](story, looser, stricter)
                assert loose.admitted or not strict.handed, story
                assert strict.handed <= (loose.handed if name in OF_THE_VIEW else loose.fit), story


@pytest.mark.parametrize("name", sorted(LITERALS.keys() - {"looks.sandbox"}))
def test_the_stories_tell_the_loosest_from_the_strictest(name: str) -> None:
    """A literal that decides what is admitted does so in one of them, so that the comparison above can fail."""
    for order in ORDERS[name]:
        loosest, strictest = (changed(DEFAULT, name, value) for value in (order[0], order[-1]))
        assert any(decided(story, loosest) != decided(story, strictest) for story in STORIES)
