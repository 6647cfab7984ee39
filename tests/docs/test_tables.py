"""The generated tables are current, and each says something about everything it lists."""

from __future__ import annotations

import pytest

from readmit.records.policy import Policy
from readmit.records.reasons import Reason
from tests.docs.tables import REFERENCE, TABLES, rewritten


@pytest.mark.parametrize("name", TABLES)
def test_table_is_current(name: str) -> None:
    page, text = rewritten(name)
    assert page.read_text(encoding="utf-8") == text, "the page is behind the code; run: make docs"


def test_every_reason_is_documented() -> None:
    page = (REFERENCE / "reasons.md").read_text(encoding="utf-8")
    assert [reason for reason in Reason if f"| `{reason}` |" not in page or not reason.doc.endswith(".")] == []


def test_every_setting_is_documented() -> None:
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    assert [name for name in Policy.__struct_fields__ if f"| `{name}` |" not in page] == []
