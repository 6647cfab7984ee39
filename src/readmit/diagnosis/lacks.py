"""Symptoms of unmet needs: the last supplier of each, and items under similar names."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from readmit.diagnosis.fixes import reopened
from readmit.diagnosis.like_names import alike, joined, nearness, quoted, state_word
from readmit.diagnosis.missing_needs import is_claim, lacks_of
from readmit.diagnosis.rejected import supplier
from readmit.diagnosis.symptoms import MOST, Former, Lack, Symptom, Trouble
from readmit.records.items import Item, Obligation
from readmit.records.remedies import BLANK, Remedy, link, write
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from readmit.diagnosis.trial import Trial
    from readmit.log.log import Log


def lacks(log: Log, trial: Trial) -> Iterator[Symptom]:
    """Symptoms of all unmet needs, critical dependencies first, each followed by its near misses."""
    for lack in sorted(lacks_of(trial), key=lambda one: not one.critical):
        if lack.kind != "dependency":
            yield unfit(lack, lack.remedies)
        elif any(trial.fit(one.item) for one in lack.last):
            yield _uncounted(trial, lack)
        else:
            near = [*_suppliers(log, trial, lack), *_spelled_otherwise(trial, lack.name)]
            proposed = {remedy for one in near for remedy in one.remedies}
            yield absent(trial, lack, [remedy for remedy in lack.remedies if remedy not in proposed])
            yield from near


def lacked(trial: Trial) -> Iterator[Symptom]:
    """Symptoms of the needs that a past return lacked, without near misses."""
    for lack in lacks_of(trial):
        yield absent(trial, lack) if lack.kind == "dependency" else unfit(lack)


def absent(trial: Trial, lack: Lack, remedies: Sequence[Remedy] = ()) -> Symptom:
    """The symptom of a dependency without an eligible item."""
    last = [f"{_by(trial, one)}, which is {state_word(one.state)}." for one in lack.last[:1]]
    last += [f"A model drafted {one.item} {quoted(one.text)} in its place." for one in lack.instead]
    grounds = tuple(last) or ("Nothing that the agent can see has ever supplied it.",)
    said = f"{_needs(lack)}, and nothing eligible supplies it."
    return Symptom(Trouble.LACKS, said, (lack.name, *lack.duties), grounds, tuple(remedies))


def _by(trial: Trial, one: Former) -> str:
    return f"{one_line(trial.items[one.item].by)} last supplied it by {one.item} {quoted(one.text)}"


def unfit(lack: Lack, remedies: Sequence[Remedy] = ()) -> Symptom:
    """A record that had to be handed over."""
    of = f" of {joined(lack.duties)}" if lack.duties and lack.duties != (lack.name,) else ""
    last = lack.last[0]
    said = f"The {lack.kind} {lack.name}{of} has to be handed over and cannot be: {quoted(last.text)}."
    return Symptom(Trouble.UNFIT, said, (lack.name, *lack.duties), last.why, tuple(remedies))


def _uncounted(trial: Trial, lack: Lack) -> Symptom:
    """A dependency whose evidence does not count: it does not fit, only a model chose its slot, or less is required."""
    view = trial.decision.view
    if view is not None and not view.partial:
        trouble, why = Trouble.POLICY, "the policy's gamma and rho do not ask for it"
    elif lack.critical and all(is_claim(trial.items[one.item], lack.name) for one in lack.last):
        trouble, why = Trouble.DRAFTED, "a model alone chose the slot of what supplies it"
    else:
        newest = [one.item for one in lack.last if one.item in trial.decision.absent]
        what = f"{newest[0]}, the newest that supplies it," if newest else "what supplies it"
        trouble, why = Trouble.NO_ROOM, f"{what} does not fit the policy's budget"
    there = tuple(f"{one.item} {quoted(one.text)} supplies it." for one in lack.last)
    return Symptom(trouble, f"{_needs(lack)}; {why}.", (lack.name, *lack.duties), there, lack.remedies)


def _needs(lack: Lack) -> str:
    verb = "requires" if len(lack.duties) == 1 else "require"
    return f"{joined(lack.duties)} {verb} {lack.name}{' as critical' if lack.critical else ''}"


def _suppliers(log: Log, trial: Trial, lack: Lack) -> Iterator[Symptom]:
    for former in lack.last:
        if not trial.fit(former.item):
            yield supplier(log, trial, trial.items[former.item], lack.name)


def _spelled_otherwise(trial: Trial, need: str) -> Iterator[Symptom]:
    named = ((item, name) for item in trial.standing() for name in item.covers if not trial.meets(item, need))
    for item, name in islice((one for one in named if alike(one[1], need)), MOST):
        place = "stands in slot" if name == item.slot else "supports"
        yield Symptom(
            Trouble.OTHER_SPELLING,
            f"{item.id} {quoted(item.text)} {place} {name}, which differs from {need} in spelling.",
            (item.id, need),
            ("If the two are meant to be the same, link the item to what is required.",),
            (link(item.id, need, trial.other_writer(item.by)),),
        )


def unrequired(trial: Trial) -> Iterator[Symptom]:
    """Items that support only dependencies no visible duty requires: a misnamed dependency, or a missing duty."""
    required = {name for item in trial.items.values() if isinstance(item, Obligation) for name in item.required}
    return islice((_loose(trial, item) for item in trial.standing() if _is_loose(trial, item, required)), MOST)


def _is_loose(trial: Trial, item: Item, required: AbstractSet[str]) -> bool:
    named = {*item.covers, *trial.links.get(item.id, ())}
    if not item.supports or not required.isdisjoint(named):
        return False
    return not any(alike(name, need) for name in named for need in trial.decision.missing)


def _loose(trial: Trial, item: Item) -> Symptom:
    said = f"{item.id} {quoted(item.text)} supports {joined(item.supports)}, which no duty in sight requires."
    about = (item.id, *item.supports)
    if not trial.decision.missing:
        duty = write("oblige", required=list(item.supports), by=trial.writer(), task=item.scope.task)
        return Symptom(Trouble.UNREQUIRED, said, about, ("If something is to be done with it, open a duty.",), (duty,))
    need = max(trial.decision.missing, key=lambda name: max(nearness(name, one) for one in item.supports))
    means = (link(item.id, need, trial.other_writer(item.by)),)
    return Symptom(Trouble.UNREQUIRED, said, about, (f"If it is evidence for {need}, say so.",), means)


def for_everybody(trial: Trial) -> Iterator[Symptom]:
    """Duties that block the agent and name no task, role or principal."""
    for note in trial.decision.duties:
        if not (note.state.owed and note.lacks):
            continue
        name = note.obligation
        duty = trial.items[name]
        scope = duty.scope
        if isinstance(duty, Obligation) and not (scope.task or scope.roles or scope.principals or duty.applies_to):
            yield Symptom(
                Trouble.FOR_EVERYBODY,
                f"{name} {quoted(duty.text)} names no task, role or principal: everybody owes it, on every task.",
                (name,),
                ("If it is not this agent's, open it for those who owe it and settle this one.",),
                tuple(reopened(trial, duty, roles=[BLANK])),
            )
