"""An agent that is away settles nothing that its own return depends on.

One row for each kind of event. ``docs/guide/recovery.md`` has the same table in words, and is compared with this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from readmit import Answer, Pair, Policy, Verdict, Workspace
from readmit.errors import NotAllowedError, RateError
from readmit.records.acts.kinds import KINDS
from readmit.types import Drafted
from tests.scene import HOUR, Scene

if TYPE_CHECKING:
    from collections.abc import Callable

WHO: dict[str, Any] = {"role": "planner", "task": "trip"}
POLICY: dict[str, Any] = {"evidence": {"overseers": ("boss", "ann")}}
SAID = "The hotel and the train confirm."
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "recovery.md"


def scene(**policy: Any) -> Scene:
    """Everything that ann, who is away from the trip, could decide something about. Others wrote all of it."""
    made = Scene(**{**policy, "evidence": {**POLICY["evidence"], **policy.get("evidence", {})}})
    team = made.team
    team.oblige("Book the hotel", id="o", required=["hotel"], by="bob", task="trip")
    team.oblige("Book another hotel", id="o2", required=["hotel"], by="bob", task="trip")
    for name in ("old", "new", "struck", "argued", "doubted", "loose"):
        made.fact(name, task="trip", **({"slot": "hotel"} if name in ("old", "new") else {}))
    team.progress("The hotel is open", id="f", obligation="o", sources=[made.source], by="bob", task="trip")
    team.record("Never pay over 300", id="c", kind="role_constraint", sources=[made.source], by="bob", task="trip")
    team.record(
        "Riverside", id="later", slot="car", sources=[made.source], by="bob", task="trip", valid_from=made.now + HOUR
    )
    made.fact("drafted", text=SAID, task="trip", drafted=Drafted(model="m", quote=SAID))
    team.agent("ann", **WHO).depart()
    team.revoke("struck", by="bob")
    team.dispute(["argued"], by="bob", id="q")
    team.judge(Pair(item="doubted", evidence=team.observe("It may differ", by="bob")), by="bob")
    return made


def verdict(made: Scene, answer: Answer) -> Verdict:
    doubt = made.team._desk.log.about(["doubted"], until=made.team.epoch)[-1].payload
    return Verdict(pair=Pair(item="doubted", evidence=doubt.pair.evidence), answer=answer, confidence=Decimal(1))  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Act:
    """Something that a principal can write."""

    kind: str
    settles: bool
    """Whether the return of whoever writes it may depend on it: refused while away."""
    write: Callable[[Scene, str], object]


def _govern(made: Scene, by: str) -> object:
    return made.team.admin.govern(Policy(paper={"gamma": Decimal("0.1")}, **POLICY), by=by)


ACTS: dict[str, Act] = {
    "settle a duty": Act("settle", True, lambda it, by: it.team.settle("o", by=by)),
    "withdraw a duty": Act("revoke", True, lambda it, by: it.team.revoke("o", by=by)),
    "replace a duty": Act("supersede", True, lambda it, by: it.team.supersede("o", "o2", by=by)),
    "withdraw a frontier": Act("revoke", True, lambda it, by: it.team.revoke("f", by=by)),
    "end a frontier": Act("close", True, lambda it, by: it.team.close_validity("f", end=it.now, by=by)),
    "withdraw a constraint": Act("revoke", True, lambda it, by: it.team.revoke("c", by=by)),
    "end a constraint": Act("close", True, lambda it, by: it.team.close_validity("c", end=it.now, by=by)),
    "withdraw what has not begun": Act("revoke", True, lambda it, by: it.team.revoke("later", by=by)),
    "end what has not begun": Act(
        "close", True, lambda it, by: it.team.close_validity("later", end=it.now + HOUR, by=by)
    ),
    "replace a fact": Act("supersede", True, lambda it, by: it.team.supersede("new", "old", by=by)),
    "record what replaces a fact by name": Act(
        "record", True, lambda it, by: it.team.record("x", by=by, sources=[it.source], task="trip", supersedes="new")
    ),
    "resolve a dispute": Act("resolve", True, lambda it, by: it.team.resolve("q", keep=["argued"], by=by)),
    "judge that an item of another stands": Act(
        "judge", True, lambda it, by: it.team.judge(verdict(it, Answer.COMPATIBLE), by=by)
    ),
    "judge that an item of another falls": Act(
        "judge", True, lambda it, by: it.team.judge(verdict(it, Answer.INVALIDATES), by=by)
    ),
    "link an item to a need": Act("link", True, lambda it, by: it.team.link("loose", "hotel-again", by=by)),
    "confirm a draft": Act("confirm", True, lambda it, by: it.team.confirm("drafted", by=by)),
    "overrule a rejection": Act(
        "overrule",
        True,
        lambda it, by: it.team.admin.overrule("struck", by=by, reason="r", expires=timedelta(hours=9)),
    ),
    "forget a text": Act("forget", True, lambda it, by: it.team.admin.forget("loose", reason="r", by=by)),
    "change the policy": Act("govern", True, _govern),
    "give another agent another role": Act(
        "reassign", True, lambda it, by: it.team.admin.reassign("cy", task="trip", was="planner", role="booker", by=by)
    ),
    "void the date of an event": Act("void", True, lambda it, by: it.team.admin.void(ahead(it), by=by)),
    "approve what waits": Act("approve", True, lambda it, by: it.team.admin.approve(waiting(it), by=by)),
    "decline what waits": Act("decline", True, lambda it, by: it.team.admin.decline(waiting(it), by=by)),
    "observe": Act("observe", False, lambda it, by: it.team.observe("Seen.", by=by)),
    "record a fact": Act("record", False, lambda it, by: it.team.record("x", by=by, sources=[it.source], task="trip")),
    "open a duty": Act("open", False, lambda it, by: it.team.oblige("Pay", required=["money"], by=by, task="trip")),
    "move a frontier": Act(
        "move", False, lambda it, by: it.team.progress("Open", obligation="o", by=by, sources=[it.source], task="trip")
    ),
    "withdraw a fact": Act("revoke", False, lambda it, by: it.team.revoke("loose", by=by)),
    "end a fact": Act("close", False, lambda it, by: it.team.close_validity("loose", end=it.now, by=by)),
    "dispute": Act("dispute", False, lambda it, by: it.team.dispute(["loose"], by=by)),
    "suspect": Act("suspect", False, lambda it, by: it.team.judge(Pair(item="loose", evidence=it.source), by=by)),
    "take a link back": Act("link", False, lambda it, by: it.team.link("loose", "d", by=by, withdrawn=True)),
}
KINDS_THAT_GOVERN = {"govern", "approve", "decline", "reassign", "void", "forget"}
"""Of no item, or of every task: refused to an agent that is away from any task."""
# Written by readmit itself, or about the agent's own presence and private bank.
NOT_ACTS = {
    "resource", "wait", "remember", "lease", "depart", "return", "expose", "acknowledge", "look", "examine", "key",
    "writer",
}  # fmt: skip


def ahead(made: Scene) -> int:
    """The epoch of what a host wrote whose clock says next year."""
    made.wait(timedelta(days=366))
    made.team.observe("Seen next year.", by="bob")
    made.wait(timedelta(days=-366))
    return made.team.epoch


def waiting(made: Scene) -> str:
    """Something of bob's that waits for an overseer."""
    made.team.as_owner().admin.govern(Policy(limits={"invalidations": 0}, **POLICY))
    with pytest.raises(RateError):
        made.team.revoke("loose", by="bob")
    return made.team.admin.waiting()[-1].name


