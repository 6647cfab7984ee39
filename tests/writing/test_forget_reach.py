"""Forgetting reaches every place that holds a text: memories, drafts, looks, waiting acts, the reference store."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from readmit import Policy, Workspace
from readmit.errors import ConflictError, RateError
from readmit.inference import Inference
from readmit.memory import Memory
from readmit.sources import File
from tests.cli.run import run, said
from tests.inference.test_ingesting import claim, reader
from tests.postgres import ADMINISTRATOR, on_server
from tests.scene import audited

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = "Zanzibar Quokka lives at 12 Mill Lane."
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s"


def held(place: Path | str) -> bytes:
    """Every byte of a store's files, or every row of a server."""
    if not on_server(place):
        near = [file for file in Path(place).parent.iterdir() if file.name.startswith(Path(place).name)]
        return b"".join(file.read_bytes() for file in near if file.is_file())
    at, schema = urlsplit(str(place)), parse_qs(urlsplit(str(place)).query)["schema"][0]
    # The administrator sees the rows of all tenants.
    with psycopg.connect(f"postgresql://{ADMINISTRATOR}@127.0.0.1:{at.port}{at.path}") as sql:
        tables = sql.execute(_TABLES, (schema,)).fetchall()
        found = [
            row
            for (table,) in tables
            for (row,) in sql.execute(f'SELECT t::text FROM "{schema}"."{table}" t'.encode()).fetchall()  # noqa: S608 - ours
        ]
    assert found
    # Bytes are printed as hexadecimal digits.
    shown = "\n".join(found)
    return shown.encode() + bytes.fromhex("".join(part[: len(part) // 2 * 2] for part in _hex(shown)))


def _hex(shown: str) -> Iterator[str]:
    for part in shown.split("\\x")[1:]:
        digits = len(part) - len(part.lstrip("0123456789abcdef"))
        yield part[:digits]


def clues(text: str = HOME) -> list[bytes]:
    hashed = hashlib.sha256(text.encode()).digest()
    return [text.encode(), text[:20].encode(), hashed, hashed.hex().encode()]


def is_left(place: Path | str, text: str = HOME) -> bool:
    bytes_ = held(place)
    return any(clue in bytes_ for clue in clues(text))


def forgotten(team: Workspace, place: Path | str, *targets: str) -> Any:
    """Forget, and see that it was there before, that nothing is left, and that everything verifies."""
    assert is_left(place)
    gone = team.as_owner().admin.forget(*targets, reason="asked for")
    assert audited(team, full=True).problems == ()
    assert not is_left(place)
    return gone


def test_records_of_the_reference_store_go_with_their_sources(place: Path | str) -> None:
    with Workspace.open(place, policy=Policy(returns={"fill": "always"})) as team:
        memory = Memory.open(team, "scopedmem")
        seen = team.observe(HOME, by="bob")
        team.record(HOME, id="home", sources=[seen], by="bob")
        other = team.record(
            "The gate is open", id="gate", sources=[team.observe("The gate is open.", by="bob")], by="bob"
        )
        memory.form(f"Of the file: {HOME}", sources=["home"], by="bob")
        memory.observe(seen, by="bob")
        memory.form("The gate is open all day", sources=[other], by="bob")
        planner = team.agent("ann", role="planner", task="trip")
        planner.depart()
        assert len(memory.returned(planner.come_back().expose()).search("Quokka")) == 2
        forgotten(team, place, seen, "home")
        planner.depart()
        handle = memory.returned(planner.come_back().expose())
        assert handle.search("Quokka") == ()
        assert [hit.text for hit in handle.search("gate open")] == ["The gate is open all day"]


def test_a_memory_is_forgotten_by_its_id_and_by_the_id_on_the_log(place: Path | str) -> None:
    with Workspace.open(place) as team:
        team.record("The gate is open", id="gate", sources=[], by="bob")
        ann, cal = (team.agent(name, role="planner", task="trip") for name in ("ann", "cal"))
        note = ann.remember(HOME, bound_to="gate")
        forgotten(team, place, note)
        for agent in (ann, cal):
            agent.remember(HOME, bound_to="gate", id="note")
        with pytest.raises(
            ConflictError, match="'note' is a memory of several agents; name one of @ann/note, @cal/note"
        ):
            team.as_owner().admin.forget("note", reason="asked for")
        gone = team.as_owner().admin.forget("@ann/note", reason="asked for")
        assert gone.same_text == ("remember:@cal/note",)
        assert forgotten(team, place, *gone.same_text).erased == ("remember:@cal/note",)


def test_what_waited_for_an_overseer_is_emptied(place: Path | str) -> None:
    policy = Policy(evidence={"overseers": ("boss",)}, limits={"invalidations": 0})
    with Workspace.open(place, policy=policy) as team:
        seen = team.observe(HOME, by="bob")
        team.record("It is said where he lives", id="old", slot="home", sources=[seen], by="bob")
        with pytest.raises(RateError, match="It waits as") as refused:
            team.record(HOME, id="home", slot="home", supersedes="old", sources=[seen], by="eve")
        waits = str(refused.value).partition("It waits as ")[2].partition(":")[0]
        gone = forgotten(team, place, seen)
        assert "old" in gone.fell
        with pytest.raises(ConflictError, match="forgotten"):
            team.admin.approve(waits, by="boss")
        assert audited(team, full=True).problems == ()


def test_drafts_and_the_answers_they_came_from_go(place: Path | str) -> None:
    model = reader(claim(HOME, HOME, "home"))
    with Workspace.open(place) as team:
        inference = Inference(team, verifier=model, extractor=model)
        seen = team.observe(f"He says: {HOME}", by="bob")
        (read,) = inference.ingest([seen], by="bob")
        assert read.items
        gone = forgotten(team, place, seen)
        assert set(read.items) <= set(gone.fell)


def test_a_file_that_was_looked_at_again(place: Path | str, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    file = tmp_path / "tree" / "people.md"
    file.write_text(f"# People\n{HOME}\n")
    policy = Policy(looks={"roots": (str(tmp_path / "tree"),)})
    with Workspace.open(place, policy=policy) as team:
        seen = team.observe(probe=File(str(file), lines="2"), by="bob")
        team.record("Somebody lives there", id="who", slot="who", sources=[seen], by="bob")
        team.oblige("Visit", required=["who"], by="bob", roles=["planner"])
        planner = team.agent("ann", role="planner", task="trip")
        planner.depart()
        file.write_text("# People\nHe moved.\n")
        planner.come_back()
        planner.depart()
        file.write_text(f"# People\nOnce more: {HOME}\n")
        planner.come_back()
        again = [
            event.name
            for event in team._desk.log.tail()
            if event.kind == "observe" and "Once more" in str(event.payload)
        ]
        forgotten(team, place, seen, *again)


def test_the_command(tmp_path: Path) -> None:
    db = tmp_path / "team.db"
    run("init", "--db", db)
    run("observe", HOME, "--id", "mail", "--by", "bob", "--db", db)
    run("record", HOME, "--id", "home", "--source", "mail", "--by", "bob", "--db", db)
    kept = run("forget", "mail", "--reason", "asked for", "--db", db, input="n\n", status=None)
    assert kept.exit_code != 0
    assert is_left(db)
    shown = run("forget", "mail", "--reason", "asked for", "--db", db, input="y\n").output
    assert "No longer counts: home" in shown, "a word that is an observation's id names it"
    assert "Says the same and was not forgotten: item:home" in shown
    answer = said("forget", "item:home", "--reason", "asked for", "--yes", "--db", db)
    assert (answer["erased"], answer["left"]) == (["item:home"], "")
    assert not is_left(db)
    assert "intact" in run("audit", "verify", "--full", "--db", db).output
    refused = run("forget", "nothing", "--reason", "asked for", "--yes", "--db", db, status=None)
    assert refused.exit_code != 0
    assert "no item, observation or memory 'nothing'" in refused.output
