"""``make mutation``: change one thing at a time in the code that decides, and see whether a test notices.

    python -m tests.mutation [room ...]

Works on a copy, since the mutator edits files in place. Sessions are kept in ``.mutation/``: a run that is
interrupted goes on where it stopped; ``make clean`` starts over. Survivors, as diffs, go to
``.mutation/<room>.survivors``. A mutant may take a few times as long as the unchanged code; one that does not end
by then is noticed.
"""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

WORK = ROOT / ".mutation"
TREE = WORK / "tree"
# The code that is changed, and the tests that must notice. Key files and rendering are left out: their constants
# are loose upper bounds, and flags of the operating system, which few mutants of mean anything.
ROOMS = {
    "gate": (
        "src/readmit/rules/gate/gates.py src/readmit/rules/gate/judge.py",
        "tests/rules/gate/test_gates.py tests/rules/gate/test_judge.py",
    ),
    "duties": ("src/readmit/rules/gate/duties.py", "tests/rules/gate/test_duties.py"),
    "replacement": ("src/readmit/rules/invalidate/replacement.py", "tests/rules/invalidate/test_replacement.py"),
    "resolve": (
        "src/readmit/rules/invalidate/resolve.py",
        " ".join(
            f"tests/rules/invalidate/test_{part}.py" for part in ("statements", "replacement", "premises", "implicit")
        ),
    ),
    "coverage": ("src/readmit/rules/cover/coverage.py", "tests/rules/cover/test_coverage.py"),
    "greedy": ("src/readmit/rules/cover/greedy.py", "tests/rules/cover/test_greedy.py"),
    "choose": ("src/readmit/rules/cover/choose.py", "tests/rules/cover/test_choose.py"),
    "exact": ("src/readmit/rules/cover/exact.py", "tests/rules/cover/test_exact.py"),
    "recheck": ("src/readmit/rules/readmission/recheck.py", "tests/trust/test_recheck.py"),
    "dsse": ("src/readmit/trust/statement.py", "tests/trust/test_dsse.py"),
    "statement": ("src/readmit/trust/statement.py", "tests/trust/test_statement.py"),
    "trust": ("src/readmit/trust/trusted_keys.py", "tests/trust/test_trust.py"),
    "view": ("src/readmit/rules/readmission/view.py", "tests/trust/test_view.py"),
}
TIMES_AS_LONG = 4
LEAST_SECONDS = 10.0


def main(rooms: list[str]) -> int:
    """Mutate these packages; the exit status is non-zero if mutants survive."""
    if unknown := set(rooms) - set(ROOMS):
        print(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(ROOMS)}", file=sys.stderr)
        return 2
    # Whatever ends this ends the mutator, and so its tests.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    _copy_tree()
    survivors = sum(_run_room(room) for room in rooms or ROOMS)
    return 1 if survivors else 0


def _copy_tree() -> None:
    shutil.rmtree(TREE, ignore_errors=True)
    skipped = shutil.ignore_patterns("__pycache__", "*_cache", ".hypothesis")
    for folder in ("src", "tests", "docs", "examples"):
        shutil.copytree(ROOT / folder, TREE / folder, ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", TREE)


def _run_room(room: str) -> int:
    sources, tests = (paths.split() for paths in ROOMS[room])
    session = WORK / f"{room}.sqlite"
    config = WORK / f"{room}.toml"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "pytest_timeout", "-p", "tests.mutation.parented", *tests]
    begun = time.monotonic()
    _run(command)
    clean = time.monotonic() - begun
    config.write_text(
        "[cosmic-ray]\n"
        f"module-path = {json.dumps(sources)}\n"
        f"timeout = {max(LEAST_SECONDS, TIMES_AS_LONG * clean):.1f}\n"
        'excluded-modules = ["**/__init__.py"]\n'
        f"test-command = {json.dumps(shlex.join(command))}\n"
        '[cosmic-ray.distributor]\nname = "local"\n',
        encoding="utf-8",
    )
    if not session.exists():
        _tool("cosmic-ray", "init", str(config), str(session))
        _skip_annotations(session)
    _tool("cosmic-ray", "exec", str(config), str(session))
    return _report(room, session)


def _skip_annotations(session: Path) -> None:
    """Take out mutants of what only type checkers read: they change nothing that runs."""
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    with use_db(str(session), mode=WorkDB.Mode.open) as work:
        for item in list(work.pending_work_items):
            [mutation] = item.mutations
            spans = _annotations(TREE / mutation.module_path)
            if any(start <= mutation.start_pos < end for start, end in spans):
                work.set_result(item.job_id, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))


@cache
def _annotations(module: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    nodes = [
        each
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        for each in (getattr(node, "annotation", None), getattr(node, "returns", None), _typing_only(node))
        if each is not None
    ]
    # What was read from a file has an end.
    return [((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)) for node in nodes]


def _typing_only(node: ast.AST) -> ast.expr | None:
    """The condition of a block that only type checkers read."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return node.test
    return None


def _report(room: str, session: Path) -> int:
    dump = _tool("cosmic-ray", "dump", str(session), capture=True)
    results = [result for _, result in map(json.loads, dump.splitlines()) if result]
    judged = [result for result in results if result["worker_outcome"] == "normal"]
    alive = [result for result in judged if result["test_outcome"] == "survived"]
    (WORK / f"{room}.survivors").write_text("\n".join(result["diff"] for result in alive), encoding="utf-8")
    endless = sum(result["output"] == "timeout" for result in judged)
    noticed = f"{len(judged) - len(alive)} noticed ({endless} by the time limit)"
    print(f"{room}: {len(judged)} mutants, {noticed}, {len(alive)} survived", flush=True)
    return len(alive)


def _tool(name: str, *arguments: str, capture: bool = False) -> str:
    return _run([str(Path(sys.executable).with_name(name)), *arguments], capture=capture)


def _run(command: list[str], *, capture: bool = False) -> str:
    # The copy's source comes first, before the installed project; the search for examples is repeatable; and of
    # what other packages bring to pytest, which takes longer to load than the tests take, only the limit is used.
    environment = os.environ | {
        "PYTHONPATH": str(TREE / "src"),
        "HYPOTHESIS_PROFILE": "repeat",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    stdout = subprocess.PIPE if capture else None
    done = subprocess.run(command, cwd=TREE, env=environment, check=True, text=True, stdout=stdout)
    return done.stdout or ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
