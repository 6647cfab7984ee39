"""The table of verbs: what a body may say, and what it may never say."""

from __future__ import annotations

import inspect

import msgspec
import pytest
from msgspec import UNSET

from readmit import Agent, Workspace
from readmit.remote import Verb, verbs
from readmit.types import Admin

VERBS = verbs()
BY_NAME = {verb.name: verb for verb in VERBS}

ABSENT = {
    Workspace: {
        "open",
        "close",
        "principal",
        "as_owner",
        "agent",
        "returned",
        "batch",
        "name",
        "epoch",
        "admin",
        "doctor",
    },
    Agent: {"delivery", "look", "subscribe"},
    Admin: {"policy", "log", "keys", "writers", "backup", "sweeper", "waiting", "notices", "write"},
}
"""Members that are handles, readings of their own, or that only the server's own programs call."""


@pytest.mark.parametrize("handle", ABSENT)
def test_every_verb_of_a_handle_has_a_row(handle: type) -> None:
    members = {name for name, _ in inspect.getmembers(handle) if not name.startswith("_")} - ABSENT[handle]
    rows = {verb.function.__name__ for verb in VERBS if verb.function is not None}
    assert members <= rows


def test_names_and_places_are_unique() -> None:
    assert len(BY_NAME) == len(VERBS)
    assert len({(verb.method, verb.path) for verb in VERBS}) == len(VERBS)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_no_body_says_who_writes(verb: Verb) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(verb.given)}
    assert not fields & {"by", "signer", "prober", "probe", "prepare", "report", "clock", "path"}
    if verb.name not in ("reassign", "doctor"):
        assert "principal" not in fields


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_a_body_refuses_what_it_does_not_know(verb: Verb) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"by": "owner"}', type=verb.given)


def test_one_observation_of_many_says_no_writer() -> None:
    body = BY_NAME["observe_many"].given
    with pytest.raises(msgspec.ValidationError, match="by"):
        msgspec.json.decode(b'{"observations": [{"text": "a", "by": "owner"}]}', type=body)
    made = msgspec.json.decode(b'{"observations": ["a", {"text": "b", "id": "o2"}]}', type=body)
    assert msgspec.to_builtins(made) == {"observations": ["a", {"text": "b", "id": "o2"}]}


def test_an_absent_field_is_left_to_the_function() -> None:
    body = BY_NAME["record"].given
    made = msgspec.json.decode(b'{"text": "Booked", "slot": null}', type=body)
    assert msgspec.to_builtins(made) == {"text": "Booked", "slot": None}
    assert getattr(made, "task") is UNSET  # noqa: B009 - the field is made from a signature


def test_an_agent_may_do_this_and_nothing_else() -> None:
    own = {verb.name for verb in VERBS if "agent" in verb.rights}
    assert own == {
        "depart", "come_back", "expose", "expose_retractions", "acknowledge", "recall", "observe", "observe_many",
        "draft", "search", "present", "renew", "departed", "now", "subscribe", "status", "keys", "workspaces",
    }  # fmt: skip


def test_a_draft_cannot_end_anything() -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(BY_NAME["draft"].given)}
    assert not fields & {"supersedes", "inherits", "expects", "expects_nothing", "kind"}
    with pytest.raises(msgspec.ValidationError, match="drafted"):
        msgspec.json.decode(b'{"role": "r", "task": "t", "text": "a"}', type=BY_NAME["draft"].given)
