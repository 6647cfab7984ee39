"""Merkle trees of RFC 6962: the root commits to a list of leaves, and short proofs show a leaf's place in it.

Leaves are hashes here; ``leaf_hash`` makes one from data. An inclusion proof says that a leaf is at an index. A
consistency proof says that a larger tree only added leaves to a smaller one. Verification follows RFC 9162, sections
2.1.3.2 and 2.1.4.2.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from readmit.records.error_types import RecordError, SealError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HASH_BYTES = 32
EMPTY = sha256(b"").digest()

Node: TypeAlias = "Callable[[int, int], bytes]"
"""``node(level, index)``: the hash of the complete subtree of 2**level leaves that is number ``index`` at its level."""


class TreeHead(NamedTuple):
    """A tree at one size: how many leaves, and the root over them."""

    size: int
    root: bytes


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf. The prefix keeps leaves and inner nodes apart."""
    return sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(b"\1" + left + right).digest()


def tree_hash(leaves: Iterable[bytes]) -> bytes:
    """The root over some leaf hashes."""
    return flat_tree_hash(b"".join(leaves))


def flat_tree_hash(leaves: bytes | bytearray | memoryview) -> bytes:
    """The root over leaf hashes that lie one after the other."""
    if not leaves:
        return EMPTY
    row, sha, pair = memoryview(leaves), sha256, 2 * HASH_BYTES
    while len(row) > HASH_BYTES:
        # A last one without a partner moves up as it is, which gives the split of RFC 6962.
        whole = len(row) // pair * pair
        above = [sha(b"\1" + row[at : at + pair]).digest() for at in range(0, whole, pair)]
        row = memoryview(b"".join((*above, row[whole:])))
    return bytes(row)


class TreeBuilder:
    """A tree that grows in place, for many leaves. Keeps its right edge only."""

    __slots__ = ("_edge", "size")

    def __init__(self, edge: TreeFrontier) -> None:
        self.size = edge.size
        self._edge = list(edge.hashes)

    def push(self, leaf: bytes) -> bytes:
        """Append a leaf. Returns the hashes of the subtrees that it completes, as ``TreeFrontier.completed`` does."""
        edge, size = self._edge, self.size
        self.size = size + 1
        done = leaf
        while size & 1:
            leaf = sha256(b"\1" + edge.pop() + leaf).digest()
            done += leaf
            size >>= 1
        edge.append(leaf)
        return done

    @property
    def frontier(self) -> TreeFrontier:
        """The right edge of the tree: roots of its complete subtrees."""
        return TreeFrontier(self.size, tuple(self._edge))


class TreeFrontier(NamedTuple):
    """The right edge of a tree: its complete subtrees, largest first. Enough to append and to know the root."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    @classmethod
    def from_bytes(cls, size: int, blob: bytes) -> TreeFrontier:
        """Read what ``to_bytes`` wrote for a tree of this size."""
        if size < 0 or len(blob) != HASH_BYTES * size.bit_count():
            raise SealError(f"the edge of a tree of {size} leaves cannot have {len(blob)} bytes; it was altered")
        return cls(size, tuple(blob[at : at + HASH_BYTES] for at in range(0, len(blob), HASH_BYTES)))

    def to_bytes(self) -> bytes:
        return b"".join(self.hashes)

    def completed(self, leaf: bytes) -> list[bytes]:
        """The hashes of the subtrees that this leaf, appended next, completes: itself at level 0, then its parents."""
        done = [leaf]
        size, left = self.size, len(self.hashes)
        while size & 1:
            left -= 1
            done.append(node_hash(self.hashes[left], done[-1]))
            size >>= 1
        return done

    def push(self, leaf: bytes) -> TreeFrontier:
        """The edge after appending a leaf."""
        return self.grown(self.completed(leaf))

    def grown(self, done: Sequence[bytes]) -> TreeFrontier:
        """The edge after appending a leaf that completes these subtrees."""
        return TreeFrontier(self.size + 1, (*self.hashes[: len(self.hashes) + 1 - len(done)], done[-1]))

    @property
    def root(self) -> bytes:
        if not self.hashes:
            return EMPTY
        root = self.hashes[-1]
        for left in reversed(self.hashes[:-1]):
            root = node_hash(left, root)
        return root


def inclusion_proof(index: int, size: int, node: Node) -> list[bytes]:
    """The hashes that lead from the leaf at ``index`` to the root of the first ``size`` leaves."""
    if not 0 <= index < size:
        raise RecordError(f"index: {index} is not a leaf of a tree of {size}; use 0 to {size - 1}")
    start, end, proof = 0, size, []
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            proof.append(_subtree(middle, end, node))
            end = middle
        else:
            proof.append(_subtree(start, middle, node))
            start = middle
    return proof[::-1]


def consistency_proof(old: int, new: int, node: Node) -> list[bytes]:
    """The hashes that show that the first ``old`` of ``new`` leaves are unchanged."""
    if not 0 <= old <= new:
        raise RecordError(f"old: {old} is not a size that a tree of {new} leaves once had; use 0 to {new}")
    if old in {0, new}:
        return []
    start, end, proof = 0, new, []
    while end != old:
        middle = start + _split(end - start)
        if old <= middle:
            proof.append(_subtree(middle, end, node))
            end = middle
        else:
            proof.append(_subtree(start, middle, node))
            start = middle
    if start:  # else the verifier has this hash: it is the old root
        proof.append(_subtree(start, end, node))
    return proof[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether ``root`` is that of a tree of ``size`` leaves with this one at ``index``."""
    if not 0 <= index < size or not _hashes(leaf, root, *proof):
        return False
    at, last, node = index, size - 1, leaf
    for other in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = node_hash(other, node)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = node_hash(node, other)
        at, last = at >> 1, last >> 1
    return last == 0 and node == root


def verify_consistency(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the tree of ``new`` leaves begins with the tree of ``old`` leaves."""
    if not 0 <= old <= new or not _hashes(old_root, new_root, *proof):
        return False
    if old in {0, new}:
        return not proof and old_root == (new_root if old else EMPTY) and (new > 0 or new_root == EMPTY)
    path = list(proof)
    if old & (old - 1) == 0:
        path.insert(0, old_root)
    if not path:
        return False
    at, last = old - 1, new - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    before = after = path[0]
    for other in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            before, after = node_hash(other, before), node_hash(other, after)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            after = node_hash(after, other)
        at, last = at >> 1, last >> 1
    return last == 0 and before == old_root and after == new_root


def _split(size: int) -> int:
    """The largest power of two below ``size``: where RFC 6962 splits a tree."""
    return 1 << (size - 1).bit_length() - 1


def _subtree(start: int, end: int, node: Node) -> bytes:
    """The root over the leaves from ``start`` to ``end``. A proof only asks for ranges that start at a node."""
    parts = []
    while start < end:
        level = (end - start).bit_length() - 1
        parts.append(node(level, start >> level))
        start += 1 << level
    root = parts.pop()
    while parts:
        root = node_hash(parts.pop(), root)
    return root


def _hashes(*values: bytes) -> bool:
    return all(len(value) == HASH_BYTES for value in values)
