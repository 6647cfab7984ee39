"""A repository below a root is a stranger's, and may change while it is read. Nothing outside of the roots is read."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
import threading
import tracemalloc
import zlib
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from readmit.sources import Finding, Git, GitProbe, Looker
from tests.sources.conftest import PATIENT, Repo, limits_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from readmit.sources import ProbeResult

D = sha256(b"captured").hexdigest()
SECRET = "the secret outside"
PROBE = GitProbe(digest=D, repository="repo", ref="main", commit="0" * 40, path="a.txt")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def repo(root: Path) -> Repo:
    one = Repo(root / "repo")
    one.commit(a__txt="inside\n")
    return one


@pytest.fixture
def outside(tmp_path: Path) -> Repo:
    one = Repo(tmp_path / "outside")
    one.commit(a__txt=f"{SECRET}\n")
    return one


def looker(root: Path, **limits: object) -> Looker:
    return Looker(limits_of(**{"roots": (str(root),), **PATIENT, **limits}))


def looked(root: Path, probe: GitProbe = PROBE, **limits: object) -> ProbeResult:
    [found] = looker(root, **limits).look([probe])
    assert SECRET not in found.text + found.why
    return found


def git(repo: Repo) -> Path:
    return repo.folder / ".git"


def head(repo: Repo) -> str:
    return repo.git("rev-parse", "HEAD")


def ref_that_is_a_link(repo: Repo, outside: Repo) -> None:
    """The text outside would show in no answer, but whether the ref resolves tells what the file holds."""
    for name in ("HEAD:a.txt", "HEAD^{tree}", "HEAD"):
        copy(outside, repo, outside.git("rev-parse", name))
    (git(repo) / "refs" / "heads" / "main").unlink()
    (git(repo) / "refs" / "heads" / "main").symlink_to(git(outside) / "refs" / "heads" / "main")


def folder_of_refs_that_is_a_link(repo: Repo, outside: Repo) -> None:
    ref_that_is_a_link(repo, outside)
    (git(repo) / "refs" / "heads" / "main").unlink()
    (git(repo) / "refs" / "heads").rmdir()
    (git(repo) / "refs" / "heads").symlink_to(git(outside) / "refs" / "heads")


def packed_refs_that_are_a_link(repo: Repo, outside: Repo) -> None:
    ref_that_is_a_link(repo, outside)
    (git(repo) / "refs" / "heads" / "main").unlink()
    outside.git("pack-refs", "--all")
    (git(repo) / "packed-refs").symlink_to(git(outside) / "packed-refs")


def head_that_leads_out(repo: Repo, outside: Repo) -> None:
    (git(repo) / "refs" / "heads" / "main").write_text(
        f"ref: refs/../../../../{outside.folder.name}/.git/refs/heads/main\n"
    )
    copy_all(outside, repo)


def objects_that_are_links(repo: Repo, outside: Repo) -> None:
    for name in ("HEAD:a.txt", "HEAD^{tree}", "HEAD"):
        found = outside.git("rev-parse", name)
        place = git(repo) / "objects" / found[:2] / found[2:]
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(git(outside) / "objects" / found[:2] / found[2:])
    (git(repo) / "refs" / "heads" / "main").write_text(head(outside) + "\n")


def folders_of_objects_that_are_links(repo: Repo, outside: Repo) -> None:
    for name in ("HEAD:a.txt", "HEAD^{tree}", "HEAD"):
        start = outside.git("rev-parse", name)[:2]
        place = git(repo) / "objects" / start
        if place.is_dir() and not place.is_symlink():
            place.rename(git(repo) / f"old{start}")
        if not place.is_symlink():
            place.symlink_to(git(outside) / "objects" / start)
    (git(repo) / "refs" / "heads" / "main").write_text(head(outside) + "\n")


def folder_of_packs_that_is_a_link(repo: Repo, outside: Repo) -> None:
    outside.git("gc", "--quiet")
    (git(repo) / "objects" / "pack").rmdir()
    (git(repo) / "objects" / "pack").symlink_to(git(outside) / "objects" / "pack")
    (git(repo) / "refs" / "heads" / "main").write_text(head(outside) + "\n")


def alternates_that_are_a_link(repo: Repo, outside: Repo) -> None:
    listed = outside.folder / "alternates"
    listed.write_text(f"{git(outside)}/objects\n")
    (git(repo) / "objects" / "info" / "alternates").symlink_to(listed)
    (git(repo) / "refs" / "heads" / "main").write_text(head(outside) + "\n")


def alternates_through_a_link(repo: Repo, outside: Repo) -> None:
    (repo.folder.parent / "near").symlink_to(git(outside) / "objects")
    (git(repo) / "objects" / "info" / "alternates").write_text("../../../near\n")
    (git(repo) / "refs" / "heads" / "main").write_text(head(outside) + "\n")


def copy(source: Repo, to: Repo, name: str) -> None:
    place = git(to) / "objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes((git(source) / "objects" / name[:2] / name[2:]).read_bytes())


def copy_all(source: Repo, to: Repo) -> None:
    for name in ("HEAD:a.txt", "HEAD^{tree}", "HEAD"):
        copy(source, to, source.git("rev-parse", name))


LINKS: list[Callable[[Repo, Repo], None]] = [
    ref_that_is_a_link, folder_of_refs_that_is_a_link, packed_refs_that_are_a_link, head_that_leads_out,
    objects_that_are_links, folders_of_objects_that_are_links, folder_of_packs_that_is_a_link,
    alternates_that_are_a_link, alternates_through_a_link,
]  # fmt: skip


@pytest.mark.parametrize("attack", LINKS, ids=lambda attack: attack.__name__)
def test_refs_and_objects_that_are_links_are_not_followed(
    attack: Callable[[Repo, Repo], None], repo: Repo, outside: Repo, root: Path
) -> None:
    attack(repo, outside)
    [found] = looker(root).look([PROBE])
    assert SECRET not in found.text
    assert found.outcome is Finding.UNSEEN


@contextmanager
def swapping(there: Path, evil: Path) -> Iterator[None]:
    """Something evil comes and goes while others look."""
    ended = threading.Event()
    kept = there.with_name("kept")

    def swap() -> None:
        while not ended.is_set():
            if there.exists():
                there.rename(kept)
            evil.rename(there)
            there.rename(evil)
            if kept.exists():
                kept.rename(there)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def swapped_alternates(repo: Repo, outside: Repo) -> tuple[Path, Path]:
    info = git(repo) / "objects" / "info"
    (info / "evil").write_text(f"{git(outside)}/objects\n")
    (git(repo) / "refs" / "heads" / "main").write_text(head(outside) + "\n")
    return info / "alternates", info / "evil"


def swapped_objects(repo: Repo, outside: Repo) -> tuple[Path, Path]:
    (git(repo) / "evil").symlink_to(git(outside) / "objects")
    (git(repo) / "refs" / "heads" / "main").write_text(head(outside) + "\n")
    return git(repo) / "objects", git(repo) / "evil"


def swapped_packs(repo: Repo, outside: Repo) -> tuple[Path, Path]:
    outside.git("gc", "--quiet")
    (git(repo) / "objects" / "evil").symlink_to(git(outside) / "objects" / "pack")
    (git(repo) / "refs" / "heads" / "main").write_text(head(outside) + "\n")
    return git(repo) / "objects" / "pack", git(repo) / "objects" / "evil"


def swapped_repository(repo: Repo, outside: Repo) -> tuple[Path, Path]:
    (repo.folder / "evil").symlink_to(git(outside))
    return git(repo), repo.folder / "evil"


SWAPS = [swapped_alternates, swapped_objects, swapped_packs, swapped_repository]


@pytest.mark.parametrize("attack", SWAPS, ids=lambda attack: attack.__name__)
def test_what_is_swapped_in_after_a_check_is_not_read(
    attack: Callable[[Repo, Repo], tuple[Path, Path]], repo: Repo, outside: Repo, root: Path
) -> None:
    there, evil = attack(repo, outside)
    with swapping(there, evil):
        for _ in range(150):
            looked(root)


# --- memory and time


def put(repo: Repo, name: str, packed: bytes) -> None:
    place = git(repo) / "objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(packed)


def loose(kind: str, data: bytes, *, said: int | None = None) -> tuple[str, bytes]:
    """An object as git stores it. ``said`` is a length that is not its own."""
    head = b"%s %d\0" % (kind.encode(), len(data) if said is None else said)
    return hashlib.sha1(head + data).hexdigest(), zlib.compress(head + data)  # noqa: S324 - git's


def size_in_pack(kind: int, size: int) -> bytes:
    first, size = kind << 4 | size & 15, size >> 4
    made = bytearray()
    while size:
        made.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    return bytes([*made, first])


def number(size: int) -> bytes:
    """A length as a difference begins with."""
    made = bytearray()
    while size > 0x7F:
        made.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*made, size])


def pack(repo: Repo, name: str, *entries: bytes, first: int | None = None) -> None:
    """Put an object into a pack that an index of one name leads to: at its last entry, or ``first``."""
    data = b"PACK" + struct.pack(">II", 2, len(entries)) + b"".join(entries)
    at = len(data) - len(entries[-1]) if first is None else first
    raw = bytes.fromhex(name)
    fanout = b"".join(struct.pack(">I", byte >= raw[0]) for byte in range(256))
    index = b"\377tOc" + struct.pack(">I", 2) + fanout + raw + bytes(4) + struct.pack(">I", at) + bytes(40)
    folder = git(repo) / "objects" / "pack"
    (folder / "pack-x.pack").write_bytes(data + bytes(20))
    (folder / "pack-x.idx").write_bytes(index)


HUGE = 1 << 28


def bomb() -> bytes:
    """A quarter of a gigabyte, compressed."""
    stream = zlib.compressobj(1)
    return b"".join([*(stream.compress(bytes(1 << 24)) for _ in range(16)), stream.flush()])


def loose_bomb(repo: Repo, name: str) -> None:
    stream = zlib.compressobj(1)
    put(repo, name, stream.compress(b"blob 268435456\0" + bytes(1 << 26)) + stream.flush())


def loose_bomb_that_says_it_is_small(repo: Repo, name: str) -> None:
    stream = zlib.compressobj(1)
    put(repo, name, stream.compress(b"blob 10\0") + b"".join(stream.compress(bytes(1 << 24)) for _ in range(16)))


def packed_bomb(repo: Repo, name: str) -> None:
    pack(repo, name, size_in_pack(3, HUGE) + bomb())


def packed_bomb_that_says_it_is_small(repo: Repo, name: str) -> None:
    pack(repo, name, size_in_pack(3, 10) + bomb())


def difference_that_copies_without_end(repo: Repo, name: str) -> None:
    base = size_in_pack(3, 1_000_000) + zlib.compress(bytes(1_000_000))
    delta = number(1_000_000) + number(900_000) + bytes([0x80 | 0x70, 0x40, 0x42, 0x0F]) * 100_000
    pack(repo, name, base, size_in_pack(6, len(delta)) + back(len(base)) + zlib.compress(delta))


def difference_in_single_bytes(repo: Repo, name: str) -> None:
    base = size_in_pack(3, 1) + zlib.compress(b"x")
    delta = number(1) + number(1_000_000) + b"\1x" * 1_000_000
    pack(repo, name, base, size_in_pack(6, len(delta)) + back(len(base)) + zlib.compress(delta))


def chain_of_large_differences(repo: Repo, name: str) -> None:
    entries, before = [size_in_pack(3, 9) + zlib.compress(b"123456789")], 9
    for _ in range(60):
        delta = number(before) + number(9) + bytes([0x90, 9]) + b"\0" * 2_000_000
        entries.append(size_in_pack(6, len(delta)) + back(len(entries[-1])) + zlib.compress(delta))
    pack(repo, name, *entries)


def difference_from_itself(repo: Repo, name: str) -> None:
    delta = number(9) + number(9) + bytes([0x90, 9])
    pack(repo, name, size_in_pack(7, len(delta)) + bytes.fromhex(name) + zlib.compress(delta))


def difference_from_what_is_behind_it(repo: Repo, name: str) -> None:
    delta = number(9) + number(9) + bytes([0x90, 9])
    pack(repo, name, size_in_pack(6, len(delta)) + b"\0" + zlib.compress(delta))


def another_text_under_the_name(repo: Repo, name: str) -> None:
    put(repo, name, loose("blob", b"forged\n")[1])


def negative_length(repo: Repo, name: str) -> None:
    put(repo, name, loose("blob", b"x", said=-1)[1])


def cut_off(repo: Repo, name: str) -> None:
    put(repo, name, loose("blob", os.urandom(5_000))[1][:2_000])


def pack_without_its_objects(repo: Repo, name: str) -> None:
    pack(repo, name, b"", first=1 << 30)


def back(distance: int) -> bytes:
    """How far before itself a difference finds its base."""
    made = [distance & 0x7F]
    distance >>= 7
    while distance:
        distance -= 1
        made.insert(0, distance & 0x7F | 0x80)
        distance >>= 7
    return bytes(made)


BOMBS = [
    loose_bomb, loose_bomb_that_says_it_is_small, packed_bomb, packed_bomb_that_says_it_is_small,
    difference_that_copies_without_end, difference_in_single_bytes, chain_of_large_differences, difference_from_itself,
    difference_from_what_is_behind_it, another_text_under_the_name, negative_length, cut_off, pack_without_its_objects,
]  # fmt: skip
LIMITED = """
import resource, sys, time
from readmit.records.policy import LookRules
from readmit.sources import Looker
from readmit.records.probes import GitProbe
probe = GitProbe(digest="0" * 64, repository="repo", ref="main", commit="0" * 40, path="a.txt")
looker = Looker(LookRules(roots=(sys.argv[1],), seconds=60, total_seconds=60))
looker.look([GitProbe(digest="0" * 64, repository="repo", ref="main", commit="0" * 40, path="b.txt")])
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
[found] = looker.look([probe])
print(found.outcome, time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("attack", BOMBS, ids=lambda attack: attack.__name__)
def test_an_object_takes_bounded_memory_and_time(attack: Callable[[Repo, str], None], repo: Repo, root: Path) -> None:
    name = repo.git("rev-parse", "HEAD:a.txt")
    (git(repo) / "objects" / name[:2] / name[2:]).unlink()
    attack(repo, name)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(root)], capture_output=True, text=True, check=True, timeout=120
    )
    outcome, seconds, kilobytes = done.stdout.split()
    assert (outcome, done.stderr) == ("unseen", "")
    assert float(seconds) < 5
    assert int(kilobytes) < 120_000


