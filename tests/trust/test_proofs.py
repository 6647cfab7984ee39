"""Proofs of events: they verify without a store, and nothing that was altered does."""

from __future__ import annotations

import itertools
import json
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.errors import SealError
from readmit.lab import canonical
from readmit.trust.merkle import inclusion_proof, leaf_hash, node_hash, tree_hash
from readmit.trust.notes import COSIGNATURE, LogCheckpoint, NoteKey, cosign_note, sign
from readmit.trust.proofs import LARGEST_PROOF, check_proof, is_proof, prove_event

from .issued_view import RING, SIGNER

ORIGIN = "readmit/trip"
KEY = NoteKey(ORIGIN, SIGNER.public)
OTHER = RING.generate()
WITNESS = NoteKey("witness/w1", OTHER.public, COSIGNATURE)
BODY = canonical({"text": "Sunrise is booked. é"})
SALT = bytes(range(16))


class World:
    """A log of some commits, each with some events."""

    def __init__(self, *counts: int) -> None:
        self.events: list[list[bytes]] = []
        self.commits: list[bytes] = []
        epoch = 0
        for number, count in enumerate(counts, 1):
            self.events.append([self.event(epoch + place) for place in range(1, count + 1)])
            epoch += count
            events = tree_hash([leaf_hash(one) for one in self.events[-1]]).hex()
            self.commits.append(
                canonical({"number": number, "epoch": epoch, "events": events, "audit": 0, "rows": "0" * 64})
            )
        self.leaves = [leaf_hash(one) for one in self.commits]
        text = LogCheckpoint(ORIGIN, len(self.leaves), tree_hash(self.leaves)).text
        self.note = sign(text, ORIGIN, SIGNER)

    @staticmethod
    def event(epoch: int) -> bytes:
        moment = "2026-03-01T12:00:00+00:00"
        return canonical(
            [epoch, f"item:h{epoch}", "item", "A2", moment, 0, moment, sha256(SALT + BODY).hexdigest(), None, []]
        )

    def node(self, level: int, index: int) -> bytes:
        if not level:
            return self.leaves[index]
        return node_hash(self.node(level - 1, 2 * index), self.node(level - 1, 2 * index + 1))

    def prove(self, commit: int, index: int, note: bytes | None = None) -> bytes:
        return prove_event(
            note=note or self.note,
            commit=self.commits[commit],
            commit_path=inclusion_proof(commit, len(self.commits), self.node),
            event=self.events[commit][index],
            leaves=[leaf_hash(one) for one in self.events[commit]],
            index=index,
            salt=SALT,
            body=BODY,
        )


WORLD = World(1, 3, 0, 2, 7)
PROOF = WORLD.prove(1, 2)


def altered(**changes: object) -> bytes:
    return canonical(json.loads(PROOF) | changes) + b"\n"


def test_every_event_of_every_commit_can_be_proven() -> None:
    epochs = itertools.count(1)
    for number, events in enumerate(WORLD.events):
        for index in range(len(events)):
            found = check_proof(WORLD.prove(number, index), [KEY])
            assert (found.epoch, found.commit, found.size) == (next(epochs), number + 1, 5)
            assert (found.origin, found.by, found.body) == (ORIGIN, "A2", BODY)


def test_a_witness_that_is_asked_for_must_have_cosigned() -> None:
    with pytest.raises(SealError, match="witness/w1 did not cosign"):
        check_proof(PROOF, [KEY], [WITNESS])
    cosigned = WORLD.prove(1, 2, WORLD.note + cosign_note(WORLD.note, WITNESS.name, OTHER, 77))
    assert check_proof(cosigned, [KEY], [WITNESS]).signatures == ((KEY, None), (WITNESS, 77))
    assert check_proof(cosigned, [KEY]).signatures == ((KEY, None),)


def test_a_witness_alone_proves_nothing() -> None:
    cosigned = WORLD.prove(1, 2, WORLD.note + cosign_note(WORLD.note, ORIGIN, OTHER, 77))
    with pytest.raises(SealError, match="none of the named keys"):
        check_proof(
            cosigned, [NoteKey(ORIGIN, OTHER.public, COSIGNATURE)], [NoteKey(ORIGIN, OTHER.public, COSIGNATURE)]
        )


@pytest.mark.parametrize("key", [NoteKey(ORIGIN, OTHER.public), NoteKey("readmit/other", SIGNER.public)])
def test_another_key_or_the_key_of_another_log_does_not_count(key: NoteKey) -> None:
    with pytest.raises(SealError, match="none of the named keys"):
        check_proof(PROOF, [key])


