"""Merkle trees: the vectors of RFC 6962's reference implementation, every tree up to 130 leaves, and altered proofs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readmit.errors import RecordError, SealError
from readmit.trust.merkle import (
    EMPTY,
    TreeFrontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    tree_hash,
    verify_consistency,
    verify_inclusion,
)

if TYPE_CHECKING:
    from readmit.trust.merkle import Node

LARGEST = 130
# The leaves and roots that the certificate-transparency project tests its trees with.
REFERENCE = [
    bytes.fromhex(data)
    for data in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = [
    bytes.fromhex(root)
    for root in (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
]
PAIR_1 = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
PAIR_2 = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
LEAF_1 = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
LEAF_4 = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
HALF_1 = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
PAIR_3 = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"


def numbered(size: int) -> list[bytes]:
    return [leaf_hash(b"%d" % number) for number in range(size)]


def nodes(leaves: list[bytes]) -> Node:
    """Complete subtrees by the recursion of RFC 6962, section 2.1."""

    def node(level: int, index: int) -> bytes:
        if not level:
            return leaves[index]
        return node_hash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1))

    def checked(level: int, index: int) -> bytes:
        assert (index + 1) << level <= len(leaves), "only complete subtrees are asked for"
        return node(level, index)

    return checked


def recursive(leaves: list[bytes]) -> bytes:
    """The definition of RFC 6962, section 2.1."""
    if not leaves:
        return EMPTY
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(recursive(leaves[:split]), recursive(leaves[split:]))


LEAVES = numbered(LARGEST)
NODE = nodes(LEAVES)
RECURSIVE = [recursive(LEAVES[:size]) for size in range(LARGEST + 1)]


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("size", range(9))
def test_the_reference_leaves_have_the_reference_roots(size: int) -> None:
    assert tree_hash([leaf_hash(data) for data in REFERENCE[:size]]) == ROOTS[size]


@pytest.mark.parametrize(
    ("index", "size", "proof"),
    [
        (0, 1, []),
        (0, 8, [LEAF_1, PAIR_1, HALF_1]),
        (5, 8, [LEAF_4, PAIR_2, ROOTS[4].hex()]),
        (2, 3, [ROOTS[2].hex()]),
        (1, 5, [ROOTS[1].hex(), PAIR_1, LEAF_4]),
    ],
)
def test_the_reference_inclusion_proofs_are_ours_and_verify(index: int, size: int, proof: list[str]) -> None:
    leaves = [leaf_hash(data) for data in REFERENCE]
    ours = inclusion_proof(index, size, nodes(leaves))
    assert [one.hex() for one in ours] == proof
    assert verify_inclusion(leaves[index], index, size, ours, ROOTS[size])


@pytest.mark.parametrize(
    ("old", "new", "proof"),
    [
        (1, 1, []),
        (1, 8, [LEAF_1, PAIR_1, HALF_1]),
        (6, 8, [PAIR_3, PAIR_2, ROOTS[4].hex()]),
        (2, 5, [PAIR_1, LEAF_4]),
    ],
)
def test_the_reference_consistency_proofs_are_ours_and_verify(old: int, new: int, proof: list[str]) -> None:
    ours = consistency_proof(old, new, nodes([leaf_hash(data) for data in REFERENCE]))
    assert [one.hex() for one in ours] == proof
    assert verify_consistency(old, ROOTS[old], new, ROOTS[new], ours)


def test_every_tree_has_the_root_of_the_definition() -> None:
    assert [tree_hash(LEAVES[:size]) for size in range(LARGEST + 1)] == RECURSIVE


def test_the_edge_completes_each_subtree_once_and_survives_storage() -> None:
    edge, seen = TreeFrontier(), {}
    for index, leaf in enumerate(LEAVES):
        for level, node in enumerate(edge.completed(leaf)):
            assert (level, index >> level) not in seen
            seen[level, index >> level] = node
        edge = edge.push(leaf)
        assert edge.root == RECURSIVE[index + 1]
        assert TreeFrontier.from_bytes(edge.size, edge.to_bytes()) == edge
    complete = {(level, index) for level in range(8) for index in range(LARGEST >> level)}
    assert seen == {at: NODE(*at) for at in complete}


@pytest.mark.parametrize(("size", "blob"), [(0, bytes(32)), (1, b""), (3, bytes(32)), (4, bytes(33)), (-1, bytes(32))])
def test_an_edge_of_the_wrong_length_is_refused(size: int, blob: bytes) -> None:
    with pytest.raises(SealError, match="altered"):
        TreeFrontier.from_bytes(size, blob)


@pytest.mark.parametrize("size", range(1, LARGEST + 1))
def test_every_leaf_of_every_tree_is_included_and_nowhere_else(size: int) -> None:
    for index in range(size):
        proof = inclusion_proof(index, size, NODE)
        assert verify_inclusion(LEAVES[index], index, size, proof, RECURSIVE[size])
        assert not verify_inclusion(LEAVES[index], index + 1, size, proof, RECURSIVE[size])
        assert not verify_inclusion(LEAVES[index], index, size, [*proof, EMPTY], RECURSIVE[size])
        assert not proof or not verify_inclusion(LEAVES[index], index, size, proof[:-1], RECURSIVE[size])


@pytest.mark.parametrize("new", range(LARGEST + 1))
def test_every_tree_extends_every_smaller_one_and_no_other(new: int) -> None:
    for old in range(new + 1):
        proof = consistency_proof(old, new, NODE)
        assert verify_consistency(old, RECURSIVE[old], new, RECURSIVE[new], proof)
        assert not verify_consistency(old, leaf_hash(b"fork"), new, RECURSIVE[new], proof)
        assert not verify_consistency(old, RECURSIVE[old], new, RECURSIVE[new], [*proof, EMPTY])
        assert not proof or not verify_consistency(old, RECURSIVE[old], new, RECURSIVE[new], proof[:-1])
        assert old in {0, new} or not verify_consistency(old, RECURSIVE[old], new, leaf_hash(b"fork"), proof)


@given(data=st.data(), size=st.integers(1, LARGEST))
def test_a_flipped_bit_ends_an_inclusion_proof(data: st.DataObject, size: int) -> None:
    index = data.draw(st.integers(0, size - 1))
    parts = [LEAVES[index], RECURSIVE[size], *inclusion_proof(index, size, NODE)]
    which = data.draw(st.integers(0, len(parts) - 1))
    parts[which] = flipped(parts[which], data.draw(st.integers(0, 255)))
    leaf, root, *proof = parts
    assert not verify_inclusion(leaf, index, size, proof, root)


@given(data=st.data(), new=st.integers(2, LARGEST))
def test_a_flipped_bit_ends_a_consistency_proof(data: st.DataObject, new: int) -> None:
    old = data.draw(st.integers(1, new - 1))
    parts = [RECURSIVE[old], RECURSIVE[new], *consistency_proof(old, new, NODE)]
    which = data.draw(st.integers(0, len(parts) - 1))
    parts[which] = flipped(parts[which], data.draw(st.integers(0, 255)))
    before, after, *proof = parts
    assert not verify_consistency(old, before, new, after, proof)


HASHES = st.one_of(st.binary(max_size=40), st.sampled_from([*LEAVES[:8], *RECURSIVE[:9]]))


@given(
    numbers=st.tuples(st.integers(-2, 20), st.integers(-2, 20)),
    hashes=st.tuples(HASHES, HASHES),
    proof=st.lists(HASHES),
)
def test_whatever_is_not_a_proof_is_false_and_never_raises(
    numbers: tuple[int, int], hashes: tuple[bytes, bytes], proof: list[bytes]
) -> None:
    first, second = numbers
    included = verify_inclusion(hashes[0], first, second, proof, hashes[1])
    assert included == (0 <= first < second and folded(hashes[0], first, second, proof) == hashes[1])
    extended = verify_consistency(first, hashes[0], second, hashes[1], proof)
    assert extended == extends(first, hashes[0], second, hashes[1], proof)


def folded(leaf: bytes, index: int, size: int, proof: list[bytes]) -> bytes | None:
    """The root by the recursion of RFC 6962, section 2.1.1; None if the proof has the wrong shape."""
    if any(len(one) != 32 for one in (leaf, *proof)):
        return None
    if size == 1:
        return None if proof else leaf
    if not proof:
        return None
    split = 1
    while split * 2 < size:
        split *= 2
    if index < split:
        left = folded(leaf, index, split, proof[:-1])
        return None if left is None else node_hash(left, proof[-1])
    right = folded(leaf, index - split, size - split, proof[:-1])
    return None if right is None else node_hash(proof[-1], right)


def extends(old: int, old_root: bytes, new: int, new_root: bytes, proof: list[bytes]) -> bool:
    """The same answer by the recursion of RFC 6962, section 2.1.2."""
    if not 0 <= old <= new or any(len(one) != 32 for one in (old_root, new_root, *proof)):
        return False
    if old == 0:
        return not proof and old_root == EMPTY and (new > 0 or new_root == EMPTY)
    return grown(old, new, old_root, proof) == (old_root, new_root)


def grown(old: int, new: int, whole: bytes | None, proof: list[bytes]) -> tuple[bytes, bytes] | None:
    """The roots of both trees. ``whole`` is the old root while the old tree is a left part of the new one."""
    if old == new:
        known = proof if whole is None else [whole, *proof]
        return (known[0], known[0]) if len(known) == 1 else None
    if not proof:
        return None
    split = 1
    while split * 2 < new:
        split *= 2
    if old <= split:
        roots = grown(old, split, whole, proof[:-1])
        return None if roots is None else (roots[0], node_hash(roots[1], proof[-1]))
    roots = grown(old - split, new - split, None, proof[:-1])
    return None if roots is None else (node_hash(proof[-1], roots[0]), node_hash(proof[-1], roots[1]))


def test_the_empty_tree_is_extended_by_all_and_has_one_root() -> None:
    assert verify_consistency(0, EMPTY, 5, RECURSIVE[5], [])
    assert verify_consistency(0, EMPTY, 0, EMPTY, [])
    assert not verify_consistency(0, RECURSIVE[1], 5, RECURSIVE[5], [])
    assert not verify_consistency(0, RECURSIVE[1], 0, RECURSIVE[1], [])
    assert not verify_consistency(0, EMPTY, 5, RECURSIVE[5], [EMPTY])


def test_trees_of_one_size_are_consistent_if_they_are_the_same() -> None:
    for one, other in pairwise(RECURSIVE[1:5]):
        assert verify_consistency(3, one, 3, one, [])
        assert not verify_consistency(3, one, 3, other, [])


@pytest.mark.parametrize(("index", "size"), [(-1, 3), (3, 3), (0, 0)])
def test_no_proof_is_made_for_a_leaf_that_is_not_there(index: int, size: int) -> None:
    with pytest.raises(RecordError, match="is not a leaf"):
        inclusion_proof(index, size, NODE)


@pytest.mark.parametrize(("old", "new"), [(-1, 3), (4, 3)])
def test_no_proof_is_made_from_a_larger_tree(old: int, new: int) -> None:
    with pytest.raises(RecordError, match="is not a size"):
        consistency_proof(old, new, NODE)