@pytest.mark.parametrize("name", ACTS)
def test_an_agent_that_is_away_settles_nothing_that_its_own_return_depends_on(name: str) -> None:
    act, made = ACTS[name], scene()
    if not act.settles:
        assert act.write(made, "ann")
        return
    with pytest.raises(NotAllowedError, match="while it is away"):
        act.write(made, "ann")
    assert act.write(scene(), "boss"), "somebody who is present does it"
    back = scene()
    back.team.agent("ann", **WHO).come_back()
    with pytest.raises(NotAllowedError, match="while it is away"):
        act.write(back, "ann")  # It was decided, and nothing was handed over.


@pytest.mark.parametrize("name", [name for name, act in ACTS.items() if act.settles])
def test_an_agent_that_is_back_settles_again(name: str) -> None:
    made = scene()
    made.team.as_owner().admin.govern(
        Policy(returns={"fill": "never"}, paper={"gamma": Decimal(0), "rho": Decimal(0)}, **POLICY)
    )
    made.team.agent("ann", **WHO).come_back().expose()
    assert ACTS[name].write(made, "ann")


@pytest.mark.parametrize(
    "name", [name for name, act in ACTS.items() if act.settles and act.kind not in KINDS_THAT_GOVERN]
)
def test_who_is_away_from_one_task_settles_on_another(name: str) -> None:
    made = scene()
    made.team.agent("cy", role="planner", task="other").depart()
    made.team.as_owner().admin.govern(Policy(evidence={"overseers": ("boss", "cy")}))
    assert ACTS[name].write(made, "cy")


