"""Conventions that a reviewer would otherwise have to repeat."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

import readmit
from readmit import Reason, types
from readmit.records import error_types as errors
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SRC = ROOT / "src" / "readmit"
MODULES = sorted([*SRC.rglob("*.py"), *(ROOT / "packages").rglob("*.py")])
LONGEST_MODULE = 400
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "misc", "common"}
HEAVY = {"cryptography", "highspy", "numpy", "openai", "prov", "psycopg", "rich", "starlette", "torch"}

FOLDERS = (".ci", "benchmarks", "docs", "examples", "packages", "requirements", "src", "tests")
TEXT = {".cfg", ".json", ".jsonl", ".md", ".py", ".sh", ".sql", ".toml", ".txt", ".yaml", ".yml", ""}
OURS = sorted(
    path
    for path in [*ROOT.iterdir(), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    if path.is_file() and path.suffix in TEXT and not any(part.endswith("_cache") for part in path.parts)
    if path.name != ".git"  # in a worktree, a file that names the machine's own folder
)

# Each pattern is written so that this file does not match it.
UNWANTED = {
    "unfinished business": re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X])\b"),
    "a path of one machine": re.compile(r"(?<![\w.~-])/(?:home|root|Users|work|opt)(?=/)"),
    "an index address": re.compile(r"(?<!\S)--(?:extra-)?index-ur[l]|--find-link[s]|pypi\.org|pythonhosted\.org"),
    "a merge conflict": re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE),
}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_module_is_small_named_and_described(module: Path) -> None:
    source = module.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= LONGEST_MODULE, "split it: one room, one thing"
    assert not VAGUE_NAMES & {module.stem, module.parent.name}, "name it after what it does"
    assert ast.get_docstring(ast.parse(source)), "say what the module is for"


@pytest.mark.parametrize("what", UNWANTED)
def test_no_file_holds(what: str) -> None:
    found = [
        f"{name_of(path)}:{number}"
        for path in OURS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNWANTED[what].search(line)
    ]
    assert found == []


def test_the_patterns_find_what_they_are_for() -> None:
    samples = {
        "unfinished business": "# TO" + "DO: later",
        "a path of one machine": "see /ho" + "me/someone/file",
        "an index address": "--index-" + "url https://example.org",
        "a merge conflict": "<" * 7 + " HEAD",
    }
    assert {what for what, pattern in UNWANTED.items() if pattern.search(samples[what])} == set(UNWANTED)


def test_requirements_pin_every_package_by_hash() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        logical = path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        assert logical
        assert [
            line for line in logical if not re.match(r"[a-z0-9][\w.-]*==\S+ .*--hash=sha256:[0-9a-f]{64}", line)
        ] == []


def test_every_extra_that_a_message_names_exists() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {
        extra
        for module in MODULES
        for pair in re.findall(r"readmit\[(\w+)\]|\bneed\(\"\w+\", \"(\w+)\"\)", module.read_text(encoding="utf-8"))
        for extra in pair
        if extra
    }
    assert named - set(declared) == set()


def test_every_public_name_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ `(\w+)`$", page, re.MULTILINE)
    public = {*readmit.__all__, *types.__all__}
    assert sorted(headings) == sorted(public), "docs/reference/api.md and readmit.__all__, readmit.types.__all__ differ"


def test_every_error_is_in_the_tree() -> None:
    tree = errors.__doc__ or ""
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert [kind.__name__ for kind in classes if not re.search(rf"\b{kind.__name__}\b", tree)] == []
    assert [kind.__name__ for kind in classes if not issubclass(kind, errors.ReadmitError)] == []


def test_every_reason_is_named_by_some_test() -> None:
    tests = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests").rglob("*.py")
        if "docs" not in path.parts and path.name != "test_conventions.py"
    )
    unnamed = [
        reason.name for reason in Reason if not re.search(rf"\bReason\.{reason.name}\b|[\"']{reason.value}[\"']", tests)
    ]
    assert unnamed == []


def test_importing_readmit_loads_nothing_heavy() -> None:
    script = "import sys; from readmit import Workspace; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert HEAVY & {name.partition(".")[0] for name in loaded} == set(), "import it inside the call that needs it"
    rare = ("readmit.diagnosis", "importlib.metadata", "zipfile", "difflib", "concurrent.futures")
    assert [name for name in loaded if name.startswith(rare)] == [], "import it inside the call that needs it"


def test_every_test_that_the_reliability_page_names_exists() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    missing = [path for path in set(re.findall(r"`(tests/[\w/.]+)(?:::\w+)?`", page)) if not (ROOT / path).exists()]
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    missing += [name for name in set(re.findall(r"\b(test_\w+)`", page)) if f"def {name}(" not in code]
    assert missing == []


def test_what_a_stage_hands_on_is_frozen() -> None:
    """Nothing downstream may change what another stage still holds."""
    stages = ("capture", "invalidate", "gate", "cover", "seal", "readmission")
    loose = [
        f"{name_of(module)}:{node.lineno} {node.name}"
        for module in MODULES
        if module.is_relative_to(SRC) and module.relative_to(SRC).parts[0] in stages
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith("Struct") for base in node.bases)
        and not any(word.arg == "frozen" and ast.unparse(word.value) == "True" for word in node.keywords)
    ]
    assert loose == []


def test_every_assertion_of_a_test_can_fail() -> None:
    idle = [
        f"{name_of(path)}:{line}" for path in sorted((ROOT / "tests").rglob("*.py")) for line in _idle(path.read_text())
    ]
    assert idle == []


@pytest.mark.parametrize(
    "idle", ["assert ASLEEP", "assert 'text'", "assert (1, 2)", "assert lambda: 0", "assert x == x"]
)
def test_an_assertion_that_cannot_fail_is_found(idle: str) -> None:
    assert _idle(f"assert x == y\n{idle}\nassert found") == [2]


def _idle(source: str) -> list[int]:
    """The lines of assertions about a constant, or about a value and itself."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assert)
        and (
            isinstance(node.test, ast.Constant | ast.Tuple | ast.Lambda | ast.JoinedStr)
            or (isinstance(node.test, ast.Name) and node.test.id.isupper())
            or (
                isinstance(node.test, ast.Compare)
                and isinstance(node.test.left, ast.Name)
                and {ast.dump(one) for one in node.test.comparators} == {ast.dump(node.test.left)}
            )
        )
    ]


