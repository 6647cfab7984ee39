"""Statements: canonical bytes, and no view whose parts disagree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import rfc8785
from google.protobuf import json_format
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementMessage

from readmit.errors import SealError
from readmit.records.canonical import digest_of_set
from readmit.trust.statement import (
    PAYLOAD_TYPE,
    decode_view,
    encode_view,
    open_envelope,
    open_view,
    seal,
    seal_view,
)

from .issued_view import CHECKPOINT, IDENTITY, ITEMS, KEYS, MINUTE, NOW, SIGNER, view_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.types import Item, ReturnView


def test_a_view_survives_the_round_trip() -> None:
    view = view_of()
    envelope = seal_view(view, SIGNER)
    assert open_view(envelope, KEYS) == view
    assert seal_view(view, SIGNER) == envelope


def test_an_empty_view_is_a_view() -> None:
    view = view_of(items=(), experiences=())
    assert decode_view(encode_view(view)) == view


@pytest.mark.parametrize("items", [ITEMS, ()], ids=["items", "no items"])
def test_the_tools_of_in_toto_accept_a_statement(items: tuple[Item, ...]) -> None:
    """An empty list of subjects is refused by them."""
    data = encode_view(view_of(items, ()))
    read = StatementMessage()
    json_format.Parse(data, read)
    Statement.copy_from_pb(read).validate()
    assert json.loads(json_format.MessageToJson(read)) == json.loads(data)


def test_an_empty_view_is_about_what_was_held_at_departure() -> None:
    statement = json.loads(encode_view(view_of((), ())))
    assert statement["subject"] == [{"name": "checkpoint", "digest": {"sha256": CHECKPOINT}}]
    other = edited(view_of((), ()), lambda s: s["subject"][0]["digest"].update(sha256="d" * 64))
    with pytest.raises(SealError, match="subject"):
        decode_view(other)
    with pytest.raises(SealError, match="subject"):
        decode_view(edited(view_of((), ()), lambda s: s["subject"].clear()))


def test_the_statement_has_the_shape_of_in_toto() -> None:
    view = view_of()
    statement = json.loads(encode_view(view))
    assert list(statement) == ["_type", "predicate", "predicateType", "subject"]
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:readmit:return-view:1"
    assert statement["subject"] == [{"digest": {"sha256": item.digest}, "name": item.id} for item in view.items]
    assert statement["predicate"]["return_id"] == "r1"


def test_the_bytes_are_those_of_rfc_8785() -> None:
    data = encode_view(view_of())
    assert rfc8785.dumps(json.loads(data)) == data


def edited(view: ReturnView, edit: Callable[[dict[str, Any]], object]) -> bytes:
    """The statement with one edit, in canonical bytes again: what somebody who holds no key could write."""
    statement = json.loads(encode_view(view))
    edit(statement)
    return rfc8785.dumps(statement)


def swap(items: list[Any], one: int, other: int) -> None:
    items[one], items[other] = items[other], items[one]


def swap_digests(items: list[Any]) -> None:
    items[2]["digest"], items[3]["digest"] = items[3]["digest"], items[2]["digest"]


def everywhere(edit: Callable[[list[Any]], object], *, digest: bool = False) -> Callable[[dict[str, Any]], None]:
    def apply(statement: dict[str, Any]) -> None:
        items = statement["predicate"]["items"]
        edit(items)
        edit(statement["subject"])
        if digest:
            statement["predicate"]["items_digest"] = digest_of_set(item["digest"] for item in items)

    return apply


@dataclass(frozen=True)
class Edit:
    edit: Callable[[dict[str, Any]], object]
    error: str


EDITS = {
    "drop a subject": Edit(lambda s: s["subject"].pop(), "subject"),
    "drop an item": Edit(lambda s: s["predicate"]["items"].pop(), "subject"),
    "drop both": Edit(everywhere(list.pop), "items_digest"),
    "drop all": Edit(everywhere(list.clear), "subject"),
    "swap subjects": Edit(lambda s: swap(s["subject"], 0, 1), "subject"),
    "swap items": Edit(lambda s: swap(s["predicate"]["items"], 0, 1), "subject"),
    "swap both": Edit(everywhere(lambda items: swap(items, 0, 1)), "items_digest"),
    "reverse both": Edit(everywhere(list.reverse), "items_digest"),
    "exchange two digests": Edit(lambda s: swap_digests(s["predicate"]["items"]), "subject"),
    "rename a subject": Edit(lambda s: s["subject"][0].update(name="zz"), "subject"),
    "another items_digest": Edit(lambda s: s["predicate"].update(items_digest="0" * 64), "items_digest"),
    "an item twice": Edit(everywhere(lambda items: items.append(items[0]), digest=True), "listed twice"),
    "an experience twice": Edit(
        lambda s: s["predicate"]["experiences"].append(s["predicate"]["experiences"][0]), "listed twice"
    ),
    "an experience from outside": Edit(
        lambda s: s["predicate"]["experiences"][0].update(bound_to="zz"), "outside the view"
    ),
    "fewer characters than items": Edit(lambda s: s["predicate"].update(chars=4), "chars"),
    "expired at issue": Edit(lambda s: s["predicate"].update(expires=s["predicate"]["issued"]), "expires"),
    "expired before issue": Edit(lambda s: s["predicate"].update(expires="2020-01-01T00:00:00Z"), "expires"),
    "uncovered left out": Edit(lambda s: s["predicate"]["coverage"].update(obligations=2), "coverage"),
    "covers more than there is": Edit(lambda s: s["predicate"]["coverage"].update(covered=2), "coverage"),
    "covers more critical than there is": Edit(
        lambda s: s["predicate"]["coverage"].update(critical_covered=2), "coverage"
    ),
    "uncovered not counted": Edit(lambda s: s["predicate"]["coverage"].update(uncovered=["o1"]), "coverage"),
    "another statement type": Edit(lambda s: s.update(_type="https://in-toto.io/Statement/v0.1"), "_type"),
    "another predicate type": Edit(lambda s: s.update(predicateType="urn:readmit:return-view:2"), "predicateType"),
    "an unknown field": Edit(lambda s: s["predicate"].update(note="x"), "note"),
    "a field too few": Edit(lambda s: s["predicate"].pop("nonce"), "nonce"),
    "an epoch in text": Edit(lambda s: s["predicate"].update(epoch="7"), "epoch"),
    "an epoch below zero": Edit(lambda s: s["predicate"].update(epoch=-1), "epoch"),
    "a time without zone": Edit(lambda s: s["predicate"].update(expires="2026-03-01T12:15:00"), "expires"),
    "another way to write a time": Edit(
        lambda s: s["predicate"].update(expires="2026-03-01T12:15:00+00:00"), "canonical"
    ),
    "a default written out": Edit(lambda s: s["predicate"].update(purpose=None), "canonical"),
}


@pytest.mark.parametrize("case", EDITS.values(), ids=EDITS.keys())
def test_an_edited_statement_is_refused_even_when_signed(case: Edit) -> None:
    data = edited(view_of(), case.edit)
    envelope = seal(data, PAYLOAD_TYPE, SIGNER)
    assert open_envelope(envelope, KEYS, PAYLOAD_TYPE) == data
    with pytest.raises(SealError, match=case.error):
        open_view(envelope, KEYS)


def test_a_view_that_covers_a_part_is_possible() -> None:
    """Where the policy asks for less than everything."""
    partial = {"obligations": 3, "covered": 1, "critical": 3, "critical_covered": 1, "uncovered": ["o2", "o3"]}
    view = decode_view(edited(view_of(), lambda s: s["predicate"].update(coverage=partial)))
    assert (view.coverage.covered, view.coverage.uncovered) == (1, ("o2", "o3"))


def test_an_edit_without_effect_is_accepted() -> None:
    """The table above fails for what it edits, not for how it edits."""
    assert decode_view(edited(view_of(), lambda _: None)) == view_of()


def test_characters_without_items_are_refused() -> None:
    with pytest.raises(SealError, match="chars"):
        decode_view(edited(view_of((), ()), lambda s: s["predicate"].update(chars=1)))


@pytest.mark.parametrize("rewrite", [b" %b", b"%b\n", b"%b{}", b"\xef\xbb\xbf%b"])
def test_bytes_around_a_statement_are_refused(rewrite: bytes) -> None:
    with pytest.raises(SealError):
        decode_view(rewrite % encode_view(view_of()))


def test_a_repeated_key_is_refused() -> None:
    data = encode_view(view_of())
    with pytest.raises(SealError, match="canonical"):
        decode_view(data.replace(b'"epoch":7', b'"epoch":6,"epoch":7'))


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"\xff", b"[" * 100_000, b'{"_type":'])
def test_what_is_no_statement_is_refused(data: bytes) -> None:
    with pytest.raises(SealError):
        decode_view(data)


def test_an_inconsistent_view_is_never_encoded() -> None:
    view = view_of()
    with pytest.raises(SealError, match="items_digest"):
        encode_view(msgspec.structs.replace(view, items=view.items[:-1]))
    with pytest.raises(SealError, match="nonce"):
        encode_view(msgspec.structs.replace(view, nonce="two words"))


def test_the_view_is_bound_to_its_return() -> None:
    view = view_of()
    assert view.identity == IDENTITY
    assert (view.return_id, view.instance, view.nonce, view.epoch) == ("r1", "w1", "n1", 7)
    assert view.expires - view.issued == timedelta(seconds=900)
    assert view.issued == NOW
    assert view.expires > NOW + MINUTE
    assert view.chars == sum(len(item.text) for item in ITEMS)
