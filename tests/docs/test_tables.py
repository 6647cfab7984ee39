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
