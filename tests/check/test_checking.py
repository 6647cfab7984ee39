from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from readmit.errors import RecordError

from .project import Project, checked, found, unchecked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "shop")


@dataclass(frozen=True)
class Case:
    """A statement that held, and what is found in it a month later."""

    says: str
    kind: str
    looked_for: str
    now: str


CASES = {
    "a renamed file": Case(
        "Prices are in `src/shop/prices.py`.", "path", "src/shop/prices.py", "to src/shop/pricing.py"
    ),
    "a removed file": Case("Tax is in `shop/old_tax.py:1`.", "path", "shop/old_tax.py", "removed in "),
    "a path in words": Case("Look at src/shop/prices.py first.", "path", "src/shop/prices.py", "renamed"),
    "a path of a command": Case("Run `pytest src/shop/old_tax.py`.", "path", "src/shop/old_tax.py", "removed"),
    "a link": Case("See [prices](src/shop/prices.py).", "link", "src/shop/prices.py", "renamed to src/shop/pricing.py"),
    "a link that never led anywhere": Case("See [it](docs/none.md).", "link", "docs/none.md", "no such file"),
    "an anchor": Case("See [tax](docs/design.md#tax).", "anchor", "docs/design.md#tax", "no such heading"),
    "a function": Case("Call `tax_of(item)`.", "symbol", "tax_of", "no code holds tax_of: removed in "),
    "a method": Case("`Cart.drop_line` takes an item.", "symbol", "Cart.drop_line", "no code holds drop_line"),
    "a constant": Case("At most `MAX_LINES` lines.", "symbol", "MAX_LINES", "removed in"),
    "a function in TypeScript": Case("`renderBanner()` draws it.", "symbol", "renderBanner", "removed in"),
    "an option": Case("Try it with `--dry-run` first.", "option", "--dry-run", "removed in"),
    "a subcommand": Case("Run `shop reindex` at night.", "command", "shop reindex", "no code holds reindex"),
    "a target of make": Case("Release with `make ship`.", "command", "make ship", "no such target; it has lint, test"),
    "a script of npm": Case("Run `npm run e2e`.", "command", "npm run e2e", "no such script; it has build, check"),
    "an extra": Case("Install it: `pip install 'shop[web]'`.", "command", "shop[web]", "no such extra; it has dev"),
    "a module that is run": Case("`python -m shop.old_tax` prints it.", "command", "python -m shop.old_tax", "no such"),
    "a version of Python": Case("We use Python 3.11.", "version", "Python 3.11", "pyproject.toml declares >=3.12"),
    "a version of a package": Case("It runs on Django 4.2.", "version", "Django 4.2", "declares >=5.1"),
    "a version in package.json": Case("The page is React 18.", "version", "React 18", "package.json declares ^19.0.0"),
    "an import of a memory file": Case("See @src/shop/old_tax.py.", "path", "@src/shop/old_tax.py", "removed"),
    "the second command of a line": Case("`cd web && make ship`", "command", "make ship", "no such target"),
    "a command in a block": Case("```console\n$ make ship\n```", "command", "make ship", "no such target"),
    "an import in a block": Case(
        "```python\nfrom shop.prices import price_of\n```", "module", "from shop.prices import price_of", "no module"
    ),
    "a name of a module": Case(
        "```python\nfrom shop.cart import MAX_LINES\n```",
        "module",
        "from shop.cart import MAX_LINES",
        "has no MAX_LINES",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_held_once_and_no_longer_does_is_found(name: str, project: Project) -> None:
    case = CASES[name]
    assert name == "a link that never led anywhere" or found(project.check(case.says)) == []
    project.later()
    report = project.check(f"# Notes\n\nAll is well.\n\n{case.says}\n")
    assert found(report) == [(case.kind, case.looked_for)]
    (one,) = report.findings
    assert case.now in one.now
    assert (one.place.file, one.place.line) == ("CLAUDE.md", 6 if "```" in case.says else 5)
    assert one.place.statement in " ".join(case.says.split()).replace("$ ", "") or "```" in case.says


STILL_RIGHT = (
    "Carts are in `src/shop/cart.py`, their lines in `Cart.lines`, added by `add_line()`.",
    "`shop.cart` and `shop/cart.py` are the same; so is `cart.py`. The folder is `src/shop/`.",
    "Run `make test`, `make lint`, `npm run build` or `shop serve --verbose`.",
    "See [the design](docs/design.md#design), [below](#notes) and [the cart](./src/shop/cart.py#L3).",
    "We use Python 3.12 or later, Django 5.1 and React 19.",
    "Run `cd web && npm run dev`, `make -C docs html`, or `make test && npm run build`. See @docs/design.md.",
    "```python\nfrom shop.cart import Cart\nimport shop.pricing\nimport json\n```",
)


@pytest.mark.parametrize("says", STILL_RIGHT)
def test_what_still_holds_is_not_found(says: str, project: Project) -> None:
    project.later()
    report = project.check(f"# Notes\n\n{says}\n")
    assert found(report) == []
    assert report.held > 0


NOT_CHECKED = {
    "a placeholder": ("`src/<name>/cart.py`", "`path/to/file.py`", "`src/your-app/main.py`", "`make {target}`"),
    "a pattern": ("`src/**/*.py`", "`tests/test_*.py`"),
    "a variable": ("`$HOME/.shop/old_tax.py`", "`SHOP_URL=x`", "`~/notes/old_tax.py`"),
    "an address outside of the tree": ("`https://example.org/old_tax.py`", "[site](https://example.org/x.md)"),
    "nothing of this name was ever here": ("`their/own/config.yaml`", "`someFunctionOfReact()`", "`--frozen-lockfile`"),
    "the sentence says that something is gone or to come": (
        "`src/shop/old_tax.py` was removed.",
        "Use it instead of `tax_of()`.",
        "Renamed from `src/shop/prices.py`.",
    ),
    "git ignores it: made by a build, or private": ("The build is in `dist/shop.js`.", "Secrets are in `.env`."),
    "not the name of a file, a symbol or a command": ("`true`", "`200 OK`", "`a + b`"),
    "a program outside of the tree": ("`docker compose up`",),
    "a block that is not marked as commands": ("```\nsrc/\n└── old_tax.py\n```",),
    "a module outside of the tree": ("`python -m http.server`",),
}


@pytest.mark.parametrize("why", NOT_CHECKED)
def test_what_cannot_be_looked_for_is_listed_with_the_reason_and_never_found(why: str, project: Project) -> None:
    project.later()
    for says in NOT_CHECKED[why]:
        report = project.check(f"# Notes\n\n{says}\n")
        assert found(report) == [], says
        assert why in unchecked(report).values(), says


def test_a_folder_of_memory_and_a_list_of_statements_are_read(project: Project) -> None:
    project.later()
    bank = project.root / "memory-bank"
    (bank / "deep").mkdir(parents=True)
    (bank / "techContext.md").write_text("\ufeffTax: `tax_of`\n")
    (bank / "deep" / "rules.mdc").write_text("---\nglobs: src/shop/old_tax.py\n---\nRun `make ship`\n")
    (bank / "facts.json").write_text('[\n  "Carts have `MAX_LINES`",\n  {"text": "`src/shop/old_tax.py` rounds up"}\n]')
    (bank / "picture.png").write_bytes(b"\x89PNG")
    report = checked(bank)
    assert {
        (one.place.file.removeprefix("memory-bank/"), one.place.line, one.looked_for) for one in report.findings
    } == {
        ("techContext.md", 1, "tax_of"),
        ("deep/rules.mdc", 4, "make ship"),
        ("facts.json", 2, "MAX_LINES"),
        ("facts.json", 3, "src/shop/old_tax.py"),
    }
    assert len(report.files) == 3


def test_a_memory_file_vouches_for_nothing(project: Project) -> None:
    """The names in it, and in other prose, are what is in question."""
    project.later()
    project.commit(**{"README.md": "`tax_of` computes the tax.", "AGENTS.md": "`tax_of`"})
    assert found(project.check("`tax_of` computes the tax.", "notes/memory.md"))


def test_a_file_that_is_not_committed_yet_is_there(project: Project) -> None:
    (project.root / "src/shop/fresh.py").write_text("def fresh_start(): ...\n")
    report = project.check("`src/shop/fresh.py` has `fresh_start()`.")
    assert (found(report), report.held) == ([], 2)


def test_a_file_that_was_deleted_and_not_committed_is_gone(project: Project) -> None:
    (project.root / "src/shop/prices.py").unlink()
    assert found(project.check("[Prices](src/shop/prices.py)")) == [("link", "src/shop/prices.py")]


def test_names_that_were_removed_and_not_committed_are_gone(project: Project) -> None:
    """As a hook sees it, before the commit."""
    project.git("rm", "-q", "src/shop/prices.py")
    (project.root / "src/shop/cart.py").write_text("class Cart: ...\n")
    report = project.check("`src/shop/prices.py` and `MAX_LINES`")
    assert found(report) == [("path", "src/shop/prices.py"), ("symbol", "MAX_LINES")]
    assert all("not committed yet" in one.now for one in report.findings)


def test_a_repository_without_commits_can_be_checked(tmp_path: Path) -> None:
    project = Project(tmp_path / "new", None)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "a.py").write_text("def start_here(): ...\n")
    project.git("init", "-q", str(fresh))
    (fresh / "AGENTS.md").write_text("`a.py` has `start_here` and `not_there`. [b](b.md)\n")
    report = checked(fresh / "AGENTS.md")
    assert (found(report), report.held) == ([("symbol", "not_there"), ("link", "b.md")], 2)


def test_a_file_that_came_back_is_there(project: Project) -> None:
    project.later()
    project.commit(**{"src/shop/old_tax.py": "def tax_of(item): ...\n"})
    assert found(project.check("`src/shop/old_tax.py` has `tax_of`.")) == []


def test_several_renames_are_followed_to_the_present_name(project: Project) -> None:
    project.later()
    project.git("mv", "src/shop/pricing.py", "src/shop/amounts.py")
    project.commit()
    (one,) = project.check("`src/shop/prices.py`").findings
    assert "renamed to src/shop/amounts.py" in one.now


def test_without_a_repository_only_what_must_be_there_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("def here(): ...\n")
    (folder / "AGENTS.md").write_text("`src/a.py`, `src/gone.py`, `other/gone.py`, `here()`, `gone_name()`\n")
    report = checked(folder / "AGENTS.md")
    assert found(report) == [("path", "src/gone.py")]
    assert report.held == 2


MALFORMED = {
    "no list": ('{"a": 1}', "not a JSON list"),
    "no text": ("[1]", "neither a text"),
    "half": ('["a", ', "line 1: not JSON"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_list_that_cannot_be_read_is_an_error_that_says_where(name: str, project: Project) -> None:
    text, says = MALFORMED[name]
    with pytest.raises(RecordError, match=says):
        project.check(text, "facts.json")


def test_files_that_are_not_there_or_not_text_are_errors(project: Project) -> None:
    with pytest.raises(RecordError, match="no such file"):
        checked(project.root / "none.md")
    with pytest.raises(RecordError, match="no memory files"):
        checked(project.root / "src")
    (project.root / "CLAUDE.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="not UTF-8"):
        checked(project.root / "CLAUDE.md")


def test_a_long_file_of_code_vouches_for_its_words(project: Project) -> None:
    (project.root / "src/shop/table.py").write_text("# a line of a table\n" * 20_000 + "LAST_ENTRY_OF_ALL = 1\n")
    project.git("add", "--all")
    project.git("commit", "-qm", "table")
    (project.root / "src/shop/table.py").write_text("# another line\n" * 20_000 + "LAST_ENTRY_OF_ALL = 1\n")
    assert found(project.check("`LAST_ENTRY_OF_ALL`")) == []
