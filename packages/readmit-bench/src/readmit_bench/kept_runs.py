"""Kept runs: the figures of a run with what must be said of them, in a small file without a word of the data.

``bench import`` makes one of a run's directory, or takes one that is handed in; ``bench results`` writes the page.
A kept run carries the digest of the run it is from, so that the figures can be checked against the run.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from readmit.errors import RecordError
from readmit.events import Record
from readmit.lab import decode
from readmit_bench.reports.costs import TIME, cost_tables
from readmit_bench.reports.differences import difference_tables
from readmit_bench.reports.harmless_text import in_markdown
from readmit_bench.reports.provenance import in_short, remarks, what_was_run
from readmit_bench.reports.run_scores import score_run
from readmit_bench.reports.tables import score_tables
from readmit_bench.results import RESULTS, RUN, read_plan, read_results

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit_bench.reports.tables import Cell, Table

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
LARGEST = 1_000_000
HEAD = """# Results

<!-- Written by `readmit bench results`; change it by importing a run. -->

Figures of kept runs, each with its data, model, cases, seed and what was left out. `readmit bench import RUN` keeps the
figures of a run, or takes a file with such figures that was made elsewhere, `readmit bench shares --to docs/runs` keeps
its own, and `readmit bench results` writes this page. The digest is the SHA-256 of the run's `run.json` and
`results.jsonl`, or of the shares of every view: the same run gives the same file.
"""
DEVELOPMENT = (
    "Development data: it was at hand when rules were written. It shows that the command works and what rules do, and "
    "estimates no other data."
)
UNSEEN = "Unseen data: no rule was written with it in view."


class KeptTable(Record, frozen=True, kw_only=True):
    """A table as it is printed."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class KeptRun(Record, frozen=True, kw_only=True):
    """The figures of one run."""

    name: str
    digest: str
    unseen: bool = False
    facts: tuple[tuple[str, str], ...]
    """Data, cases, models, methods, lines, settings, seed."""
    short: str
    """The same in one line, under each table."""
    left_out: tuple[str, ...] = ()
    """What a reader must know before comparing."""
    tables: tuple[KeptTable, ...]


def digest_of_run(run: Path) -> str:
    """The digest of a run's plan and lines."""
    whole = hashlib.sha256()
    for name in (RUN, RESULTS):
        data = (run / name).read_bytes()
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()


def kept_from(source: Path, *, name: str | None = None, unseen: bool = False) -> KeptRun:
    """The figures of a run's directory, or of a file that holds such figures already."""
    if source.is_file():
        if source.stat().st_size > LARGEST:
            raise RecordError(f"{source}: larger than {LARGEST:,} bytes; hand in what `readmit bench import` wrote")
        held = decode(source.read_bytes(), KeptRun, what=str(source))
        changes = {**({"name": name} if name else {}), **({"unseen": True} if unseen else {})}
        return _checked(msgspec.structs.replace(held, **changes), source)
    plan, results = read_plan(source), read_results(source)
    if not results:
        raise RecordError(f"{source}: holds no result yet; run the study first")
    scores = score_run(plan, results)
    # A machine's clock says nothing about the data.
    costs = (table for table in cost_tables(plan, results) if table.title != TIME)
    tables = (*score_tables(plan, scores), *difference_tables(plan, scores), *costs)
    kept = KeptRun(
        name=name or source.resolve().name,
        digest=digest_of_run(source),
        unseen=unseen,
        facts=tuple(what_was_run(plan, results)),
        short=in_short(plan, results),
        left_out=tuple(remarks(plan, results)),
        tables=tuple(map(_kept_table, tables)),
    )
    return _checked(kept, source)


def write_kept(kept: KeptRun, folder: Path) -> Path:
    """Add a kept run to a folder. The figures of another run under its name are not replaced."""
    file = folder / f"{kept.name}.json"
    if file.exists() and decode(file.read_bytes(), KeptRun, what=str(file)).digest != kept.digest:
        raise RecordError(f"name: {file} holds another run; give this one another --name, or delete that file")
    folder.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    return file


def results_page(folder: Path) -> str:
    """The page of all kept runs of a folder: unseen data first, then by name."""
    held = [decode(file.read_bytes(), KeptRun, what=str(file)) for file in sorted(folder.glob("*.json"))]
    if not held:
        raise RecordError(f"{folder}: holds no kept run; add one with `readmit bench import RUN --to {folder}`")
    parts = [HEAD]
    for one in sorted(held, key=lambda one: (not one.unseen, one.name)):
        parts += _section(one)
    return "\n".join(parts)


def _section(kept: KeptRun) -> Iterator[str]:
    yield f"## {in_markdown(kept.name)}\n"
    yield f"{UNSEEN if kept.unseen else DEVELOPMENT} Digest of the run: `{kept.digest}`.\n"
    yield _table(("fact", "value"), kept.facts)
    if kept.left_out:
        yield "\n".join(f"- {in_markdown(said)}" for said in kept.left_out) + "\n"
    for table in kept.tables:
        yield f"### {in_markdown(kept.name)}: {in_markdown(table.title)}\n"
        yield _table(table.columns, table.rows)
        yield f"{in_markdown(f'{table.note} {kept.short}')}\n"


def _table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    head, *body = (f"| {' | '.join(map(in_markdown, line))} |\n" for line in (columns, *rows))
    return "".join((head, "|---" * len(columns) + "|\n", *body))


def _kept_table(table: Table) -> KeptTable:
    """Our own rows, without the column of texts; the paper's are in the report."""
    kept = [place for place, one in enumerate(table.columns) if not one.long]
    rows = tuple(tuple(_text(row.cells[place]) for place in kept) for row in table.rows if not row.published)
    names = tuple(table.columns[place].name for place in kept)
    return KeptTable(title=table.title, columns=names, rows=rows, note=table.note)


def _text(cell: Cell) -> str:
    return f"{cell.text} {cell.interval}".strip()


def _checked(kept: KeptRun, source: Path) -> KeptRun:
    if not _NAME.fullmatch(kept.name):
        raise RecordError(f"name: {kept.name!r} must be small letters, digits, dots and dashes; give one with --name")
    if not re.fullmatch(r"[0-9a-f]{64}", kept.digest):
        raise RecordError(f"digest: {source} does not name its run by a SHA-256")
    for table in kept.tables:
        if any(len(row) != len(table.columns) for row in table.rows):
            raise RecordError(f"tables: {table.title!r} of {source} has a row of another length than its head")
    return kept
