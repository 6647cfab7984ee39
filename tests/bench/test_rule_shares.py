"""What each rule does to a view, and the reader without a model that it is measured with."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from tests.bench.data import SMOKE
from tests.cli.run import run as run_command

from readmit.errors import RecordError
from readmit.inference import Turn
from readmit.lab import ExtractFrom, Plan, Task, decode, extract_claims, plan_tasks
from readmit.models import Failure, Lexical
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.evaluation.plain_reader import PlainReader
from readmit_bench.kept_runs import KeptRun, write_kept
from readmit_bench.methods.governance import READMIT, Rules
from readmit_bench.rule_shares import ALL, BEFORE, RUN, SharesOfView, kept_shares, measure, table, ways
from readmit_bench.settings import Settings
from readmit_bench.shares_order import SharesOrder, chosen_cases

if TYPE_CHECKING:
    from pathlib import Path


def test_each_rule_is_tried_alone() -> None:
    found = ways()
    names = [one.name for one in fields(Rules)]
    assert found[RUN] == READMIT.rules == Rules()
    assert all(getattr(found[ALL], name) for name in names)
    assert not any(getattr(found[BEFORE], name) for name in names)
    for name in names:
        assert [other for other in names if getattr(found[f"readmit, {name} alone"], other)] == [name]


def test_the_reader_takes_down_what_is_stated_and_what_it_ends() -> None:
    said = "I used to like tea, but now I drink mate. I no longer drink coffee. Shall we? I like rusks."
    (found,) = extract_claims(PlainReader(), [ExtractFrom(key="s", turns=(Turn("user", said),))])
    assert not isinstance(found, Failure)
    assert [one.operation for one in found.items] == ["update", "delete", "add"]
    (plan,) = plan_tasks(PlainReader(), [Task(text="What do I drink?")])
    assert isinstance(plan, Plan)
    assert plan.duties[0].lists == ("task.holds", "task.avoided")


def test_views_are_measured_with_and_without_each_rule() -> None:
    cases = chosen_cases(read_memora(SMOKE / "memora").cases, half="chosen", departures=(0.5,))[:1]
    found = measure(cases, Settings(), PlainReader(), Lexical())
    assert {BEFORE, ALL, "Static", "MemTX"} <= found.keys()
    assert all(len(own) == 1 for own in found.values())
    assert found[ALL][0].asked == 0, "Memora's operations are explicit"
    assert found[ALL][0].rows <= 16
    assert ALL in table(found, 0)


def test_the_figures_are_kept_with_what_must_be_said_of_them(tmp_path: Path) -> None:
    line = ["bench", "shares", "--data", str(SMOKE / "memora"), "--half", "chosen", "--departure", "0.5"]
    line += ["--embedder", "lexical", "--seed", "4", "--to", str(tmp_path), "--name", "rules"]
    printed = [run_command(*line, status=None).output for _ in range(2)]
    assert printed[0] == printed[1], "the same order gives the same figures under the same digest"
    kept = decode((tmp_path / "rules.json").read_bytes(), KeptRun, what="rules.json")
    (rules,) = kept.tables
    assert {row[0] for row in rules.rows} >= set(ways())
    said = dict(kept.facts)
    assert said["Histories"] == "the half that rules were written on"
    assert said["Cases"] == "2 of 1 histories, departure at 50%"
    assert said["Seed"] == "4"
    for fact in said.values():
        assert fact in kept.short
        assert fact in printed[0]
    order = SharesOrder(data=SMOKE / "memora", half="chosen", departure=(0.5,), embedder="lexical", seed=5)
    found = measure(order.cases(), order.how, order.reader(), order.opened_embedder())
    other = kept_shares(found, order, order.cases(), "rules")
    assert other.digest != kept.digest
    with pytest.raises(RecordError, match="holds another run"):
        write_kept(other, tmp_path)


@pytest.mark.parametrize(("holding", "said"), [(0.5, "+0.0"), (0.4999, "+0.0"), (0.4, "-10.0"), (0.62, "+12.0")])
def test_a_change_has_a_sign_and_zero_has_one(holding: float, said: str) -> None:
    def view(held: float) -> SharesOfView:
        return SharesOfView("one", held, 0.5, 0.2, rows=3, chars=90, blocked=False, asked=0)

    line = table({BEFORE: [view(0.5)], "another": [view(holding)]}, 0).splitlines()[-1]
    assert line.split()[4] == said


def test_a_case_is_named_as_it_is() -> None:
    cases = read_memora(SMOKE / "memora").cases
    assert chosen_cases(cases, half="other", named=[cases[0].labels.case]) == [cases[0]]
    with pytest.raises(RecordError, match="case: 'nobody' is not in the data"):
        chosen_cases(cases, half="other", named=["nobody"])
