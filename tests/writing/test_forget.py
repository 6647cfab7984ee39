"""Forgetting takes a text out for good: it is nowhere in the store, and log, indexes and proofs still verify."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from readmit import Answer, Pair, Policy, Verdict, Workspace
from readmit.diagnosis.verification.head_proofs import proof_of, signed_head
from readmit.errors import ConflictError, NotAllowedError, RecordError, StoreError, TamperedError, UnknownError
from readmit.lab import canonical, digest
from readmit.records.acts.forgotten import FORGOTTEN
from readmit.trust.notes import NoteKey
from readmit.trust.proofs import check_proof
from tests.postgres import on_server
from tests.scene import START, audited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit import Agent

HOME = "Zanzibar Quokka lives at 12 Mill Lane"
SAID = f"{HOME}, says the “porter”"


@pytest.fixture
def team(place: Path | str) -> Iterator[Workspace]:
    with Workspace.open(place, clock=lambda: START) as opened:
        yield opened


def told(team: Workspace) -> tuple[Agent, str]:
    """An agent that came back with the text, and left again; and the digest of the observation."""
    planner = team.agent("ann", role="planner", task="trip")
    seen = team.observe(SAID, by="bob")
    team.record(HOME, id="home", slot="home", sources=[seen], by="bob")
    team.record("The visit is on Monday", id="visit", slot="visit", depends_on=["home"], sources=[seen], by="bob")
    team.oblige("Visit the customer", id="o", required=["home", "visit"], by="bob", roles=["planner"], task="trip")
    planner.depart()
    back = planner.come_back()
    assert back.kind == "admitted"
    assert HOME in back.expose().markdown()
    planner.depart()
    return planner, seen


def stored(place: Path | str) -> bytes:
    """Every byte of a store's files, or every row that a server shows."""
    assert not on_server(place)
    files = [file for file in Path(place).parent.iterdir() if file.name.startswith(Path(place).name)]
    return b"".join(file.read_bytes() for file in files if file.is_file())


def clues(text: str) -> Iterator[bytes]:
    """What would show a text, or confirm a guess of it."""
    for said in (text, text[:24]):
        yield said.encode()
        yield canonical(said)[1:-1]
    for hashed in (sha256(text.encode()).hexdigest(), digest(text)):
        yield hashed[:32].encode()
        yield bytes.fromhex(hashed)


def test_what_is_forgotten_is_out_and_everything_else_still_verifies(team: Workspace) -> None:
    planner, seen = told(team)
    gone = team.as_owner().admin.forget(seen, "home", reason="the customer asked for it")
    assert set(gone.erased) == {f"observe:{seen[:32]}", "item:home"}
    assert gone.fell == ("home", "visit")
    report = audited(team, full=True)
    assert report.problems == ()
    assert any("was forgotten on" in note for note in report.notes)
    back = planner.come_back()
    assert (back.kind, set(back.missing)) == ("blocked", {"home", "visit"})
    assert {one.item: str(one.state) for one in back.dispositions}["home"] == "revoked"
    assert team._desk.log.item("home").text == FORGOTTEN
    assert HOME not in "".join(str(event.payload) for event in team._desk.log.tail())


def test_a_replay_that_needs_the_text_refuses_by_name(team: Workspace) -> None:
    planner, _ = told(team)
    [before] = [event.name for event in team._desk.log.tail() if event.kind == "return"]
    team.as_owner().admin.forget("home", reason="asked for")
    again = team.returned(before).replay()
    assert not again.matches
    assert again.refused.startswith("home was forgotten on 20")
    assert "by owner" in again.refused
    later = planner.come_back()
    assert team.returned(later.id).replay().matches


