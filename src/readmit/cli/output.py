"""To the screen: JSON, tables, progress. Record text is shown as text, never as markup or terminal commands."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from readmit.seal.render import escaped, json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console, RenderableType

WIDEST = 110


def emit(value: object) -> None:
    """One JSON value on standard output."""
    click.echo(json_text(value, indent=2))


def show(*parts: RenderableType) -> None:
    """Print for a person. Lines are left to the terminal to wrap, so that they can be copied whole."""
    from rich.text import Text

    screen = console()
    for part in parts:
        screen.print(part, soft_wrap=isinstance(part, str | Text))


def console() -> Console:
    """Standard output, no wider than is pleasant to read. Plain strings are not markup."""
    from rich.console import Console

    screen = Console(markup=False, highlight=False, emoji=False, soft_wrap=False)
    screen.width = min(screen.width, WIDEST)
    return screen


def shown(text: str) -> str:
    """Somebody's text on one line, without characters that a terminal would obey."""
    return " ".join(escaped(text).split())


def counted(number: int, noun: str) -> str:
    """A number with its noun, which takes an s unless there is one of it."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@contextmanager
def progress(what: str, total: int | None = None, *, alone: bool = True) -> Iterator[Callable[[], None]]:
    """A bar on standard error, if that is a terminal. Call what this yields once per unit of work.

    When output comes meanwhile (not ``alone``), a bar would be in its way on the same terminal.
    """
    if not sys.stderr.isatty() or not (alone or not sys.stdout.isatty()):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
