"""The generated tables are current, and each says something about everything it lists."""

from __future__ import annotations

import pytest

from readmit import Policy, Reason
from tests.docs.tables import FIGURES, REFERENCE, TABLES, rewritten


@pytest.mark.parametrize("name", [name for name in TABLES if name != FIGURES])
def test_table_is_current(name: str) -> None:
    page, text = rewritten(name)
    assert page.read_text(encoding="utf-8") == text, "the page is behind the code; run: make docs"


def test_every_reason_is_documented() -> None:
    page = (REFERENCE / "reasons.md").read_text(encoding="utf-8")
    assert [reason for reason in Reason if f"| `{reason}` |" not in page or not reason.doc.endswith(".")] == []


def test_every_setting_is_documented() -> None:
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    groups = {name: getattr(Policy(), name).__struct_fields__ for name in Policy.__struct_fields__}
    assert [
        f"{group}.{name}" for group, names in groups.items() for name in names if f"| `{group}.{name}` |" not in page
    ] == []


def test_a_person_can_hold_the_settings_in_the_head() -> None:
    groups = {name: getattr(Policy(), name).__struct_fields__ for name in Policy.__struct_fields__}
    assert sum(len(names) for group, names in groups.items() if group not in ("looks", "paper")) <= 24


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
