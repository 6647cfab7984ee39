"""A report's tables for other programs: CSV for computing, LaTeX for print.

Both hold what the report shows. In CSV an interval is two columns of its own; in LaTeX it stands beside its figure, and
bold is what is bold in the report. LaTeX needs the package ``booktabs``.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from readmit_bench.reports.harmless_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from readmit_bench.reports.tables import Cell, Column, Table, TableRow

FOLDER = "tables"
# What a spreadsheet would take for a formula.
_FORMULA = re.compile(r"^[=+\-@\t\r]")
_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "↑": r"$\uparrow$",
    "↓": r"$\downarrow$", "Δ": r"$\Delta$", "−": "$-$", "×": r"$\times$", "·": r"$\cdot$", "…": r"\dots{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "–": "--", "—": "---", "“": "``", "”": "''",
    "\u2018": "`", "\u2019": "'",
}  # fmt: skip


def write_tables(tables: Mapping[str, Sequence[Table]], folder: Path) -> list[str]:
    """Write every table of a run, by the part of the report it stands in; the files' names without ending."""
    names = []
    for part, held in tables.items():
        for number, table in enumerate(held, start=1):
            name = f"{part}-{number}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.csv").write_text(as_csv(table), encoding="utf-8")
            (folder / f"{name}.tex").write_text(as_latex(table), encoding="utf-8")
            names.append(name)
    return names


def as_csv(table: Table) -> str:
    """One line a row; figures as they are printed, without separators of thousands."""
    bounded = [any(row.cells[at].interval for row in table.rows) for at in range(len(table.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        name
        for column, wide in zip(table.columns, bounded, strict=True)
        for name in (column.name, *((f"{column.name} low", f"{column.name} high") if wide else ()))
    )
    for row in table.rows:
        writer.writerow(_values(row, table.columns, bounded))
    return out.getvalue()


def _values(row: TableRow, columns: Sequence[Column], bounded: Sequence[bool]) -> Iterator[str]:
    for cell, column, wide in zip(row.cells, columns, bounded, strict=True):
        text = one_line(cell.text)
        if column.number:
            yield text.replace(",", "").removeprefix("+")
        else:
            yield f"'{text}" if _FORMULA.match(text) else text
        if wide:
            yield from (cell.low.removeprefix("+"), cell.high.removeprefix("+"))


def as_latex(table: Table) -> str:
    """A tabular with its caption and note."""
    form = "".join("r" if column.number else "p{6cm}" if column.long else "l" for column in table.columns)
    published = f" (published, {table.published})" if table.published else ""
    lines = [
        r"\begin{table}",
        rf"\caption{{{in_latex(table.title + published)}}}",
        rf"\begin{{tabular}}{{{form}}}",
        r"\toprule",
        " & ".join(in_latex(column.name) for column in table.columns) + r" \\",
        r"\midrule",
    ]
    for number, row in enumerate(table.rows):
        lines += [r"\addlinespace"] if row.starts and number else []
        lines.append(" & ".join(_latex_cell(cell, row) for cell in row.cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [r"\par\footnotesize " + in_latex(table.note)] if table.note else []
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_cell(cell: Cell, row: TableRow) -> str:
    text = in_latex(cell.text)
    if row.published and text:
        text = rf"\textit{{{text}}}"
    if cell.marked:
        text = rf"\textbf{{{text}}}"
    return rf"{text} {{\scriptsize {in_latex(cell.interval)}}}" if cell.interval else text


def in_latex(text: object) -> str:
    """Text as LaTeX prints it literally."""
    return "".join(_SPECIAL.get(one, f"\\{one}" if one in "&%$#_{}" else one) for one in one_line(text))
