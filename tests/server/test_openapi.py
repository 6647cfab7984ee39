"""The OpenAPI document: it is the one that is checked in, and says what the server does."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from readmit.remote import verbs
from tests.conftest import ROOT

PLACE = ROOT / "docs" / "reference" / "openapi.json"


@pytest.fixture(scope="module")
def made() -> bytes:
    command = [sys.executable, "-m", "readmit.server.openapi_document"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def test_the_document_is_the_one_that_is_checked_in(made: bytes) -> None:
    assert made == PLACE.read_bytes(), f"run: python -m readmit.server.openapi_document > {PLACE.relative_to(ROOT)}"


def test_every_verb_is_in_it_once(made: bytes) -> None:
    paths: dict[str, Any] = msgspec.json.decode(made)["paths"]
    named = [one["operationId"] for methods in paths.values() for one in methods.values()]
    assert len(named) == len(set(named))
    assert {verb.name for verb in verbs()} <= set(named)


def test_every_reference_leads_somewhere(made: bytes) -> None:
    document = msgspec.json.decode(made)
    wanted = set(re.findall(rb'"#/components/schemas/([^"]+)"', made))
    assert {name.decode() for name in wanted} <= set(document["components"]["schemas"])


def test_no_body_has_a_field_for_the_writer(made: bytes) -> None:
    schemas = msgspec.json.decode(made)["components"]["schemas"]
    bodies = {name: one for name, one in schemas.items() if name.endswith("Given")}
    assert len(bodies) > 20
    assert not {name for name, one in bodies.items() if "by" in one["properties"]}
