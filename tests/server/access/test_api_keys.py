"""API keys: what a key names, how long it counts, and what the file keeps."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from readmit.errors import CredentialError, NotAllowedError, ReadmitError, RecordError, StoreError, UnknownError
from readmit.server import ApiKeys, BearerCredentials

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.server import Caller

NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def add(keys: ApiKeys, principal: str = "A1", **changed: Any) -> tuple[Any, str]:
    given = {"workspaces": ["trip"], "rights": ["agent"], "roles": ["planner"], "now": NOW, "expires": NOW + DAY}
    return keys.add(principal, **{**given, **changed})


def caller(keys: ApiKeys, header: str, now: datetime = NOW) -> Caller:
    return asyncio.run(BearerCredentials(keys, clock=lambda: now).caller({"authorization": header}))


@pytest.fixture
def keys(tmp_path: Path) -> ApiKeys:
    return ApiKeys(tmp_path)


def test_a_key_names_its_caller(keys: ApiKeys) -> None:
    made, key = add(keys, roles=["planner", "booker"], rights=["write", "agent"], per_minute=7)
    found = caller(keys, f"bearer {key}")
    assert (found.principal, found.roles, found.workspaces) == ("A1", ("planner", "booker"), ("trip",))
    assert (found.rights, found.credential, found.expires, found.per_minute) == (
        {"agent", "write"}, made.id, NOW + DAY, 7,
    )  # fmt: skip


def test_the_file_holds_no_secret_and_is_its_owners_alone(keys: ApiKeys, tmp_path: Path) -> None:
    _, key = add(keys)
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert key.rpartition("_")[2] not in "".join(path.read_text() for path in tmp_path.iterdir())
    assert len(key.rpartition("_")[2]) == 64


def test_a_key_ends_when_it_expires(keys: ApiKeys) -> None:
    _, key = add(keys)
    assert caller(keys, f"Bearer {key}", NOW + DAY - timedelta(seconds=1)).principal == "A1"
    with pytest.raises(CredentialError, match="expired"):
        caller(keys, f"Bearer {key}", NOW + DAY)


def test_a_key_that_another_process_revokes_counts_no_more(keys: ApiKeys, tmp_path: Path) -> None:
    (_, key), (other, second) = add(keys), add(keys, "A2")
    assert caller(keys, f"Bearer {second}").principal == "A2"
    ApiKeys(tmp_path).revoke(other.id[:6], now=NOW)
    with pytest.raises(CredentialError):
        caller(keys, f"Bearer {second}")
    assert caller(keys, f"Bearer {key}").principal == "A1"
    assert [one.revoked for one in keys.every()] == [None, NOW]


def test_keys_that_are_made_at_once_are_all_kept(keys: ApiKeys, tmp_path: Path) -> None:
    makers = [threading.Thread(target=add, args=(ApiKeys(tmp_path), f"A{number}")) for number in range(12)]
    for one in makers:
        one.start()
    for one in makers:
        one.join()
    assert {one.principal for one in keys.every()} == {f"A{number}" for number in range(12)}


def test_a_damaged_file_opens_for_nobody_and_says_so(keys: ApiKeys) -> None:
    _, key = add(keys)
    whole = keys.path.read_text()
    for damaged in (whole[:-9], "", "[]", whole.replace('"rights"', '"right"'), "[" * 50_000):
        keys.path.write_text(damaged)
        with pytest.raises(StoreError, match="no key counts"):
            caller(keys, f"Bearer {key}")
    keys.path.write_text(whole)
    assert caller(keys, f"Bearer {key}").principal == "A1"
    keys.path.unlink()
    with pytest.raises(CredentialError):
        caller(keys, f"Bearer {key}")


def test_a_file_that_others_can_write_counts_for_nothing(keys: ApiKeys) -> None:
    _, key = add(keys)
    assert caller(keys, f"Bearer {key}").principal == "A1"
    keys.path.chmod(0o622)
    with pytest.raises(StoreError, match="other users can write"):
        caller(keys, f"Bearer {key}")


REFUSED: dict[str, tuple[dict[str, Any], type[ReadmitError], str]] = {
    "the owner": ({"principal": "owner"}, NotAllowedError, "reserved"),
    "one that looks like the owner": ({"principal": "0wner"}, NotAllowedError, "looks like"),
    "no name": ({"principal": ""}, RecordError, "principal"),
    "a name with a line": ({"principal": "A1\nA2"}, RecordError, "control"),
    "a name with a mark of direction": ({"principal": "A1\u202e"}, ReadmitError, "principal"),
    "no right": ({"rights": []}, RecordError, "rights: name at least one"),
    "an unknown right": ({"rights": ["root"]}, RecordError, "rights"),
    "an agent without a role": ({"roles": []}, RecordError, "roles: the right `agent`"),
    "no workspace": ({"workspaces": []}, RecordError, "workspaces"),
    "over already": ({"expires": NOW}, RecordError, "expires"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_key_that_would_mean_nothing_is_not_made(keys: ApiKeys, case: str) -> None:
    given, kind, words = REFUSED[case]
    with pytest.raises(kind, match=words):
        add(keys, **given)
    assert not keys.path.exists()


def test_revoking_names_one_key(keys: ApiKeys) -> None:
    made, key = add(keys)
    add(keys)
    for wrong in ("", "rk_", "zz", "rk_zz_"):
        with pytest.raises(UnknownError, match="key: "):
            keys.revoke(wrong, now=NOW)
    keys.revoke(key, now=NOW)
    assert [one.revoked for one in keys.every() if one.id == made.id] == [NOW], "a whole key may be pasted"
    assert json.loads(keys.path.read_text())["keys"][0]["principal"] == "A1"
