"""One preparation: load, derive, propose, verify, write. Returns and watches run it.

The decision reads only the log, so preparing early changes the cost and its time, never the rules of the decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from readmit.inference import verdict_writer as judging
from readmit.inference.baseline import baseline
from readmit.inference.derive import maker
from readmit.inference.inside import look_inside
from readmit.inference.need_links import Drawn, link_needs
from readmit.inference.prepared import Prepared, ProposedPair, SignalCount, StageTokens
from readmit.inference.proposals import Readers, find_pairs
from readmit.inference.replacement_draft import replace
from readmit.inference.source_recheck import recheck_changed_sources
from readmit.models.stages.extract import PROMPT as EXTRACT
from readmit.models.stages.verify import Verifier
from readmit.models.usage import Metered
from readmit.records.canonical import canonical, digest
from readmit.records.error_types import PendingAnswers
from readmit.records.items import Obligation
from readmit.records.verdicts import Pair, Ruling, Verdict, ruling
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from readmit.inference.baseline import Baseline
    from readmit.inference.proposals import FoundPairs
    from readmit.inference.settings import InferenceModels, Settings
    from readmit.inference.verdict_writer import JudgedPairs
    from readmit.models.protocols import Model
    from readmit.models.usage import TokenLedger
    from readmit.records.acts.event import Checkpoint
    from readmit.records.identity import Identity
    from readmit.workspace.workspace import Workspace


PASSED = "passed"
LEFT_OUT = "left_out"
"""The kinds of derived text that hold, per item, how far a look came and the observations it left out."""


def prepare_return(
    workspace: Workspace,
    departed: Checkpoint,
    identity: Identity,
    *,
    purpose: str | None,
    team: InferenceModels,
    settings: Settings,
    ledger: TokenLedger,
) -> Prepared:
    """Bring the verdicts that one return would read up to date with the log.

    ``PendingAnswers`` is raised after everything known so far was stored; the same call continues from there.
    """
    team.require(settings)

    def stand() -> Baseline:
        now, policy = desk_of(workspace).writer.now(), workspace.admin.policy
        return baseline(
            desk_of(workspace).log, departed, identity, purpose=purpose, now=now, policy=policy, settings=settings
        )

    verifier = _verifier(team, settings, ledger, workspace)
    again = recheck_changed_sources(
        workspace, departed, identity, purpose=purpose, verifier=verifier, most=settings.pairs_per_return
    )
    state = stand()
    # Without a visible duty there is no need to link to.
    owing = any(isinstance(held.item, Obligation) for held in state.known.values())
    drawn, pending = Drawn(), None
    try:
        if owing:
            linker, embedder = _metered(team.linker, ledger), team.embedder
            drawn = link_needs(
                workspace, departed, identity, purpose=purpose, linker=linker, embedder=embedder, settings=settings
            )
    except PendingAnswers as waiting:
        pending = waiting
    if drawn.links:
        # The links may have changed which items are critical.
        state = stand()
    known = judging.answered_pairs(state, verifier)
    readers = _readers(workspace, team, ledger)
    looker = _looker(state, verifier, readers, settings, identity)
    found = find_pairs(state, known, readers, settings, _passed(workspace, state, looker))
    if pending is not None:
        # Only now, so that the signals' requests go out in the same round.
        raise pending
    chosen = list(dict.fromkeys([*state.suspected(known), *(one.pair for one in found.proposals.kept)]))
    left_out = _except(chosen, dict.fromkeys([*_left(found), *_left_out(workspace, state, looker, known)]))
    left = [pair for pair in left_out if state.is_critical(pair.item)]
    if settings.on_cut == "verify":
        chosen += left
    judged = judging.judge_pairs(workspace, state, verifier, chosen)
    if settings.on_cut == "block":
        judging.suspect(workspace, left, "not_looked_at")
    suspected = left if settings.on_cut == "block" else []
    unlooked = _except([*chosen, *suspected], left_out)
    inside = look_inside(
        workspace, departed, identity, stand, verifier, purpose=purpose, besides=chosen, looker=looker,
        most=settings.pairs_inside,
    )  # fmt: skip
    replacements: tuple[str, ...] = ()
    if owing and (inside.fell or _may_have_fallen(state, judged)):
        replacements = replace(workspace, departed, identity, purpose=purpose, settings=settings)
    if not found.faults:
        seen = str(state.epoch).encode("ascii")
        desk_of(workspace).log.derived.write(PASSED, looker, dict.fromkeys(state.held, seen))
        # The next look starts where this one ended and would not see them again.
        desk_of(workspace).log.derived.write(LEFT_OUT, looker, _by_item(unlooked))
    return Prepared(
        identity=identity,
        use=state.use,
        epoch=state.epoch,
        until=min([state.epoch, *(state.observed[pair.evidence].epoch - 1 for pair in unlooked)]),
        targets=len(state.held),
        observations=found.observations,
        open=found.proposals.open,
        reused=sum(map(len, known.values())),
        judged=len(judged.verdicts) + inside.judged + again.judged,
        invalidated=tuple(dict.fromkeys((*_invalidated(state, judged), *inside.fell))),
        unsure=sum(not state.settles(one) for one in judged.verdicts) + inside.unsure,
        unanswered=len(judged.failed) + len(inside.faults),
        cut=_except([*chosen, *inside.pairs], (*again.cut, *(one.pair for one in found.proposals.cut))),
        unseen=_except(chosen, found.unseen),
        suspected=len(suspected),
        proposed=_proposed([*chosen, *inside.pairs], found),
        links=drawn.links,
        links_dropped=drawn.dropped,
        unmet=drawn.unmet,
        unlinked=drawn.unmet if drawn.faults else (),
        replacements=replacements,
        inside=len(inside.pairs),
        cut_inside=inside.cut,
        fell_inside=inside.fell,
        signals=tuple(
            SignalCount(signal=signal, **msgspec.structs.asdict(tally))
            for signal, tally in found.proposals.tallies.items()
        ),
        usage=tuple(map(StageTokens.of, ledger.stages())),
        faults=tuple(
            dict.fromkeys((*again.faults, *drawn.faults, *found.faults, *_unanswered(judged), *inside.faults))
        ),
        resourced=again.items,
    )


def _looker(state: Baseline, verifier: Verifier, readers: Readers, settings: Settings, identity: Identity) -> str:
    """The cache key of the inference configuration: a changed one examines everything again."""
    names = [None if one is None else one.name for one in (verifier.second, readers.implier, readers.scanner)]
    return digest(
        (identity, state.use, verifier.model.name, names, None if readers.embedder is None else readers.embedder.name,
         settings.signals, settings.targets, settings.since, settings.per_target, settings.pairs_per_return)
    )  # fmt: skip


def _passed(workspace: Workspace, state: Baseline, looker: str) -> dict[str, int]:
    """How far the same configuration has examined each item. It would skip the same pairs again."""
    return {item: int(body) for item, body in desk_of(workspace).log.derived.read(PASSED, looker, state.held).items()}


def _left_out(
    workspace: Workspace, state: Baseline, looker: str, known: Mapping[str, frozenset[str]]
) -> Iterable[Pair]:
    """Pairs that earlier looks of the same configuration left out and that are still open."""
    stored = desk_of(workspace).log.derived.read(LEFT_OUT, looker, state.held)
    pairs = (Pair(item=item, evidence=one) for item, body in stored.items() for one in body.decode("ascii").split())
    return (one for one in pairs if one.evidence in state.observed and one.evidence not in known.get(one.item, ()))


def _by_item(pairs: Iterable[Pair]) -> dict[str, bytes]:
    found: dict[str, list[str]] = {}
    for pair in sorted(pairs, key=lambda pair: (pair.item, pair.evidence)):
        found.setdefault(pair.item, []).append(pair.evidence)
    return {item: " ".join(evidence).encode("ascii") for item, evidence in found.items()}


def file_prepared(workspace: Workspace, name: str, prepared: Prepared) -> None:
    """Write an audit row beside those of the prepared return."""
    log = desk_of(workspace).log
    with log.atomic():
        log.audit.append(name, [("inference", "", canonical(prepared))])


def _left(found: FoundPairs) -> Iterable[Pair]:
    """Pairs that were proposed and cut, or could not be examined."""
    return dict.fromkeys([*(one.pair for one in found.proposals.cut), *found.unseen])


def _except(chosen: Iterable[Pair], pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    taken = set(chosen)
    return tuple(pair for pair in pairs if pair not in taken)


def _unanswered(judged: JudgedPairs) -> Iterable[str]:
    return (f"verify: {why.message}" for _, why in judged.failed)


def _may_have_fallen(state: Baseline, judged: JudgedPairs) -> bool:
    """Whether any visible item was ever found changed. For most returns this avoids a second look."""
    marks = (mark.payload for held in state.known.values() for mark in held.marks)
    said = (one for one in (*judged.verdicts, *marks) if isinstance(one, Verdict))
    # The second look checks the quotes.
    return any(ruling(one, state.policy, grounded=lambda: True) is Ruling.INVALID for one in said)


def _proposed(chosen: Iterable[Pair], found: FoundPairs) -> tuple[ProposedPair, ...]:
    signals = {one.pair: tuple(sorted(map(str, one.signals))) for one in (*found.proposals.kept, *found.proposals.cut)}
    return tuple(ProposedPair(pair=pair, signals=signals.get(pair, ())) for pair in chosen)


def _invalidated(state: Baseline, judged: JudgedPairs) -> tuple[str, ...]:
    confirmed = (one for one in judged.verdicts if state.ruling(one) is Ruling.INVALID)
    return tuple(dict.fromkeys(one.pair.item for one in confirmed))


def _verifier(team: InferenceModels, settings: Settings, ledger: TokenLedger, workspace: Workspace) -> Verifier:
    model = _metered(team.verifier, ledger)
    assert model is not None  # noqa: S101 - InferenceModels.require has seen to it
    second = settings.confirm_critical == "second_model"
    return Verifier(
        model=model,
        second=_metered(team.second_verifier, ledger) if second else None,
        swap=settings.confirm_critical == "swapped",
        batch_size=settings.pairs_per_call,
        max_chars=settings.budgets.verify_chars,
        max_tokens=settings.budgets.verify_tokens,
        suspect_at=workspace.admin.policy.suspect_at,
        workspace=workspace.name,
    )


def _readers(workspace: Workspace, team: InferenceModels, ledger: TokenLedger) -> Readers:
    return Readers(
        derived=desk_of(workspace).log.derived,
        workspace=workspace.name,
        implier=_metered(team.implier, ledger),
        scanner=_metered(team.scanner, ledger),
        embedder=team.embedder,
        extracted="" if team.extractor is None else maker(team.extractor.name, EXTRACT),
    )


def _metered(model: Model | None, ledger: TokenLedger) -> Model | None:
    return None if model is None else Metered(model, ledger)
