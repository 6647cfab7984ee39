"""What a debugger or a log file shows of a value: short, and without texts and secrets."""

from __future__ import annotations

from importlib.metadata import version

import readmit
from readmit import Policy, Workspace
from readmit.backends import ScopedMem
from readmit.inference import Inference
from readmit.memory import Memory
from tests.scene import Scene


def test_a_workspace_says_its_name_and_epoch_also_when_it_is_closed() -> None:
    team = Workspace.open(name="trip")
    assert repr(team) == f"<Workspace 'trip' at epoch {team.epoch}>"
    team.close()
    assert repr(team) == "<Workspace 'trip', closed>"


def test_what_is_admitted_is_named_and_nothing_secret_is_shown() -> None:
    scene = Scene()
    scene.covered()
    returned = scene.away()
    bundle = returned.expose()
    shown = [repr(one) for one in (scene.ann(), returned, returned.decision, bundle)]
    assert shown == [
        "<Agent 'ann' as 'planner' on 'trip' in 'default'>",
        f"<Return {returned.id} of 'ann': admitted, with o, h>",
        f"<Decision on return {returned.id} at epoch {returned.decision.epoch}: admitted, with o, h>",
        f"<Bundle of return {returned.id}: o, h; 0 experiences>",
    ]
    assert not any(returned.secret in one or "text of" in one for one in shown)


def test_what_is_missing_is_named() -> None:
    scene = Scene()
    scene.duty()
    returned = scene.away()
    assert repr(returned) == f"<Return {returned.id} of 'ann': blocked, missing d>"
    assert repr(returned.decision).endswith(": blocked, missing d>")


def test_helpers_say_what_they_work_on() -> None:
    team = Scene().team
    assert (
        repr(Memory(team, ScopedMem(team._desk.log.memories, team.name)))
        == "<Memory 'scopedmem:main' of workspace 'default'>"
    )
    assert repr(Inference(team)) == "<Inference on workspace 'default'>"


def test_a_record_shows_what_is_not_its_default() -> None:
    assert repr(Policy(budgets={"items": 8}, evidence={"writers": ("bob",)})) == (
        "Policy(budgets=Budgets(items=8), evidence=EvidenceRules(writers=('bob',)))"
    )


def test_the_version_is_that_of_the_package() -> None:
    assert readmit.__version__ == version("readmit")
