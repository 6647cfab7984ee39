"""Public keys of an identity provider: a JWKS in a file, or at an address that a thread of its own fetches.

No request waits for the provider as a rule. A token with a key that is unknown has the set fetched again, once a minute
at most, and waits a moment for it. A set that could not be fetched for an hour no longer counts.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import jwt
import msgspec

from readmit.records.error_types import RecordError, StoreError
from readmit.server.access.watched_file import WatchedFile
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import IO

logger = logging.getLogger("readmit")

ALGORITHMS: dict[str, tuple[str, str]] = {
    "RS256": ("RSA", ""), "RS384": ("RSA", ""), "RS512": ("RSA", ""),
    "PS256": ("RSA", ""), "PS384": ("RSA", ""), "PS512": ("RSA", ""),
    "ES256": ("EC", "P-256"), "ES384": ("EC", "P-384"), "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}  # fmt: skip
"""Every algorithm that can be allowed, with the type and the curve of its keys. All have a public half."""
KeySet: TypeAlias = "Mapping[tuple[str, str], jwt.PyJWK]"
"""Keys by their name and algorithm."""

EVERY = 300.0
"""Seconds between two looks at an address."""
LEAST = 60.0
"""Seconds between two looks because of a key that is unknown."""
LONGEST = 3_600.0
"""Seconds after which a set that cannot be fetched again no longer counts."""
_PATIENCE = 5
_LARGEST = 256 << 10
_WAITS, _WAIT = 20, 0.1


class KeySource(Protocol):
    """The public keys of one provider."""

    async def key(self, name: str, algorithm: str) -> jwt.PyJWK | None:
        """The key of this name for this algorithm; none if the provider has none."""
        ...

    def close(self) -> None: ...


def key_source(place: str, folder: Path, algorithms: Sequence[str]) -> KeySource:
    """The source that a setting names: an address, or a file, below the folder of the settings if it is relative."""
    if "://" not in place:
        return FileKeys(folder / place, algorithms)
    parts = urlsplit(place)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}):
        raise RecordError("issuers.keys: fetch keys by https; over http they could be changed on the way")
    return FetchedKeys(place, algorithms)


class FileKeys:
    """A JWKS in a file, read again when it changes."""

    def __init__(self, path: Path, algorithms: Sequence[str]) -> None:
        self._file = WatchedFile(path, lambda content: usable(content, algorithms))
        self._file.value()

    async def key(self, name: str, algorithm: str) -> jwt.PyJWK | None:
        return self._file.value().get((name, algorithm))

    def close(self) -> None:
        """Nothing is kept open."""


class FetchedKeys:
    """A JWKS at an address. A thread fetches it at the start, every five minutes, and when a key is unknown."""

    def __init__(self, url: str, algorithms: Sequence[str]) -> None:
        self._url = url
        self._algorithms = tuple(algorithms)
        self._found: KeySet = {}
        self._at = -LONGEST
        self._asked = -LEAST
        self._looks = 0
        self._wanted = threading.Event()
        self._over = False
        threading.Thread(target=self._go_on, name="readmit-jwks", daemon=True).start()

    async def key(self, name: str, algorithm: str) -> jwt.PyJWK | None:
        if (found := self._held().get((name, algorithm))) is not None:
            return found
        looks, now = self._looks, time.monotonic()
        is_due = now - self._asked >= LEAST
        if looks and is_due:
            self._asked = now
            self._wanted.set()
        if is_due or not looks:
            for _ in range(_WAITS):
                await asyncio.sleep(_WAIT)
                if self._looks != looks:
                    break
        return self._held().get((name, algorithm))

    def close(self) -> None:
        self._over = True
        self._wanted.set()

    def _held(self) -> KeySet:
        return self._found if time.monotonic() - self._at < LONGEST else {}

    def _go_on(self) -> None:
        while not self._over:
            self._wanted.clear()
            try:
                self._found, self._at = usable(_fetched(self._url), self._algorithms), time.monotonic()
            except Exception as error:  # noqa: BLE001 - whatever it is, the thread goes on and the old keys grow old
                logger.warning("issuers: the keys at %s were not fetched: %s", self._url, one_line(str(error))[:200])
            self._looks += 1
            self._wanted.wait(EVERY)


def usable(content: bytes, algorithms: Sequence[str]) -> dict[tuple[str, str], jwt.PyJWK]:
    """The keys of a JWKS that verify one of these algorithms. A name that stands for two keys stands for none."""
    try:
        listed = msgspec.json.decode(content, type=dict[str, Any])["keys"]
        ours = [one for one in listed if _verifies(one)]
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, RecursionError):
        raise StoreError("issuers.keys: this is not a JWKS, an object with a list `keys`") from None
    found: dict[tuple[str, str], jwt.PyJWK] = {}
    twice = set()
    for one in ours:
        name = one.get("kid", "")
        for algorithm in algorithms:
            if (one.get("kty"), one.get("crv", "")) != ALGORITHMS[algorithm] or one.get("alg", algorithm) != algorithm:
                continue
            if (name, algorithm) in found:
                twice.add((name, algorithm))
            with suppress(jwt.PyJWTError, ValueError, TypeError):
                found[name, algorithm] = jwt.PyJWK.from_dict(one, algorithm=algorithm)
    return {name: key for name, key in found.items() if name not in twice}


def _verifies(one: Mapping[str, Any]) -> bool:
    """Whether a key is one for signatures, and public. One with its private half is in the wrong place."""
    return (
        one.get("use", "sig") == "sig"
        and "verify" in one.get("key_ops", ("verify",))
        and isinstance(one.get("kid", ""), str)
        and not {"d", "k", "p", "q"} & one.keys()
    )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses to be sent elsewhere: the operator named the address."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _fetched(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - https, see key_source
    answer: IO[bytes]
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=_PATIENCE) as answer:
        content = answer.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise StoreError(f"it has more than {_LARGEST:,} bytes")
    return content
