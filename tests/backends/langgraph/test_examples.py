from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from tests.conftest import ROOT


def run(name: str) -> str:
    return subprocess.run(
        [sys.executable, f"examples/{name}"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=120
    ).stdout


@pytest.mark.backends
@pytest.mark.skipif(
    find_spec("langgraph") is None or find_spec("langgraph.checkpoint.sqlite") is None,
    reason="needs langgraph: pip install 'readmit[langgraph]' langgraph-checkpoint-sqlite",
)
def test_a_planner_that_leaves_in_one_process_and_comes_back_in_another() -> None:
    output = run("langgraph_return.py")
    before, after = output.split("2. The planner leaves")
    assert "Reserve dinner near Sunrise?" in before
    stopped, again, done = (after.partition(f"{step}. ")[2].partition(f"{step + 1}. ")[0] for step in (3, 4, 5))
    assert "'readmit': 'blocked'" in stopped
    assert "'missing': ['bed']" in stopped
    assert "Reserve dinner near Lowland?" in again, "the old answer is not taken for the new question"
    assert "day 1: dinner near Lowland: yes (the thread said: nothing)" in done
    assert "['Lowland', 'Sunrise']" in done, "it must really be there still"


def test_the_langgraph_example_needs_few_lines_of_readmit() -> None:
    assert len(lines_of_readmit((ROOT / "examples/langgraph_return.py").read_text())) <= 14


def test_a_line_of_readmit_is_one_that_names_something_of_it() -> None:
    source = "import os\nfrom readmit import W\nt = W(\n  1)\nu = t.x\nwith u:\n  os.x()\n  def f():\n    return t\n"
    assert lines_of_readmit(source) == {2, 3, 4, 5, 6, 9}


def lines_of_readmit(source: str) -> set[int]:
    """The lines of every import from readmit, and of every statement that names something made with it.

    A name counts if it is imported from readmit, or assigned from an expression that has such a name, at any depth. Of
    a statement with a body only the head is meant.
    """
    statements = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.stmt)]
    imports = [
        one for one in statements if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("readmit")
    ]
    ours = {alias.asname or alias.name for one in imports for alias in one.names}
    found = {line for one in imports for line in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    while True:
        using = [part for one in statements for part in heads(one) if ours & names([part], ast.Load)]
        made = {
            name for one in statements if ours & names(heads(one), ast.Load) for name in names(heads(one), ast.Store)
        } - ours
        if not made:
            return found | {line for part in using for line in range(part.lineno, (part.end_lineno or 0) + 1)}
        ours |= made


def heads(statement: ast.stmt) -> list[Any]:
    """A statement without its body."""
    if isinstance(statement, ast.With):
        return [part for item in statement.items for part in (item.context_expr, item.optional_vars) if part]
    if hasattr(statement, "body"):
        return [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.expr)]
    return [statement]


def names(parts: list[Any], use: type) -> set[str]:
    found = (one for part in parts for one in ast.walk(part) if isinstance(one, ast.Name))
    return {one.id for one in found if isinstance(one.ctx, use)}


def test_a_hand_off_between_two_roles() -> None:
    output = run("hand_off.py")
    assert "The hand-off is blocked. Still missing: d_quote" in output
    received = output.partition("2. ")[2].partition("3. ")[0]
    assert "14 percent" in received
    assert "41 percent" not in received
    assert "clerk" not in received
    assert output.splitlines()[-1].split(maxsplit=1) == ["reached:", "['The minister reads every quote before print.']"]
