"""What never existed is as wrong as what is gone, where only this project can have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .project import Project, found, unchecked

if TYPE_CHECKING:
    from pathlib import Path

CLI = """
import click

@click.group()
def main():
    pass

@main.command()
@click.option("--force", is_flag=True)
def reindex_all(force):
    pass

@main.command("serve")
def _serve():
    pass

@main.group()
def users():
    pass

@users.command("add")
def _add():
    pass
"""
MODELS = """
from pydantic import BaseModel

class Base(BaseModel):
    name: str

class Cart(Base):
    size: int = 3

class Till:
    def __init__(self, drawer, *, coins=0):
        self.drawer = drawer

    @classmethod
    def open(cls, drawer, *, key=None):
        return cls(drawer)

def price_of(item, *, rounded=True):
    return item

def loose(**fields):
    return fields

till = Till(1)
till.close_drawer()

def run(planner):
    def leave_early():
        return planner
    return leave_early
MAX_LINES = 5
"""
MAKEFILE = """
BUILD := out
READY := $(BUILD)/.ready
.PHONY: test
$(READY): setup.py
\ttouch $@
test: $(READY)
%.o: %.c
\tcc $<
"""
FILES = {
    "src/shop/__init__.py": "",
    "src/shop/cli.py": CLI,
    "src/shop/models.py": MODELS,
    "src/shop/lazy.py": "def __getattr__(name):\n    return name\nKNOWN = 1\n",
    "Makefile": MAKEFILE,
    "config.toml": 'port = 8080\nname = "shop"\n',
    "pyproject.toml": '[project]\nname = "shop"\nrequires-python = ">=3.11"\ndependencies = ["httpx>=0.27", "click"]\n'
    '[project.scripts]\nshop = "shop.cli:main"\n',
}
WRONG = {
    "a command": ("Run `shop restock`.", "command", "shop restock", "there is no such command"),
    "a command that is nearly one": ("Run `shop server`.", "command", "shop server", "the nearest is serve"),
    "a command of a group": ("Run `shop users remove`.", "command", "shop users remove", "no such command"),
    "a command of a group alone": ("Run `shop add`.", "command", "shop add", "there is no such command"),
    "a command with an option": ("Run `shop restock --port 8080`.", "command", "shop restock", "no such command"),
    "a member that is a function inside of another": (
        "Call `planner.leave_early()`.",
        "symbol",
        "planner.leave_early",
        "no code has a member leave_early",
    ),
    "a name of a lazy module": (
        "See `shop.lazy.never_named`.",
        "symbol",
        "shop.lazy.never_named",
        "has no never_named",
    ),
    "an option": ("Run `shop serve --forced`.", "option", "--forced", "no such option; the nearest is --force"),
    "a module": ("See `shop.tills`.", "symbol", "shop.tills", "shop has no tills"),
    "a name of a module": ("Call `shop.models.tax_of`.", "symbol", "shop.models.tax_of", "shop.models has no tax_of"),
    "an import in a sentence": (
        "Use `from shop.models import Basket`.",
        "module",
        "from shop.models import Basket",
        "no Basket",
    ),
    "an import from a lazy module": (
        "`from shop.lazy import Never`",
        "module",
        "from shop.lazy import Never",
        "no Never",
    ),
    "a name with a slip": (
        "`price_ofs` rounds, and `close_drawers()` shuts.",
        "symbol",
        "close_drawers",
        "nearest is close_drawer",
    ),
    "a member of a variable": (
        "Call `till.coins_left()`; coins_left is new.",
        "symbol",
        "till.coins_left",
        "no code has",
    ),
    "a parameter of a model": ("Make `Cart(sizes=4)`.", "parameter", "Cart(sizes=…)", "Cart takes no sizes"),
    "a parameter of a class": ("Make `Till(1, notes=2)`.", "parameter", "Till(notes=…)", "Till takes no notes"),
    "a parameter of a method": ("`Till.open(1, code=2)`", "parameter", "Till.open(code=…)", "Till.open takes no code"),
    "a parameter of a function": ("`price_of(x, round=True)`", "parameter", "price_of(round=…)", "takes no round"),
    "a constant's value": ("`MAX_LINES = 7` at most.", "setting", "MAX_LINES = 7", "src/shop/models.py says 5"),
    "a setting": ("It has `port = 9090`.", "setting", "port = 9090", "config.toml says 8080"),
    "a target beside rules with variables": ("`make deploy`", "command", "make deploy", "it has test"),
    "a package that is written small": ("We use httpx 0.20 here.", "version", "httpx 0.20", "declares >=0.27"),
}
RIGHT = (
    "Run `shop serve`, `shop reindex-all --force` or `shop users add`, or `shop --help`.",
    "See `shop.models.Cart`, `shop.cli`, `from shop.models import Till`, `import shop.cli`.",
    "`Cart(name='a', size=4)`, `Till(1, coins=2)`, `Till.open(1, key=2)`, `price_of(x, rounded=True)`, `loose(a=1)`.",
    "`MAX_LINES = 5`, `port = 8080`, `name = 'shop'`.",
    "`make test`, `till.close_drawer()`, `time.sleep(1)`, `httpx.get(url)`.",
    "We use httpx 0.28, section 3.4 says why, and version 1.2 is old.",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("never") / "shop", FILES)


@pytest.mark.parametrize("name", WRONG)
def test_what_never_was_here_is_wrong(project: Project, name: str) -> None:
    says, kind, looked_for, now = WRONG[name]
    report = project.check(says)
    assert (kind, looked_for) in found(report)
    (one,) = [finding for finding in report.findings if finding.looked_for == looked_for]
    assert now in one.now


@pytest.mark.parametrize("says", RIGHT)
def test_what_is_here_is_not(project: Project, says: str) -> None:
    assert found(project.check(says)) == []


def test_a_name_of_another_project_stays_unchecked(project: Project) -> None:
    report = project.check("Call `frobnicate_widgets()`, `make thing.o` or `Command(resume=1)`.")
    assert found(report) == []
    assert "frobnicate_widgets" in unchecked(report)


def test_a_class_that_is_taken_from_elsewhere_too_is_not_judged(tmp_path: Path) -> None:
    project = Project(tmp_path / "shop", {**FILES, "src/shop/graph.py": "from langgraph.types import Cart\n"})
    assert found(project.check("`Cart(resume=1)`")) == []


def test_names_that_a_loop_makes_may_be_any_text_of_the_code(tmp_path: Path) -> None:
    loop = "for name in NAMES:\n    main.add_command(click.command(name)(run))\nNAMES = ['restock', 'close_day']\n"
    project = Project(tmp_path / "shop", {**FILES, "src/shop/more.py": loop})
    assert found(project.check("`shop restock`, `shop close-day`")) == []
    assert found(project.check("`shop burn`")) == [("command", "shop burn")]


MOVED = {
    "a plain word": ("Totals are summed by `total` in `src/shop/cart.py`.", "total", "src/shop/cart.py has no total"),
    "a class": ("`Basket` is defined in `src/shop/cart.py`.", "Basket", "src/shop/cart.py has no Basket"),
}


@pytest.mark.parametrize("what", MOVED)
def test_a_name_is_looked_for_in_the_file_that_the_sentence_says(what: str, tmp_path: Path) -> None:
    says, name, now = MOVED[what]
    elsewhere = {"src/shop/basket.py": "class Basket: pass\n\ndef total(): pass\n", "src/shop/cart.py": "TAX = 3\n"}
    project = Project(tmp_path / "shop", {**FILES, **elsewhere})
    assert [(one.looked_for, one.now) for one in project.check(says).findings] == [(name, now)]
    assert found(project.check(says.replace("cart.py", "basket.py"))) == []
    assert found(project.check(says.replace("`src/shop/cart.py`", "the file for that"))) == []
    assert found(project.check(f"Do not look for it: {says}")) == []