def test_no_byte_of_it_is_left_in_the_file(tmp_path: Path) -> None:
    place = tmp_path / "team.db"
    with Workspace.open(place) as team:
        planner, seen = told(team)
        team.record(HOME, sources=[seen], by="bob")
        team.admin.log.derived.write(
            "vector", "m", {sha256(HOME.encode()).hexdigest(): b"v", digest((HOME, "x")): b"w"}
        )
        other = team.observe("He has moved", by="bob")
        pair = Pair(item="home", evidence=other)
        verdict = Verdict(pair=pair, answer=Answer.INVALIDATES, confidence=Decimal("0.9"), item_quote=HOME[:30])
        team.judge(verdict, by="bob")
        planner.come_back()
        before = stored(place)
        assert any(clue in before for clue in clues(HOME))
        [unnamed] = [event.name for event in team.admin.log.tail() if event.kind == "record" and len(event.name) == 17]
        gone = team.as_owner().admin.forget(seen, "home", unnamed, reason="asked for")
        assert gone.left == ""
        assert audited(team, full=True).problems == ()
        after = stored(place)
        for text in (HOME, SAID):
            assert not [clue for clue in clues(text) if clue in after]
    assert not [clue for clue in clues(HOME) if clue in stored(place)]


def test_copies_beside_the_store_and_equal_words_are_named(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "team.db") as team:
        _, seen = told(team)
        team.admin.backup(tmp_path / "monday.db")
        (tmp_path / "other.db").write_bytes(b"SQLite format 3\0 no")
        gone = team.as_owner().admin.forget(seen, reason="asked for")
        assert gone.copies == (str(tmp_path / "monday.db"),)
        assert gone.same_text == ()
        again = team.as_owner().admin.forget("visit", reason="asked for")
        assert "item:home" not in again.same_text
        team.observe(f"Again: {HOME}", by="bob", id="again")
        assert team.as_owner().admin.forget("home", reason="asked for").same_text == ("observe:again",)


def test_a_proof_stands_without_the_text(team: Workspace) -> None:
    told(team)
    log = team._desk.log
    epoch = next(event.epoch for event in log.tail() if event.name == "home")
    signed = signed_head(log)
    whole = proof_of(log, epoch, signed)
    team.as_owner().admin.forget("home", reason="asked for")
    keys = [NoteKey(check_origin(signed), public) for public in team.admin.keys.trusted(START).values()]
    assert check_proof(whole, keys).body is not None, "who has the text and its salt can still prove it"
    bare = proof_of(log, epoch, signed_head(log))
    found = check_proof(bare, keys)
    assert (found.id, found.by, found.body) == ("item:home", "bob", None)
    assert HOME.encode() not in bare


def check_origin(note: bytes) -> str:
    return note.decode().splitlines()[0]


def test_only_the_owner_and_overseers_forget(team: Workspace) -> None:
    told(team)
    with pytest.raises(NotAllowedError, match="'bob' may not forget"):
        team.admin.forget("home", reason="no", by="bob")
    assert team._desk.log.item("home").text == HOME
    team.as_owner().admin.govern(Policy(evidence={"overseers": ("lead",)}))
    team.admin.forget("home", reason="asked for", by="lead")
    assert team._desk.log.item("home").text == FORGOTTEN
    with pytest.raises(ConflictError, match="record it again"):
        team.admin.overrule("home", by="lead", reason="oops", expires=timedelta(hours=1))


@pytest.mark.parametrize(
    ("targets", "reason", "error", "said"),
    [
        ((), "asked for", RecordError, "name what to forget"),
        (("nothing",), "asked for", UnknownError, "no item, observation or memory 'nothing'"),
        (("home",), "", RecordError, "reason"),
        (("home",), f"because {HOME}", RecordError, "repeats the text"),
    ],
)
def test_what_cannot_be_forgotten_is_refused(
    team: Workspace, targets: tuple[str, ...], reason: str, error: type[Exception], said: str
) -> None:
    told(team)
    with pytest.raises(error, match=said):
        team.as_owner().admin.forget(*targets, reason=reason)
    assert team._desk.log.item("home").text == HOME


