"""Private keys: in files that only their owner can read, or memory.

The ring holds keys; it does not say which to trust (``readmit.trust.trusted_keys``). A key file is a PEM PKCS#8
Ed25519 key named by its id. It is written under another name with its final permissions, flushed, then
renamed: no other user can read it at any moment, and a crash leaves either the whole key or none.

Ed25519 signatures and base64, as strict as envelopes and notes both need them.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import shlex
import stat
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from readmit.records.error_types import SealError
from readmit.trust.trusted_keys import keyid_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from readmit.trust.signer import Signer


SIGNATURE_BYTES = 64


def sign_with(signer: Signer, data: bytes) -> bytes:
    """The signature over some bytes. Any exception of the signer becomes a ``SealError``."""
    try:
        signature = signer.sign(data)
    except Exception as error:  # a signer may be a remote service: every failure of it means "not signed"
        raise SealError(f"key {signer.keyid} could not sign: {str(error) or type(error).__name__}") from error
    if len(signature) != SIGNATURE_BYTES:
        raise SealError(
            f"key {signer.keyid} gave a signature of {len(signature)} bytes; "
            f"an Ed25519 signature has {SIGNATURE_BYTES}: use a signer that holds an Ed25519 key"
        )
    return signature


def matches(public: bytes, signature: bytes, data: bytes) -> bool:
    """Whether this key made this signature over these bytes; ``SealError`` if it is no key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(public)
    except ValueError as error:
        raise SealError(f"the trusted public key is not an Ed25519 key: {error}") from None
    try:
        key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def encode64(data: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(data).decode("ascii")


def decode64(text: str, field: str) -> bytes:
    """The bytes of a base64 text.

    Several texts can encode the same bytes. Only the canonical one is accepted, so that an altered text is never valid.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise SealError(f"{field}: not base64") from None
    if encode64(data) != text:
        raise SealError(f"{field}: not canonical base64")
    return data


DIRECTORY_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077
# A PEM Ed25519 key takes about 120 bytes; nothing larger is read.
LARGEST_FILE = 4_096


class LocalSigner:
    """Signs with a private key of this process."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = key.public_key().public_bytes_raw()
        self.keyid = keyid_of(self.public)

    @classmethod
    def generated(cls) -> tuple[Self, bytes]:
        """A new key, and its PEM."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        key = Ed25519PrivateKey.generate()
        return cls(key), key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def __repr__(self) -> str:
        return f"LocalSigner(keyid={self.keyid!r})"

    def sign(self, data: bytes) -> bytes:
        """The Ed25519 signature over ``data``."""
        return self._key.sign(data)


class KeyRing(ABC):
    """Private keys by id."""

    where: str | Path
    """The place of the keys, for errors."""

    @abstractmethod
    def keyids(self) -> tuple[str, ...]:
        """The ids of all keys held, sorted."""

    @abstractmethod
    def _read(self, keyid: str) -> bytes:
        """A key's PEM; ``SealError`` if it cannot be used."""

    @abstractmethod
    def _write(self, keyid: str, pem: bytes) -> None:
        """Keep a new key, durably if the ring is durable."""

    def generate(self) -> LocalSigner:
        """Make and keep a new key. It is not trusted until an event in the log trusts it."""
        signer, pem = LocalSigner.generated()
        self._write(signer.keyid, pem)
        return signer

    def signer(self, current: Iterable[str]) -> LocalSigner:
        """A signer for the first of the ``current`` keys that this ring holds: the active key."""
        held = set(self.keyids())
        wanted = tuple(current)
        for keyid in wanted:
            if keyid in held:
                return self.load(keyid)
        raise SealError(
            f"no private key in {self.where} for any of the {len(wanted)} current key(s) of this workspace; restore it "
            "from a backup, set READMIT_KEYS to the folder of keys that it is in, or run `readmit keys rotate --lost` "
            "if there is none"
        )

    def load(self, keyid: str) -> LocalSigner:
        """The signer of one key."""
        signer = signer_from(self._read(keyid), what=f"key {keyid}")
        if signer.keyid != keyid:
            raise SealError(f"key {keyid}: the file holds another key, {signer.keyid}; restore the file or remove it")
        return signer


class MemoryRing(KeyRing):
    """Keys in memory, for a workspace in memory."""

    where = "memory"

    def __init__(self) -> None:
        self._pems: dict[str, bytes] = {}

    def keyids(self) -> tuple[str, ...]:
        return tuple(sorted(self._pems))

    def _read(self, keyid: str) -> bytes:
        try:
            return self._pems[keyid]
        except KeyError:
            raise SealError(f"key {keyid}: not held in memory") from None

    def _write(self, keyid: str, pem: bytes) -> None:
        self._pems[keyid] = pem


class FileRing(KeyRing):
    """Keys in a directory of their own, read again at each use: a key that another process adds counts at once."""

    def __init__(self, directory: Path) -> None:
        self.directory = self.where = directory

    @classmethod
    def beside(cls, database: str | os.PathLike[str]) -> Path:
        """The ring beside a file: that of a witness. Keys of a store are elsewhere (``readmit.log.key_folder``)."""
        path = Path(database)
        return path.with_name(f"{path.name}.keys")

    @classmethod
    def create(cls, directory: str | os.PathLike[str]) -> FileRing:
        """Make an empty ring in a new directory."""
        path = Path(directory)
        try:
            path.mkdir(mode=DIRECTORY_MODE)
        except FileExistsError:
            raise SealError(f"{path} exists already; open it, or move it away to start a new key ring") from None
        except OSError as error:
            raise SealError(f"{path}: cannot make the key directory: {error.strerror}") from error
        try:
            parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(parent)
            finally:
                os.close(parent)
        except OSError as error:
            raise SealError(f"{path}: cannot keep the key directory: {error.strerror}") from error
        return cls.open(path)

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> FileRing:
        """Open a ring, refusing a directory that others could read or that is not ours."""
        ring = cls(Path(directory))
        with ring._opened():
            return ring

    def keyids(self) -> tuple[str, ...]:
        with self._opened() as directory:
            names = os.listdir(directory)  # noqa: PTH208 - a path could name another directory by now
        return tuple(sorted(name.removesuffix(".pem") for name in names if _is_key_file(name)))

    def _read(self, keyid: str) -> bytes:
        if not _is_key_file(f"{keyid}.pem"):
            raise SealError(f"key {keyid!r}: a key's id is 64 lower-case hex digits")
        path = self.directory / f"{keyid}.pem"
        with self._opened() as directory:
            # Without O_NONBLOCK, opening a pipe in the key's place would block instead of being refused.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            try:
                file = os.open(path.name, flags, dir_fd=directory)
            except OSError as error:
                raise _unusable(path, error) from None
            try:
                _require_private(path, os.fstat(file), stat.S_ISREG, FILE_MODE)
                return os.read(file, LARGEST_FILE)
            finally:
                os.close(file)

    def _write(self, keyid: str, pem: bytes) -> None:
        draft, name = f".{keyid}.new", f"{keyid}.pem"
        with self._opened() as directory:
            try:
                _write_private(draft, pem, directory)
                os.rename(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
                os.fsync(directory)
            except OSError as error:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=directory)
                raise SealError(f"{self.directory / name}: cannot write the key: {error.strerror}") from error

    @contextmanager
    def _opened(self) -> Iterator[int]:
        with _directory(self.directory) as directory:
            _require_private(self.directory, os.fstat(directory), stat.S_ISDIR, DIRECTORY_MODE)
            yield directory


def signer_from(pem: bytes, *, what: str) -> LocalSigner:
    """The signer of a private key in PEM. ``what`` names it in errors."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SealError(f"{what}: not an unencrypted PEM PKCS#8 key: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SealError(f"{what}: not an Ed25519 key; make a new one")
    return LocalSigner(key)


def public_pem(public: bytes) -> str:
    """A public key in PEM, for other tools."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PublicKey.from_public_bytes(public)
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


@contextmanager
def _directory(path: Path) -> Iterator[int]:
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        yield directory
    finally:
        os.close(directory)


def _write_private(name: str, data: bytes, directory: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, FILE_MODE, dir_fd=directory), "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _is_key_file(name: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{64}\.pem", name) is not None


def _unusable(path: Path, error: OSError) -> SealError:
    if path.is_symlink():
        return SealError(f"{path} is a symbolic link; put the real file or directory in its place")
    if isinstance(error, FileNotFoundError):
        return SealError(f"{path} does not exist; restore it from a backup, or run `readmit keys rotate --lost`")
    return SealError(f"{path}: {error.strerror}; see that you own it: chown {os.geteuid()} {shlex.quote(str(path))}")


def _require_private(path: Path, found: os.stat_result, expected: Callable[[int], bool], mode: int) -> None:
    if not expected(found.st_mode):
        raise SealError(f"{path} is not a regular {'directory' if mode == DIRECTORY_MODE else 'file'}")
    if found.st_uid != os.geteuid():
        raise SealError(
            f"{path} belongs to user {found.st_uid}, not to you; run: chown {os.geteuid()} {shlex.quote(str(path))}"
        )
    if stat.S_IMODE(found.st_mode) & OTHERS:
        raise SealError(f"{path} is open to other users; run: chmod {mode:o} {shlex.quote(str(path))}")
