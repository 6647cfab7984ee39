"""The site holds every page, and its pictures are current, safe and readable in both schemes."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from readmit import Policy
from tests.conftest import ROOT
from tests.docs.pictures import FOLDER, PICTURES

DOCS = ROOT / "docs"


def test_every_page_is_in_the_navigation() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.parent.name != "adr"}
    assert {page for page in pages if f" {page}\n" not in listed} == set()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_current(name: str) -> None:
    stored = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert stored == PICTURES[name](), "run: make docs"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_says_what_it_shows_and_fetches_nothing(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    tags = {element.tag.partition("}")[2] for element in ET.fromstring(text).iter()}  # noqa: S314 - drawn here
    assert {"title", "desc"} <= tags <= {"svg", "title", "desc", "style", "defs", "marker", "path", "rect", "text"}
    assert "prefers-color-scheme: dark" in text
    assert "href" not in text


def test_every_picture_is_used() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert {name for name in PICTURES if f"pictures/{name}.svg" not in text} == set()


def test_the_page_on_policies_explains_every_setting() -> None:
    text = (DOCS / "guide" / "policy.md").read_text(encoding="utf-8")
    assert {name for name in Policy.__struct_fields__ if name not in text} == set()
