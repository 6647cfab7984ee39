"""The secret filter on made-up credentials and on words that only look like one."""

from __future__ import annotations

import time

import pytest

from readmit.clients.secret_filter import LEFT_OUT, holds_secret, without_secrets
from tests.clients.secret_samples import HARMLESS, SECRETS


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_found(name: str) -> None:
    around = f"before\n{SECRETS[name]}\nafter"
    filtered = without_secrets(around)
    assert SECRETS[name] not in filtered.text
    assert filtered.left_out
    assert filtered.text.startswith(f"before\n{LEFT_OUT}")
    assert holds_secret(around)


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_word_is_kept(name: str) -> None:
    assert without_secrets(HARMLESS[name]).text == HARMLESS[name]
    assert not holds_secret(HARMLESS[name])


def test_a_private_key_is_left_out_whole() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----"
    assert without_secrets(f"a\n{key}\nb").text == f"a\n{LEFT_OUT}\nb"


SLOW = {
    "one long word": "a1B" * 100_000,
    "one long line of passwords": "password=" * 30_000,
    "one long line of quotes": "secret'\"" * 30_000,
    "one long URL": "https://" + "a:" * 100_000,
    "spaces": " " * 200_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_a_hostile_text_takes_bounded_time(name: str) -> None:
    begun = time.process_time()
    without_secrets(SLOW[name])
    assert time.process_time() - begun < 5