def test_every_kind_of_event_is_in_the_table() -> None:
    named = {act.kind for act in ACTS.values()}
    assert named | NOT_ACTS == {str(kind) for kind in KINDS}
    settling = {act.kind for act in ACTS.values() if act.settles}
    assert {str(kind) for kind in KINDS.values() if kind.settles} == settling - {"govern", "record"}


def test_the_guide_has_the_same_table() -> None:
    rows = re.findall(r"^\| ([a-z][^|]+?) \| (refused|counts) \|", GUIDE.read_text(), re.MULTILINE)
    assert dict(rows) == {name: "refused" if act.settles else "counts" for name, act in ACTS.items()}


def test_what_was_written_before_the_limit_is_let_through_though_its_writer_left_since() -> None:
    made = Scene(evidence={"overseers": ("boss",)}, limits={"invalidations": 0})
    made.fact("a", task="trip")
    made.fact("b", task="trip")
    with pytest.raises(RateError):
        made.team.supersede("a", "b", by="ann")
    made.team.agent("ann", **WHO).depart()
    assert made.team.admin.approve(made.team.admin.waiting()[-1].name, by="boss")


JUDGMENTS = ("resolve a dispute", "judge that an item of another stands", "confirm a draft", "overrule a rejection")


@pytest.mark.parametrize("name", JUDGMENTS)
def test_a_judgment_never_counts_in_the_own_return_whenever_it_was_made(name: str) -> None:
    """Made while present, it counts for everybody else."""
    made = scene(
        evidence={"drafts": "confirm"},
        paper={"gamma": Decimal(0), "rho": Decimal(0)},
        returns={"fill": "always"},
        budgets={"items": 99},
    )
    target = {"resolve": "argued", "judge": "doubted", "confirm": "drafted", "overrule": "struck"}[ACTS[name].kind]
    made.team.agent("ann", **WHO).come_back().expose()
    ACTS[name].write(made, "ann")
    for who, stands in (("ann", False), ("cy", True)):
        agent = made.team.agent(who, **WHO)
        agent.depart()
        assert (target in agent.come_back().items) is stands, who


def test_keys_are_not_changed_by_an_overseer_that_is_away() -> None:
    team = scene().team
    with pytest.raises(NotAllowedError, match="while it is away"):
        team.admin.keys.rotate(by="ann")
    with pytest.raises(NotAllowedError, match="while it is away"):
        team.admin.keys.revoke(team._desk.keys.signer().keyid, by="ann", reason="mine now")


def test_a_workspace_in_a_file_and_a_batch_refuse_the_same(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "team.db") as team:
        seen = team.observe("Seen.", by="bob")
        team.record("a", id="a", sources=[seen], by="bob")
        team.record("b", id="b", sources=[seen], by="bob")
        with team.batch():
            team.agent("ann", **WHO).depart()
            with pytest.raises(NotAllowedError, match="while it is away from a task"):
                team.supersede("a", "b", by="ann")
    with Workspace.open(tmp_path / "team.db") as team, pytest.raises(NotAllowedError, match="away"):
        team.supersede("a", "b", by="ann")
