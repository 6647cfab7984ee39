"""Statements whose names all hold, about files that changed since."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from readmit.lab import Status
from tests.cli.run import run, said

from .project import CART, Project

pytest.importorskip("openai", reason="needs readmit[models]")

if TYPE_CHECKING:
    from pathlib import Path

CLAIM = "A cart has at most 5 lines, see `src/shop/cart.py`."
UNSURE = ["the verifier is unsure"]
VERIFIER = ("--verifier", "batch:answers?model=m")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path / "shop")
    made.commit(**{"AGENTS.md": f"# Shop\n\n- {CLAIM}\n- Prices: `src/shop/prices.py`.\n", ".gitignore": "answers\n"})
    monkeypatch.chdir(made.root)
    return made


def answer(project: Project, **judgment: Any) -> str:
    """Answer the one request that waits; what it asked."""
    (line,) = (project.root / "answers" / "requests.jsonl").read_text().splitlines()
    request = json.loads(line)
    made = {"statement": 1, "item_quote": "", "evidence_quote": "", "premise": "the limit", "stale": 0.1, **judgment}
    message = {"message": {"content": json.dumps({"judgments": [made]})}, "finish_reason": "stop"}
    body = {"model": "m", "choices": [message]}
    reply = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}
    (project.root / "answers" / "responses.jsonl").write_text(json.dumps(reply) + "\n")
    return str(request["body"]["messages"][-1]["content"])


def test_a_change_that_a_verifier_finds_against_a_statement_is_a_finding(project: Project) -> None:
    project.commit(**{"src/shop/cart.py": CART.replace("MAX_LINES = 5", "MAX_LINES = 50")})
    assert said("check")["ok"] is True, "every name holds"
    run("check", *VERIFIER, status=Status.WAITING)
    asked = answer(project, item_quote="at most 5 lines", evidence_quote="+MAX_LINES = 50", stale=0.95)
    assert CLAIM in asked
    assert "-MAX_LINES = 5" in asked
    report = said("check", *VERIFIER, status=1)
    (found,) = report["findings"]
    assert (found["kind"], found["line"], found["looked_for"]) == ("change", 3, "at most 5 lines")
    assert found["now"] == "src/shop/cart.py says now: +MAX_LINES = 50"


@pytest.mark.parametrize(
    ("judgment", "unsure"),
    [
        ({"stale": 0.1}, []),
        ({"stale": 0.95, "item_quote": "at most 7 lines", "evidence_quote": "+MAX_LINES = 50"}, UNSURE),
        ({"stale": 0.95, "item_quote": "at most 5 lines", "evidence_quote": "+MAX_LINES = 70"}, UNSURE),
    ],
    ids=["it still holds", "a quote that the statement does not hold", "a quote that the change does not hold"],
)
def test_a_verdict_without_both_quotes_is_none(judgment: dict[str, Any], unsure: list[str], project: Project) -> None:
    project.commit(**{"src/shop/cart.py": CART.replace("MAX_LINES = 5", "MAX_LINES = 50")})
    run("check", *VERIFIER, status=Status.WAITING)
    answer(project, **judgment)
    report = said("check", *VERIFIER)
    assert report["findings"] == []
    assert [one["why"].partition(":")[0] for one in report["unchecked"]] == unsure


def test_what_did_not_change_since_the_line_was_written_is_not_asked(project: Project) -> None:
    project.commit(**{"src/shop/cart.py": CART.replace("MAX_LINES = 5", "MAX_LINES = 50")})
    project.commit(**{"AGENTS.md": f"# Shop\n\n- {CLAIM.replace('5', '50')}\n- Prices: `src/shop/prices.py`.\n"})
    assert said("check", *VERIFIER)["ok"] is True
    assert not (project.root / "answers").exists()


def test_a_change_that_is_too_long_to_judge_is_listed(project: Project) -> None:
    project.commit(**{"src/shop/cart.py": CART + "".join(f"LINE_{number} = {number}\n" for number in range(1_000))})
    report = said("check", *VERIFIER)
    assert [one["why"] for one in report["unchecked"]] == ["changed by more than 12000 characters"]
