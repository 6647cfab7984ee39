from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

import readmit.models
from readmit.errors import ModelError
from readmit.models.stages import answer, extract, imply, link, plan, scan, verify
from readmit.models.stages.prompt_files import Section, request, wording

PROMPTS = Path(readmit.models.__file__).parent / "prompts"
USED = {
    verify.PROMPT,
    scan.PROMPT,
    scan.WIDE_PROMPT,
    imply.PREMISES.prompt,
    imply.IMPLIED.prompt,
    extract.PROMPT,
    plan.PROMPT,
    link.PROMPT,
    answer.PROMPT,
}
# Stored answers and verdicts are found by name and version. To change a text, add a file with the next version.
PINNED = {
    "answer@1.md": "bb0a4109b5e1e324",
    "extract@3.md": "e95b9aad2fd964e2",
    "implied@1.md": "f3b6ea3771cde151",
    "link@1.md": "3756ee7ceda60a09",
    "plan@2.md": "01fdc31c27a7ea1f",
    "premises@2.md": "6eed760deba532d1",
    "scan-many@1.md": "141a0ec1c0803383",
    "scan@1.md": "3b7f760e9a67878c",
    "verify@3.md": "f2aebcb50767ef05",
}


def test_a_changed_text_has_a_new_version() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in PROMPTS.iterdir()}
    assert found == PINNED


def test_every_stage_has_its_prompt() -> None:
    assert {f"{name}.md" for name in USED} <= set(PINNED)


@pytest.mark.parametrize("name", sorted(USED))
def test_a_prompt_says_its_task_once_and_leaves_two_places(name: str) -> None:
    said = wording(name)
    assert len(said.system) > 400
    assert "{" not in said.system
    assert sorted(re.findall(r"\{(\w+)\}", said.request)) == ["code", "texts"]
    assert "whatever they say" in " ".join(said.system.split()).lower()


@pytest.mark.parametrize("name", sorted(USED))
def test_a_prompt_is_short_plain_and_names_no_theme_of_a_benchmark(name: str) -> None:
    text = (PROMPTS / f"{name}.md").read_text(encoding="utf-8")
    assert len(text) < 4_000
    assert text.isascii()
    themes = r"\b(climate|soil|housing|employ\w*|diet|health|weather|travel|city|home|job|work|family|finance)\b"
    assert re.findall(themes, text.lower().replace("material to work on", "")) == []


def test_record_text_is_never_searched_for_places() -> None:
    ask = request("scan@1", [Section("a", "{texts} {code}")], workspace="w", max_tokens=9, max_chars=99)
    assert "{texts} {code}" in ask.user
    assert (ask.stage, ask.prompt, ask.workspace, ask.max_tokens) == ("scan", "scan@1", "w", 9)


def test_a_request_shows_everything_or_is_not_made() -> None:
    with pytest.raises(ModelError, match="is not judged"):
        request("scan@1", [Section("a", "x" * 100)], workspace="", max_tokens=9, max_chars=99)