def test_every_folder_of_tests_has_the_name_of_a_package_or_is_explained() -> None:
    explained = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = {path.name for path in (ROOT / "tests").iterdir() if (path / "__init__.py").exists()}
    packages = {path.name for path in SRC.iterdir()}
    assert {name for name in folders - packages if f"| `tests/{name}` |" not in explained} == set()


# Answers of models are decoded into these, and their names are in the schemas that recorded requests are filed under.
TWO_ANSWERS = {"Claim", "Claims", "Duty", "Lines"}


def test_a_class_name_means_one_class() -> None:
    """In the core."""
    homes: dict[str, set[str]] = {}
    for module in MODULES:
        if module.is_relative_to(SRC):
            for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes.setdefault(node.name, set()).add(name_of(module))
    assert {name: sorted(places) for name, places in homes.items() if len(places) > 1 and name not in TWO_ANSWERS} == {}


RIDDLES = re.compile(
    r"\b(told|whoever|nobody's|anew|befalls?|befell|in the eyes of|none the wiser|closes? a circle|is the matter|"
    r"would mend|lets? go of|not so this|no model's word|behind our back|to the letter|that there are many of)\b",
    re.IGNORECASE,
)
# Prompts and data of models, a title that stands, and names of tests.
EXEMPT = {
    "prompts", "smoke", "0006-an-event-reaches-whoever-it-concerns.md", "mutation.md", "reliability.md",
}  # fmt: skip


def test_the_code_and_the_documentation_are_in_plain_english() -> None:
    """Say it as in a review: subject, verb, fact."""
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    found = [
        f"{name_of(path)}:{number}: {match.group()}"
        for path in [*MODULES, *sorted((ROOT / "packages").rglob("*.py")), *texts]
        if not EXEMPT.intersection(path.parts)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := RIDDLES.search(line)) and "0006-" not in line
    ]
    assert found == []