def test_a_large_object_ends_with_its_deadline(repo: Repo, root: Path) -> None:
    name = repo.git("rev-parse", "HEAD:a.txt")
    (git(repo) / "objects" / name[:2] / name[2:]).unlink()
    difference_in_single_bytes(repo, name)
    assert looked(root, seconds=0.05).why == "it took too long"


def test_a_few_trees_that_stand_for_endless_paths_are_not_walked(repo: Repo, root: Path) -> None:
    captured = looker(root).capture(Git("a.txt", repository="repo", ref="main")).probe
    inside, packed = loose("blob", b"x\n")
    put(repo, inside, packed)
    mode = b"100644"
    for _ in range(12):
        tree = b"".join(b"%s %d\0%s" % (mode, name, bytes.fromhex(inside)) for name in range(10, 30))
        inside, packed = loose("tree", tree)
        put(repo, inside, packed)
        mode = b"40000"
    commit, packed = loose("commit", f"tree {inside}\nauthor t <t> 0 +0000\ncommitter t <t> 0 +0000\n\nm\n".encode())
    put(repo, commit, packed)
    (git(repo) / "refs" / "heads" / "main").write_text(f"{commit}\n")
    found = looked(root, captured)  # type: ignore[arg-type]  # a GitProbe
    assert (found.outcome, found.why) == (
        Finding.UNSEEN,
        "the two commits differ too much to look for a renamed file",
    )


