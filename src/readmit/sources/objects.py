"""Reads the objects of a git repository, loose and packed, from directories that are held open.

A repository is data of a stranger, and may change while it is read. So nothing is opened by its path: every file is
reached from a handle through no link; memory is bounded before anything is unpacked; and an object whose content does
not have the digest it is named by is refused.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from readmit.records.error_types import GoneError, ProbeError
from readmit.sources.files import descended, opened_file
from readmit.sources.look import LookDeadline, check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_DELTA_BY_OFFSET, _DELTA_BY_NAME = 6, 7
_MOST = 32 << 20
"""Most bytes of a delta's base object."""
_DEEPEST = 4_096
_MOST_PACK_FILES = 10_000
_PIECE = 16_384
_LONGEST_HEAD = 64
_MAGIC = b"\377tOc\0\0\0\2"
_NAMES = len(_MAGIC) + 1_024
"""The offset at which the names begin in the index of a pack."""
_OPS_BETWEEN = 1_024


class MissingError(ProbeError):
    """None of the directories holds an object."""


class GitObject(NamedTuple):
    """Type and content of a git object."""

    kind: str
    data: bytes


class _Packed(NamedTuple):
    """A place in a pack."""

    directory: int
    pack: str
    offset: int


class _Budget:
    """The remaining bytes that reading one object may unpack."""

    def __init__(self, limit: int, deadline: LookDeadline) -> None:
        self.limit = limit
        self.deadline = deadline
        self._left = _MOST + 2 * limit

    def take(self, size: int) -> int:
        self.deadline.left()
        self._left -= size
        if self._left < 0:
            raise ProbeError("an object of the repository takes too much memory")
        return size


