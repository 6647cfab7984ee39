"""An attacker that can replace the database and everything beside it, by a store of its own with keys of its own.

What a store is checked against is in the folder of keys: which store was seen at a path, and its last signed head.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.diagnosis.verification.head_proofs import verifier_key, witnessed_head
from readmit.diagnosis.verification.log_verifier import LogVerifier
from readmit.errors import AuditError, SealError, StoreError, TamperedError
from readmit.log.key_folder import KeyFolder
from tests.cli.run import run, said
from tests.keys import id_of, keys_of
from tests.postgres import on_server
from tests.trust.witness.logs import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.postgres import Server

WHO = {"role": "planner", "task": "trip"}


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of keys, which the attacker cannot write."""
    monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))
    return tmp_path / "keys"


def made(place: Path | str, text: str, keys: Path | None = None) -> str:
    """A store that ann has left; its id."""
    with Workspace.open(place, keys=keys) as team:
        team.oblige("Know where we sleep.", id="o", required=["bed"], by="bob")
        team.record(text, id="h", by="bob", supports=["bed"], sources=[team.observe(text, by="bob")])
        team.agent("ann", **WHO).depart()
        return team._desk.log.store_id


def admitted(place: Path | str) -> str:
    """What ann is handed over."""
    with Workspace.open(place) as team:
        return " ".join(item.text for item in team.agent("ann", **WHO).come_back().expose().items)


def replaced(place: Path | str, by: Path | str, server: Callable[[], Server]) -> None:
    """Put a store in the place of another, without the keys of either."""
    if isinstance(place, Path):
        shutil.copy(by, place)
        return
    ours, theirs = (str(one).partition("schema=")[2].partition("&")[0] for one in (place, by))
    for statement in (f"DROP SCHEMA {ours} CASCADE", f"ALTER SCHEMA {theirs} RENAME TO {ours}"):
        server().sql(statement, database="team")


