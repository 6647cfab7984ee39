"""``readmit check`` on a repository that wants to keep it busy: bounded time and memory, a clear error, a status."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from resource import RUSAGE_CHILDREN, getrusage
from typing import TYPE_CHECKING

import pytest

from readmit.lab import Status
from tests.check.project import Project
from tests.cli.run import run, said

if TYPE_CHECKING:
    from pathlib import Path

DEEP = 200_000
Made = Callable[[Project], tuple[str, str]]
"""Writes a project's files; gives the text and the name of its memory file."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "shop")


def checked(project: Project, says: str = "", *options: str, file: str = "CLAUDE.md", status: Status | None) -> str:
    """What a check prints, in bounded time and memory."""
    if says:
        (project.root / file).write_text(says)
    start = sum(os.times()[:4])
    done = run("check", project.root / file, "--root", project.root, *options, status=status)
    assert sum(os.times()[:4]) - start < 60, "seconds of processor time"
    assert done.exit_code in set(Status)
    assert getrusage(RUSAGE_CHILDREN).ru_maxrss < 2_200_000, "kilobytes"
    return done.output


VERSIONS = "Python 3.11 and React 18, `npm run build`, `pip install 'shop[web]'`, `shop serve`, `Cart.add_line`"


def memory(says: str, file: str = "CLAUDE.md") -> Made:
    return lambda _: (says, file)


def in_the_tree(file: str, text: str, says: str = VERSIONS) -> Made:
    def made(project: Project) -> tuple[str, str]:
        (project.root / file).write_text(text)
        return says, "CLAUDE.md"

    return made


def chain_of_classes(count: int) -> str:
    return "".join(f"class C{one}(C{one + 1}):\n    pass\n\n" for one in range(count)) + f"class C{count}:\n    pass\n"


def too_much(parts: int, names: int) -> dict[str, tuple[Made, str]]:
    """Memory files and trees that hold more than a check reads, each with the words of the error."""
    path = "a/" * parts + "a.py"
    return {
        "deep JSON in a memory file": (memory("[" + "[" * DEEP, "facts.json"), "facts.json"),
        "deep JSON": (in_the_tree("package.json", '{"a":' * DEEP), "package.json"),
        "a deep list in JSON": (in_the_tree("package.json", "[" * DEEP), "package.json"),
        "deep TOML": (in_the_tree("pyproject.toml", "a = " + "[" * DEEP), "pyproject.toml"),
        "deep keys in TOML": (in_the_tree("pyproject.toml", "a = " + "{b = " * DEEP), "pyproject.toml"),
        "deep Python": (in_the_tree("src/shop/cart.py", "class Cart:\n    x = " + "-" * DEEP + "1\n"), "cart.py"),
        "a path of many parts": (memory(f"`{path}`"), "the most is 4,096"),
        "a path of many parts in words": (memory(f"See {path} for it."), "the most is 4,096"),
        "a link of many parts": (memory(f"[x]({path})"), "the most is 4,096"),
        "a path of many parts in a command": (memory(f"`cat {path}`"), "the most is 4,096"),
        "many code spans in a line": (memory("`a_b` " * names), "more than 20,000"),
        "many names in a line": (memory(" ".join(f"`a_{one}`" for one in range(names))), "more than 20,000"),
        "many statements in JSON": (memory(json.dumps(["`a_b`"] * names), "facts.json"), "more than 20,000"),
    }


# Just above the limits, and six to ten times as much.
JUST, FAR = too_much(20_000, 21_000), too_much(DEEP, 120_000)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        *(pytest.param(*JUST[what], id=what) for what in JUST),
        *(pytest.param(*FAR[what], id=f"far {what}", marks=pytest.mark.slow) for what in FAR if "many" in what),
    ],
)
def test_a_hostile_repository_takes_bounded_time_and_memory_and_has_a_status_of_its_own(
    make: Made, named: str, project: Project
) -> None:
    says, file = make(project)
    told = checked(project, says, file=file, status=Status.TOO_MUCH)
    assert told.startswith("error: ")
    assert len(told.splitlines()) == 1
    assert len(told) < 400
    assert named in told


HOSTILE_CODE = {
    "deep brackets in JavaScript": ("a.js", "class Basket {}\nconst a = " + "[" * DEEP),
    "deep templates in JavaScript": ("a.js", "class Basket {}\n" + "`${" * DEEP),
    "a huge line of TypeScript": ("a.ts", "class Basket { " + "x" * 1_900_000),
    # What a parser makes of these grows with the square of their size.
    "broken text in TypeScript": ("a.ts", "class Basket {}\n" + 'r#"' * 300_000),
    "deep generics in TypeScript": ("a.tsx", "class Basket {}\nlet a: " + "A<" * DEEP),
    "deep blocks in Go": ("a.go", "package a\ntype Basket struct {}\nfunc b() {" + "{" * DEEP),
    "broken operators in Go": ("a.go", "package a\ntype Basket struct {}\n" + "a<" * 300_000),
    "deep closures in Rust": ("a.rs", "struct Basket {}\nfn a() { " + "|x| " * DEEP),
    "broken text in Rust": ("a.rs", "struct Basket {}\n" + 'r#"' * 300_000),
    "variables that double each other": (
        "Makefile",
        "".join(f"A{one} = $(A{one + 1}) $(A{one + 1}) $(A{one + 1}) $(A{one + 1})\n" * 1 for one in range(60))
        + "$(A0): x\n",
    ),
    "many recipes": ("justfile", "a b: c\n" * 100_000),
    "many services": ("compose.yaml", "services:\n" + " " * 500_000 + "\n" * 100_000),
    "many lines of Go": ("a.go", "package a\n" + "\n" * 300_000),
    "many imports": ("a.ts", "class Basket {}\n" + "import Basket " * 100_000),
    "deep tables in Cargo.toml": ("Cargo.toml", "[" + ".".join("a" * 2_000) + "]\nb = 1\n"),
}


