"""Trees and notes against packages that other people wrote.

pymerkle builds trees, sigstore reads the notes and proofs of Rekor. Neither makes consistency proofs in the form of RFC
6962, so pymerkle checks the roots that ours are about; ``test_tree`` has the reference vectors.
"""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pymerkle import InmemoryTree
from pymerkle.proof import InvalidProof
from sigstore._internal.merkle import verify_merkle_inclusion
from sigstore._internal.rekor.checkpoint import SignedCheckpoint
from sigstore._internal.trust import Keyring
from sigstore._utils import KeyID
from sigstore.errors import VerificationError
from sigstore_models.common.v1 import PublicKey, PublicKeyDetails

from readmit.errors import SealError
from readmit.trust.merkle import consistency_proof, inclusion_proof, leaf_hash, tree_hash, verify_consistency
from readmit.trust.notes import LogCheckpoint, cosign_note, open_note, sign

from .issued_view import SIGNER
from .test_notes import KEY, NAME, OTHER
from .test_tree import LARGEST, NODE

if TYPE_CHECKING:
    from readmit.trust.private_keys import LocalSigner

DATA = [b"%d" % number for number in range(LARGEST)]


@pytest.fixture(scope="module")
def other_tree() -> Any:
    tree = InmemoryTree(algorithm="sha256")
    for data in DATA:
        tree.append_entry(data)
    return tree


def ring(signer: LocalSigner) -> Any:
    der = Ed25519PublicKey.from_public_bytes(signer.public).public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    )
    return Keyring([PublicKey(raw_bytes=base64.b64encode(der), key_details=PublicKeyDetails.PKIX_ED25519)])


def entry(index: int, size: int, proof: list[bytes], root: bytes) -> Any:
    found = SimpleNamespace(log_index=index, tree_size=size, hashes=proof, root_hash=root)
    return SimpleNamespace(_inner=SimpleNamespace(inclusion_proof=found, canonicalized_body=DATA[index]))


def test_both_build_the_same_trees_and_inclusion_proofs(other_tree: Any) -> None:
    for size in range(1, LARGEST + 1):
        assert other_tree.get_root(size) == tree_hash([leaf_hash(data) for data in DATA[:size]])
        for index in range(size):
            theirs = other_tree.prove_inclusion(index + 1, size).path
            assert theirs == [leaf_hash(DATA[index]), *inclusion_proof(index, size, NODE)]


def test_rekors_verifier_accepts_our_inclusion_proofs_and_no_altered_one(other_tree: Any) -> None:
    for size in range(1, LARGEST + 1):
        root = other_tree.get_root(size)
        for index in (0, size // 3, size - 1):
            proof = inclusion_proof(index, size, NODE)
            verify_merkle_inclusion(entry(index, size, proof, root))
            with pytest.raises(VerificationError):
                verify_merkle_inclusion(entry(index, size, [*proof, root], root))


def test_both_agree_on_which_trees_extend_which(other_tree: Any) -> None:
    roots = [other_tree.get_root(size) for size in range(LARGEST + 1)]
    for new in range(2, LARGEST + 1, 3):
        for old in range(1, new):
            ours = consistency_proof(old, new, NODE)
            theirs = other_tree.prove_consistency(old, new)
            theirs.verify(roots[old], roots[new])
            assert verify_consistency(old, roots[old], new, roots[new], ours)
            with pytest.raises(InvalidProof):
                theirs.verify(roots[old - 1], roots[new])
            assert not verify_consistency(old, roots[old - 1], new, roots[new], ours)


def test_rekors_verifier_opens_our_checkpoint(other_tree: Any) -> None:
    head = LogCheckpoint(NAME, 7, other_tree.get_root(7))
    note = sign(head.text, NAME, SIGNER)
    theirs = SignedCheckpoint.from_text((note + cosign_note(note, "witness.example/w1", OTHER, 12)).decode())
    assert (theirs.checkpoint.origin, theirs.checkpoint.log_size) == (NAME, 7)
    assert theirs.checkpoint.log_hash == head.root.hex()
    assert [one.name for one in theirs.signed_note.signatures] == [NAME, "witness.example/w1"]
    theirs.signed_note.verify(ring(SIGNER), KeyID(KEY.keyid))
    with pytest.raises(VerificationError):
        theirs.signed_note.verify(ring(OTHER), KeyID(KEY.keyid))


def test_an_altered_checkpoint_is_refused_by_both() -> None:
    note = sign(LogCheckpoint(NAME, 7, bytes(32)).text, NAME, SIGNER).replace(b"\n7\n", b"\n8\n")
    with pytest.raises(VerificationError):
        SignedCheckpoint.from_text(note.decode()).signed_note.verify(ring(SIGNER), KeyID(KEY.keyid))
    with pytest.raises(SealError, match="does not match"):
        open_note(note, [KEY])
