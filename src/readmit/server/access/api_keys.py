"""API keys: ``rk_<id>_<secret>``, in a file that holds the SHA-256 of each secret and never a secret.

The file lies in the folder of the store's signing keys, so a key of one store opens no other, and a backup of that
folder holds both. A secret has 256 random bits: guessing is hopeless, so a fast hash is enough.
"""

from __future__ import annotations

import fcntl
import hmac
import os
import re
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from readmit.log.key_folder import FILE_MODE
from readmit.records.base import Count, Digest, Name, Note, Record, Time, listed, nfc, require_choice, require_name
from readmit.records.canonical import decode_file, digest_of
from readmit.records.error_types import CredentialError, RecordError, StoreError, UnknownError
from readmit.records.policy import unreserved
from readmit.server.access.watched_file import WatchedFile
from readmit.server.caller import RIGHTS, Caller, Right
from readmit.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

FILE = "api-keys.json"
_FORM = re.compile(r"rk_([0-9a-f]{12})_([0-9a-f]{64})")
UNKNOWN = (
    "authorization: this key is unknown, expired or revoked here; `readmit credentials list` shows those that count, "
    "and `readmit credentials add` makes one"
)


class ApiKey(Record, kw_only=True):
    """One key: whose it is and what it may, without its secret."""

    id: str
    sha256: Digest
    principal: Name
    roles: tuple[Name, ...] = ()
    workspaces: tuple[Name, ...]
    rights: tuple[Right, ...]
    made: Time
    expires: Time
    revoked: Time | None = None
    note: Note = ""
    per_minute: Count | None = None
    """Requests a minute; by default the server's limit."""

    def is_over(self, now: datetime) -> bool:
        """Whether it no longer counts."""
        return self.revoked is not None or self.expires <= now


class KeyFile(Record, kw_only=True):
    """The content of the file."""

    keys: tuple[ApiKey, ...] = ()


class ApiKeys:
    """The API keys of one store."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._file = WatchedFile[dict[str, ApiKey]](self.path, self._read, missing={})

    def caller(self, token: str, now: datetime) -> Caller:
        """The caller that a key names, by the file as it is now."""
        form = _FORM.fullmatch(token)
        name, secret = form.groups() if form is not None else ("", "")
        key = self._file.value().get(name)
        # Compared in any case: how long a refusal takes does not say whether there is a key of this id.
        same = hmac.compare_digest(digest_of(secret.encode()), "" if key is None else key.sha256)
        if key is None or not same or key.is_over(now):
            raise CredentialError(UNKNOWN)
        return Caller(
            principal=key.principal, roles=key.roles, workspaces=key.workspaces, rights=frozenset(key.rights),
            credential=key.id, expires=key.expires, per_minute=key.per_minute,
        )  # fmt: skip

    def every(self) -> list[ApiKey]:
        """Every key that was ever made, in order."""
        return list(self._file.value().values())

    def add(
        self, principal: str, *, workspaces: Sequence[str], rights: Sequence[Right], roles: Sequence[str] = (),
        now: datetime, expires: datetime, note: str = "", per_minute: int | None = None,
    ) -> tuple[ApiKey, str]:  # fmt: skip
        """Make a key: what the file keeps of it, and the key itself, which is shown once."""
        secret = secrets.token_hex(32)
        key = ApiKey(
            id=secrets.token_hex(6), sha256=digest_of(secret.encode()), principal=plain_principal(principal),
            roles=_names("roles", roles), workspaces=_names("workspaces", workspaces), rights=granted(rights, roles),
            made=now, expires=expires, note=note, per_minute=per_minute,
        )  # fmt: skip
        if expires <= now:
            raise RecordError("expires: it is over already; give a time that is to come")
        if not key.workspaces:
            raise RecordError("workspaces: name at least one that it may reach")
        with self._changed() as keys:
            keys[key.id] = key
        return key, f"rk_{key.id}_{secret}"

    def revoke(self, beginning: str, *, now: datetime) -> ApiKey:
        """Revoke a key by its id, of which the beginning is enough. A running server refuses it from now on."""
        with self._changed() as keys:
            start = beginning.removeprefix("rk_").partition("_")[0]
            found = [name for name in keys if start and name.startswith(start)]
            if len(found) != 1:
                what = f"the beginning of {len(found)} keys; give more of it" if found else "the id of no key"
                raise UnknownError(f"key: {start[:12]!r} is {what}; `readmit credentials list` shows them")
            keys[found[0]] = key = msgspec.structs.replace(keys[found[0]], revoked=now)
        return key

    @contextmanager
    def _changed(self) -> Iterator[dict[str, ApiKey]]:
        """Change the file as a whole, one process at a time."""
        try:
            with os.fdopen(os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                keys = dict(self._file.value())
                yield keys
                self._write(KeyFile(keys=tuple(keys.values())))
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be written: {error.strerror}") from error

    def _write(self, file: KeyFile) -> None:
        part = self.path.with_name(f".{FILE}.{secrets.token_hex(4)}")
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE), "wb") as out:
                out.write(msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n")
                out.flush()
                os.fsync(out.fileno())
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)

    def _read(self, content: bytes) -> dict[str, ApiKey]:
        try:
            found = decode_file(content, KeyFile, what="keys").keys
        except RecordError as error:
            raise StoreError(f"{self.path}: is damaged, and no key counts: {error}") from None
        return {key.id: key for key in found}


def plain_principal(name: str) -> str:
    """The name of a principal that a credential may give: neither the owner's nor one that looks like it."""
    who = unreserved("principal", nfc(require_name("principal", name)))
    if one_line(who) != who:
        raise RecordError("principal: it holds control or invisible characters, or spaces at an end or in a row")
    return who


def granted(rights: Sequence[Right], roles: Sequence[str]) -> tuple[Right, ...]:
    """The rights of a credential, in the order of the list of rights."""
    for right in listed("rights", rights):
        require_choice("rights", right, RIGHTS)
    if not rights:
        raise RecordError(f"rights: name at least one of {', '.join(RIGHTS)}")
    if "agent" in rights and not roles:
        raise RecordError("roles: the right `agent` is for acting in a role; name the roles, as in --role planner")
    return tuple(right for right in RIGHTS if right in rights)


def _names(field: str, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(nfc(require_name(field, one)) for one in listed(field, values)))
