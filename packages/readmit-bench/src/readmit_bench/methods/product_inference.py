"""The product's inference on a workspace that a history was played into, and what it found, in terms of rows.

``Inference`` proposes, asks, and writes its verdicts to the log. This module first stores what the shared extraction
already wrote, as ``Inference.ingest`` would: premises of statements, and what later sessions state, so that no model is
asked for either again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from readmit import Pair, Verdict
from readmit.inference import Inference, Prepared
from readmit.lab import Ruling, Suspect, decode, desk_of, keep_extraction, keep_stated, quoted, ruling
from readmit_bench.episodes import Finding
from readmit_bench.methods.readmit_lexical import reading_of
from readmit_bench.methods.state import OBSERVED, SESSION, Statement, item_of, observed, session_of, sessions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from readmit import Agent, Policy, Workspace
    from readmit.inference import Settings
    from readmit.models import Embedder, Model
    from readmit_bench.episodes import Checkpoint, Row
    from readmit_bench.methods.state import Returned

MOST_FACTS = 16
"""Most facts kept of one session: as many as an extraction may draw from it."""


@dataclass(frozen=True)
class Models:
    """Who is asked."""

    extractor: Model
    verifier: Model
    embedder: Embedder


@dataclass(frozen=True)
class Looked:
    """A pair that the verifier judged, by its ids in the log, and the outcome."""

    pair: Pair
    signals: tuple[str, ...]
    verdict: Verdict | None
    note: str = ""


def inference_on(workspace: Workspace, models: Models, settings: Settings | None = None) -> Inference:
    """The product's handle, with every role that a benchmark's method gives away."""
    return Inference(
        workspace,
        settings,
        verifier=models.verifier,
        implier=models.extractor,
        scanner=models.extractor,
        extractor=models.extractor,
        embedder=models.embedder,
    )


def look(
    workspace: Workspace, agent: Agent, models: Models, settings: Settings, *, purpose: str | None
) -> list[Looked]:
    """Look for implicit changes as the product does. Verdicts and suspicions are on the log afterwards."""
    inference_on(workspace, models, settings).prepare(agent, purpose=purpose)
    # A preparation that drafted something starts over, so there may be several accounts.
    rows = (row.body for row in desk_of(workspace).log.audit.rows() if row.kind == "inference")
    prepared = (decode(body, Prepared, what="audit row") for body in rows)
    proposed = {one.pair: one.signals for account in prepared for one in account.proposed}
    marks: dict[Pair, Verdict | Suspect] = {}
    items = dict.fromkeys(pair.item for pair in proposed)
    for event in desk_of(workspace).log.about(items, until=desk_of(workspace).log.head):
        match event.payload:
            case Verdict(pair=pair) as verdict:
                marks[pair] = verdict
            case Suspect(pair=pair) as suspicion:
                marks.setdefault(pair, suspicion)
    found = []
    for pair, signals in proposed.items():
        mark = marks.get(pair)
        if isinstance(mark, Verdict):
            found.append(Looked(pair, signals, mark))
        else:
            found.append(Looked(pair, signals, None, "" if mark is None else mark.signal))
    return found


def keep_extracted(
    workspace: Workspace, checkpoint: Checkpoint, digests: Mapping[str, str], statements: Sequence[Statement], by: str
) -> None:
    """Keep what the shared extraction wrote beside its rows, as the product keeps its own."""
    # Also where it wrote none: those of a turn that it could not read are written by a model.
    drawn = (one for one in statements if one.row.turn is not None)
    premises = {desk_of(workspace).log.item(one.id).text: one.row.premises for one in drawn}
    facts: dict[str, tuple[str, ...]] = {}
    if checkpoint.observations:
        stated, texts = facts_of(checkpoint), sessions(checkpoint.heard)
        facts = {observed(texts[session]): stated.get(session, ()) for session in digests}
    keep_extraction(desk_of(workspace).log.derived, by, premises, facts)
    keep_stated(desk_of(workspace).log.derived, stated_by(checkpoint))


def stated_by(checkpoint: Checkpoint) -> dict[str, tuple[str, ...]]:
    """By the text of each session that the extractor read: the words that it took down."""
    words: dict[str, list[str]] = {}
    for row in checkpoint.rows:
        if row.turn is not None:
            words.setdefault(session_of(row), []).append(row.text)
    read = [row for row in checkpoint.heard if row.at // SESSION in checkpoint.read]
    return {observed(text): tuple(words.get(session, ())) for session, text in sessions(read).items()}


def facts_of(checkpoint: Checkpoint) -> dict[str, tuple[str, ...]]:
    """The statements of each session: the drawn ones, or those in its turns if it could not be read."""
    facts: dict[str, dict[str, None]] = {}
    for row in checkpoint.rows:
        own = facts.setdefault(session_of(row), {})
        if row.turn is not None:
            own[row.statement or row.text] = None
        elif row.at // SESSION not in checkpoint.read and (one := reading_of(row)).own:
            own.update(dict.fromkeys(one.parts))
    return {session: tuple(own)[:MOST_FACTS] for session, own in facts.items()}


def changed(
    looked: Sequence[Looked], returned: Returned, statements: Sequence[Statement], digests: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Of each change that the decision counts: the statement, the session that changed it, and the words that did.

    Where a whole session was judged, that is every statement drawn from it.
    """
    sessions = {digest: session for session, digest in digests.items()}
    for one in looked:
        pair, verdict = one.pair, one.verdict
        if verdict is None or (pair.item, pair.evidence) not in returned.confirmed or pair.evidence not in sessions:
            continue
        whole = pair.item.startswith(OBSERVED)
        for statement in statements:
            if (item_of(session_of(statement.row)) if whole else statement.id) == pair.item:
                yield statement.id, sessions[pair.evidence], verdict.evidence_quote