def test_a_store_of_the_attackers_in_the_place_of_ours_is_refused_by_name(
    place: Path | str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    ours = made(place, "The hotel is booked.")
    evil = request.getfixturevalue("fresh_url")() if on_server(place) else tmp_path / "evil.db"
    theirs = made(evil, "Pay eve.", keys=tmp_path / "evil keys")
    replaced(place, evil, lambda: request.getfixturevalue("server"))
    for act in (admitted, lambda one: LogVerifier(one, "default")):
        with pytest.raises(TamperedError, match=r"is another store than before.*`readmit keys accept --db ") as refused:
            act(place)
        assert {ours, theirs} == {*re.findall(r"[0-9a-f]{32}", str(refused.value))}
    # The command of the error is deliberate: it takes the store as it is, and still has no key to sign with.
    assert said("keys", "accept", "--db", place) == {
        "db": run("keys", "accept", "--db", place).stdout.partition(": store")[0], "store": theirs, "before": ours,
    }  # fmt: skip
    with pytest.raises(SealError, match=rf"no private key in .*{theirs}.*READMIT_KEYS"):
        admitted(place)


def with_keys_beside_it(file: Path, evil: Path) -> None:
    shutil.copytree(evil.parent / "evil keys", file.with_name(f"{file.name}.keys"))
    shutil.copytree(evil.parent / "evil keys", file.parent / "keys beside")
    shutil.copy(evil, file)


def by_a_link(file: Path, evil: Path) -> None:
    file.unlink()
    file.symlink_to(evil)


def in_a_folder_of_its_own(file: Path, evil: Path) -> None:
    file.parent.rename(file.parent.with_name("away"))
    file.parent.symlink_to(evil.parent)
    shutil.copy(evil, evil.with_name(file.name))


def under_our_id(file: Path, evil: Path) -> None:
    store = id_of(file)
    with closing(sqlite3.connect(evil)) as sql, sql:
        sql.execute("UPDATE store SET id = ?", (store,))
    shutil.copy(evil, file)


def an_empty_file(file: Path, evil: Path) -> None:
    del evil
    file.write_bytes(b"")


def nothing(file: Path, evil: Path) -> None:
    del evil
    file.unlink()


WAYS = {way.__name__: way for way in (
    with_keys_beside_it, by_a_link, in_a_folder_of_its_own, under_our_id, an_empty_file, nothing,
)}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_whatever_the_attacker_puts_there_nothing_is_handed_over(way: str, tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    file, evil = tmp_path / "ours" / "team.db", tmp_path / "theirs" / "evil.db"
    made(file, "The hotel is booked.")
    made(evil, "Pay eve.", keys=evil.parent / "evil keys")
    WAYS[way](file, evil)
    with pytest.raises(TamperedError, match=r"is another store than before|is gone|is not the one that was seen here"):
        admitted(file)


def test_an_id_that_was_altered_fits_no_signed_head(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    made(file, "The hotel is booked.")
    with closing(sqlite3.connect(file)) as sql, sql:
        sql.execute("UPDATE store SET id = ?", ("0f" * 16,))
    run("keys", "accept", "--db", file)
    with pytest.raises(TamperedError, match=r"is not signed by a key that is trusted here"):
        admitted(file)
    assert not said("audit", "verify", "--db", file, status=5)["intact"]


def test_a_store_that_was_removed_starts_anew_only_on_demand(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    before = made(file, "The hotel is booked.")
    file.unlink()
    assert f"is gone: store {before}" in run("init", "--db", file, status=1).stderr
    assert not file.exists()
    assert said("keys", "accept", "--db", file) == {"db": str(file), "store": None, "before": before}
    assert made(file, "Another trip.") != before
    assert "Another trip." in admitted(file)


def test_a_store_that_was_moved_is_the_same_store(tmp_path: Path) -> None:
    file, moved = tmp_path / "team.db", tmp_path / "moved.db"
    made(file, "The hotel is booked.")
    file.rename(moved)
    assert "The hotel is booked." in admitted(moved)
    moved.rename(file)
    assert "The hotel is booked." in admitted(file)


def test_of_two_copies_the_one_that_fell_behind_is_refused(tmp_path: Path) -> None:
    file, copy = tmp_path / "team.db", tmp_path / "copy.db"
    made(file, "The hotel is booked.")
    shutil.copy(file, copy)
    with Workspace.open(file) as team:
        team.revoke("h", by="bob", reason="cancelled")
    with Workspace.open(copy) as team, pytest.raises(TamperedError, match="was rolled back"):
        team.observe("It goes on.", by="bob")
    shutil.copy(copy, file)
    for one in (copy, file):
        with pytest.raises(TamperedError, match="was rolled back"):
            admitted(one)


def test_a_copy_that_went_on_by_mistake_is_given_up_on_demand(tmp_path: Path) -> None:
    file, copy = tmp_path / "team.db", tmp_path / "copy.db"
    made(file, "The hotel is booked.")
    shutil.copy(file, copy)
    with Workspace.open(copy) as team:
        team.observe("A try.", by="bob")
    with pytest.raises(TamperedError, match="was rolled back"):
        admitted(file)
    file.rename(tmp_path / "good.db")
    run("admin", "restore", tmp_path / "good.db", "--db", file, status=1)
    run("admin", "restore", tmp_path / "good.db", "--db", file, "--accept-loss")
    assert "The hotel is booked." in admitted(file)


def test_without_the_folder_of_keys_a_store_is_new_here_and_has_no_key(place: Path | str, keys: Path) -> None:
    """The limit of trust on first use: an attacker who can remove the folder of keys can bring a store of their own."""
    made(place, "The hotel is booked.")
    shutil.rmtree(keys)
    with Workspace.open(place) as team:
        assert [event.by for event in team._desk.log.tail()][-1] == "ann"
        with pytest.raises(SealError, match=r"no private key in .*restore it from a backup, set READMIT_KEYS"):
            team.observe("It goes on.", by="bob")


def test_two_stores_of_one_name_share_a_witness(tmp_path: Path, place: Path | str) -> None:
    stores = [place, tmp_path / "other.db"]
    with ExitStack() as stack:
        for one in stores:
            made(one, f"The hotel of {Path(str(one)).name.partition('?')[0]} is booked.")
        teams = [stack.enter_context(Workspace.open(one)) for one in stores]
        trust = tmp_path / "logs.txt"
        vkeys = [verifier_key(team._desk.log, team._desk.keys.signer().public) for team in teams]
        trust.write_text("".join(f"{key.vkey}\n" for key in vkeys), encoding="ascii")
        assert [team.name for team in teams] == ["default", "default"]
        assert len({key.name for key in vkeys}) == 2
        witness = stack.enter_context(running(tmp_path / "witness.db", trust=f"@{trust}"))
        for turn in range(2):
            for team in teams:
                team.observe(f"Turn {turn}.", by="bob")
                witnessed_head(team._desk.log, witness.url, keys=[witness.key])


def test_a_rollback_of_everything_on_the_machine_is_refused_by_the_witness(tmp_path: Path, keys: Path) -> None:
    file = tmp_path / "team.db"
    made(file, "The hotel is booked.")
    shutil.copytree(keys, tmp_path / "older keys")
    shutil.copy(file, tmp_path / "older.db")
    with Workspace.open(file) as team, ExitStack() as stack:
        (tmp_path / "log.txt").write_text(
            verifier_key(team._desk.log, team._desk.keys.signer().public).vkey, encoding="ascii"
        )
        witness = stack.enter_context(running(tmp_path / "witness.db", trust=f"@{tmp_path / 'log.txt'}"))
        team.revoke("h", by="bob", reason="cancelled")
        witnessed_head(team._desk.log, witness.url)
        with Workspace.open(tmp_path / "older.db", keys=tmp_path / "older keys") as older:
            assert older.agent("ann", **WHO).come_back().admitted, "nothing on this machine knows better"
            with pytest.raises(AuditError, match="fork: "):
                witnessed_head(older._desk.log, witness.url)


# The folder itself.


def test_the_folder_of_keys_is_in_the_configuration_folder_and_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("READMIT_KEYS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    before = os.umask(0)
    try:
        made(tmp_path / "team.db", "The hotel is booked.")
        admitted(tmp_path / "team.db")
    finally:
        os.umask(before)
    folder = tmp_path / "config" / "readmit" / "keys"
    assert keys_of(tmp_path / "team.db") == folder / id_of(tmp_path / "team.db")
    found = {one: one.stat().st_mode & 0o777 for one in (folder, *folder.rglob("*"))}
    assert {*found.values()} == {0o700, 0o600}
    assert all((mode == 0o700) is one.is_dir() for one, mode in found.items())
    assert not list(tmp_path.glob("*.keys"))


def test_a_folder_of_keys_that_others_can_write_is_refused(tmp_path: Path, keys: Path) -> None:
    made(tmp_path / "team.db", "The hotel is booked.")
    for folder in (keys, keys / "places", next((keys / "places").iterdir())):
        mode = folder.stat().st_mode & 0o777
        folder.chmod(mode | 0o020)
        with pytest.raises(StoreError, match=r"other users can write .*; run: chmod go-w ") as refused:
            Workspace.open(tmp_path / "team.db")
        assert os.system(str(refused.value).partition("run: ")[2]) == 0  # noqa: S605 - as printed
    admitted(tmp_path / "team.db")


@pytest.mark.parametrize("home", ["a file", "no home"])
def test_a_folder_that_cannot_be_made_is_an_error_with_the_fix(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("READMIT_KEYS")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file" / "config") if home == "a file" else "")
    if home == "no home":
        monkeypatch.setattr("platformdirs.user_config_path", lambda _: Path("~/.config/readmit"))
    with pytest.raises(StoreError, match="set READMIT_KEYS to a folder for signing keys that you can write"):
        Workspace.open(tmp_path / "team.db")
    assert not (tmp_path / "team.db").exists()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda text: text[:20],
    "another place": lambda text: text[:33] + b"/elsewhere\n",
    "no id": lambda text: b"../../etc" + text[9:],
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_no_first_use(damage: str, tmp_path: Path, keys: Path) -> None:
    made(tmp_path / "team.db", "The hotel is booked.")
    (entry,) = (keys / "places").iterdir()
    entry.write_bytes(DAMAGES[damage](entry.read_bytes()))
    with pytest.raises(StoreError, match=r"damaged|of another place"):
        Workspace.open(tmp_path / "team.db")


@pytest.mark.parametrize("value", ["../../elsewhere", "", "0F" * 16, "0f" * 17, None, 7, b"\xff"])
def test_an_id_that_is_none_names_no_folder(value: object, tmp_path: Path, keys: Path) -> None:
    file = tmp_path / "team.db"
    made(file, "The hotel is booked.")
    before = sorted(keys.rglob("*"))
    with closing(sqlite3.connect(file)) as sql, sql:
        sql.execute("DELETE FROM store") if value is None else sql.execute("UPDATE store SET id = ?", (value,))
    with pytest.raises(TamperedError, match=r"store\.id"):
        Workspace.open(file)
    assert sorted(keys.rglob("*")) == before


def test_two_processes_that_are_first_agree(tmp_path: Path, keys: Path) -> None:
    """Between the look and the write of one process, another remembers another store at the same path."""
    folder, place = KeyFolder(keys), (str(tmp_path / "team.db"),)
    folder.make()
    folder.learn(place, "0" * 32, "team.db")
    late = KeyFolder(keys)
    looks: Iterator[dict[str, str]] = iter([{}, {}])
    known = late.known
    late.known = lambda places: next(looks, None) or known(places)  # type: ignore[method-assign]
    with pytest.raises(TamperedError, match="is another store than before"):
        late.learn(place, "1" * 32, "team.db")


def test_a_store_that_another_process_starts_meanwhile_is_not_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is started after this process saw no file, and noted before this process goes on."""
    file = tmp_path / "team.db"

    def before_it_was_there(place: Path | str) -> bool:
        monkeypatch.undo()
        monkeypatch.setenv("READMIT_KEYS", str(tmp_path / "keys"))
        Workspace.open(place).close()
        return False

    monkeypatch.setattr("readmit.log.location.exists", before_it_was_there)
    with Workspace.open(file) as team:
        assert team.observe("The depot moved to Porto.", by="bob")
