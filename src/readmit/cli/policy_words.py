"""A policy in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from readmit.records.remedies import set_apart
from readmit.text.english import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.records.policy import Budgets, EvidenceRules, LookRules, Policy, ReturnRules, WriteLimits

_INCOMPLETE = {
    "block": "nothing is handed over, and the return says what is missing",
    "partial": "the duties that can be covered whole are handed over, and the others are named as withheld",
    "reset": "nothing is handed over, and the agent starts from nothing",
}
_FILL = {
    "always": "Whatever room is left is filled with what else stands, newest first, with or without a duty.",
    "nothing_owed": "An agent without a duty gets what stands, newest first, as far as it fits.",
    "never": "An agent without a duty gets an empty view.",
    "block": "A return without a duty is blocked.",
}
_DRAFTS = {
    "accept": "What a model drafted counts like anything else, if its quote carries it.",
    "confirm": "What a model drafted counts once a principal has confirmed it.",
    "refuse": "What a model drafted never counts.",
}


class PolicyPart(NamedTuple):
    """The sentences about one group of settings."""

    title: str
    sentences: tuple[str, ...]


def explain_policy(policy: Policy) -> tuple[PolicyPart, ...]:
    """The meaning of a policy, group by group."""
    return (
        PolicyPart("Returns", tuple(_returns(policy.returns))),
        PolicyPart("Budgets", tuple(_budgets(policy.budgets))),
        PolicyPart("Evidence", tuple(_evidence(policy.evidence))),
        PolicyPart("Limits", tuple(_limits(policy.limits))),
        PolicyPart("Looks", tuple(_looks(policy.looks))),
        PolicyPart("Paper", tuple(_paper(policy))),
    )


def _returns(rules: ReturnRules) -> Iterator[str]:
    yield f"If not everything that is owed can be covered, {_INCOMPLETE[rules.on_incomplete]}."
    yield _FILL[rules.fill]
    if rules.require_frontier:
        yield "A duty without a current frontier counts as incomplete."
    if rules.examination == "required":
        yield "A return is blocked unless a verifier examined everything up to the newest observation."
    else:
        yield "Nobody has to look for implicit changes first; a return says how far somebody did."
    yield f"A view has to be exposed within {_duration(rules.view_seconds)}."
    yield f"A clock that lags behind the log by more than {_duration(rules.max_clock_skew)} blocks."


def _budgets(budgets: Budgets) -> Iterator[str]:
    yield (
        f"A view holds at most {counted(budgets.items, 'item')} and {budgets.chars:,} characters; an item with more "
        f"than {budgets.item_chars:,} is left out."
    )
    if budgets.experiences and budgets.experience_chars:
        notes = counted(budgets.experiences, "note")
        yield f"At most {notes} of the agent's own, with {budgets.experience_chars:,} characters, come back with it."
    else:
        yield "None of the agent's own notes come back."
    if not budgets.retractions:
        yield "The agent learns how many items no longer hold of what it held, and not which."
    elif budgets.retraction_chars:
        yield (
            f"The agent learns of at most {counted(budgets.retractions, 'item')} that no longer hold, with up to "
            f"{budgets.retraction_chars:,} characters of the withdrawn text."
        )
    else:
        yield (
            f"The agent learns of at most {counted(budgets.retractions, 'item')} that no longer hold, by id and "
            "without the text."
        )
    yield f"The exact solver gets {budgets.solver_milliseconds:,} ms; what it cannot decide by then is blocked."


def _evidence(rules: EvidenceRules) -> Iterator[str]:
    yield f"The word of {_names(rules.writers)} counts." if rules.writers else "Everybody's word counts."
    if rules.writers_signed == "required":
        yield "An event counts only with its writer's signature."
    if rules.overseers:
        yield f"{_names(rules.overseers)} may overrule a rejection, and change policy and keys."
    else:
        yield "Nobody may overrule a rejection; the owner changes policy and keys."
    yield _DRAFTS[rules.drafts]
    yield (
        f"A verdict takes an item out at a score of {rules.invalid_at} or more; from {rules.suspect_at} on it "
        "withholds what a critical need rests on."
    )
    match rules.on_concurrent:
        case "ask":
            decides = "neither stands until somebody settles it"
        case "newest":
            decides = "the newest stands"
        case ranks:
            decides = f"the one stands whose writer comes first of {', '.join(ranks)}; between equals, neither does"
    yield f"If two writers update a slot without knowing of each other, {decides}."


def _limits(limits: WriteLimits) -> Iterator[str]:
    yield (
        f"Within {_duration(limits.window_seconds)} one writer may end {counted(limits.invalidations, 'thing')} and "
        f"open {counted(limits.duties, 'duty')} for others; what goes beyond waits for an overseer."
    )


def _looks(looks: LookRules) -> Iterator[str]:
    where = f"below {_names(looks.roots)}" if looks.roots else "near the store"
    yield f"Files and repositories {where} are looked at again before a return."
    if not looks.hosts:
        yield "No network is used."
    else:
        private = f"; {_names(looks.private_hosts)} may have a private address" if looks.private_hosts else ""
        yield f"{_names(looks.hosts)} may be asked{private}."
    if looks.commands:
        allowed = _names(tuple(" ".join(one) for one in looks.commands))
        sandbox = "in a sandbox" if looks.sandbox == "required" else "under resource limits alone"
        yield f"These commands may run, {sandbox}: {allowed}."
    else:
        yield "No command runs."
    yield (
        f"A look stays fresh for {_duration(looks.lifetime)}, unless its probe says otherwise. One source gets "
        f"{_duration(looks.seconds)} and {looks.bytes:,} bytes, all of a return {_duration(looks.total_seconds)} and "
        f"{counted(looks.count, 'source')}."
    )


def _paper(policy: Policy) -> Iterator[str]:
    changed = set_apart(policy).get("paper", {})
    if not changed:
        yield "Nothing of the paper's configuration is changed: every duty and every critical need must be covered."
    for name, value in changed.items():
        said = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        yield f"{name} is {said}, as the paper's experiments may set it."


def _names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _duration(seconds: int) -> str:
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds and seconds % size == 0:
            return counted(seconds // size, unit)
    return counted(seconds, "second")