def one_in_another(repo: Repo, names: list[bytes]) -> str:
    """A commit of folders that each hold one name, the last one a file."""
    inside, packed = loose("blob", b"x\n")
    put(repo, inside, packed)
    mode = b"100644"
    for name in names:
        inside, packed = loose("tree", b"%s %s\0%s" % (mode, name, bytes.fromhex(inside)))
        put(repo, inside, packed)
        mode = b"40000"
    commit, packed = loose("commit", f"tree {inside}\nauthor t <t> 0 +0000\ncommitter t <t> 0 +0000\n\nm\n".encode())
    put(repo, commit, packed)
    return commit


ENDLESS = {
    "a name that no file system takes": [b"n" * 7_900_000 + b"%d" % number for number in range(30)],
    "the two commits differ too much to look for a renamed file": [b"n" * 4_000 + b"%d" % one for one in range(2_000)],
}


@pytest.mark.parametrize("said", ENDLESS)
def test_names_and_paths_of_any_length_take_bounded_memory(said: str, repo: Repo, root: Path) -> None:
    captured = looker(root).capture(Git("a.txt", repository="repo", ref="main")).probe
    (git(repo) / "refs" / "heads" / "main").write_text(f"{one_in_another(repo, ENDLESS[said])}\n")
    tracemalloc.start()
    try:
        found = looked(root, captured, seconds=60)  # type: ignore[arg-type]  # a GitProbe
        (_, most) = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.outcome is Finding.UNSEEN
    assert said in found.why
    assert most < 80_000_000


def test_a_ref_that_leads_to_itself_is_no_ref(repo: Repo, root: Path) -> None:
    (git(repo) / "refs" / "heads" / "main").write_text("ref: refs/heads/main\n")
    assert looked(root).outcome is Finding.UNSEEN


def test_a_tag_that_leads_on_and_on_is_no_commit(repo: Repo, root: Path) -> None:
    last = head(repo)
    for step in range(12):
        kind = "tag" if step else "commit"
        last, packed = loose("tag", f"object {last}\ntype {kind}\ntag t\ntagger t <t> 0 +0000\n\nm\n".encode())
        put(repo, last, packed)
    (git(repo) / "refs" / "heads" / "main").write_text(f"{last}\n")
    assert looked(root).outcome is Finding.GONE
