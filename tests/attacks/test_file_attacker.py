"""An attacker that has the database file and this library, and no keys: nothing it writes is handed over.

Each story alters a file that was closed. What it needs no key for, it computes again, with the library's own code.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

from readmit import Reason, Workspace
from readmit.diagnosis.verification.log_verifier import LogVerifier
from readmit.errors import ReadmitError, TamperedError
from readmit.events import EventKind
from readmit.log import kept_events as kept
from readmit.log.engines.sql import MASK
from readmit.log.engines.sqlite import SqliteConnection
from readmit.log.event_rows import EventRows
from readmit.log.indexes import seen_observations
from readmit.log.log import Log
from readmit.records.acts.draft import draft
from readmit.records.acts.event import Overrule, Revoke
from readmit.trust.head_sealer import LogSealer
from readmit.trust.pin import MemoryPin
from readmit.trust.private_keys import FileRing, MemoryRing
from readmit.trust.trusted_keys import trust_key
from readmit.types import Fact, Scope
from tests.attacks.forger import recompute
from tests.attacks.victim import NAME, OPENED, Seen, attempt, build, tampered
from tests.keys import keys_of, public_keys
from tests.scene import audited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit.records.acts.draft import Draft
    from readmit.records.acts.event import KeyChange
    from readmit.trust.head_sealer import Extension
    from readmit.trust.merkle import TreeHead
    from readmit.trust.signer import Signer
    from tests.attacks.victim import Victim


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    return build(tmp_path_factory.mktemp("file-attacker") / "victim")


@pytest.fixture
def victim(original: Victim, tmp_path: Path) -> Victim:
    return original.copied(tmp_path / "victim")


def append(victim: Victim, *drafts: Draft, sealed: bool = False) -> None:
    """Append with the library's own code, unsigned or under a key of the attacker's own."""
    with closing(SqliteConnection(victim.file)) as connection:
        log = Log(connection, "default")
        ring = MemoryRing()
        if sealed:
            ring.generate()
            log.commits.sealer = _OwnKey(victim.store, "default", lambda: ring, MemoryPin())
        log.append(drafts, now=OPENED)


class _OwnKey(LogSealer):
    """Signs with whatever key it holds, and checks nothing."""

    def _choose(self, changes: tuple[KeyChange, ...]) -> Signer:
        return self._ring().signer(public_keys(self._ring()))

    def check(self, head: TreeHead, note: bytes | None, log: Extension) -> None: ...


def item(name: str, by: str) -> Draft:
    """A statement in somebody's name."""
    said = Fact(id=name, text="The train is cancelled.", by=by, slot="train", scope=Scope(workspace="default"))
    return draft(EventKind.RECORD, said, id=name, by=by, at=OPENED)


# The stories. Each alters the file; the key is what a user reads.


def an_item_in_the_name_of_a_writer(victim: Victim) -> None:
    append(victim, item("forged", "bob"))


def the_same_signed_with_a_key_of_its_own(victim: Victim) -> None:
    append(victim, item("forged", "bob"), sealed=True)


def a_key_of_its_own_that_it_trusts_first(victim: Victim) -> None:
    mine = MemoryRing().generate()
    change = trust_key(mine.public, reason="rotated")
    append(victim, draft(EventKind.KEY, change, id=f"trust:{change.key[:32]}", by="owner", at=OPENED), sealed=True)


def a_revocation_removed(victim: Victim) -> None:
    with tampered(victim) as sql:
        (pos,) = sql.execute("SELECT max(pos) FROM event WHERE kind = 'revoke'").fetchone()
        epoch = pos & MASK
        sql.execute("DELETE FROM event WHERE pos = ?", (pos,))
        for index in ("audience", "about", "name"):
            sql.execute(f"DELETE FROM {index} WHERE epoch = ?", (epoch,))  # noqa: S608 - our own names
        sql.execute("UPDATE workspace SET head = head - 1")
        sql.execute("DELETE FROM commit_record WHERE pos = (SELECT (ws << 40) + size FROM workspace)")
        sql.execute("UPDATE workspace SET size = size - 1")
    recompute(victim.file)