@pytest.mark.parametrize("what", HOSTILE_CODE)
def test_hostile_code_of_other_languages_takes_bounded_time_and_memory(what: str, project: Project) -> None:
    file, text = HOSTILE_CODE[what]
    (project.root / file).write_text(text)
    says = (
        "`Basket.none_such`, `Basket::new`, `make none`, `just none`, `docker compose up none`, `cargo run --bin none`"
    )
    checked(project, says, "--timeout", "100", status=None)


def test_a_file_that_takes_too_long_to_parse_lets_nothing_be_said_about_its_types(project: Project) -> None:
    (project.root / "a.ts").write_text("class Basket { add() {} }\n")
    assert "Basket has no none_such" in checked(project, "`Basket.none_such`", status=Status.ERROR)
    (project.root / "b.ts").write_text("class Basket {}\n" + 'r#"' * 300_000)
    checked(project, "`Basket.none_such`", status=Status.OK)


CONFUSED = {
    "a number for the project": ("pyproject.toml", "project = 3\ntool = 4\ndependency-groups = 5\n"),
    "numbers in the project": (
        "pyproject.toml",
        "[project]\nname = 1\nrequires-python = 2\ndependencies = 3\nscripts = 4\noptional-dependencies = 5\n",
    ),
    "lists of numbers": (
        "pyproject.toml",
        "project = {dependencies = [1], optional-dependencies = {web = [1], dev = 2}}",
    ),
    "lists of numbers elsewhere": (
        "pyproject.toml",
        "dependency-groups = {a = 1}\ntool = {poetry = {dependencies = [1]}}",
    ),
    "a number for a package": ("package.json", "3"),
    "numbers in a package": ("package.json", '{"scripts": 1, "engines": [2], "dependencies": {"react": 3}}'),
    "a version without an end": ("pyproject.toml", f'[project]\nrequires-python = ">={"9" * 5_000}"\n'),
    "code that ends early": ("src/shop/cart.py", "class Cart(\n"),
    "zero bytes": ("package.json", "\0\0"),
}


@pytest.mark.parametrize("what", CONFUSED)
def test_a_file_of_another_shape_is_read_as_if_it_said_nothing(what: str, project: Project) -> None:
    file, text = CONFUSED[what]
    (project.root / file).write_text(text)
    (project.root / "CLAUDE.md").write_text(VERSIONS)
    done = run("check", project.root / "CLAUDE.md", status=None)
    assert done.exit_code in (Status.OK, Status.ERROR)
    assert "names that hold" in done.output.lower()


def test_a_chain_of_classes_ends(project: Project) -> None:
    (project.root / "src/shop/cart.py").write_text(chain_of_classes(1_500))
    checked(project, "`C0.gone_name` and `Cart.add_line`", status=Status.ERROR)


def test_a_path_in_the_repository_that_no_file_system_holds_is_passed_over(project: Project) -> None:
    blob = project.git("rev-parse", "HEAD:Makefile").strip()
    deep = f"100644 {blob}\t{'abc/' * 20_000}abc\n"
    subprocess.run(["git", "-C", str(project.root), "update-index", "--index-info"], input=deep, text=True, check=True)
    checked(project, "`abc/abc` is in `src/shop/cart.py`", status=Status.OK)


def test_a_check_that_takes_too_long_is_ended_with_what_it_started(project: Project, tmp_path: Path) -> None:
    project.git("config", "core.quotePath", "false")
    slow = "\n".join(f"- `name_{one}` in `src/shop/file_{one}.py`" for one in range(5_000))
    told = checked(project, slow, "--timeout", "0.3", status=Status.TOO_MUCH)
    assert told == "error: --timeout: the check took more than 0.3 s; check fewer files at once, or allow more\n"
    assert str(project.root).encode() not in b"".join(commands())


def commands() -> list[bytes]:
    """The command lines of all processes but this one and its parents."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
                words = file.read()
        except OSError:
            continue
        if words.startswith(b"git\0") or b"readmit.check" in words:
            found.append(words)
    return found


def test_the_error_is_an_object_with_json(project: Project) -> None:
    (project.root / "CLAUDE.md").write_text("`a_b` " * 21_000)
    told = said("check", project.root / "CLAUDE.md", status=Status.TOO_MUCH)
    assert told["error"]["type"] == "CheckLimitError"


def test_what_a_verifier_is_asked_about_is_read_within_the_same_limits(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outside(*_: object) -> None:
        raise AssertionError("the memory files are read in this process, which has no limits")

    monkeypatch.setattr("readmit.check.memory_files.read_memories", outside)
    (project.root / "CLAUDE.md").write_text("`a_b` " * 21_000)
    run("check", project.root / "CLAUDE.md", "--verifier", "recorded:nothing.jsonl", status=Status.TOO_MUCH)


def test_nothing_of_the_working_directory_is_imported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = project.root.parent / "sprung"
    for name in ("json", "msgspec", "readmit", "re", "sitecustomize"):
        (project.root / f"{name}.py").write_text(f"open({str(trap)!r}, 'w')\n")
    monkeypatch.chdir(project.root)
    checked(project, "`src/shop/cart.py`", status=Status.OK)
    assert not trap.exists()


def test_the_status_is_documented() -> None:
    said = " ".join(run("check", "--help").output.split())
    assert "9" in said
    assert "takes more time or memory" in said
