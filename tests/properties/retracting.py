"""What a returning agent must learn of what it held, restated in plain Python beside the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulator import CONSTRAINTS, Deciding, state_of

if TYPE_CHECKING:
    from readmit.types import Retractions
    from tests.simulator import Departure, Statement, TeamSimulator, Who

FALLEN = {"revoked", "superseded", "expired", "premise_changed"}
DOUBTED = {"disputed", "suspected"}
ENDS = {
    "obligation": {"revoked", "superseded", "settled"},
    **{kind: {"revoked", "dispute_lost", "superseded", "slot_updated", "expired"} for kind in CONSTRAINTS},
}
HARMLESS = {"kind_not_admitted", "other_task", "other_purpose", "too_large"}


def said(item: Statement) -> tuple[Any, ...]:
    return (*item.words, item.id if item.kind == "obligation" else item.obligation)


def out(deciding: Deciding) -> dict[str, str]:
    """What the reader may see and should not rely on, with its state."""
    standing = {said(deciding.items[name]) for name, codes in deciding.against.items() if codes <= HARMLESS}
    found = {}
    for name, codes in deciding.against.items():
        item = deciding.items[name]
        if not codes or state_of(codes) == "unauthorized" or said(item) in standing:
            continue
        counting = frozenset(codes & ENDS[item.kind]) if item.kind in ENDS else codes
        state = state_of(counting) if counting else ""
        if state in FALLEN | DOUBTED:
            found[name] = state
    return found


def handed(sim: TeamSimulator, departure: Departure) -> set[str]:
    """The items of the last view that the agent was handed by the epoch it had followed, and of each one since."""
    agent = (departure.who.principal, departure.who.task)
    found: set[str] = set()
    views = [name for name in sim.exposed if sim.agent_of(name) == agent]
    for name in sorted(views, key=lambda one: -sim.views[one].epoch):
        found |= set(sim.views[name].items)
        if sim.exposed[name] <= departure.seen:
            break
    return found


def held(sim: TeamSimulator, departure: Departure) -> set[str]:
    """What the agent could see when it left, and what it was handed."""
    seen = {
        item.id
        for item in sim.items.values()
        if item.epoch <= departure.seen and not sim.scope_codes(item, departure.who)
    }
    return seen | handed(sim, departure)


def fallen(sim: TeamSimulator, departure: Departure, who: Who) -> set[str]:
    """What has fallen for somebody, now."""
    deciding = Deciding(sim, departure, who, None)
    causes = {name: state_of(codes - _GATES) for name, codes in deciding.against.items() if codes - _GATES}
    return {name for name, state in causes.items() if state in FALLEN}


_GATES = {
    "principal_out_of_scope", "out_of_scope", *HARMLESS,
    "unproven", "writer_not_allowed",
}  # fmt: skip


def check(made: Retractions, deciding: Deciding, departure: Departure, before: set[str] | None) -> None:
    """Every held item that fell is listed or counted, and nothing else is. ``before``: what had fallen at departure."""
    sim, rules = deciding.team, deciding.rules
    expected = {name: state for name, state in out(deciding).items() if name in held(sim, departure)}
    listed = {one.id: str(one.state) for one in made.listed}
    assert listed.items() <= expected.items(), (listed, "but expected of", expected)
    assert len(listed) + made.more + made.earlier == len(expected), (made, "but expected", expected)
    assert len(listed) <= rules.max_retractions
    assert all((one.state in FALLEN) == (one in made.fallen) for one in made.listed)
    if before is not None:
        gone = (expected.keys() & before) - handed(sim, departure)
        assert made.earlier == len(gone), (made, "but had fallen", gone)
        assert not gone & listed.keys()


def changed(made: Retractions, deciding: Deciding) -> bool:
    """Whether what was issued is no longer true, or no longer within the policy."""
    now, rules = out(deciding), deciding.rules
    quoted = [one.id for one in made.listed if one.with_text]
    return (
        any(now.get(one.id) not in FALLEN for one in made.fallen)
        or any(one.id not in now for one in made.in_doubt)
        or len(made.listed) > rules.max_retractions
        or (not rules.max_retraction_chars and bool(quoted))
    )
