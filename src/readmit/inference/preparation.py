"""One preparation: load, link, choose pairs, verify, write. Returns and watches run it.

The decision reads only the log, so preparing early changes the cost and its time, never the rules of the decision. All
requests that can be made go out in one round: a stage whose answers are not there yet does not hold up the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from readmit.inference import verdict_writer as judging
from readmit.inference.baseline import baseline
from readmit.inference.derive import maker
from readmit.inference.need_links import Drawn, link_needs
from readmit.inference.prepared import Prepared, ProposedPair, SignalCount
from readmit.inference.proposals import FoundPairs, Readers, find_pairs
from readmit.inference.replacement_draft import draft_replacements
from readmit.inference.source_recheck import RecheckedSources, recheck_changed_sources
from readmit.inference.verdict_writer import JudgedPairs
from readmit.models.stages.extract import PROMPT as EXTRACT
from readmit.models.stages.verify import Verifier
from readmit.models.structured import RequestRound
from readmit.models.usage import metered
from readmit.records.acts.event import EventKind
from readmit.records.base import LONGEST_NAME
from readmit.records.canonical import canonical, digest
from readmit.records.items import Obligation
from readmit.records.verdicts import Examine, Pair, Ruling, Verdict, ruling
from readmit.state.examination import examination, observations, statements
from readmit.workspace.workspace import as_readmit, desk_of

if TYPE_CHECKING:
    from readmit.inference.baseline import Baseline
    from readmit.inference.expected_return import ExpectedReturn
    from readmit.inference.settings import InferenceModels
    from readmit.log.log import Log
    from readmit.models.usage import TokenLedger

PASSED = "passed"
"""The kind of derived text that holds, per item, how far a look came."""


def prepare_return(expected: ExpectedReturn, team: InferenceModels, ledger: TokenLedger) -> Prepared:
    """Bring the verdicts that one return would read up to date with the log.

    ``PendingAnswers`` is raised after everything known so far was stored; the same call continues from there.
    """
    team.require(expected.settings)
    return _Preparation(expected, team, ledger).prepared()


def file_prepared(log: Log, name: str, prepared: Prepared) -> None:
    """Write an audit row beside those of the prepared return."""
    with log.atomic():
        log.audit.append(name, [("inference", "", canonical(prepared))])


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The pairs of one preparation and their verdicts."""

    found: FoundPairs
    pairs: tuple[ProposedPair, ...]
    """Pairs that were put to the verifier: open suspicions, and chosen ones."""
    verdicts: JudgedPairs
    suspected: tuple[Pair, ...] = ()
    """Unseen pairs of critical items."""
    unseen: tuple[Pair, ...] = ()
    reused: int = 0


