"""Digests of state do not depend on the process that makes them."""

from __future__ import annotations

import collections
import dataclasses
import enum
import json
import os
import subprocess
import sys
import uuid
from typing import Any

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from readmit.backends.langgraph.digest import value_digest
from tests.conftest import ROOT

pytestmark = pytest.mark.backends
WORDS = [f"word {n}" for n in range(40)]


class Tags(set[str]):
    """A set with a name of its own."""


@dataclasses.dataclass
class Trip:
    tags: frozenset[str]
    inner: list[Any]


class Model(BaseModel):
    words: set[str]
    more: dict[str, frozenset[str]]


class Pair(enum.Enum):
    ONE = (1, 2)
    TWO = (2, 1)


class Opaque:
    """Only pickle takes this apart."""

    def __init__(self) -> None:
        self.words = set(WORDS)
        self.inner = [frozenset(WORDS)]


UNORDERED: dict[str, Any] = {
    "a set": set(WORDS),
    "a frozen set": frozenset(WORDS),
    "a set class": Tags(WORDS),
    "a set of sets": {frozenset(WORDS), frozenset(WORDS[:9])},
    "sets as keys": {frozenset(WORDS): 1, uuid.UUID(int=1): 2},
    "in a dict": {"a": [{"b": set(WORDS)}]},
    "in a dataclass": Trip(frozenset(WORDS), [set(WORDS)]),
    "in a model": Model(words=set(WORDS), more={"x": frozenset(WORDS)}),
    "in a message": HumanMessage("hi", id="1", additional_kwargs={"seen": set(WORDS)}),
    "in messages": [AIMessage("hi", id="2", response_metadata={"tags": {"a": set(WORDS)}})],
    "in an object": Opaque(),
}


def digests() -> dict[str, str]:
    return {name: value_digest(name, value) for name, value in UNORDERED.items()}


def test_sets_have_one_digest_under_every_hash_seed() -> None:
    ours, script = digests(), "import json, tests.backends.langgraph.test_digest as t; print(json.dumps(t.digests()))"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
        )
        assert json.loads(ran.stdout) == ours


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a", "b"}, {"a", "c"}),
        ({"a", "b"}, frozenset({"a", "b"})),
        ([1, 2], [2, 1]),
        (collections.deque([1, 2]), collections.deque([2, 1])),
        (Pair.ONE, Pair.TWO),
        ({"a": {1}}, {"a": {2}}),
        (True, 1),
        ("1", 1),
        (None, ""),
        (b"x", "x"),
        (Trip(frozenset(), [{1}]), Trip(frozenset(), [{2}])),
    ],
)
def test_different_values_have_different_digests(one: Any, other: Any) -> None:
    assert value_digest("x", one) != value_digest("x", other)


def test_a_part_that_differs_is_seen_in_an_object_too() -> None:
    changed = Opaque()
    changed.words.discard(WORDS[0])
    assert value_digest("x", Opaque()) != value_digest("x", changed)
