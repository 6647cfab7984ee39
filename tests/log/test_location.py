"""URLs that are not quite a store's: recognised, refused with the fix, and never shown with their password."""

from __future__ import annotations

from pathlib import Path

import pytest

from readmit import Workspace
from readmit.errors import StoreError
from readmit.log.location import is_url, shown
from tests.cli.run import run

SECRET = "s3cret-w0rd"

NOT_A_STORE = {
    "a driver in the scheme": f"postgresql+psycopg://u:{SECRET}@h/db",
    "a driver in capitals": f"PostgreSQL+AsyncPG://u:{SECRET}@h/db",
    "another database": f"mysql://u:{SECRET}@h/db",
    "a space before it": f" postgresql://u:{SECRET}@h/db",
    "quotes around it": f'"postgresql://u:{SECRET}@h/db"',
    "a slash in the user": f"postgresql+psycopg://a/b:{SECRET}@h/db",
    "keywords of libpq": f"host=h dbname=db user=u password={SECRET}",
    "a quoted password among the keywords": f"PASSWORD = 'a {SECRET}' host = h",
    "a password in the query": f"postgresql+psycopg://h/db?PASSWORD={SECRET}",
}


@pytest.mark.parametrize("case", NOT_A_STORE)
def test_a_url_of_another_kind_is_refused_with_the_fix_and_without_its_password(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = NOT_A_STORE[case]
    with pytest.raises(StoreError, match=r"not a URL of a store; write postgresql://user:password@host") as refused:
        Workspace.open(url)
    outputs = [
        run(*command, "--db", url, status=1).output
        for command in (["init"], ["status"], ["status", "--json"], ["items", "--json"])
    ]
    assert SECRET not in "\n".join([str(refused.value), *outputs])
    assert not list(tmp_path.iterdir())


def test_a_url_that_became_a_path_is_refused_without_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="not a URL of a store") as refused:
        Workspace.open(Path(f"postgresql://u:{SECRET}@h/db"))
    assert SECRET not in str(refused.value)


def test_a_scheme_in_capitals_is_the_same_scheme() -> None:
    pytest.importorskip("psycopg", reason="needs psycopg: the postgres extra")
    from readmit.log.engines.connecting.store_address import Address

    address = Address(f"POSTGRESQL://u:{SECRET}@h/db?schema=team")
    assert (address.user, address.database, address.schema) == ("u", "db", "team")
    assert SECRET not in repr(address)
    with pytest.raises(StoreError, match=r"cannot open POSTGRESQL://u:\*\*\*@nowhere\.invalid/db") as refused:
        Workspace.open(f"POSTGRESQL://u:{SECRET}@nowhere.invalid/db")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("place", ["team.db", "/srv/a:b/team.db", "u:p@h.db", "C:/team.db", ":memory:"])
def test_a_path_is_no_url_and_is_shown_whole(place: str) -> None:
    assert not is_url(place)
    assert shown(place) == place
