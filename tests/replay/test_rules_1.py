"""Past decisions come to the same bytes, whatever the rules have become since.

``rules-1.db.xz`` is a store that was written under the first rules, by the code of commit 432a5c9, and must never be
rewritten by later code. ``rules-1.json`` holds, for each of its workspaces and returns, how the return ended, the
SHA-256 of the decision as it was filed and, where the decision rests on a fault, which; those are not replayed.

=============== ========================================================================================
``slots``       statements that take each other's place, of one task, another and none
``lifecycle``   supersede, revoke, close and rebase; dated now, back and ahead; a clock that was set back
``disputes``    resolved, resolved twice, by the one who returns, dated ahead
``verdicts``    suspicions and verdicts: which of them count, and for which use
``overrules``   the three grants, in time, expired, too early, by the one who returns
``premises``    chains of premises, also out of the reader's sight
``unchecked``   items that no verb would have written: a premise and evidence that do not exist
``writers``     a closed circle of writers, receipts and duties from outside of it
``duties``      what is owed and what ends it, frontiers, kinds, sizes
``cover``       budgets, selectors, shares, a solver that met its deadline
``roles``       returns in another role, to another task, from a named, an early and a forged departure
``views``       exposures, private experiences, changed keys, and faults
``family-trip`` ``examples/travel.json``
``mix-1`` …     lives of a team, drawn from a seed
=============== ========================================================================================

Where the exact solver was asked, only one answer was possible: another release of it has no choice either.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from readmit import Workspace
from readmit.records.canonical import digest_of
from readmit.records.decisions import Returned
from readmit.store.location import names
from readmit.workspace.auditing import audit

HERE = Path(__file__).parent
EXPECTED: dict[str, dict[str, dict[str, str]]] = json.loads((HERE / "rules-1.json").read_text(encoding="utf-8"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A copy of the store. Its signing keys are gone, as they would be on another machine."""
    file = tmp_path / "rules-1.db"
    file.write_bytes(lzma.decompress((HERE / "rules-1.db.xz").read_bytes()))
    return file


def test_the_store_holds_what_is_expected_of_it(store: Path) -> None:
    assert list(names(store)) == list(EXPECTED)
    kinds = {one["kind"] for returns in EXPECTED.values() for one in returns.values()}
    assert kinds == {"admitted", "blocked", "reset"}
    faults = {name: one["fault"] for returns in EXPECTED.values() for name, one in returns.items() if "fault" in one}
    assert faults == {
        "unsigned": "signer_failed",
        "failed": "internal_error",
        "unprepared": "inference_failed",
        "unprepared2": "inference_failed",
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_past_decisions_replay_to_the_same_bytes(store: Path, name: str) -> None:
    with Workspace.open(store, name=name) as workspace:
        found = {
            event.payload.request.return_id: _summary(workspace, event.payload)
            for event in workspace.log.tail()
            if isinstance(event.payload, Returned)
        }
    differing = {one: found.get(one) for one, expected in EXPECTED[name].items() if found.get(one) != expected}
    assert differing == {}, f"{len(differing)} of {len(found)} returns do not replay"
    assert list(found) == list(EXPECTED[name])


@pytest.mark.parametrize("name", EXPECTED)
def test_the_audit_is_intact_in_the_hands_of_later_code(store: Path, name: str) -> None:
    """Log and audit verify, and every index is what the log comes to today."""
    with Workspace.open(store, name=name) as workspace:
        report = audit(workspace.log)
    assert report.problems == ()
    assert report.returns == len(EXPECTED[name])


def _summary(workspace: Workspace, returned: Returned) -> dict[str, Any]:
    """A return as it is expected, and in what its replay differs, if it does."""
    name = returned.request.return_id
    stored = workspace.log.audit.decision(name)
    replay = workspace.replay(name)
    summary: dict[str, Any] = {"kind": replay.kind, "decision": "" if stored is None else digest_of(stored.body)}
    if replay.skipped:
        summary["fault"] = returned.failed
    if replay.differences:
        summary["differences"] = replay.differences
    return summary


def test_every_past_return_can_be_asked_why(store: Path) -> None:
    for name, returns in EXPECTED.items():
        with Workspace.open(store, name=name) as workspace:
            for past, expected in returns.items():
                found = workspace.why(past)
                assert found.symptoms or expected["kind"] == "admitted"
                assert all(one.says for one in found.symptoms)
