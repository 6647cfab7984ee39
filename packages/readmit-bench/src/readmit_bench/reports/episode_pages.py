"""A page per episode: history around the departure, proposals, verdicts, dispositions, view, answers, judgment."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from readmit import Reason
from readmit_bench.metrics import criteria

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from readmit_bench.episodes import Episode, Finding, Session, View
    from readmit_bench.results import Result, RunPlan

FOLDER = "episodes"
NEAR = 2
"""Sessions on each side of the departure that are shown whether a method touched them or not."""
_TURN = re.compile(r"s(\d+)\.t(\d+)")
_OBSERVED = re.compile(r"(\d+)/")
_PLAIN = re.compile(r"[\w-]{1,64}")
_KNOWN_REASONS = {str(reason): reason.doc for reason in Reason}


@dataclass(frozen=True)
class Page:
    """A page that was written, as the report lists it."""

    path: str
    case: str
    benchmark: str
    block: str
    failed: bool


@dataclass(frozen=True)
class ShownStatement:
    """A statement with its text, and the reasons given for it."""

    id: str
    text: str
    reasons: tuple[tuple[str, str], ...] = ()
    part: bool = False


@dataclass(frozen=True)
class Attempted:
    """One method on the episode, ready to be shown."""

    result: Result
    status: str
    view: tuple[ShownStatement, ...]
    left_out: tuple[ShownStatement, ...]
    confirmed: tuple[tuple[Finding, str, str], ...]
    other: tuple[tuple[Finding, str, str], ...]
    scores: tuple[tuple[str, str], ...]
    took: str


def write_pages(
    plan: RunPlan, results: Sequence[Result], episodes: Mapping[str, Episode], folder: Path, *, template: Any, most: int
) -> list[Page]:
    """Write pages of some episodes: those that failed first, then by turns from every block, eligible ones before."""
    by_episode: dict[str, list[Result]] = {}
    for result in results:
        by_episode.setdefault(result.episode, []).append(result)
    chosen = _chosen(by_episode, most)
    if chosen:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    places = {method: place for place, method in enumerate(plan.methods)}

    def order(result: Result) -> tuple[int, int]:
        return places.get(result.method, len(places)), result.agents or 0

    pages = []
    for name in chosen:
        own, episode = sorted(by_episode[name], key=order), episodes.get(name)
        texts = {} if episode is None else _texts(episode)
        said = {
            "case": own[0].case,
            "first": own[0],
            "episode": episode,
            "history": None if episode is None else _history(episode, own),
            "attempts": [_attempted(result, texts) for result in own],
            "plan": plan,
        }
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
        file = f"{name if _PLAIN.fullmatch(name) else digest[:16]}.html"
        (folder / FOLDER / file).write_text(template.render(said), encoding="utf-8")
        failed = any(result.failure for result in own)
        pages.append(Page(f"{FOLDER}/{file}", own[0].case, own[0].benchmark, own[0].block, failed))
    return pages


def _chosen(by_episode: Mapping[str, Sequence[Result]], most: int) -> list[str]:
    failed = [name for name, own in by_episode.items() if any(result.failure for result in own)]
    blocks: dict[tuple[str, str], list[str]] = {}
    for name, own in by_episode.items():
        blocks.setdefault((own[0].benchmark, own[0].block), []).append(name)
    by_turns = [name for turn in zip_longest(*blocks.values()) for name in turn if name is not None]
    eligible = [name for name in by_turns if any(result.eligible for result in by_episode[name])]
    kept = set(list(dict.fromkeys(chain(failed, eligible, by_turns)))[: max(0, most)])
    return [name for name in by_episode if name in kept]


def _texts(episode: Episode) -> dict[str, str]:
    """The words of every row, by its id."""
    spoken = {
        f"s{session.index}.t{number}": turn.text
        for session in episode.sessions
        for number, turn in enumerate(session.turns, start=1)
    }
    return spoken | {row.id: row.text for row in episode.rows}


def _words(texts: Mapping[str, str], name: str) -> str:
    """A statement's words: its row's, where it is a part of a row."""
    if name in texts:
        return texts[name]
    turn = _TURN.match(name)
    return texts.get(turn[0], "") if turn else ""


def _attempted(result: Result, texts: Mapping[str, str]) -> Attempted:
    view = result.view
    known = {**texts, **result.candidates}
    shown: list[ShownStatement] = []
    if view is not None:
        shown = [
            ShownStatement(row, view.excerpts.get(row) or _words(known, row), part=row in view.excerpts)
            for row in view.rows
        ]
        shown += [ShownStatement("record of the store", text) for text in view.memories]
    findings = () if view is None else view.findings
    described = [(f, _words(known, f.row), _observed(f.observation, known)) for f in findings]
    return Attempted(
        result=result,
        status=_status(result, view),
        view=tuple(shown),
        left_out=tuple(
            ShownStatement(name, _words(known, name), tuple((code, _KNOWN_REASONS.get(code, "")) for code in reasons))
            for name, reasons in (view.left_out.items() if view is not None else ())
        ),
        confirmed=tuple(one for one in described if one[0].confirmed),
        other=tuple(one for one in described if not one[0].confirmed),
        scores=tuple(_scores(result)),
        took=_took(result),
    )


def _observed(observation: str, texts: Mapping[str, str]) -> str:
    """Where an observation was made. Its words are quoted in the verdict."""
    session = _OBSERVED.match(observation)
    return f"session {session[1]}" if session else _words(texts, observation)


def _status(result: Result, view: View | None) -> str:
    if result.failure:
        return "Failed. It stays in every denominator, with every judgment false."
    if not result.eligible:
        return "Not eligible: wrong departure answer, or no quorum of active agents. It counts nowhere."
    if view is None:
        return "No view was made."
    if view.blocked and view.missing:
        return f"Refused for want of coverage. Missing: {', '.join(view.missing)}. The agent was handed nothing."
    if view.blocked:
        return "Refused. The agent was handed nothing."
    if not view.rows and not view.memories:
        return "The view is empty: the method hands over nothing."
    if view.missing:
        return f"Handed over although incomplete. Missing: {', '.join(view.missing)}."
    handed = len(view.rows) + len(view.memories)
    return f"Handed over: {handed} {'statement' if handed == 1 else 'statements'}."


def _scores(result: Result) -> Iterable[tuple[str, str]]:
    if (stale := result.stale) is not None:
        judged = (("SR", stale.sr), ("PR", stale.pr), ("IPA", stale.ipa))
        yield "probes", ", ".join(f"{name} {'passed' if passed else 'failed'}" for name, passed in judged)
    if (of := result.manbench) is not None:
        yield "valid candidate", "admitted" if of.valid_admitted else "not admitted"
        yield "invalid candidate", "admitted" if of.invalid_admitted else "rejected"
        if of.correct is not None:
            yield "final answer", "right" if of.correct else "wrong"
    for name, outcome in (("answer", result.memora), ("view, by literal match", result.seen)):
        if outcome is not None:
            held = f"{sum(outcome.presence)} of {len(outcome.presence)} valid present"
            gone = f"{sum(outcome.forgetting)} of {len(outcome.forgetting)} ended absent"
            at = criteria(outcome)
            yield name, f"{held}, {gone}; P {float(at.p):.2f}, F {float(at.f):.2f}, w {float(at.w):.2f}"
    if result.true_pair:
        yield "labelled pair", result.true_pair


def _took(result: Result) -> str:
    if not result.usage:
        return f"{result.milliseconds:,} ms, no model."
    stages = ", ".join(f"{stage.stage} {stage.tokens:,}" for stage in result.usage)
    calls = sum(stage.calls for stage in result.usage)
    asked = f"{calls:,} calls, {result.retries:,} retries, {result.repairs:,} repairs"
    return f"{result.milliseconds:,} ms, {asked}. Tokens by stage: {stages}."


@dataclass(frozen=True)
class ShownHistory:
    """The sessions worth showing, on each side of the departure."""

    before: tuple[Session, ...]
    after: tuple[Session, ...]
    before_all: int
    after_all: int
    near: frozenset[int]


def _history(episode: Episode, results: Sequence[Result]) -> ShownHistory | None:
    """Sessions around the departure, and those that some method admitted, left out or looked at."""
    if not episode.sessions:
        return None
    touched: set[int] = set()
    for view in (result.view for result in results if result.view is not None):
        names = chain(view.rows, view.left_out, (f.row for f in view.findings))
        touched |= {int(turn[1]) for name in names if (turn := _TURN.match(name))}
        touched |= {int(seen[1]) for f in view.findings if (seen := _OBSERVED.match(f.observation))}
    before = [session for session in episode.sessions if session.index <= episode.departure]
    after = [session for session in episode.sessions if session.index > episode.departure]
    near = frozenset(session.index for session in (*before[-NEAR:], *after[:NEAR]))
    return ShownHistory(
        tuple(session for session in before if session.index in touched | near),
        tuple(session for session in after if session.index in touched | near),
        len(before),
        len(after),
        near,
    )
