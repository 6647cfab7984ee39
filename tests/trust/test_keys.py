"""Key files: private from the first moment, and refused when they are not."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_public_key,
)

from readmit.errors import SealError
from readmit.trust.private_keys import FileRing, KeyRing, MemoryRing, public_pem
from readmit.trust.statement import open_envelope, seal
from readmit.trust.trusted_keys import keyid_of
from tests.keys import public_keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def ring(tmp_path: Path) -> FileRing:
    return FileRing.create(FileRing.beside(tmp_path / "team.db"))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def key_file(ring: FileRing) -> Path:
    return ring.directory / f"{ring.generate().keyid}.pem"


def test_the_ring_lies_beside_the_database(ring: FileRing) -> None:
    assert ring.directory.name == "team.db.keys"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_files_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        ring = FileRing.create(tmp_path / "keys")
        path = key_file(ring)
    finally:
        os.umask(before)
    assert mode(ring.directory) == 0o700
    assert mode(path) == 0o600
    assert [entry.name for entry in ring.directory.iterdir()] == [path.name]


def test_no_file_is_ever_loose_while_it_is_written(ring: FileRing, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    flush = os.fsync

    def watch(descriptor: int) -> None:
        seen.extend(mode(path) for path in ring.directory.iterdir())
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    before = os.umask(0)
    try:
        ring.generate()
    finally:
        os.umask(before)
    assert seen == [0o600, 0o600]


def test_a_failed_write_leaves_no_key(ring: FileRing, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SealError, match="No space left"):
        ring.generate()
    assert list(ring.directory.iterdir()) == []


def test_a_key_survives_the_process(ring: FileRing) -> None:
    made = ring.generate()
    again = FileRing.open(ring.directory)
    assert again.keyids() == (made.keyid,)
    assert public_keys(again) == {made.keyid: made.public}
    envelope = seal(b"x", "t", again.signer([made.keyid]))
    assert open_envelope(envelope, {made.keyid: made.public}, "t") == b"x"
    assert made.keyid == keyid_of(made.public)


def test_a_key_of_another_process_is_seen_at_once(ring: FileRing) -> None:
    opened = f"FileRing.open({str(ring.directory)!r})"
    script = f"from readmit.trust.private_keys import FileRing; print({opened}.generate().keyid)"
    made = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
    assert ring.keyids() == (made,)
    assert ring.signer([made]).keyid == made


@pytest.mark.parametrize("make", [MemoryRing, None], ids=["memory", "file"])
def test_the_active_key_is_the_first_current_one_held(make: type[MemoryRing] | None, ring: FileRing) -> None:
    keys: KeyRing = make() if make else ring
    one, other = keys.generate().keyid, keys.generate().keyid
    assert keys.signer([one, other]).keyid == one
    assert keys.signer(["f" * 64, other, one]).keyid == other
    assert keys.keyids() == tuple(sorted((one, other)))
    for current in ([], ["f" * 64]):
        with pytest.raises(SealError, match="readmit keys rotate"):
            keys.signer(current)


def test_keys_in_memory_end_with_the_ring() -> None:
    made = MemoryRing().generate()
    with pytest.raises(SealError, match="not held"):
        MemoryRing().load(made.keyid)


def open_file_to(bits: int) -> Callable[[FileRing, Path], None]:
    return lambda _, path: path.chmod(0o600 | bits)


def open_directory_to(bits: int) -> Callable[[FileRing, Path], None]:
    return lambda ring, _: ring.directory.chmod(0o700 | bits)


def link_file(ring: FileRing, path: Path) -> None:
    path.rename(ring.directory.parent / "elsewhere.pem")
    path.symlink_to(ring.directory.parent / "elsewhere.pem")


def link_directory(ring: FileRing, path: Path) -> None:
    ring.directory.rename(ring.directory.parent / "elsewhere")
    ring.directory.symlink_to(ring.directory.parent / "elsewhere")


def put_directory(ring: FileRing, path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def put_pipe(ring: FileRing, path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def put_other_key(ring: FileRing, path: Path) -> None:
    key_file(ring).replace(path)


def put_other_kind(ring: FileRing, path: Path) -> None:
    key = generate_private_key(SECP256R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def put_encrypted(ring: FileRing, path: Path) -> None:
    key = generate_private_key(SECP256R1())
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")))


def lose_directory(ring: FileRing, path: Path) -> None:
    path.unlink()
    ring.directory.rmdir()


@dataclass(frozen=True)
class Spoiled:
    how: Callable[[FileRing, Path], object]
    error: str


SPOILED = {
    "file readable by group": Spoiled(open_file_to(0o040), "chmod 600 "),
    "file readable by all": Spoiled(open_file_to(0o004), "chmod 600 "),
    "file writable by group": Spoiled(open_file_to(0o020), "chmod 600 "),
    "directory readable by group": Spoiled(open_directory_to(0o040), "chmod 700 "),
    "directory enterable by all": Spoiled(open_directory_to(0o001), "chmod 700 "),
    "directory writable by all": Spoiled(open_directory_to(0o002), "chmod 700 "),
    "file is a link": Spoiled(link_file, "symbolic link"),
    "directory is a link": Spoiled(link_directory, "symbolic link"),
    "file is a directory": Spoiled(put_directory, "not a regular file"),
    "file is a pipe": Spoiled(put_pipe, "not a regular file"),
    "file is gone": Spoiled(lambda _, path: path.unlink(), "does not exist"),
    "directory is gone": Spoiled(lose_directory, "does not exist"),
    "file is empty": Spoiled(lambda _, path: path.write_bytes(b""), "not an unencrypted PEM"),
    "file is cut": Spoiled(lambda _, path: path.write_bytes(path.read_bytes()[:60]), "not an unencrypted PEM"),
    "file is encrypted": Spoiled(put_encrypted, "not an unencrypted PEM"),
    "file holds another key": Spoiled(put_other_key, "holds another key"),
    "file holds another kind of key": Spoiled(put_other_kind, "not an Ed25519 key"),
}


@pytest.mark.parametrize("case", SPOILED.values(), ids=SPOILED.keys())
def test_a_spoiled_ring_is_refused(case: Spoiled, ring: FileRing) -> None:
    path = key_file(ring)
    assert ring.load(path.stem).keyid == path.stem
    case.how(ring, path)
    with pytest.raises(SealError, match=case.error):
        ring.load(path.stem)


def test_the_command_in_the_error_mends_the_ring(ring: FileRing) -> None:
    path = key_file(ring)
    path.chmod(0o644)
    with pytest.raises(SealError) as refused:
        ring.load(path.stem)
    subprocess.run(str(refused.value).partition("run: ")[2], shell=True, check=True)  # noqa: S602 - a person would paste it
    assert ring.load(path.stem).keyid == path.stem


def test_a_path_with_spaces_is_quoted(tmp_path: Path) -> None:
    ring = FileRing.create(tmp_path / "my team.db.keys")
    ring.directory.chmod(0o755)
    with pytest.raises(SealError, match=r"chmod 700 '.*my team\.db\.keys'"):
        FileRing.open(ring.directory)


@pytest.mark.parametrize("part", ["directory", "file"])
def test_a_key_of_another_user_is_refused(ring: FileRing, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = key_file(ring)
    me = os.geteuid()
    if me == 0:
        os.chown(ring.directory if part == "directory" else path, 12_345, -1)
        error = f"belongs to user 12345, not to you; run: chown {me}"
    else:
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
        error = f"belongs to user {me}, not to you; run: chown {me + 1}"
    with pytest.raises(SealError, match=error):
        ring.load(path.stem)


@pytest.mark.parametrize("keyid", ["", "../" * 3 + "x", "A" * 64, "a" * 63, "a" * 64 + "\n", "a" * 64 + ".pem"])
def test_only_ids_name_files(ring: FileRing, keyid: str) -> None:
    with pytest.raises(SealError, match="64 lower-case hex"):
        ring.load(keyid)


def test_other_files_are_no_keys(ring: FileRing) -> None:
    (ring.directory / f".{'a' * 64}.new").write_text("left by a crash")
    (ring.directory / "notes.pem").write_text("")
    assert ring.keyids() == ()


def test_a_ring_is_created_once_and_opened_after(tmp_path: Path) -> None:
    with pytest.raises(SealError, match="does not exist"):
        FileRing.open(tmp_path / "keys")
    FileRing.create(tmp_path / "keys")
    with pytest.raises(SealError, match="exists already"):
        FileRing.create(tmp_path / "keys")
    with pytest.raises(SealError, match="cannot make the key directory"):
        FileRing.create(tmp_path / "no" / "such" / "place")


def test_a_parent_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "real")
    made = FileRing.create(tmp_path / "data" / "team.db.keys").generate()
    assert FileRing.open(tmp_path / "real" / "team.db.keys").keyids() == (made.keyid,)


def test_a_new_ring_is_flushed_to_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_ino))
    FileRing.create(tmp_path / "keys")
    assert flushed == [tmp_path.stat().st_ino]


def test_a_public_key_is_exported_for_others(ring: FileRing) -> None:
    made = ring.generate()
    read = load_pem_public_key(public_pem(made.public).encode())
    assert read.public_bytes_raw() == made.public  # type: ignore[union-attr]
