"""Templates escape every text, link to nowhere outside, and show what a reader would not see."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from jinja2 import DictLoader, UndefinedError

from readmit.pages import item_page, return_page, slot_page
from readmit.pages.drawings import premises, timeline, wrapped
from readmit.pages.page_templates import page_environment, page_text, standalone
from tests.conftest import ROOT
from tests.pages import stories
from tests.pages.newest import newest_values
from tests.scene import START

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.scene import Scene

PLAIN = (
    "html head meta title style body header footer main nav section article details summary h1 h2 h3 h4 p span strong "
    "a code br ul ol li dl dt dd div figure blockquote table caption thead tbody tr th td svg path line text rect"
)


class Tags(HTMLParser):
    """Every element of a page with its attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(template: str, **values: object) -> str:
    environment = page_environment().overlay(loader=DictLoader({"it": template}))
    return page_text(environment, "it", **values)


def test_text_and_attributes_are_escaped() -> None:
    made = shown('<p title="{{ title }}">{{ text }}{{ text ~ title }}</p>', text="<b>&", title='"><script>')
    assert "<b>" not in made
    assert made == ('<p title="&#34;&gt;&lt;script&gt;">&lt;b&gt;&amp;&lt;b&gt;&amp;&#34;&gt;&lt;script&gt;</p>')


def test_hidden_characters_are_written_out() -> None:
    assert shown("{{ text }}", text="a\u202eb\u200bc\x1b") == r"a\u{202e}b\u{200b}c\u{001b}"


def test_a_name_that_a_template_does_not_get_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="missing"):
        shown("{% if missing %}x{% endif %}")


def templates() -> dict[str, str]:
    """The source of every template that a page or the inspector is made from."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for folder in ("pages", "server")
        for path in (ROOT / "src" / "readmit" / folder).rglob("templates/*")
    }


def test_no_template_marks_a_text_as_safe() -> None:
    assert len(templates()) > 8
    for name, source in templates().items():
        assert not re.search(r"\|\s*safe|Markup|autoescape", source), name


OWN = {"<style>", '<script src="{{ to("script") }}" defer>'}


def test_a_template_has_no_script_and_no_style_of_its_own() -> None:
    for name, source in templates().items():
        assert not re.search(r"\bon\w+=|\bstyle=|javascript:", source), name
        assert set(re.findall(r"<(?:script|style|iframe|object|embed|base)\b[^>]*>", source)) <= OWN, name
        assert set(re.findall(r"<style>(.*?)</style>", source)) <= {"{{ style }}", "{{ drawing_style }}"}, name


def test_a_template_links_to_its_own_place_or_to_what_the_page_gives() -> None:
    """An address is made by the program, never written by hand or taken from a text."""
    for name, source in templates().items():
        for address in re.findall(r"\b(?:href|src|action)=\"([^\"]*)\"", source):
            assert re.match(r"#(main|\{\{ anchor \}\})$|\{\{ (link|to|here|near|there)\(", address), (name, address)


@pytest.mark.parametrize("page", ["return", "slot", "item"])
def test_hostile_texts_add_no_element_and_no_attribute(page: str) -> None:
    team = stories.hostile().team
    html = {
        "return": lambda: return_page(team), "slot": lambda: slot_page(team, "<b>slot</b>"),
        "item": lambda: item_page(team, "rests"),
    }[page]()  # fmt: skip
    tags = Tags(html)
    assert {tag for tag, _ in tags.elements} <= set(PLAIN.split())
    names = {name for _, attributes in tags.elements for name in attributes}
    assert [name for name in names if name.startswith("on") or name in {"style", "src", "srcset", "action"}] == []
    assert {str(own["href"])[0] for _, own in tags.elements if "href" in own} == {"#"}
    assert not re.search("[\u202e\u200b\x1b]", html)
    assert "<script>document.title='owned'</script>" in tags.text, "the text is shown as text"


def test_one_rule_forbids_everything_but_the_pages_own_style() -> None:
    html = return_page(stories.partial().team)
    rules = [own["content"] for tag, own in Tags(html).elements if own.get("http-equiv") == "Content-Security-Policy"]
    assert len(rules) == 1
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'", str(rules[0])
    )


def test_only_style_sheets_are_put_into_a_page_as_they_are() -> None:
    found = [
        line.strip()
        for folder in ("pages", "server")
        for path in (ROOT / "src" / "readmit" / folder).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\bMarkup\(", line)
    ]
    assert len(found) == 2
    assert [line for line in found if not re.match(r"(drawing_)?style=Markup\((page_style|_sheet)\(", line)] == []


@pytest.mark.parametrize("story", [stories.chained, stories.hostile])
def test_a_drawing_can_be_a_file_of_its_own(story: Callable[[], Scene]) -> None:
    log = story().team._desk.log
    page = newest_values(log, START)
    drawings = [timeline(page.departed, page.returned, page.happenings), *map(premises, page.fallen)]
    assert len(drawings) == 3
    for drawing in drawings:
        root = ET.fromstring(standalone(drawing))  # noqa: S314 - made a line above
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme: dark" in str(root[0].text)


def test_a_drawing_wraps_and_cuts_what_does_not_fit() -> None:
    assert wrapped("one two three", 70, 3) == ["one two", "three"]
    assert wrapped("x" * 25, 70, 2) == ["x" * 10, "x" * 9 + "…"]
    assert wrapped("漢字漢字漢字", 70, 3) == ["漢字漢字漢", "字"]
    assert wrapped("\u202e", 70, 3) == [r"\u{202e}"]
    assert wrapped("", 70, 3) == []
