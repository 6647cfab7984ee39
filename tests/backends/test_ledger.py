from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import Workspace
from readmit.backends.bound_writes import BoundBackend, bindings, union
from readmit.errors import BackendError, StoreError, UnknownError
from readmit.lab import Entry
from readmit.memory import Binding, Change, Material, Precision, Stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@pytest.fixture
def team(place: Path | str) -> Iterator[Workspace]:
    with Workspace.open(place) as opened:
        seen = opened.observe("Two things were seen.", by="scout")
        for name in ("a", "b", "c"):
            opened.record(f"Statement {name}", id=name, by="scout", sources=[seen])
        yield opened


def entry(record: str, *sources: Binding) -> Entry:
    return Entry(record=record, text="0" * 64, bindings=sources, by="scout")


def test_entries_are_replaced_and_dropped_and_the_version_moves(team: Workspace) -> None:
    ledger = team._desk.log.sources
    assert ledger.version("x") == 0
    ledger.write("x", [entry("r1", Binding(ref="a")), entry("r2", Binding(ref="b"))])
    first = ledger.version("x")
    ledger.write("x", [entry("r1", Binding(ref="c"))], drop=["r2"])
    assert ledger.version("x") > first > 0
    assert ledger.entries("x") == {"r1": entry("r1", Binding(ref="c"))}
    assert ledger.entry("x", "r2") is None


def test_backends_and_workspaces_are_apart(team: Workspace, place: Path | str) -> None:
    team._desk.log.sources.write("x", [entry("r", Binding(ref="a"))])
    assert team._desk.log.sources.entries("y") == {}
    with Workspace.open(place, name="neighbor") as neighbor:
        assert neighbor._desk.log.sources.entries("x") == {}
        assert neighbor._desk.log.sources.version("x") == 0
        assert neighbor._desk.log.sources.lacking([Binding(ref="a")]) == (Binding(ref="a"),)
        neighbor._desk.log.sources.write("x", [], drop=["r"])
    assert team._desk.log.sources.entry("x", "r") is not None


def test_carriers_follow_the_log(team: Workspace) -> None:
    shared = team.observe("Two things were seen.", by="scout", at=None, id="again")
    other = team.observe("Nobody built on this.", by="scout")
    ledger = team._desk.log.sources
    ledger.write("x", [entry("r", Binding(of="evidence", ref=shared), Binding(of="evidence", ref=other))])
    first = ledger.carriers("x")
    assert other not in first
    team.record("A fourth", id="d", by="scout", sources=[shared])
    assert ledger.carriers("x").get(shared, frozenset()) - first.get(shared, frozenset()) == {"d"}
    ledger.write("x", [], drop=["r"])
    assert ledger.carriers("x") == {}


def test_a_ledger_entry_survives_a_restart(place: Path | str) -> None:
    with Workspace.open(place) as before:
        before._desk.log.sources.write("x", [entry("r", Binding(ref="a"))])
    with Workspace.open(place) as after:
        assert after._desk.log.sources.entries("x") == {"r": entry("r", Binding(ref="a"))}


class Reporting:
    """A store that reports the changes it is given."""

    name = "reporting:here"
    workspace = "default"

    def __init__(self, *changes: Change) -> None:
        self.changes: Sequence[Change] = changes
        self.deleted: list[str] = []

    def form(self, material: Material) -> Sequence[Change]:
        return self.changes

    def update(self, record: str, text: str) -> Sequence[Change]:
        return self.changes

    def delete(self, record: str) -> None:
        self.deleted.append(record)

    def load(self, records: Sequence[Stored]) -> Sequence[str]:
        return []


def changed(kind: str, text: str = "t", *, record: str = "r", precision: Precision = Precision.EXACT) -> Change:
    return Change(kind=kind, record=Stored(id=record, text=text), precision=precision)  # type: ignore[arg-type]


def bound_to(team: Workspace, store: Reporting, record: str = "r") -> set[tuple[str, str]]:
    found = team._desk.log.sources.entry(store.name, record)
    assert found is not None
    return {(one.ref, one.precision) for one in found.bindings}


def test_a_merge_binds_the_union_conservatively(team: Workspace) -> None:
    store = Reporting(changed("added"))
    bound = BoundBackend(store, team._desk.log.sources)  # type: ignore[arg-type]
    bound.form("t", bindings(["a"]), by="scout")
    assert bound_to(team, store) == {("a", "exact")}
    store.changes = (changed("merged", "t and u"),)
    bound.form("u", bindings(["b"]), by="scout")
    assert bound_to(team, store) == {("a", "conservative"), ("b", "conservative")}


