"""Every parameter of the paper's table drives a run: change one, and requests, views or cases are others."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.bench.answers_by_file import plain, sections
from tests.bench.data import SMOKE

from readmit.models import Ask, Failure, Lexical, Reply, Usage
from readmit_bench.active_agents import play
from readmit_bench.episode_runs import Roles, attempt, method_named, scored
from readmit_bench.episodes import Case
from readmit_bench.settings import Settings, overridden
from readmit_bench.studies import planned_cases, study_named

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANGED = {
    "memora.departures": "0.25,0.5",
    "memora.answer_tokens": "99",
    "memora.state_prediction_tokens": "99",
    "memora.retrieved_before": "1",
    "memora.retrieved_after": "1",
    "memora.recent_before": "0",
    "memora.recent_after": "0",
    "memora.batch_sessions": "2",
    "memora.facts_initial": "2",
    "memora.facts_at_most": "1",
    "memora.selector_confidence": "0.95",
    "memora.retrieval": "lexical",
    "memora.form": "withdrawn",
    "memora.changes": "asked",
    "memora.view_characters": "64",
    "stale.early": "0,0",
    "stale.middle": "6,6",
    "stale.late": "14,14",
    "stale.answer_tokens": "99",
    "stale.judge_tokens": "99",
    "stale.extraction_tokens": "99",
    "stale.extraction_items": "1",
    "stale.governance_tokens": "99",
    "stale.scan_tokens": "99",
    "stale.verification_tokens": "99",
    "stale.retrieved_per_query": "3",
    "stale.retrieved_union": "11",
    "stale.extraction_characters": "2000",
    "stale.scan_characters": "2000",
    "stale.governance_characters": "2000",
    "stale.scan_targets": "3",
    "stale.scan_observations": "2",
    "stale.extraction_sessions": "1",
    "stale.assistant_turns": "whole",
    "stale.form": "withdrawn",
    "manbench.active_agents": "2",
    "manbench.baseline_tokens": "9",
    "manbench.final_tokens": "9",
    "manbench.active_tokens": "9",
    "manbench.verifier_tokens": "9",
    "manbench.verifier_confidence": "0.95",
    "manbench.view_characters": "64",
}
# With everything at its default, little of the smoke set runs into these limits.
TIGHT = {
    "memora.facts_at_most": ("memora.facts_initial=1",),
    "memora.recent_before": ("memora.retrieved_before=1",),
    "memora.recent_after": ("memora.retrieved_after=1",),
    "memora.form": ("memora.changes=asked",),
}
# One view holds one of the two candidates at most: the limit of four can only be read off the budget.
IN_THE_BUDGET_ONLY = {"manbench.view_items"}
# The smoke records have their sessions, and one period: a substitute haystack and others are in test_datasets.py.
OF_OTHER_DATA_ONLY = {"stale.stated", "memora.periods"}
# How a role's model answers is no setting of a benchmark: test_role_settings.py.
ROLES = {"actor", "extractor", "verifier", "judge"}
METHODS = ("Static", "trace-paper", "readmit")
TALK = " ".join(f"I told you so, for the {number}th time." for number in range(60))


@dataclass
class Recorded:
    """Answers every request, and keeps what is in it."""

    name: str = "recorded"
    asked: list[tuple[str, str, int]] = field(default_factory=list)

    def ask(self, asks: Sequence[Ask]) -> list[Reply | Failure]:
        self.asked += [(ask.stage, ask.user, ask.max_tokens) for ask in asks]
        return [
            Reply(text=_said(ask), usage=Usage(stage=ask.stage, input=1, output=1), model=self.name) for ask in asks
        ]


def _said(ask: Ask) -> str:
    shown = sections(ask.user)
    if ask.stage == "plan":
        words = list(dict.fromkeys(re.findall(r"[a-z]{4,}", shown["task"].lower())))[:6]
        needs = [{"name": word, "needed": word, "critical": True, "many": False} for word in words]
        return json.dumps(
            {"obligations": [{"obligation": "answer", "needs": needs}], "queries": [*words[:3], "x", "y"]}
        )
    if ask.stage == "extract":
        return json.dumps({"items": [item for name, text in shown.items() for item in _items(name, text)]})
    if ask.stage == "settle":
        first = shown["choices"].splitlines()[0]
        return json.dumps({"reason": "", "answerable": True, "answer": first, "confidence": 0.9})
    said = plain(shown, json.loads(ask.schema) if ask.schema else None)
    # Were everything invalidated, no budget would ever be full.
    return said.replace('"invalidates"', '"compatible"') if ask.stage == "verify" else said


def _items(name: str, text: str) -> list[dict[str, Any]]:
    """Every sentence of the user's last turn, as an item of its own."""
    turns = re.findall(r"^\[[0-9a-f]{16}\] turn \d+, user\n(.+)$", text, re.MULTILINE)
    return [
        {
            "observation": int(name.split()[1]), "turn": 0, "quote": quote, "slot": quote[:40],
            "statement": quote, "operation": "add", "premises": ["p"] if number else [], "confidence": 0.9,
        }
        for number, quote in enumerate(re.findall(r"[^.!?\n]+[.!?]", turns[-1] if turns else "")[:3])
    ]  # fmt: skip