def a_past_policy_rewritten_and_obeyed(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE event SET body = CAST(replace(body, '\"boss\"', '\"eve\"') AS BLOB) WHERE kind = 'govern'")
    recompute(victim.file)
    restoring = Overrule(target="h0", reason="it is fine", expires=OPENED.replace(year=2030))
    append(victim, draft(EventKind.OVERRULE, restoring, id="o", by="eve", at=OPENED))


def another_database_of_the_same_id_that_trusts_the_same_key(victim: Victim) -> None:
    public = public_keys(FileRing.open(keys_of(victim.file, victim.keys)))
    elsewhere = victim.folder.parent / "elsewhere"
    elsewhere.mkdir()
    with Workspace.open(elsewhere / NAME, clock=lambda: OPENED, keys=elsewhere / "keys") as mine:
        changes = [trust_key(key, reason="the victim's") for key in public.values()]
        named = [draft(EventKind.KEY, one, id=f"trust:{one.key[:32]}", by="owner", at=OPENED) for one in changes]
        mine._desk.log.append(named, now=OPENED)
        mine.record("Pay eve.", id="evil", by="bob")
        mine.agent("ann", role="planner", task="trip").depart()
    shutil.copy(elsewhere / NAME, victim.file)
    with tampered(victim) as sql:
        sql.execute("UPDATE store SET id = ?", (victim.store,))


def a_store_from_before_the_last_commits(victim: Victim) -> None:
    before = victim.folder.parent / "before.db"
    shutil.copy(victim.file, before)
    with victim.open() as team:
        team.revoke("t0", by="bob", reason="cancelled after the last exposure")
    shutil.copy(before, victim.file)


def the_write_ahead_log_removed(victim: Victim) -> None:
    team = victim.open()
    team.revoke("t0", by="bob")
    file_alone = victim.file.read_bytes()
    team.close()
    victim.file.write_bytes(file_alone)


def the_commits_forgotten_as_if_a_release_without_them_wrote_it(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE event SET by = 'eve' WHERE id = 'item:t0'")
        sql.execute("DELETE FROM commit_record")
        sql.execute("DELETE FROM node")
        sql.execute("UPDATE workspace SET size = 0, edge = NULL, note = NULL")


def the_note_of_an_earlier_head(victim: Victim) -> None:
    with closing(sqlite3.connect(victim.file)) as sql:
        (note,) = sql.execute("SELECT note FROM workspace").fetchone()
    with victim.open() as team:
        team.observe("something new", by="bob")
    with tampered(victim) as sql:
        sql.execute("UPDATE workspace SET note = ?", (note,))
        sql.execute("UPDATE event SET by = 'eve' WHERE id = 'item:t0'")
    recompute(victim.file)


def no_note_at_all(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE event SET by = 'eve' WHERE id = 'item:t0'")
        sql.execute("UPDATE workspace SET note = NULL")
    recompute(victim.file)


def the_workspace_renamed(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE workspace SET name = 'other'")


class Story(NamedTuple):
    alter: Callable[[Victim], None]
    said: str


NOT_SIGNED, OTHER, BACK = "is not signed", "is not the one that was seen here before", "was rolled back"
STORIES = [
    Story(an_item_in_the_name_of_a_writer, NOT_SIGNED),
    Story(the_same_signed_with_a_key_of_its_own, "not signed by a key that is trusted here"),
    Story(a_key_of_its_own_that_it_trusts_first, "not signed by a key that is trusted here"),
    Story(a_revocation_removed, BACK),
    Story(a_past_policy_rewritten_and_obeyed, OTHER),
    Story(another_database_of_the_same_id_that_trusts_the_same_key, BACK),
    Story(a_store_from_before_the_last_commits, BACK),
    Story(the_write_ahead_log_removed, BACK),
    Story(the_commits_forgotten_as_if_a_release_without_them_wrote_it, "no commit: its records were removed"),
    Story(the_note_of_an_earlier_head, OTHER),
    Story(no_note_at_all, OTHER),
    Story(the_workspace_renamed, BACK),
]


def _named(story: object) -> str | None:
    return story.alter.__name__ if isinstance(story, Story) else None


@pytest.mark.parametrize("act", ["return", "expose", "expose again"])
@pytest.mark.parametrize("story", STORIES, ids=_named)
def test_nothing_is_handed_over_and_the_refusal_says_why(victim: Victim, story: Story, act: str) -> None:
    story.alter(victim)
    seen = attempt(victim, act)
    assert seen.refusal.startswith("TamperedError")
    assert story.said in seen.refusal


@pytest.mark.parametrize("story", STORIES, ids=_named)
def test_the_audit_reports_it(victim: Victim, story: Story) -> None:
    story.alter(victim)
    with victim.open() as team:
        assert any(story.said in problem for problem in audited(team).problems)


@pytest.mark.parametrize("story", STORIES, ids=_named)
def test_nothing_more_is_written_to_it(victim: Victim, story: Story) -> None:
    story.alter(victim)
    with pytest.raises(TamperedError, match=story.said), victim.open() as team:
        team.record("This must not be signed.", id="later", by="bob")


HIDDEN = {
    "a revocation from its readers": "DELETE FROM audience WHERE epoch = (SELECT max(epoch) FROM about)",
    "a revocation from its item": "DELETE FROM about WHERE epoch = (SELECT max(epoch) FROM about)",
    "the newer policy": "DELETE FROM milestone WHERE kind = 'govern' AND epoch = "
    "(SELECT max(epoch) FROM milestone WHERE kind = 'govern')",
    "the last departure": "DELETE FROM milestone WHERE kind = 'depart' AND epoch = "
    "(SELECT max(epoch) FROM milestone WHERE kind = 'depart')",
    "what replaced an item": "DELETE FROM slot_item WHERE slot = 'hotel' AND epoch = "
    "(SELECT max(epoch) FROM slot_item WHERE slot = 'hotel')",
    "the name of a departure": "DELETE FROM name WHERE id = 'depart:left-again'",
    "an observation that a verdict cites": "DELETE FROM filed WHERE epoch = (SELECT epoch FROM name WHERE id = 'e4')",
}


@pytest.mark.parametrize("what", HIDDEN)
def test_one_hidden_index_row_ends_in_a_refusal(original: Victim, victim: Victim, tmp_path: Path, what: str) -> None:
    with tampered(victim) as sql:
        statement = HIDDEN[what].replace("'e4'", f"'{EventKind.OBSERVE.event_id('e4')}'")
        assert sql.execute(statement).rowcount
    seen = attempt(victim.copied(victim.folder.parent / "used"), "return")
    refused = seen.refusal.startswith("TamperedError") or "log_altered" in seen.refusal
    # An agent that sees an item, and what happened to it or replaced it, reads them through its own audiences.
    own = ("a revocation from its item", "what replaced an item")
    unread = what in own and seen == attempt(original.copied(tmp_path / "honest"), "return")
    assert refused or unread
    with victim.open() as team:
        assert audited(team).problems


def test_a_consumed_view_is_not_handed_over_again_because_its_reader_seems_idle(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE event SET by = 'bob' WHERE by = 'dee' AND kind = 'observe'")
    assert "view_consumed" in attempt(victim, "expose again").refusal


def test_a_memory_stays_out_when_the_item_that_keeps_it_out_is_unbound(victim: Victim) -> None:
    """The record comes from evidence that a revoked item rests on as well."""
    with tampered(victim) as sql:
        (item_,) = sql.execute("SELECT epoch FROM name WHERE id = 'item:s0'").fetchone()
        assert sql.execute("DELETE FROM binding WHERE item = ?", (item_,)).rowcount
    assert "the sources of records" in attempt(victim, "search").refusal


def test_the_sources_of_a_memory_cannot_be_exchanged(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE source SET body = CAST(replace(body, 's0', 't0') AS BLOB)")
        changed = sql.execute("UPDATE source SET body = CAST(replace(body, '\"h0\"', '\"t0\"') AS BLOB)").rowcount
    assert changed
    assert "the sources of records" in attempt(victim, "search").refusal


def test_altered_evidence_does_not_bring_back_what_its_item_replaced(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE event SET body = CAST('{}' AS BLOB) WHERE id = ?", (EventKind.OBSERVE.event_id("e3"),))
    assert "log_altered" in attempt(victim, "return").refusal


def test_a_derived_text_cannot_be_exchanged(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE derived SET body = CAST('[]' AS BLOB)")
    assert attempt(victim, "prepare").refusal.startswith("TamperedError")


def test_an_admitted_return_without_its_envelope_is_not_marked_as_exposed(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("UPDATE decision SET seal = NULL WHERE return_id = ?", (victim.issued.id,))
    assert "log_altered" in attempt(victim, "expose").refusal
    with victim.open() as team:
        assert team._desk.log.named(EventKind.EXPOSE, victim.issued.id) is None


def test_a_made_up_event_does_not_pass_for_one_that_was_written(victim: Victim) -> None:
    """A write that is repeated is acknowledged only if the signed log has it."""
    with tampered(victim) as sql:
        (row,) = sql.execute("SELECT * FROM event WHERE id = 'item:t0'").fetchall()
        marks = ", ".join("?" * len(row))
        made_up = (row[0] + 100, "item:made-up", *row[2:])
        sql.execute(f"INSERT INTO event VALUES ({marks})", made_up)  # noqa: S608 - our own names
        sql.execute("INSERT INTO name SELECT ws, 'item:made-up', ? FROM workspace", (made_up[0] & MASK,))
    with victim.open() as team, pytest.raises(ReadmitError):
        team.record("The train is booked.", id="made-up", by="bob")


def test_a_name_that_was_hidden_cannot_be_used_twice(victim: Victim) -> None:
    with tampered(victim) as sql:
        sql.execute("DELETE FROM name WHERE id = 'item:t0'")
    with victim.open() as team, pytest.raises(TamperedError, match="its name is not"):
        team.record("The train is not booked.", id="t0", by="bob")


def test_an_observation_under_a_name_that_was_hidden_is_reported_by_the_audit_from_then_on(victim: Victim) -> None:
    """Names of observations are in no signed list: the write goes through, and two events have one name for good."""
    with tampered(victim) as sql:
        (epoch,) = sql.execute("SELECT epoch FROM name WHERE id = 'observe:e4'").fetchone()
        sql.execute("DELETE FROM name WHERE id = 'observe:e4'")
    with victim.open() as team:
        team.observe("It is dry all week.", by="bob", id="e4")
    assert "name" in attempt(victim, "verify").refusal
    with tampered(victim) as sql:
        sql.execute("UPDATE name SET epoch = ? WHERE id = 'observe:e4'", (epoch,))
    assert "name" in attempt(victim, "verify").refusal


def test_a_copy_of_the_file_alone_while_it_is_in_use_is_refused(victim: Victim) -> None:
    with victim.open() as team:
        team.revoke("t0", by="bob")
        copied = victim.file.read_bytes()
        team.revoke("h1", by="bob")
    victim.file.write_bytes(copied)
    assert "was rolled back" in attempt(victim, "return").refusal


def test_a_key_folder_without_the_file_s_history_trusts_what_it_first_sees(victim: Victim) -> None:
    """The limit of trust on first use: without the pin, a store that is signed by its own keys is taken as it is."""
    for pin in (*victim.folder.rglob("*.trust"), *victim.folder.rglob("*.head")):
        pin.unlink()
    assert attempt(victim, "expose").result


def test_an_index_that_answers_two_queries_differently_is_refused(victim: Victim) -> None:
    """A partial index lists a forged event. SQLite uses it for the query that compares epochs, and for no other.

    The file is altered while it is open: a store with such an index is not opened.
    """
    forged = item("forged", "bob")
    with victim.open() as team:
        with tampered(victim) as sql:
            # The event of an observation that nothing rests on is not read by the return.
            (pos,) = sql.execute("SELECT pos FROM event WHERE id = ?", (EventKind.OBSERVE.event_id("e2"),)).fetchone()
            sql.execute(
                "UPDATE event SET id = ?, kind = 'record', by = 'bob', body = ?, digest = ? WHERE pos = ?",
                (forged.id, forged.body, forged.digest, pos),
            )
            sql.execute("ALTER TABLE audience RENAME TO before")
            sql.execute("CREATE TABLE audience (ws, class, task, principal, role, epoch)")
            sql.execute("INSERT INTO audience SELECT * FROM before")
            sql.execute("DROP TABLE before")
            sql.execute("INSERT INTO audience SELECT ws, 'state', '', '', '', ? FROM workspace", (pos & MASK,))
            columns = "ws, class, task, principal, role, epoch"
            sql.execute(f"CREATE INDEX odd ON audience ({columns}) WHERE epoch IS NOT NULL")
            entry = sql.execute("SELECT * FROM sqlite_master WHERE name = 'odd'").fetchone()
        with tampered(victim) as sql:
            sql.execute("PRAGMA writable_schema = ON")
            sql.execute("DELETE FROM sqlite_master WHERE name = 'odd'")
        with tampered(victim) as sql:
            sql.execute("DELETE FROM audience WHERE class = 'state' AND epoch = ?", (pos & MASK,))
            sql.execute("PRAGMA writable_schema = ON")
            sql.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", entry)
        back = team.agent("ann", role="planner", task="trip").come_back()
    assert back.reasons == (Reason.LOG_ALTERED,)
    assert "forged" not in {one.item for one in back.dispositions}


OBJECTS = {
    "an index that shows some rows": (
        "CREATE INDEX odd ON audience (ws, class) WHERE epoch > 5",
        "the index 'odd' is none of readmit's: it was added",
    ),
    "a trigger that hides what is written": (
        "CREATE TRIGGER hides AFTER INSERT ON about BEGIN DELETE FROM about WHERE item = new.item; END",
        "the trigger 'hides' is none of readmit's: it was added",
    ),
    "a view": ("CREATE VIEW seen AS SELECT * FROM event", "the view 'seen' is none of readmit's: it was added"),
    "a table": ("CREATE TABLE more (id)", "the table 'more' is none of readmit's: it was added"),
    "an index removed": ("DROP INDEX binding_of_evidence", "the index 'binding_of_evidence' is not there"),
    "a column added": ("ALTER TABLE about ADD COLUMN more", "the table 'about' is not as readmit made it"),
}


@pytest.mark.parametrize("what", OBJECTS)
def test_another_schema_is_refused_at_open_and_reported_by_verify(victim: Victim, what: str) -> None:
    statement, said = OBJECTS[what]
    with closing(sqlite3.connect(victim.file)) as sql:
        sql.execute(statement)
        sql.commit()
    with pytest.raises(TamperedError, match=re.escape(said)):
        victim.open()
    with closing(LogVerifier(victim.file, "default", keys=victim.keys)) as verifier:
        assert any(said in problem for problem in verifier.verify().problems)


TREES = ("workspace_1", "piece_1", "node_1", "memory_1", "binding_of_evidence", "memory_term_of")


def emptied(victim: Victim, index: str) -> None:
    """Let the tree of an index have no entries, though its table has rows. No object of the schema differs then."""
    with tampered(victim) as sql:
        named = "SELECT name, tbl_name FROM sqlite_master WHERE name IN (?, 'sqlite_autoindex_' || ?)"
        name, table = sql.execute(named, (index, index)).fetchone()
        columns = ", ".join(row[2] for row in sql.execute(f"PRAGMA index_xinfo({name})") if row[2] and row[5])
        sql.execute(f"CREATE TABLE none AS SELECT * FROM {table} WHERE 0")  # noqa: S608 - our own names
        sql.execute(f"CREATE INDEX none_of ON none ({columns})")
        sql.execute("PRAGMA writable_schema = ON")
        root = "(SELECT rootpage FROM sqlite_master WHERE name = 'none_of')"
        sql.execute(f"UPDATE sqlite_master SET rootpage = {root} WHERE name = ?", (name,))  # noqa: S608
        sql.execute("DELETE FROM sqlite_master WHERE name LIKE 'none%'")


@pytest.mark.parametrize("act", ["return", "expose", "replay", "search"])
@pytest.mark.parametrize("index", TREES)
def test_an_index_without_the_rows_of_its_table_ends_in_a_refusal_or_changes_nothing(
    original: Victim, victim: Victim, tmp_path: Path, index: str, act: str
) -> None:
    emptied(victim, index)
    found, before = attempt(victim, act), attempt(original.copied(tmp_path / "as it was"), act)
    if index == "memory_1" and act == "search":
        # The memory store is one like any other: what is lost there is not found.
        assert set(found.result.splitlines()) < set(before.result.splitlines())
    else:
        assert found == before or found.refusal, found


def test_a_trigger_that_keeps_the_log_as_it_is_must_be_there(victim: Victim) -> None:
    with closing(sqlite3.connect(victim.file)) as sql:
        sql.execute("DROP TRIGGER event_delete_refused")
    with pytest.raises(TamperedError, match="the trigger 'event_delete_refused' is not there: it was removed"):
        victim.open()


def test_statistics_and_a_vacuum_are_no_change_of_the_schema(victim: Victim) -> None:
    with closing(sqlite3.connect(victim.file, isolation_level=None)) as sql:
        sql.execute("ANALYZE")
        sql.execute("VACUUM")
    assert attempt(victim, "verify") == attempt(victim, "verify") == Seen()


@contextmanager
def unproven(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if a read could be fooled: nothing that is read is compared with what is signed."""
    with monkeypatch.context() as patched:
        patched.setattr(EventRows, "check_values", lambda *_: None)
        patched.setattr(kept, "check_value", lambda *_, **__: None)
        patched.setattr(seen_observations, "covers", lambda *_: True)
        yield


def forged_for_a_moment(victim: Victim, forged: Draft) -> Iterator[None]:
    """An observation that nothing rests on becomes another event that everybody sees, and is put back."""
    columns = "id, kind, by, body, digest"
    with tampered(victim) as sql:
        (pos,) = sql.execute("SELECT pos FROM event WHERE id = ?", (EventKind.OBSERVE.event_id("e2"),)).fetchone()
        before = sql.execute(f"SELECT {columns} FROM event WHERE pos = ?", (pos,)).fetchone()  # noqa: S608
        change = f"UPDATE event SET ({columns}) = (?, ?, ?, ?, ?) WHERE pos = ?"  # noqa: S608 - our own names
        sql.execute(change, (forged.id, str(forged.kind), forged.by, forged.salt + forged.body, forged.digest, pos))
        sql.execute("INSERT INTO audience SELECT ws, 'state', '', '', '', ? FROM workspace", (pos & MASK,))
    yield
    with tampered(victim) as sql:
        sql.execute(change, (*before, pos))
        sql.execute("DELETE FROM audience WHERE class = 'state' AND epoch = ?", (pos & MASK,))


FORGED = {
    "an item": item("forged", "bob"),
    "a revocation": draft(EventKind.REVOKE, Revoke(target="f0", reason="x"), id="forged", by="bob", at=OPENED),
}


@pytest.mark.parametrize("what", FORGED)
def test_an_exposed_view_is_checked_against_the_events(
    victim: Victim, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with victim.open() as team:
        moment = forged_for_a_moment(victim, FORGED[what])
        next(moment)
        with unproven(monkeypatch):
            back = team.agent("ann", role="planner", task="trip").come_back(id="fooled")
            assert back.admitted
            back.expose()
        next(moment, None)
        for full in (False, True):
            problems = audited(team, full=full).problems
            assert any("return 'fooled' was decided on another" in one for one in problems), problems
        assert any("return 'fooled' was handed over, and the log leads to another" in one for one in problems)
