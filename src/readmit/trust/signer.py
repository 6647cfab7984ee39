"""Signs with one Ed25519 key: the port, and a principal's key in a file (PEM PKCS#8) that its owner alone can read."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import Protocol

from readmit.records.canonical import without_mark
from readmit.records.error_types import SealError
from readmit.trust.private_keys import FILE_MODE, LARGEST_FILE, OTHERS, LocalSigner, signer_from
from readmit.trust.trusted_keys import PUBLIC_BYTES


class Signer(Protocol):
    """Signs with one Ed25519 key."""

    @property
    def keyid(self) -> str:
        """The SHA-256 of the raw public key, in lower-case hex."""
        ...

    @property
    def public(self) -> bytes:
        """The raw public key: 32 bytes."""
        ...

    def sign(self, data: bytes) -> bytes:
        """The 64-byte Ed25519 signature over ``data``. Any exception means that nothing is signed."""
        ...


def load_signer(path: str | Path) -> LocalSigner:
    """The signer of a key file. Refused if other users could read it."""
    try:
        # Without O_NONBLOCK, opening a pipe would block instead of being refused.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SealError(f"signer: {path}: {error.strerror}; make a key with `readmit writers new FILE`") from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise SealError(f"signer: {path} is not a regular file")
        if stat.S_IMODE(found.st_mode) & OTHERS:
            raise SealError(f"signer: {path} is open to other users; run: chmod 600 {shlex.quote(str(path))}")
        pem = os.read(file, LARGEST_FILE)
    finally:
        os.close(file)
    return signer_from(pem, what=f"signer: {path}")


def make_signer(path: str | Path) -> LocalSigner:
    """Make a key in a new file that its owner alone can read."""
    signer, pem = LocalSigner.generated()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        raise SealError(f"{path} exists already; choose another file for the new key") from None
    with os.fdopen(file, "wb") as out:
        out.write(pem)
        out.flush()
        os.fsync(out.fileno())
    return signer


def public_key(given: bytes | str | Path) -> bytes:
    """The raw bytes of a public key: given as such, in PEM, or as the path of a PEM file."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    if isinstance(given, bytes) and len(given) == PUBLIC_BYTES:
        return given
    try:
        pem = without_mark(given if isinstance(given, bytes) else Path(given).read_bytes())
    except OSError as error:
        raise SealError(f"public: {error.filename}: {error.strerror}") from None
    if b"PRIVATE KEY" in pem:
        raise SealError("public: this is a private key, which stays with its principal; give the public half")
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SealError(f"public: not a public key in PEM: {error}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise SealError("public: not an Ed25519 key; make one with `readmit writers new FILE`")
    return key.public_bytes_raw()