def _longer(case: Case[Any]) -> Case[Any]:
    """The same case with fewer STALE sessions of a real length: those of the smoke set fit every prompt."""
    if case.episode.benchmark != "stale":
        return case
    sessions = tuple(
        msgspec.structs.replace(
            one, turns=tuple(msgspec.structs.replace(turn, text=f"{turn.text} {TALK}") for turn in one.turns)
        )
        for one in case.episode.sessions[: case.episode.departure + 10]
    )
    return Case(msgspec.structs.replace(case.episode, sessions=sessions), case.labels)


@cache
def trace(benchmark: str, changes: tuple[str, ...]) -> bytes:
    """Cases, requests and views of a small run, as bytes."""
    settings = overridden(Settings(), changes)
    study = study_named(benchmark)
    data = SMOKE / benchmark
    found = planned_cases(study, data, limit=None, stratified=False, seed=0, settings=settings)
    seen: list[object] = [[(case.labels.case, case.labels.block) for case in found.cases]]
    for case in (_longer(case) for case in found.cases[: 1 if benchmark == "stale" else 3]):
        for name in METHODS:
            model = Recorded()
            roles = Roles(actor=model, extractor=model, verifier=model, judge=model, embedder=Lexical())
            if benchmark == "manbench":
                case = play(case, model, settings.manbench).case  # noqa: PLW2901  # the same case, played
            method = method_named(name, case.episode.benchmark, roles, settings)
            made = attempt(case.episode, method, roles, settings)
            line = scored(case, name, made, roles, settings)
            assert line.failure == ""
            seen.append((name, model.asked, made.view))
    return msgspec.json.encode(seen)


def test_every_setting_is_varied_here() -> None:
    fields = {
        f"{group}.{name}"
        for group in Settings.__struct_fields__
        if group not in ROLES
        for name in getattr(Settings(), group).__struct_fields__
    }
    assert fields == CHANGED.keys() | IN_THE_BUDGET_ONLY | OF_OTHER_DATA_ONLY


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_setting_changes_the_run(name: str) -> None:
    benchmark = name.partition(".")[0]
    base = TIGHT.get(name, ())
    assert trace(benchmark, (*base, f"{name}={CHANGED[name]}")) != trace(benchmark, base)


@pytest.mark.parametrize("benchmark", ["memora", "stale", "manbench"])
def test_the_same_settings_give_the_same_run(benchmark: str) -> None:
    once = trace(benchmark, ())
    trace.cache_clear()
    assert trace(benchmark, ()) == once


def test_the_items_of_a_manbench_view_are_the_budgets() -> None:
    assert overridden(Settings(), ["manbench.view_items=2"]).manbench.budget.union == 2
