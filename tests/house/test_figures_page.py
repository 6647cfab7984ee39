"""The page of the architecture has the figures of this code."""

from __future__ import annotations

from tests.docs.tables import FIGURES, rewritten


def test_the_figures_of_the_house_are_about_right() -> None:
    """Every row stands there, and no figure is further off than a twentieth or two."""
    page, text = rewritten(FIGURES)
    written, measured = (figures_of(one) for one in (page.read_text(encoding="utf-8"), text))
    assert list(written) == list(measured), "the page is behind the code; run: make docs"
    off = {what: (written[what], now) for what, now in measured.items() if abs(written[what] - now) > max(2, now / 20)}
    assert off == {}, "the page is behind the code; run: make docs"


def figures_of(page: str) -> dict[str, int]:
    """The third column of the table of figures."""
    table = page.partition(f"<!-- generated: {FIGURES} -->")[2].partition("<!-- end:")[0]
    rows = [[cell.strip() for cell in line.split("|")] for line in table.splitlines() if line.count("|") == 5]
    return {row[1]: int(row[3].replace(",", "")) for row in rows if row[3].replace(",", "").isdigit()}
