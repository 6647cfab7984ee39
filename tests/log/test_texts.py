"""Any text, on either store: what one keeps the other keeps, and what one refuses the other refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readmit import Workspace
from readmit.backends import ScopedMem
from readmit.lab import Entry
from readmit.log.location import names
from readmit.memory import Binding, Material
from readmit.records.identity import own_id
from tests.crash.team import verify
from tests.scene import START

if TYPE_CHECKING:
    from pathlib import Path

NUL, ESCAPE = "a\0b", "\x1a0\x1a\x1a1\0\x1a"
WORDS = {
    "NUL": NUL,
    "what NUL is kept as": ESCAPE,
    "wide": "\N{GRINNING FACE}é\N{COMBINING ACUTE ACCENT}ß中",
    "quotes": "'\"\\%s ?; --",
    "bidirectional": "\N{RIGHT-TO-LEFT OVERRIDE}\N{ZERO WIDTH SPACE}",
}


@pytest.mark.parametrize("case", WORDS)
def test_a_name_may_be_any_text(place: Path | str, case: str) -> None:
    word = WORDS[case]
    with Workspace.open(place, name=word, clock=lambda: START) as team:
        source = team.observe(word, by=word, task=word, roles=[word], principals=[word])
        item = team.record(word, by=word, sources=[source], task=word, roles=[word], principals=[word])
        team.revoke(item, by=word, reason=word)
        agent = team.agent(word, role=word, task=word)
        agent.depart()
        assert [event.by for event in team._desk.log.seen(agent.identity, until=99)] == [word, word]
        assert team._desk.log.ended(word, since=START.replace(year=2020)) == 1
        assert team.admin.log.evidence(source).payload.text == word  # type: ignore[attr-defined]
        assert team._desk.log.latest(team._desk.log.event(team.epoch).kind, agent.identity.agent) is not None
        memory = ScopedMem(team._desk.log.memories, word, store=word)
        [change] = memory.form(Material(text=f"{word} x", key="k", owner=word))
        [hit] = memory.search("x", limit=3, reader=word)
        assert (hit.id, hit.text) == (change.record.id, f"{word} x")
        team._desk.log.derived.write(word, word, {word: b"1"})
        assert team._desk.log.derived.read(word, word, [word, "other"]) == {word: b"1"}
        entry = Entry(record=word, text="0" * 64, bindings=(Binding(ref=item),), by=word, owner=word)
        team._desk.log.sources.write(word, [entry])
        assert team._desk.log.sources.entries(word) == {word: entry}
        assert len(list(team._desk.log.tail())) == team.epoch
    assert names(place) == (word,)


@given(texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), min_size=1, max_size=8))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read(place: Path | str, texts: list[str]) -> None:
    with Workspace.open(place, clock=lambda: START) as team:
        # Names are kept in NFC, texts exactly as observed.
        kept = {text: normalize("NFC", text) for text in texts}
        for text, name in kept.items():
            team.observe(text, by=name)
        found = {event.payload.text: event.by for event in team.admin.log.tail() if event.kind == "observe"}  # type: ignore[attr-defined]
        assert {text: found[text] for text in texts} == kept


@pytest.mark.parametrize("write", ["observe", "by", "task", "look up", "memory", "name"])
def test_half_a_character_is_refused_and_nothing_is_written(place: Path | str, write: str) -> None:
    half = "x\ud800"
    with Workspace.open(place, clock=lambda: START) as team:
        epoch = team.epoch
        attempts: dict[str, Any] = {
            "observe": lambda: team.observe(half, by="bob"),
            "by": lambda: team.observe("text", by=half),
            "task": lambda: team.observe("text", by="bob", task=half),
            "look up": lambda: team._desk.log.item(half),
            "memory": lambda: ScopedMem(team._desk.log.memories, "w").form(Material(text=half, key="k")),
            "name": lambda: Workspace.open(place, name=half),
        }
        with pytest.raises(ValueError, match=r"surrogates|UTF-8"):
            attempts[write]()
        assert team.epoch == epoch
        team.observe("It goes on.", by="bob")
    verify(place).close()


def test_long_texts_words_and_names(place: Path | str) -> None:
    long = "".join(chr(0x1F300 + number % 700) for number in range(200_000))
    with Workspace.open(place, clock=lambda: START) as team:
        digest = team.observe(long, by="bob")
        assert team.admin.log.evidence(digest).payload.text == long  # type: ignore[attr-defined]
        memory = ScopedMem(team._desk.log.memories, team.name)
        word = "".join(f"{number:x}" for number in range(30_000))
        memory.form(Material(text=f"short {word}", key="k"))
        assert [hit.text for hit in memory.search(word, limit=1)] == [f"short {word}"]
        assert memory.search(word[:-1], limit=1) == []
        name = long[:256]
        team.record("text", id=own_id(name, "i" * 90), by=name, principals=[name], slot="s" * 128)
        agent = team.agent(name, role="planner", task="trip")
        agent.depart()
        assert [event.by for event in team._desk.log.seen(agent.identity, until=99)] == [name]
    verify(place).close()