def drafted_by_the_product(
    checkpoint: Checkpoint,
    workspace: Workspace,
    outcome: Returned,
    known: AbstractSet[str],
    digests: Mapping[str, str],
) -> list[Statement]:
    """Items that the inference itself drafted from an observation, as statements of what holds their words.

    That is the row that was drawn in these words, or else the turn.
    """
    sessions = {digest: session for session, digest in digests.items()}
    held = [*(row for row in checkpoint.rows if row.turn is not None), *checkpoint.heard]
    found: list[Statement] = []
    for name in sorted({*outcome.standing, *outcome.reasons}.difference(known)):
        item = desk_of(workspace).log.item(name)
        own = {sessions[receipt.evidence] for receipt in item.receipts if receipt.evidence in sessions}
        holding = (row for row in held if session_of(row) in own and quoted(item.text, row.text))
        found += [Statement(name, row, item.text) for row in holding][:1]
    return found


def compatible(looked: Sequence[Looked], digests: Mapping[str, str], policy: Policy) -> frozenset[tuple[str, str]]:
    """Statements and later sessions that the verifier found to stand side by side."""
    sessions = {digest: session for session, digest in digests.items()}
    return frozenset(
        (one.pair.item, sessions[one.pair.evidence])
        for one in looked
        if one.verdict is not None
        and one.pair.evidence in sessions
        and ruling(one.verdict, policy, grounded=lambda: True) is Ruling.COMPATIBLE
    )


def findings(
    checkpoint: Checkpoint, looked: Sequence[Looked], returned: Returned, digests: Mapping[str, str]
) -> tuple[Finding, ...]:
    """For the report: a session is named by its turn that holds the quoted words, or by its first."""
    sessions = {digest: session for session, digest in digests.items()}
    turns: dict[str, list[Row]] = {}
    for row in checkpoint.heard:
        turns.setdefault(item_of(session_of(row)), []).append(row)
    settled = []
    for one in looked:
        finding = _finding(one, sessions.get(one.pair.evidence, ""))
        if one.pair.item in turns:
            own = turns[one.pair.item]
            turn = next((row for row in own if quoted(finding.row_quote, row.text)), own[0])
            finding = msgspec.structs.replace(finding, row=turn.id)
        confirmed = (one.pair.item, one.pair.evidence) in returned.confirmed
        settled.append(msgspec.structs.replace(finding, confirmed=confirmed))
    return tuple(settled)


def _finding(one: Looked, session: str) -> Finding:
    if one.verdict is None:
        return Finding(row=one.pair.item, observation=session, signals=one.signals, note=one.note)
    return Finding(
        row=one.pair.item,
        observation=session,
        signals=one.signals,
        answer=str(one.verdict.answer),
        confidence=str(one.verdict.confidence if one.verdict.stale is None else one.verdict.stale),
        row_quote=one.verdict.item_quote,
        observation_quote=one.verdict.evidence_quote,
        note=one.verdict.note or one.verdict.premise,
    )