@dataclass(frozen=True)
class _Preparation:
    expected: ExpectedReturn
    team: InferenceModels
    ledger: TokenLedger

    def prepared(self) -> Prepared:
        again, drawn, judged = RecheckedSources(), Drawn(), None
        together = RequestRound()
        with together:
            again = recheck_changed_sources(self.expected, self._verifier)
        state = baseline(self.expected)
        # Without a visible duty there is no need to link to.
        owing = any(isinstance(held.item, Obligation) for held in state.known.values())
        with together:
            if owing:
                drawn = link_needs(self.expected, metered(self.team.linker, self.ledger), self.team.embedder)
        if drawn.links:
            # The links may have changed which items are critical.
            state = baseline(self.expected)
        with together:
            judged = self._judged(state)
        together.close()
        assert judged is not None  # noqa: S101 - or something waits for answers
        fallen = owing and _may_have_fallen(state, judged.verdicts)
        replacements = draft_replacements(self.expected) if fallen else ()
        if not judged.found.faults:
            seen = str(state.epoch).encode("ascii")
            self.expected.log.derived.write(PASSED, self._looker, dict.fromkeys(state.held, seen))
        return self._report(state, again, drawn, judged, replacements)

    def _judged(self, state: Baseline) -> _Judged:
        """Choose pairs and put them to the verifier, open suspicions first."""
        known = judging.answered_pairs(self.expected.log, state, self._verifier)
        found = find_pairs(state, known, self._readers, self.expected.settings, self._passed(state))
        pairs = {pair: ProposedPair(pair=pair) for pair in state.suspected(known)}
        pairs |= {one.pair: one for one in found.pairs}
        unseen = tuple(pair for pair in found.unseen if pair not in pairs)
        blocking = self.expected.settings.on_unseen == "block"
        suspected = tuple(pair for pair in unseen if blocking and state.is_critical(pair.item))
        verdicts = judging.judge_pairs(self.expected.workspace, state, self._verifier, tuple(pairs))
        judging.suspect(self.expected.workspace, suspected, "not_looked_at")
        return _Judged(
            found=found,
            pairs=tuple(pairs.values()),
            verdicts=verdicts,
            suspected=suspected,
            unseen=unseen,
            reused=sum(map(len, known.values())),
        )

    @cached_property
    def _looker(self) -> str:
        """The cache key of the inference configuration: a changed one examines everything again."""
        models = (self.team.verifier, self._verifier.second, self.team.implier, self.team.scanner, self.team.embedder)
        names = [None if one is None else one.name for one in models]
        who, own = self.expected.identity, self.expected.settings
        chosen = (own.signals, own.targets, own.since, own.changes, own.all_pairs, str(own.near), str(own.near_stated))
        return digest((who, names, *chosen))

    def _passed(self, state: Baseline) -> dict[str, int]:
        """How far the same configuration has examined each item. It would skip the same pairs again."""
        stored = self.expected.log.derived.read(PASSED, self._looker, state.held)
        return {item: int(body) for item, body in stored.items()}

    @cached_property
    def _verifier(self) -> Verifier:
        settings, model = self.expected.settings, metered(self.team.verifier, self.ledger)
        assert model is not None  # noqa: S101 - InferenceModels.require has seen to it
        second = settings.confirm_critical == "second_model"
        return Verifier(
            model=model,
            second=metered(self.team.second_verifier, self.ledger) if second else None,
            swap=settings.confirm_critical == "swapped",
            per_call=settings.pairs_per_call,
            max_chars=settings.budgets.verify_chars,
            max_tokens=settings.budgets.verify_tokens,
            suspect_at=self.expected.policy.evidence.suspect_at,
            workspace=self.expected.workspace.name,
        )

    @cached_property
    def _readers(self) -> Readers:
        extractor = self.team.extractor
        return Readers(
            derived=self.expected.log.derived,
            workspace=self.expected.workspace.name,
            implier=metered(self.team.implier, self.ledger),
            scanner=metered(self.team.scanner, self.ledger),
            embedder=self.team.embedder,
            extracted="" if extractor is None else maker(extractor.name, EXTRACT),
        )

    def _report(
        self, state: Baseline, again: RecheckedSources, drawn: Drawn, judged: _Judged, replacements: tuple[str, ...]
    ) -> Prepared:
        found, verdicts = judged.found, judged.verdicts
        hidden = (pair for pair in judged.unseen if pair not in judged.suspected)
        unanswered = (f"verify: {why.message}" for _, why in verdicts.failed)
        return Prepared(
            identity=self.expected.identity,
            epoch=state.epoch,
            until=min([state.epoch, *(state.observed[pair.evidence].epoch - 1 for pair in hidden)]),
            targets=len(state.held),
            observations=found.observations,
            nothing_stated=state.nothing_stated,
            open=found.open,
            reused=judged.reused,
            judged=len(verdicts.verdicts) + again.judged,
            invalidated=tuple(
                dict.fromkeys(one.pair.item for one in verdicts.verdicts if state.ruling(one) is Ruling.INVALID)
            ),
            unsure=sum(not state.settles(one) for one in verdicts.verdicts),
            unanswered=len(verdicts.failed),
            unseen=judged.unseen,
            suspected=len(judged.suspected),
            proposed=judged.pairs,
            links=drawn.links,
            links_dropped=drawn.dropped,
            unmet=drawn.unmet,
            unlinked=drawn.unmet if drawn.faults else (),
            replacements=replacements,
            signals=tuple(
                SignalCount(signal=signal, **msgspec.structs.asdict(tally)) for signal, tally in found.tallies.items()
            ),
            usage=self.ledger.stages(),
            faults=tuple(dict.fromkeys((*again.faults, *drawn.faults, *found.faults, *unanswered))),
            resourced=again.items,
        )


def _may_have_fallen(state: Baseline, judged: JudgedPairs) -> bool:
    """Whether any visible item was ever found changed, quotes aside. For most returns this avoids a second look."""
    marks = (mark.payload for held in state.known.values() for mark in held.marks)
    said = (one for one in (*judged.verdicts, *marks) if isinstance(one, Verdict))
    return any(ruling(one, state.policy, grounded=lambda: True) is Ruling.INVALID for one in said)


def note(expected: ExpectedReturn, prepared: Prepared, verifier: str) -> bool:
    """Record the epoch up to which a preparation has examined the log, unless events arrived meanwhile.

    In one transaction, so that everything before the event was available to it. An examination that is already on the
    log is not repeated: a watch that finds nothing new writes nothing.
    """
    log, policy, departed, identity = expected.log, expected.policy, expected.departed, expected.identity
    with log.atomic():
        head = log.head
        if observations(log, departed, identity, since=prepared.epoch, until=head, policy=policy) or statements(
            log, departed, identity, since=prepared.epoch, until=head
        ):
            return False
        verifier = verifier[:LONGEST_NAME]
        known = examination(log, departed, identity, purpose=expected.purpose, epoch=head, policy=policy)
        missed = observations(log, departed, identity, since=prepared.until, until=head, policy=policy)
        if (
            known is None
            or (known.verifier, known.nothing_stated) != (verifier, prepared.nothing_stated)
            or known.unexamined > len(missed)
        ):
            examined = Examine(
                checkpoint=departed.id,
                identity=identity,
                verifier=verifier,
                until=prepared.until,
                nothing_stated=prepared.nothing_stated,
                purpose=expected.purpose,
            )
            desk_of(as_readmit(expected.workspace)).writer.write(EventKind.EXAMINE, examined)
    return True
