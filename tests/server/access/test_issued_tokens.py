"""Tokens of identity providers: which count, what their claims grant, and how keys are fetched and rotated."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from readmit.errors import CredentialError, RecordError, StoreError
from readmit.server import IssuedTokens
from tests.server.provider import (
    AUDIENCE,
    ISSUER,
    SETTINGS,
    KeyServer,
    ec_key,
    ed_key,
    jwk,
    key_server,
    rsa_key,
    settings_file,
    token,
    write_keys,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit.server import Caller

served = pytest.fixture(key_server)


def caller(tokens: IssuedTokens, given: str) -> Caller:
    return asyncio.run(tokens.caller(given))


@pytest.fixture
def tokens(tmp_path: Path) -> IssuedTokens:
    write_keys(tmp_path)
    return IssuedTokens(settings_file(tmp_path))


def test_claims_become_a_principal_with_what_the_settings_grant(tokens: IssuedTokens) -> None:
    found = caller(tokens, token())
    assert (found.principal, found.roles, found.workspaces) == ("acme/ann", ("planner",), ("trip",))
    assert found.rights == {"agent"}
    assert found.credential.startswith("jwt-")
    assert found.expires is not None


def test_the_first_grant_that_fits_counts_and_no_two_are_added_up(tokens: IssuedTokens) -> None:
    both = caller(tokens, token(groups=["planners", "admins"], mfa=True))
    assert (both.rights, both.roles) == ({"inspect", "admin"}, ())
    for mfa in (False, "true", 1, None):
        assert caller(tokens, token(groups=["planners", "admins"], mfa=mfa)).rights == {"agent"}, "1 is not true"


@pytest.mark.parametrize(("key", "algorithm"), [(ec_key, "ES256"), (ed_key, "EdDSA"), (rsa_key, "RS256")])
def test_every_kind_of_key(tmp_path: Path, key: Callable[[], Any], algorithm: str) -> None:
    write_keys(tmp_path, jwk(key(), "other"), jwk(rsa_key(1), "k1"))
    assert caller(IssuedTokens(settings_file(tmp_path)), token(key(), algorithm, "other")).principal == "acme/ann"


def test_a_provider_without_names_of_keys_has_one_key(tmp_path: Path) -> None:
    one = {name: value for name, value in jwk(rsa_key(), "k1").items() if name != "kid"}
    write_keys(tmp_path, one)
    tokens = IssuedTokens(settings_file(tmp_path))
    assert caller(tokens, token(kid=None)).principal == "acme/ann"
    write_keys(tmp_path, one, {**jwk(rsa_key(1), ""), "use": "sig"})
    with pytest.raises(CredentialError, match="no such key"):
        caller(tokens, token(kid=None))


def test_a_grant_that_is_taken_back_is_gone_at_once(tokens: IssuedTokens, tmp_path: Path) -> None:
    assert caller(tokens, token()).principal == "acme/ann"
    path = settings_file(tmp_path)
    path.write_text(path.read_text().replace('"planners"', '"nobody"'))
    with pytest.raises(CredentialError, match="nothing is granted"):
        caller(tokens, token())
    path.write_text("nonsense")
    with pytest.raises(RecordError, match="not TOML"):
        caller(tokens, token())


def test_keys_in_a_file_are_rotated_by_writing_it(tokens: IssuedTokens, tmp_path: Path) -> None:
    write_keys(tmp_path, jwk(rsa_key(1), "k2"))
    with pytest.raises(CredentialError, match="no such key"):
        caller(tokens, token())
    assert caller(tokens, token(rsa_key(1), kid="k2")).principal == "acme/ann"


@pytest.fixture
def fetched(served: KeyServer, tmp_path: Path) -> Iterator[IssuedTokens]:
    tokens = IssuedTokens(settings_file(tmp_path, served.url))
    yield tokens
    tokens.close()


def test_fetched_keys_are_asked_for_once_and_no_request_asks_again(served: KeyServer, fetched: IssuedTokens) -> None:
    for _ in range(20):
        assert caller(fetched, token()).principal == "acme/ann"
    assert served.asked == 1


def test_a_rotated_key_is_found_and_unknown_keys_cause_one_look_a_minute(
    served: KeyServer, fetched: IssuedTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert caller(fetched, token()).principal == "acme/ann"
    served.keys = [jwk(rsa_key(1), "k2")]
    (source,) = fetched._sources.values()
    monkeypatch.setattr(source, "_asked", -60.0)
    assert caller(fetched, token(rsa_key(1), kid="k2")).principal == "acme/ann", "the new key is fetched for it"
    began, asked = time.monotonic(), served.asked
    for number in range(50):
        with pytest.raises(CredentialError, match="no such key"):
            caller(fetched, token(kid=f"x{number}"))
    assert served.asked == asked
    assert time.monotonic() - began < 1, "nothing waits for a look that does not come"
    with pytest.raises(CredentialError):
        caller(fetched, token())
    assert served.asked == asked, "the old key is gone, and its tokens with it"


def test_keys_that_were_not_fetched_for_an_hour_count_no_more(
    served: KeyServer, fetched: IssuedTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert caller(fetched, token()).principal == "acme/ann"
    (source,) = fetched._sources.values()
    served.answer = b"<html>down</html>"
    monkeypatch.setattr(source, "_at", time.monotonic() - 3_600)
    with pytest.raises(CredentialError, match="could not be fetched"):
        caller(fetched, token())


HOSTILE_ANSWERS = {
    "no JSON": b"nonsense",
    "a list": b"[]",
    "no keys": b"{}",
    "keys of another type": b'{"keys": {"a": 1}}',
    "keys that are texts": b'{"keys": ["a"]}',
    "deep": b"[" * 100_000,
    "large": b'{"keys": [], "x": "' + b"y" * 300_000 + b'"}',
}


@pytest.mark.parametrize("case", HOSTILE_ANSWERS)
def test_an_answer_that_is_no_key_set_opens_for_nobody(served: KeyServer, tmp_path: Path, case: str) -> None:
    served.answer = HOSTILE_ANSWERS[case]
    tokens = IssuedTokens(settings_file(tmp_path, served.url))
    with pytest.raises(CredentialError, match="could not be fetched"):
        caller(tokens, token())
    tokens.close()


def test_keys_are_fetched_from_the_named_address_and_no_other(
    served: KeyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readmit.server.access.key_sets._WAITS", 4)
    other = KeyServer()
    served.location = other.url
    tokens = IssuedTokens(settings_file(tmp_path, served.url))
    with pytest.raises(CredentialError, match="could not be fetched"):
        caller(tokens, token())
    tokens.close()
    other.close()
    assert other.asked == 0


GOOD = SETTINGS.format(issuer=ISSUER, audience=AUDIENCE, keys="jwks.json")
WRONG: dict[str, tuple[str, str, str]] = {
    "an algorithm with a shared secret": ('"RS256"', '"HS256"', "issuers.algorithms: 'HS256' cannot be allowed"),
    "no algorithm": ('["RS256", "ES256", "EdDSA"]', "[]", "algorithms"),
    "the algorithm none": ('"RS256"', '"none"', "'none' cannot be allowed"),
    "too much leeway": ('prefix = "acme/"', 'prefix = "acme/"\nleeway = 3600', "leeway"),
    "no prefix": ('prefix = "acme/"', "", "prefix"),
    "no audience": (f'audience = "{AUDIENCE}"', "", "audience"),
    "a grant to everybody": ('{ groups = "planners" }', "{}", "where"),
    "an unknown right": ('"agent"', '"root"', "rights"),
    "an agent without a role": ('roles = ["planner"]\n', "", "roles: the right `agent`"),
    "an unknown setting": ('prefix = "acme/"', 'prefix = "acme/"\nverify = false', "verify"),
    "no TOML": ("[[issuers]]", "[[", "not TOML"),
}


def read(folder: Path, text: str) -> IssuedTokens:
    """The providers of a settings file."""
    write_keys(folder)
    path = folder / "issuers.toml"
    path.write_text(text)
    return IssuedTokens(path)


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings_name_the_setting(tmp_path: Path, case: str) -> None:
    part, instead, words = WRONG[case]
    assert part in GOOD
    with pytest.raises(RecordError, match=words):
        read(tmp_path, GOOD.replace(part, instead))


def test_several_audiences_are_this_server(tmp_path: Path) -> None:
    tokens = read(tmp_path, GOOD.replace(f'"{AUDIENCE}"', f'["{AUDIENCE}", "{AUDIENCE}/mcp"]'))
    for audience in (AUDIENCE, f"{AUDIENCE}/mcp", ["other", f"{AUDIENCE}/mcp"]):
        assert caller(tokens, token(aud=audience)).principal == "acme/ann"
    with pytest.raises(CredentialError, match="audience"):
        caller(tokens, token(aud=f"{AUDIENCE}/mcp/other"))
    with pytest.raises(RecordError, match="audience"):
        read(tmp_path, GOOD.replace(f'"{AUDIENCE}"', "[]"))


def test_two_providers_never_name_the_same_principal(tmp_path: Path) -> None:
    second = GOOD.replace(ISSUER, "https://other.example.org/")
    with pytest.raises(RecordError, match=r"issuers\.prefix: 'acme/' begins"):
        read(tmp_path, GOOD + second)
    with pytest.raises(RecordError, match=r"issuers\.prefix"):
        read(tmp_path, GOOD + second.replace('"acme/"', '"acme/other/"'))
    with pytest.raises(RecordError, match="named twice"):
        read(tmp_path, GOOD + GOOD.replace('"acme/"', '"b/"'))
    assert len(read(tmp_path, GOOD + second.replace('"acme/"', '"b/"')).issuers()) == 2


def test_keys_come_by_https(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="https"):
        IssuedTokens(settings_file(tmp_path, "http://login.example.org/jwks"))
    with pytest.raises(RecordError, match="https"):
        IssuedTokens(settings_file(tmp_path, "file:///etc/passwd"))
    with pytest.raises(StoreError, match=r"jwks\.json: there is no such file"):
        IssuedTokens(settings_file(tmp_path))
