"""To the screen: JSON, tables, progress. Record text is shown as text, never as markup or terminal commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from readmit.text.escapes import json_text, one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

WIDEST = 110
_UNBOUNDED = 100_000
_NARROWEST = 20


def emit(value: object) -> None:
    """One JSON value on standard output. Records in it show every field, also those with their default."""
    click.echo(json_text(plain(value), indent=2))


def plain(value: Any) -> Any:
    """A record as a mapping with all its fields, and all that it holds as what JSON has."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        tag = {} if config.tag is None else {str(config.tag_field): config.tag}
        return tag | {one.encode_name: plain(getattr(value, one.name)) for one in msgspec.structs.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return msgspec.to_builtins(value)


def show(*parts: RenderableType) -> None:
    """Print for a person. Lines are left to the terminal to wrap, so that they can be copied whole.

    In a pipe or a file nothing is wrapped, tables neither: a row is a line.
    """
    from rich.table import Table
    from rich.text import Text

    screen, wide = console(), console(_UNBOUNDED)
    for part in parts:
        if not isinstance(part, Table):
            screen.print(part, soft_wrap=isinstance(part, str | Text))
        elif screen.is_terminal:
            # Ids wider than the terminal stay whole.
            console(max(screen.width, wide.measure(part).minimum)).print(part)
        else:
            with wide.capture() as captured:
                wide.print(part)
            click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, prose: str = "") -> Table:
    """Rows under a heading each. Only the column of ``prose`` is ever wrapped: ids and times stay whole."""
    from rich.table import Table
    from rich.text import Text

    cells = [[cell if isinstance(cell, Text) else Text(one_line(cell)) for cell in row] for row in rows]
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(columns):
        if name == prose:
            made.add_column(name, overflow="fold", ratio=1, min_width=_NARROWEST)
        else:
            longest = max((row[place].cell_len for row in cells), default=0)
            made.add_column(name, no_wrap=True, min_width=max(longest, len(name)))
    for row in cells:
        made.add_row(*row)
    return made


def console(width: int | None = None) -> Console:
    """Standard output, by default no wider than is pleasant to read. Plain strings are not markup."""
    from rich.console import Console

    screen = Console(markup=False, highlight=False, emoji=False, soft_wrap=False)
    screen.width = min(screen.width, WIDEST) if width is None else width
    return screen


@contextmanager
def progress(what: str, total: int | None = None, *, alone: bool = True) -> Iterator[Callable[[], None]]:
    """A bar on standard error, if that is a terminal. Call what this yields once per unit of work.

    If output is printed meanwhile (not ``alone``), no bar is drawn on the same terminal.
    """
    if not sys.stderr.isatty() or not (alone or not sys.stdout.isatty()):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