def test_a_key_does_not_sign_for_a_log_of_another_name() -> None:
    text = LogCheckpoint("readmit/other", 5, tree_hash(WORLD.leaves)).text
    with pytest.raises(SealError, match="none of the named keys"):
        check_proof(WORLD.prove(1, 2, sign(text, ORIGIN, SIGNER)), [KEY])


@pytest.mark.parametrize(
    ("changes", "message"),
    {
        "an event of another commit": ({"event": WORLD.events[3][0].decode()}, "event_path"),
        "a made-up event": ({"event": World.event(99).decode()}, "event_path"),
        "another commit": ({"commit": WORLD.commits[3].decode()}, "commit_path"),
        "a made-up commit": ({"commit": WORLD.commits[1].decode().replace('"audit":0', '"audit":1')}, "commit_path"),
        "no path": ({"commit_path": []}, "commit_path"),
        "no path to the event": ({"event_path": []}, "event_path"),
        "another place": ({"index": 1}, "event_path"),
        "another count": ({"count": 2}, "event_path"),
        "another salt": ({"salt": "0" * 32}, "body"),
        "no salt": ({"salt": ""}, "salt"),
        "another body": ({"body": '{"text":"Riverside is booked."}'}, "body"),
        "another note": ({"note": World(1, 3).note.decode()}, "commit_path"),
        "a note that is none": ({"note": "hello"}, "note"),
        "a commit that is none": ({"commit": "{}"}, "number"),
        "another version": ({"type": "urn:readmit:event-proof:2"}, "type"),
        "a field more": ({"extra": 1}, "extra"),
        "a path that is none": ({"event_path": ["00"]}, "event_path"),
        "too long a path": ({"event_path": ["0" * 64] * 65}, "event_path"),
        "a negative place": ({"index": -1}, "index"),
    }.values(),
)
def test_an_altered_proof_is_refused_and_the_error_names_the_field(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SealError, match=message):
        check_proof(altered(**changes), [KEY])


def test_an_event_that_claims_another_epoch_than_its_place_is_refused() -> None:
    """Only the workspace itself could have written one."""
    world = World(2)
    world.events = [[World.event(1), World.event(7)]]
    events = tree_hash([leaf_hash(one) for one in world.events[0]]).hex()
    world.commits = [canonical({"number": 1, "epoch": 2, "events": events})]
    world.leaves = [leaf_hash(world.commits[0])]
    world.note = sign(LogCheckpoint(ORIGIN, 1, world.leaves[0]).text, ORIGIN, SIGNER)
    assert check_proof(world.prove(0, 0), [KEY]).epoch == 1
    with pytest.raises(SealError, match="another place"):
        check_proof(world.prove(0, 1), [KEY])


@pytest.mark.parametrize(
    "data",
    [PROOF[:-1], PROOF + b"\n", b" " + PROOF, PROOF.replace(b',"', b', "', 1), json.dumps(json.loads(PROOF)).encode()],
)
def test_only_the_canonical_form_is_read(data: bytes) -> None:
    with pytest.raises(SealError, match="canonical"):
        check_proof(data, [KEY])


def test_a_file_without_end_is_refused_before_it_is_read() -> None:
    with pytest.raises(SealError, match="too long"):
        check_proof(b" " * (LARGEST_PROOF + 1), [KEY])


@settings(max_examples=500)
@given(at=st.integers(0), bit=st.integers(0, 7))
def test_a_flipped_bit_never_verifies(at: int, bit: int) -> None:
    data = bytearray(PROOF)
    data[at % len(data)] ^= 1 << bit
    with pytest.raises(SealError):
        check_proof(bytes(data), [KEY])


@given(at=st.integers(0), length=st.integers(1, 80))
def test_a_proof_with_a_piece_missing_never_verifies(at: int, length: int) -> None:
    start = at % len(PROOF)
    with pytest.raises(SealError):
        check_proof(PROOF[:start] + PROOF[start + length :], [KEY])


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)),
    max_leaves=5,
)


@given(field=st.sampled_from(sorted(json.loads(PROOF))), value=JSON)
def test_any_other_value_of_a_field_never_verifies(field: str, value: object) -> None:
    data = json.loads(PROOF)
    changed = data | {field: value}
    if changed == data:
        return
    with pytest.raises(SealError):
        check_proof(msgspec.json.encode(changed, order="sorted") + b"\n", [KEY])


@given(data=st.binary(max_size=200))
def test_garbage_ends_in_the_named_error(data: bytes) -> None:
    assert not is_proof(data)
    with pytest.raises(SealError):
        check_proof(data, [KEY])


def test_a_proof_is_known_by_its_type() -> None:
    assert is_proof(PROOF)
    assert not is_proof(b'{"payload":"","payloadType":"","signatures":[]}')
    assert not is_proof(altered(type="another"))
