"""Tables as files: what a spreadsheet and LaTeX make of them."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from readmit_bench.reports.table_files import as_csv, as_latex, in_latex, write_tables
from readmit_bench.reports.tables import Cell, Column, Table, TableRow, columns_of, row_of

if TYPE_CHECKING:
    from pathlib import Path

TABLE = Table(
    "A & B_1",
    (*columns_of(("Method",), ("VIA ↑", "tokens")), Column("note", number=False, long=True)),
    (
        row_of("Static", Cell("24.21", "17.8", "30.4"), "1,200", "=SUM(A1)", starts=True),
        row_of("readmit", Cell("+33.64", "+26.7", "+40.3", marked=True), "n/a", "50 % of {x}", starts=True),
        TableRow((Cell("TRACE"), Cell("80.0"), Cell(""), Cell("")), published="tab:x"),
    ),
    note="In brackets: 95 % interval.",
)


def test_csv_has_bounds_in_columns_of_their_own_and_no_formulas() -> None:
    head, *rows = csv.reader(as_csv(TABLE).splitlines())
    assert head == ["Method", "VIA ↑", "VIA ↑ low", "VIA ↑ high", "tokens", "note"]
    assert rows[0] == ["Static", "24.21", "17.8", "30.4", "1200", "'=SUM(A1)"]
    assert rows[1][1:4] == ["33.64", "26.7", "40.3"]
    assert rows[2] == ["TRACE", "80.0", "", "", "", ""]


def test_latex_is_bold_where_the_report_is() -> None:
    text = as_latex(TABLE)
    assert r"\begin{tabular}{lrrp{6cm}}" in text
    assert r"\textbf{+33.64} {\scriptsize [+26.7, +40.3]}" in text
    assert "24.21 {\\scriptsize [17.8, 30.4]}" in text
    assert r"\textit{TRACE} & \textit{80.0}" in text
    assert r"50 \% of \{x\}" in text
    assert r"\caption{A \& B\_1}" in text
    assert text.count(r"\addlinespace") == 1, "between blocks, not before the first"
    assert text.count("{") == text.count("}")


def test_latex_prints_text_literally() -> None:
    assert in_latex("50 % ↑ of a_b & c\\d ~ “x”\n<y>") == (
        r"50 \% $\uparrow$ of a\_b \& c\textbackslash{}d \textasciitilde{} ``x'' \textless{}y\textgreater{}"
    )


def test_every_table_is_two_files(tmp_path: Path) -> None:
    assert write_tables({"scores": [TABLE, TABLE], "costs": []}, tmp_path / "tables") == ["scores-1", "scores-2"]
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == [
        "scores-1.csv", "scores-1.tex", "scores-2.csv", "scores-2.tex",
    ]  # fmt: skip