def test_a_merge_into_an_unknown_record_stays_unknown(team: Workspace) -> None:
    store = Reporting(changed("merged"))
    bound = BoundBackend(store, team._desk.log.sources)  # type: ignore[arg-type]
    bound.form("t", bindings(["a"]), by="scout")
    assert bound_to(team, store) == set()


def test_what_a_store_cannot_vouch_for_is_conservative(team: Workspace) -> None:
    store = Reporting(changed("added", precision=Precision.CONSERVATIVE))
    BoundBackend(store, team._desk.log.sources).form("t", bindings(["a"]), by="scout")  # type: ignore[arg-type]
    assert bound_to(team, store) == {("a", "conservative")}


def test_a_replaced_text_has_only_its_new_sources(team: Workspace) -> None:
    store = Reporting(changed("added"))
    bound = BoundBackend(store, team._desk.log.sources)  # type: ignore[arg-type]
    bound.form("t", bindings(["a"]), by="scout")
    store.changes = (changed("replaced", "u"),)
    bound.update("r", "u", bindings(["b"]), by="scout")
    assert bound_to(team, store) == {("b", "exact")}


def test_a_record_that_forming_removed_is_forgotten(team: Workspace) -> None:
    store = Reporting(changed("added"))
    bound = BoundBackend(store, team._desk.log.sources)  # type: ignore[arg-type]
    bound.form("t", bindings(["a"]), by="scout")
    store.changes = (changed("added", "u", record="s"), changed("deleted"))
    assert bound.form("u", bindings(["b"]), by="scout") == ("s",)
    assert set(team._desk.log.sources.entries(store.name)) == {"s"}


def test_a_record_that_replaces_others_holds_their_sources_and_their_writers(team: Workspace) -> None:
    store = Reporting(changed("added"), changed("added", record="s"))
    bound = BoundBackend(store, team._desk.log.sources)  # type: ignore[arg-type]
    bound.form("t", bindings(["a"]), by="scout")
    joined = Change(kind="added", record=Stored(id="new", text="t, t and u"), holds=("r", "s"))
    store.changes = (changed("deleted"), changed("deleted", record="s"), joined)
    bound.form("u", bindings(["b"]), by="lead")
    assert bound_to(team, store, "new") == {("a", "conservative"), ("b", "conservative")}
    (held,) = team._desk.log.sources.entries(store.name).values()
    assert held.writers == {"scout", "lead"}


def test_a_record_that_replaces_one_of_unknown_origin_stays_unknown(team: Workspace) -> None:
    store = Reporting(changed("added"))
    bound = BoundBackend(store, team._desk.log.sources)  # type: ignore[arg-type]
    bound.form("t", bindings(["a"]), by="scout")
    store.changes = (Change(kind="added", record=Stored(id="new", text="x"), holds=("planted", "r")),)
    bound.form("u", bindings(["b"]), by="scout")
    assert bound_to(team, store, "new") == set()


def test_an_import_that_stops_halfway_binds_nothing(team: Workspace) -> None:
    from readmit.lab import text_digest
    from readmit.memory import Archived

    one = Entry(record="r", text=text_digest("t"), bindings=bindings(["a"]), by="scout")
    bound = BoundBackend(Reporting(), team._desk.log.sources)  # type: ignore[arg-type]
    with pytest.raises(BackendError, match="took in 0 of 1"):
        bound.load([Archived(record=Stored(id="r", text="t"), entry=one)])
    assert team._desk.log.sources.entries("reporting:here") == {}


def test_an_archive_of_another_workspace_is_refused(team: Workspace) -> None:
    from readmit.lab import text_digest
    from readmit.memory import Archived

    foreign = Entry(record="r", text=text_digest("t"), bindings=bindings(["elsewhere"]), by="scout")
    bound = BoundBackend(Reporting(), team._desk.log.sources)  # type: ignore[arg-type]
    with pytest.raises(UnknownError, match="elsewhere"):
        bound.load([Archived(record=Stored(id="r", text="t"), entry=foreign)])


def test_if_the_ledger_cannot_be_written_the_record_stays_unbound(
    team: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Reporting(changed("added"))
    bound = BoundBackend(store, team._desk.log.sources)  # type: ignore[arg-type]

    def fails(*_: object, **__: object) -> None:
        raise StoreError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(bound.ledger, "write", fails)
        with pytest.raises(StoreError):
            bound.form("t", bindings(["a"]), by="scout")
    assert team._desk.log.sources.entry(store.name, "r") is None


def test_a_union_names_each_source_once() -> None:
    before = bindings(["a", "b"])
    assert [one.ref for one in union(before, bindings(["b", "c"]))] == ["a", "b", "c"]
