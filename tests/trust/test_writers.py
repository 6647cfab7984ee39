"""What a writer signs, byte by byte, and which of its keys count when."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from readmit.events import EventKind
from readmit.policies import Policy
from readmit.records.acts.draft import Draft, draft
from readmit.records.acts.event import Revoke
from readmit.records.acts.operation import WriterKey
from readmit.trust.private_keys import LocalSigner, encode64
from readmit.trust.writer_signatures import Authority, SigningDomain, is_finding
from readmit.types import Event

NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
HERE = SigningDomain("team", "f" * 64)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def revoking(by: str = "bob") -> Draft:
    return draft(EventKind.REVOKE, Revoke(target="h"), id="r1", by=by, at=NOW)


def stored(entry: Draft, epoch: int) -> Event:
    fields = {
        name: getattr(entry, name) for name in ("id", "kind", "by", "at", "payload", "digest", "signature", "given")
    }
    return Event(epoch=epoch, learnt=NOW, **fields)


def change(epoch: int, payload: object, signer: LocalSigner | None = None, by: str = "owner") -> Event:
    kind = EventKind.GOVERN if isinstance(payload, Policy) else EventKind.WRITER
    entry = draft(kind, payload, id=f"c{epoch}", by=by, at=NOW)
    return stored(entry if signer is None else HERE.sign(entry, signer), epoch)


def enrol(principal: str, signer: LocalSigner) -> WriterKey:
    return WriterKey(principal=principal, key=signer.keyid, change="enrol", public=encode64(signer.public))


def test_the_signed_bytes_are_the_dsse_encoding_of_eight_fields() -> None:
    entry = revoking()
    said = {
        "at": "2026-05-04T09:00:00Z",
        "by": "bob",
        "given": False,
        "id": "revoke:r1",
        "kind": "revoke",
        "origin": "f" * 64,
        "payload": entry.digest,
        "workspace": "team",
    }
    body = json.dumps(said, separators=(",", ":"), sort_keys=True).encode()
    kind = b"application/vnd.readmit.event+json"
    signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)
    assert HERE.statement(entry) == signed
    # With the cryptography library alone, as another implementation would check it.
    signature = HERE.sign(entry, LocalSigner(KEY)).signature
    assert signature is not None
    KEY.public_key().verify(signature, signed)


@pytest.mark.parametrize(("epoch", "counts"), [(1, False), (2, True), (4, True), (5, False), (6, False)], ids=str)
def test_a_key_counts_between_its_enrolment_and_its_end(epoch: int, counts: bool) -> None:
    owner, bob = LocalSigner.generated()[0], LocalSigner(KEY)
    end = WriterKey(principal="bob", key=bob.keyid, change="revoke", since=5)
    found = Authority(HERE, [change(1, enrol("bob", bob)), change(3, enrol("owner", owner)), change(9, end, owner)])
    assert found.is_signed(stored(HERE.sign(revoking(), bob), epoch), epoch) is counts


def test_a_later_revocation_never_extends_a_key() -> None:
    bob = LocalSigner(KEY)
    ends = [WriterKey(principal="bob", key=bob.keyid, change="revoke", since=since) for since in (4, 8, None)]
    found = Authority(HERE, [change(1, enrol("bob", bob)), *(change(9 + n, one) for n, one in enumerate(ends))])
    assert [one.end for one in found.of("bob")] == [4]


def test_signatures_are_required_from_the_policy_on_until_another_one() -> None:
    owner = LocalSigner(KEY)
    found = Authority(
        HERE,
        [
            change(1, enrol("owner", owner)),
            change(5, Policy(evidence={"writers_signed": "required"}), owner),
            change(8, Policy(), owner),
        ],
    )
    assert [found.counts(stored(revoking(), epoch)) for epoch in (4, 6, 7, 9)] == [True, False, False, True]
    assert found.was_required
    assert not found.requires


def test_what_counts_as_a_finding_of_readmit() -> None:
    entry = revoking("readmit")
    assert not is_finding(entry)
    assert is_finding(msgspec.structs.replace(entry, kind=EventKind.SUSPECT))
    assert not is_finding(msgspec.structs.replace(revoking(), kind=EventKind.SUSPECT))