class ObjectStore:
    """The objects of one repository, and of its alternates."""

    def __init__(self, directories: Sequence[int]) -> None:
        self._directories = directories
        self._packs: list[tuple[int, str]] = []

    def read(self, name: str, limit: int, deadline: LookDeadline) -> GitObject:
        """An object by its name. One that is longer than the limit is not unpacked."""
        try:
            found = self._put_together(name, _Budget(limit, deadline))
        except GoneError:
            raise ProbeError("the repository changes while it is read") from None
        digest = hashlib.sha1 if len(name) == 40 else hashlib.sha256  # noqa: PLR2004 - git's two formats
        if digest(b"%s %d\0%s" % (found.kind.encode(), len(found.data), found.data)).hexdigest() != name:
            raise ProbeError("an object of the repository does not have the digest that it is named by")
        return found

    def _put_together(self, name: str, budget: _Budget) -> GitObject:
        deltas: list[bytes] = []
        place: GitObject | _Packed = self._found(name, budget, first=True)
        while isinstance(place, _Packed):
            if len(deltas) > _DEEPEST:
                raise ProbeError("an object of the repository is a difference from too many others")
            kind, base, data = _entry(place, len(name) // 2, budget, first=not deltas)
            if kind:
                place = GitObject(kind, data)
            else:
                deltas.append(data)
                place = base if isinstance(base, _Packed) else self._found(base, budget, first=False)
        data = place.data
        for delta in reversed(deltas):
            data = _patched(data, delta, budget)
        return GitObject(place.kind, data)

    def _found(self, name: str, budget: _Budget, *, first: bool) -> GitObject | _Packed:
        for directory in self._directories:
            try:
                with opened_file(directory, f"{name[:2]}/{name[2:]}") as file:
                    return _loose(file, budget, first=first)
            except GoneError:
                continue
        wanted = bytes.fromhex(name)
        packed = self._packed(wanted, budget)
        if packed is None:
            # Git may have packed it just now.
            self._packs = list(self._listed())
            packed = self._packed(wanted, budget)
        if packed is None:
            raise MissingError("this clone lacks an object; fetch it")
        return packed

    def _packed(self, wanted: bytes, budget: _Budget) -> _Packed | None:
        for number, (directory, pack) in enumerate(self._packs):
            budget.deadline.left()
            try:
                with opened_file(directory, f"pack/{pack}.idx") as index:
                    offset = _offset(index, wanted)
            except GoneError:
                continue
            if offset is not None:
                # What is asked next is likely to be in the same pack.
                self._packs.insert(0, self._packs.pop(number))
                return _Packed(directory, pack, offset)
        return None

    def _listed(self) -> Iterator[tuple[int, str]]:
        count = 0
        for directory in self._directories:
            try:
                packs = descended(os.dup(directory), ("pack",))
            except GoneError:
                continue
            try:
                with os.scandir(packs) as entries:
                    for entry in entries:
                        count += 1
                        if count > _MOST_PACK_FILES:
                            raise ProbeError("the repository has too many packs; run git gc")
                        if entry.name.endswith(".idx"):
                            yield directory, entry.name.removesuffix(".idx")
            finally:
                os.close(packs)


@contextmanager
def _well_formed() -> Iterator[None]:
    """Turn parse errors into a ``ProbeError`` that calls the object damaged."""
    try:
        yield
    except (ValueError, IndexError, KeyError, zlib.error):
        raise ProbeError("the repository may be damaged: an object cannot be read") from None


def _loose(file: int, budget: _Budget, *, first: bool) -> GitObject:
    with _well_formed():
        stream = zlib.decompressobj()
        start = stream.decompress(os.read(file, _PIECE), _LONGEST_HEAD)
        head, _, data = start.partition(b"\0")
        kind, _, length = head.decode("ascii").partition(" ")
        if kind not in _KINDS.values() or not length.isdigit() or len(data) > (size := int(length)):
            raise ValueError(kind)
        if first:
            check_size(size, budget.limit)
        budget.take(size)
        rest = _unpacked(stream, lambda at: os.pread(file, _PIECE, at), _PIECE, size - len(data))
        return GitObject(kind, data + rest)


def _unpacked(stream: zlib._Decompress, read: Callable[[int], bytes], at: int, size: int) -> bytes:
    """Exactly so many bytes of a stream, which must end there."""
    pieces: list[bytes] = []
    given = stream.unconsumed_tail
    while not stream.eof:
        if not given:
            given = read(at)
            at += len(given)
            if not given:
                raise ValueError("cut off")
        # One byte more than is wanted shows that there are more.
        piece = stream.decompress(given, size + 1)
        given = stream.unconsumed_tail
        size -= len(piece)
        pieces.append(piece)
        if size < 0:
            break
    if size:
        raise ValueError("another size")
    return b"".join(pieces)


def _offset(index: int, wanted: bytes) -> int | None:
    """The offset of an object in its pack, as an index says."""
    with _well_formed():
        head = os.pread(index, _NAMES, 0)
        if not head.startswith(_MAGIC):
            raise ProbeError("the index of a pack is not of version 2; run git gc")
        length, fanout = len(wanted), head[len(_MAGIC) :]
        count = _number(fanout[-4:])
        low = _number(fanout[4 * wanted[0] - 4 : 4 * wanted[0]]) if wanted[0] else 0
        high = _number(fanout[4 * wanted[0] : 4 * wanted[0] + 4])
        while low < high:
            middle = (low + high) // 2
            found = os.pread(index, length, _NAMES + length * middle)
            if found == wanted:
                break
            low, high = (middle + 1, high) if found < wanted else (low, middle)
        else:
            return None
        offsets = _NAMES + count * (length + 4)
        offset = _number(os.pread(index, 4, offsets + 4 * middle))
        if offset >> 31:
            return _number(os.pread(index, 8, offsets + 4 * count + 8 * (offset & 0x7FFF_FFFF)))
        return offset


def _number(data: bytes) -> int:
    if not data:
        raise ValueError("cut off")
    return int.from_bytes(data, "big")


def _entry(place: _Packed, length: int, budget: _Budget, *, first: bool) -> tuple[str, _Packed | str, bytes]:
    """An entry of a pack: its type and data, or a delta with its base."""
    with opened_file(place.directory, f"pack/{place.pack}.pack") as file, _well_formed():
        head = os.pread(file, _LONGEST_HEAD, place.offset)
        kind, size, at = head[0] >> 4 & 7, head[0] & 15, 1
        shift = 4
        while head[at - 1] & 0x80:
            size |= (head[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
        base: _Packed | str = ""
        if kind == _DELTA_BY_NAME:
            base, at = head[at : at + length].hex(), at + length
        elif kind == _DELTA_BY_OFFSET:
            back, at = head[at] & 0x7F, at + 1
            while head[at - 1] & 0x80:
                back, at = (back + 1 << 7) | (head[at] & 0x7F), at + 1
            if not 0 < back < place.offset:
                raise ValueError(back)
            base = place._replace(offset=place.offset - back)
        if first and not base:
            check_size(size, budget.limit)
        start = place.offset + at
        data = _unpacked(zlib.decompressobj(), lambda at: os.pread(file, _PIECE, at), start, budget.take(size))
        if base:
            if first:
                check_size(_size(data, _size(data, 0)[1])[0], budget.limit)
            return "", base, data
        return _KINDS[kind], "", data


def _size(delta: bytes, at: int) -> tuple[int, int]:
    """A length at the start of a delta, and where the next field begins."""
    size = shift = 0
    while True:
        byte = delta[at]
        size |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return size, at


def _patched(base: bytes, delta: bytes, budget: _Budget) -> bytes:
    """Apply a delta to its base."""
    with _well_formed():
        before, at = _size(delta, 0)
        size, at = _size(delta, at)
        if before != len(base):
            raise ValueError(before)
        budget.take(size)
        made = bytearray()
        ops = 0
        while at < len(delta):
            ops += 1
            if ops % _OPS_BETWEEN == 0:
                budget.deadline.left()
            piece, at = _piece(base, delta, at)
            if len(made) + len(piece) > size:
                raise ValueError("longer than it says")
            made += piece
        if len(made) != size:
            raise ValueError("shorter than it says")
        return bytes(made)


def _piece(base: bytes, delta: bytes, at: int) -> tuple[bytes, int]:
    """One instruction of a delta applied: bytes copied from the base or new, and where the next instruction begins."""
    op, at = delta[at], at + 1
    if not op & 0x80:
        if not op:
            raise ValueError(op)
        return delta[at : at + op], at + op
    start = length = 0
    for bit in range(7):
        if op >> bit & 1:
            # Four bytes of the place, then three of the length.
            if bit < 4:  # noqa: PLR2004
                start |= delta[at] << 8 * bit
            else:
                length |= delta[at] << 8 * (bit - 4)
            at += 1
    return base[start : start + (length or 0x10000)], at