def test_twice_and_within_a_batch_is_refused(team: Workspace) -> None:
    told(team)
    with team.batch(), pytest.raises(StoreError, match="forget after it"):
        team.as_owner().admin.forget("home", reason="asked for")
    team.as_owner().admin.forget("home", reason="asked for")
    with pytest.raises(ConflictError, match=r"home was forgotten on .* by owner"):
        team.as_owner().admin.forget("home", reason="asked for")


def test_a_text_can_be_said_again_afterwards(team: Workspace) -> None:
    told(team)
    first = team.record("The gate is open", sources=[], by="bob")
    assert team.record("The gate is open", sources=[], by="bob") == first
    team.as_owner().admin.forget(first, reason="asked for")
    second = team.record("The gate is open", sources=[], by="bob")
    assert second != first, "an id confirms no guess of what was forgotten"
    assert team.record("The gate is open", sources=[], by="bob") == second
    assert audited(team, full=True).problems == ()


# Somebody with the file, and without the keys.

ATTACKS = {
    "a remnant without a word on the log": "zeroblob(16)",
    "a content of its own": "substr(body, 1, 16)",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nobody_forgets_without_the_keys(tmp_path: Path, attack: str) -> None:
    place = tmp_path / "team.db"
    with Workspace.open(place) as team:
        told(team)
        remnant = canonical(team._desk.log.item("home")).replace(HOME.encode(), FORGOTTEN.encode())
    edit = f"UPDATE event SET body = CAST({ATTACKS[attack]} || ? AS BLOB) WHERE id = 'item:home'"  # noqa: S608 - ours
    with closing(sqlite3.connect(place)) as sql, sql:
        with pytest.raises(sqlite3.DatabaseError, match="append-only"):
            sql.execute(edit, (remnant,))
        (guard,) = sql.execute("SELECT sql FROM sqlite_master WHERE name = 'event_update_refused'").fetchone()
        sql.execute("DROP TRIGGER event_update_refused")
        sql.execute(edit, (remnant,))
        sql.execute(guard)
    with Workspace.open(place) as team:
        with pytest.raises(TamperedError, match="altered"):
            team._desk.log.item("home")
        assert team.agent("ann", role="planner", task="trip").come_back().kind != "admitted"
        assert audited(team, full=True).problems


def test_a_text_that_is_put_back_shows(tmp_path: Path) -> None:
    place = tmp_path / "team.db"
    with Workspace.open(place) as team:
        told(team)
    with closing(sqlite3.connect(place)) as sql:
        (body,) = sql.execute("SELECT body FROM event WHERE id = 'item:home'").fetchone()
    with Workspace.open(place) as team:
        team.as_owner().admin.forget("home", reason="asked for")
    with closing(sqlite3.connect(place)) as sql, sql:
        (guard,) = sql.execute("SELECT sql FROM sqlite_master WHERE name = 'event_update_refused'").fetchone()
        sql.execute("DROP TRIGGER event_update_refused")
        sql.execute("UPDATE event SET body = ? WHERE id = 'item:home'", (body,))
        sql.execute(guard)
    with Workspace.open(place) as team:
        assert audited(team, full=True).problems


def test_a_guess_cannot_be_confirmed_from_what_is_left(tmp_path: Path) -> None:
    """The digest stays on the log. Without its salt, hashing the very text does not give it."""
    place = tmp_path / "team.db"
    with Workspace.open(place) as team:
        _, seen = told(team)
        event = team._desk.log.evidence(seen)
        assert hashlib.sha256(event.salt + canonical(event.payload)).hexdigest() == seen
        team.as_owner().admin.forget(seen, reason="asked for")
        left = team._desk.log.evidence(seen)
        assert (left.digest, left.salt) == (seen, bytes(16))
        assert event.salt not in stored(place)
        assert hashlib.sha256(left.salt + canonical(event.payload)).hexdigest() != seen
