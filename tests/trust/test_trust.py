"""Trust as the log tells it: overlap, revocation, and nothing that widens it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.errors import SealError
from readmit.records.acts.event import KeyChange
from readmit.records.canonical import checked
from readmit.trust.statement import open_view, seal_view
from readmit.trust.trusted_keys import (
    keyid_of,
    public_of,
    retire_key,
    revoke_key,
    rotate_key,
    signing_keys,
    trust_key,
    trusted,
)

from .issued_view import MINUTE, NOW, RING, SIGNER, logged, view_of

OLD, NEW = SIGNER.public, RING.generate().public
OLD_ID, NEW_ID = keyid_of(OLD), keyid_of(NEW)


@dataclass(frozen=True)
class Story:
    changes: tuple[KeyChange, ...]
    trusted: tuple[str, ...]
    current: tuple[str, ...]
    now: timedelta = timedelta()


ROTATED = (trust_key(OLD), *rotate_key([OLD_ID], NEW, now=NOW, overlap=10 * MINUTE))
STORIES = {
    "nothing is trusted by itself": Story((), (), ()),
    "a trusted key": Story((trust_key(OLD),), (OLD_ID,), (OLD_ID,)),
    "rotated, within the overlap": Story(ROTATED, (OLD_ID, NEW_ID), (NEW_ID,), 9 * MINUTE),
    "rotated, a moment before its end": Story(
        ROTATED, (OLD_ID, NEW_ID), (NEW_ID,), 10 * MINUTE - timedelta(microseconds=1)
    ),
    "rotated, at its end": Story(ROTATED, (NEW_ID,), (NEW_ID,), 10 * MINUTE),
    "revoked": Story((trust_key(OLD), revoke_key(OLD_ID, reason="stolen")), (), ()),
    "revoked within the overlap": Story((*ROTATED, revoke_key(OLD_ID, reason="stolen")), (NEW_ID,), (NEW_ID,)),
    "the new one revoked": Story((*ROTATED, revoke_key(NEW_ID, reason="stolen")), (OLD_ID,), ()),
    "revoked, then trusted again": Story((trust_key(OLD), revoke_key(OLD_ID, reason="stolen"), trust_key(OLD)), (), ()),
    "revoked before it was ever trusted": Story((revoke_key(OLD_ID, reason="stolen"), trust_key(OLD)), (), ()),
    "retired, then trusted again": Story(
        (trust_key(OLD), retire_key(OLD_ID, NOW + MINUTE), trust_key(OLD)), (), (), 2 * MINUTE
    ),
    "retired twice, the earlier end holds": Story(
        (trust_key(OLD), retire_key(OLD_ID, NOW + MINUTE), retire_key(OLD_ID, NOW + 9 * MINUTE)), (), (), 2 * MINUTE
    ),
    "retired without a moment": Story((trust_key(OLD), KeyChange(key=OLD_ID, change="retire")), (), ()),
    "retired without a moment, then with one": Story(
        (trust_key(OLD), KeyChange(key=OLD_ID, change="retire"), retire_key(OLD_ID, NOW + MINUTE)), (), ()
    ),
    "trusted for a while": Story((msgspec.structs.replace(trust_key(OLD), until=NOW + MINUTE),), (OLD_ID,), ()),
    "trusted for a while, and past it": Story(
        (msgspec.structs.replace(trust_key(OLD), until=NOW + MINUTE),), (), (), MINUTE
    ),
    "a key under another's id": Story((msgspec.structs.replace(trust_key(NEW), key=OLD_ID),), (), ()),
    "a malformed key beside a good one": Story(
        (trust_key(OLD), msgspec.structs.replace(trust_key(NEW), public="?")), (OLD_ID,), (OLD_ID,)
    ),
    "two keys, the newest signs first": Story((trust_key(OLD), trust_key(NEW)), (OLD_ID, NEW_ID), (NEW_ID, OLD_ID)),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_whom_to_trust(story: Story) -> None:
    events = logged(*(checked(change, what="key change") for change in story.changes))
    keys = trusted(events, NOW + story.now)
    assert tuple(keys) == story.trusted
    assert all(keyid_of(public) == key for key, public in keys.items())
    assert signing_keys(events) == story.current


@dataclass(frozen=True)
class Signed:
    changes: tuple[KeyChange, ...]
    opens: bool
    now: timedelta = timedelta()


SIGNED = {
    "trusted": Signed((trust_key(OLD),), opens=True),
    "never trusted": Signed((trust_key(NEW),), opens=False),
    "retired, within the overlap": Signed(ROTATED, opens=True, now=MINUTE),
    "retired, after the overlap": Signed(ROTATED, opens=False, now=10 * MINUTE),
    "revoked": Signed((trust_key(OLD), revoke_key(OLD_ID, reason="stolen")), opens=False),
}


@pytest.mark.parametrize("case", SIGNED.values(), ids=SIGNED.keys())
def test_a_view_opens_only_under_a_trusted_key(case: Signed) -> None:
    envelope = seal_view(view_of(), SIGNER)
    keys = trusted(logged(*case.changes), NOW + case.now)
    if case.opens:
        assert open_view(envelope, keys) == view_of()
    else:
        with pytest.raises(SealError, match="not a trusted key"):
            open_view(envelope, keys)


CHANGES = st.sampled_from(
    [
        trust_key(OLD),
        trust_key(NEW),
        retire_key(OLD_ID, NOW),
        retire_key(OLD_ID, NOW + MINUTE),
        retire_key(NEW_ID, NOW + MINUTE),
        revoke_key(OLD_ID, reason="x"),
        revoke_key(NEW_ID, reason="x"),
        KeyChange(key=OLD_ID, change="retire"),
    ]
)


@settings(max_examples=200)
@given(changes=st.lists(CHANGES, max_size=8), shuffler=st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(changes: list[KeyChange], shuffler: object) -> None:
    shuffled = [*changes, *changes]
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    assert trusted(logged(*shuffled), NOW) == trusted(logged(*changes), NOW)


@settings(max_examples=200)
@given(changes=st.lists(CHANGES, max_size=8))
def test_what_signs_is_trusted_and_time_only_takes_away(changes: list[KeyChange]) -> None:
    events = logged(*changes)
    assert set(signing_keys(events)) <= set(trusted(events, NOW + 99 * MINUTE))
    assert set(trusted(events, NOW + MINUTE)) <= set(trusted(events, NOW))


MALFORMED = {
    "not base64": (msgspec.structs.replace(trust_key(OLD), public="?"), "public: not base64"),
    "beyond ASCII": (msgspec.structs.replace(trust_key(OLD), public="é"), "public: not base64"),
    "too short": (msgspec.structs.replace(trust_key(OLD), public="AAAA"), "public: 3 bytes"),
    "absent": (msgspec.structs.replace(trust_key(OLD), public=""), "public: 0 bytes"),
    "of another id": (msgspec.structs.replace(trust_key(OLD), key=NEW_ID), "key: is not the SHA-256"),
    "not a trust": (revoke_key(OLD_ID, reason="x"), "change: a revoke carries no key"),
}


@pytest.mark.parametrize(("change", "error"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_key_is_named(change: KeyChange, error: str) -> None:
    assert public_of(trust_key(OLD)) == OLD
    with pytest.raises(SealError, match=error):
        public_of(change)


def test_rotating_to_the_same_key_does_not_retire_it() -> None:
    assert rotate_key([OLD_ID], OLD, now=NOW, overlap=MINUTE) == (trust_key(OLD, reason="rotated"),)


def test_a_rotation_retires_every_other_key() -> None:
    fresh = b"\x07" * 32
    old = ["0" * 64, "f" * 64]
    changes = rotate_key(old, fresh, now=NOW, overlap=MINUTE)
    assert [change.key for change in changes if change.change == "retire"] == old


def test_other_events_in_between_hide_no_key() -> None:
    (first,) = logged(trust_key(SIGNER.public))
    stranger = msgspec.structs.replace(first, payload=view_of())
    assert trusted([stranger, first], NOW) == {SIGNER.keyid: SIGNER.public}


@pytest.mark.parametrize("size", [31, 33, 0])
def test_a_key_of_another_size_is_refused(size: int) -> None:
    public = bytes(size)
    with pytest.raises(SealError, match="32"):
        public_of(trust_key(public))
