"""A small project with a history, and memory files about it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from readmit.check.memory_files import read_memories
from readmit.check.statement_checks import check_memories

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.check.check_values import CheckReport

CART = """
class Cart:
    def __init__(self):
        self.lines = []

    def add_line(self, item):
        self.lines.append(item)

    def drop_line(self, item):
        self.lines.remove(item)


MAX_LINES = 5
"""
FILES = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": CART,
    "src/shop/prices.py": "def price_of(item):\n    return 3\n",
    "src/shop/old_tax.py": "def tax_of(item):\n    return 1\n",
    "src/shop/cli.py": "OPTIONS = ['--dry-run', '--verbose']\nCOMMANDS = ['serve', 'reindex']\n",
    "web/app.ts": "export function renderCart() {}\nexport function renderBanner() {}\n",
    "web/package.json": '{"scripts": {"dev": "vite"}}',
    "docs/design.md": "# Design\n\n## How prices are made\n\n## Tax\n",
    "Makefile": "test:\n\tpytest\n\nlint: test\n\truff check\n\nship:\n\ttrue\n",
    "package.json": '{"scripts": {"build": "tsc", "e2e": "playwright"}, "engines": {"node": ">=20"}, '
    '"dependencies": {"react": "^18.2.0"}}',
    "pyproject.toml": '[project]\nname = "shop"\nrequires-python = ">=3.11"\ndependencies = ["Django>=4.2,<5"]\n'
    '[project.scripts]\nshop = "shop.cli:main"\n[project.optional-dependencies]\nweb = ["flask"]\ndev = ["mypy"]\n',
    ".gitignore": "dist/\n.env\n",
}


def checked(*paths: Path, root: Path | None = None) -> CheckReport:
    """Check some memory files."""
    return check_memories(read_memories(paths, root))


class Project:
    """A repository in a folder."""

    def __init__(self, root: Path, files: dict[str, str] | None = None) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.commit(**(FILES if files is None else files))

    def git(self, *words: str) -> str:
        settings = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(self.root), *settings, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def commit(self, **files: str | None) -> None:
        """Write files, or remove those without a text, and commit."""
        for name, text in files.items():
            path = self.root / name
            if text is None:
                path.unlink()
                # As git does.
                for folder in path.parents:
                    if folder == self.root or any(folder.iterdir()):
                        break
                    folder.rmdir()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "work")

    def check(self, text: str, name: str = "CLAUDE.md") -> CheckReport:
        """Check one memory file."""
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)
        return checked(self.root / name)

    def later(self) -> None:
        """What a team does in a month: renames, removals, new versions."""
        self.git("mv", "src/shop/prices.py", "src/shop/pricing.py")
        edits = {
            "src/shop/cart.py": (("drop_line", "remove_line"), ("MAX_LINES", "MOST")),
            "src/shop/cli.py": (("'--dry-run', ", ""), (", 'reindex'", "")),
            "web/app.ts": (("export function renderBanner() {}", ""),),
            "docs/design.md": (("## How prices are made\n\n## Tax", "## Prices"),),
            "Makefile": (("ship:\n\ttrue\n", ""),),
            "package.json": (('"e2e": "playwright"', '"check": "tsc"'), ("^18.2", "^19.0")),
            "pyproject.toml": (("3.11", "3.12"), ("Django>=4.2,<5", "Django>=5.1"), ('web = ["flask"]\n', "")),
        }
        changed: dict[str, str | None] = {"src/shop/old_tax.py": None}
        for name, pairs in edits.items():
            text = FILES[name]
            for old, new in pairs:
                assert old in text
                text = text.replace(old, new)
            changed[name] = text
        self.commit(**changed)


def found(report: CheckReport) -> list[tuple[str, str]]:
    """Kind and name of every finding."""
    return [(str(one.kind), one.looked_for) for one in report.findings]


def unchecked(report: CheckReport) -> dict[str, str]:
    return {one.name: one.why for one in report.unchecked}
