"""Explanations as a person would say them."""

from __future__ import annotations

from tests.scene import HOUR, Scene


def test_a_fallen_premise_is_told_with_who_replaced_it_and_what_it_says_now() -> None:
    scene = Scene()
    scene.fact("psp", slot="psp", text="Payments go through Stripe")
    scene.fact("psp-key", depends_on=["psp"], text="The key is in the vault")
    scene.depart()
    scene.fact("psp-2", slot="psp", by="planner", text="Payments go through Adyen")
    told = str(scene.come_back().explain("psp-key"))
    assert told.startswith(
        "`psp-key` fell because it depends on `psp`, which planner replaced by `psp-2` (“Payments go through Adyen”) at"
    )


def test_a_chain_is_told_link_by_link() -> None:
    scene = Scene()
    scene.fact("a")
    scene.fact("b", depends_on=["a"])
    scene.fact("c", depends_on=["b"])
    scene.depart()
    scene.team.revoke("a", by="bob", reason="it was wrong")
    told = str(scene.come_back().explain("c"))
    assert "`c` fell because it depends on `b`, which depends on `a`, which bob withdrew at epoch" in told
    assert told.endswith(": it was wrong.")


def test_a_premise_that_the_agent_cannot_see_is_not_told() -> None:
    scene = Scene()
    scene.fact("@bob/a", principals=["bob"], text="the secret")
    scene.fact("b", depends_on=["@bob/a"])
    scene.depart()
    scene.team.revoke("@bob/a", by="bob")
    told = str(scene.come_back().explain("b"))
    assert "which no longer holds" in told
    assert "secret" not in told


def test_what_an_overseer_set_aside_is_told_with_who_did_both() -> None:
    scene = Scene()
    scene.fact("a")
    scene.depart()
    scene.team.revoke("a", by="bob", reason="it was wrong")
    scene.team.admin.overrule("a", by="boss", reason="bob mixed it up", expires=HOUR)
    told = str(scene.come_back().explain("a"))
    assert "`a` stands although bob withdrew it: set aside by boss at epoch" in told
    assert told.endswith(": bob mixed it up.")
