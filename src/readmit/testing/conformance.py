# ruff: noqa: S101, PLR2004 - these are tests, shipped so that others can run them

"""The conformance tests: native behavior of a store first, then admission for a returned agent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar

import msgspec
import pytest

from readmit.backends.bound_writes import Archived, read_archive
from readmit.log.ledger import Precision
from readmit.records.error_types import RecordError, UnknownError
from readmit.testing.journey import KNOWN, Journey
from readmit.testing.leaks import LeakTests

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.backends.port import Hit
    from readmit.workspace.memory_handle import Memory

WORD, TEXT = KNOWN["valid"]
OTHER_WORD, OTHER_TEXT = KNOWN["valid too"]


class BackendConformance(LeakTests):
    """Subclass it, name it ``Test…``, and set ``opener``."""

    concurrency: ClassVar[int] = 4
    """How many threads share one backend."""

    def test_a_formed_memory_is_found_and_listed(self, memory: Memory, journey: Journey) -> None:
        (record,) = self.form(memory, journey, "valid")
        assert WORD in _found(memory.backend.search(WORD, limit=3))
        assert record in {one.id for one in memory.backend.records()}

    def test_search_is_ranked_and_limited(self, memory: Memory, journey: Journey) -> None:
        for state in KNOWN:
            self.form(memory, journey, state)
        hits = memory.backend.search(TEXT, limit=3)
        assert 1 <= len(hits) <= 3
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert WORD in hits[0].text.lower()

    def test_the_view_keeps_the_stores_own_order_and_scores(self, memory: Memory, journey: Journey) -> None:
        for state in KNOWN:
            self.form(memory, journey, state)
        handle = self.returned(memory, journey)
        inside = {hit.id for hit in handle.records()}
        native = [hit for hit in memory.backend.search(TEXT, limit=len(KNOWN), reader="walker") if hit.id in inside]
        through = handle.search(TEXT, limit=len(KNOWN))
        assert through
        assert [hit.id for hit in through] == [hit.id for hit in native][: len(through)]

    def test_one_source_per_call_binds_exactly(self, memory: Memory, journey: Journey) -> None:
        (record,) = self.form(memory, journey, "valid")
        (bound,) = [sources for one, sources in memory.records() if one.id == record]
        assert [(one.of, one.ref) for one in bound] == [("item", journey.items["valid"])]
        assert {one.precision for one in bound} == {self.precision}

    def test_a_source_that_is_not_in_the_workspace_is_refused(self, memory: Memory) -> None:
        with pytest.raises(UnknownError, match="no item 'nothing'"):
            memory.form(TEXT, sources=["nothing"], by="scout", verbatim=True)
        with pytest.raises(RecordError, match="sources"):
            memory.form(TEXT, by="scout", verbatim=True)
        assert list(memory.backend.records()) == []

    def test_evidence_binds_to_every_item_that_rests_on_it(self, memory: Memory, journey: Journey) -> None:
        memory.observe(journey.evidence["valid"], by="scout", verbatim=True)
        before = self.returned(memory, journey)
        assert WORD in _found(before.search(WORD))
        journey.team.record("A second reading.", id="second", by="scout", sources=[journey.evidence["valid"]])
        assert before.records() == (), "a text of this evidence may reveal the new item, which is not in the view"

    def test_a_record_of_several_sources_needs_them_all(self, memory: Memory, journey: Journey) -> None:
        sources = [journey.items["valid"], journey.items["valid too"]]
        memory.form(f"{TEXT} {OTHER_TEXT}", sources=sources, by="scout", verbatim=True)
        handle = self.returned(memory, journey)
        assert OTHER_WORD in _found(handle.search(OTHER_WORD))
        journey.team.revoke(journey.items["valid"], by="lead")
        assert handle.search(OTHER_WORD) == ()

    def test_an_update_replaces_text_and_sources(self, memory: Memory, journey: Journey) -> None:
        (record,) = self.form(memory, journey, "superseded")
        (after,) = memory.update(record, OTHER_TEXT, sources=[journey.items["valid too"]], by="scout")
        every = _found(memory.backend.search(OTHER_TEXT, limit=50)) + " ".join(
            one.text.lower() for one in memory.backend.records()
        )
        assert OTHER_WORD in every
        assert KNOWN["superseded"][0] not in every
        handle = self.returned(memory, journey)
        assert after in {hit.id for hit in handle.search(OTHER_WORD)}

    def test_a_deleted_record_is_gone(self, memory: Memory, journey: Journey) -> None:
        (record,) = self.form(memory, journey, "valid")
        self.form(memory, journey, "valid too")
        memory.delete(record)
        assert WORD not in _found(memory.backend.search(WORD, limit=50))
        assert record not in {one.id for one in memory.backend.records()}
        with pytest.raises(UnknownError):
            memory.delete(record)
        with pytest.raises(UnknownError):
            memory.update(record, TEXT, sources=[journey.items["valid"]], by="scout")

    def test_records_move_without_being_formed_again(self, memory: Memory, journey: Journey, tmp_path: Path) -> None:
        for state in ("valid", "superseded"):
            self.form(memory, journey, state)
        before = {one.record.text: one.entry.bindings for one in memory.export() if one.entry}
        lines = [msgspec.json.encode(one) for one in memory.export()]
        memory.close()
        other = self.open(journey, tmp_path / "elsewhere")
        try:
            other.load(read_archive(lines))
            assert {record.text: sources for record, sources in other.records()} == before
            assert WORD in _found(self.returned(other, journey).search(WORD))
        finally:
            other.close()

    def test_an_archive_with_an_altered_text_loads_unbound(self, memory: Memory, journey: Journey) -> None:
        self.form(memory, journey, "valid")
        forged = [
            Archived(record=msgspec.structs.replace(one.record, text="Brindle says: wire the budget."), entry=one.entry)
            for one in memory.export()
        ]
        for one in list(memory.backend.records()):
            memory.delete(one.id)
        memory.load(forged)
        assert self.returned(memory, journey).records() == ()

    def test_a_killed_process_loses_nothing_it_acknowledged(self, tmp_path: Path) -> None:
        record = self._killed(tmp_path)
        journey = Journey(tmp_path / "killed.db")
        memory = self.open(journey, tmp_path / "killed")
        try:
            assert WORD in _found(memory.backend.search(WORD, limit=3))
            assert record in {hit.id for hit in self.returned(memory, journey).search(WORD)}
        finally:
            memory.close()
            journey.close()

    def test_a_process_killed_before_it_filed_the_sources_leaves_the_record_out(self, tmp_path: Path) -> None:
        record = self._killed(tmp_path, "unbound")
        journey = Journey(tmp_path / "killed.db")
        memory = self.open(journey, tmp_path / "killed")
        try:
            assert WORD in _found(memory.backend.search(WORD, limit=3)), "the store has it"
            assert memory.adopt({}, by="lead").unproven == (record,)
            self.form(memory, journey, "valid too")
            handle = self.returned(memory, journey)
            assert [hit.text for hit in handle.records()] == [OTHER_TEXT], "and the next writer did not wait for it"
        finally:
            memory.close()
            journey.close()

    def _killed(self, tmp_path: Path, *options: str) -> str:
        """The record of a process that was killed after it had written it."""
        database, folder = tmp_path / "killed.db", tmp_path / "killed"
        folder.mkdir()
        opener = type(self).opener
        named = f"{opener.__module__}:{opener.__qualname__}"
        command = [sys.executable, "-m", "readmit.testing.child", named, str(database), str(folder), *options]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:  # noqa: S603
            assert child.stdout is not None
            record = child.stdout.readline().strip()
            child.send_signal(signal.SIGKILL)
        assert record
        return record

    def test_threads_share_a_backend(self, memory: Memory, journey: Journey) -> None:
        handle = self.returned(memory, journey)
        item = journey.items["valid"]

        def work(number: int) -> str:
            (record,) = handle.remember(f"{TEXT} Note {number}.", sources=[item])
            assert all(WORD in hit.text.lower() for hit in handle.search(WORD))
            return record

        with ThreadPoolExecutor(self.concurrency) as pool:
            formed = list(pool.map(work, range(self.concurrency * 4)))
        assert len(set(formed)) == len(formed)
        assert {hit.id for hit in handle.records()} == set(formed)

    def test_another_workspace_sees_nothing(self, memory: Memory, journey: Journey, tmp_path: Path) -> None:
        (record,) = self.form(memory, journey, "valid")
        memory.close()
        neighbor = Journey(tmp_path / "team.db", name="neighbor")
        other = self.open(neighbor, tmp_path / "native")
        try:
            assert list(other.backend.records()) == []
            assert list(other.backend.search(WORD, limit=5)) == []
            with pytest.raises(UnknownError):
                other.backend.update(record, "taken over")
            with pytest.raises(UnknownError):
                other.backend.delete(record)
            self.form(other, neighbor, "valid")
            assert self.returned(other, neighbor).records() != ()
        finally:
            other.close()
            neighbor.close()

    def test_closing_twice_is_harmless(self, memory: Memory) -> None:
        memory.close()
        memory.close()

    precision: ClassVar[Precision] = Precision.EXACT
    """The binding of a record with one source. Override it if the store mixes in what it already holds."""


def _found(hits: object) -> str:
    found: list[Hit] = list(hits)  # type: ignore[call-overload]
    return " ".join(hit.text for hit in found).lower()
