"""What the adapter relies on in LangGraph. A failure names what changed upstream."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import version

import pytest

pytest.importorskip("langgraph", reason="needs langgraph: pip install 'readmit[langgraph]'")

from langgraph._internal import _constants as constants
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointMetadata, CheckpointTuple, empty_checkpoint
from langgraph.errors import GraphInterrupt
from langgraph.graph import state as graph_state
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, PutOp, SearchOp
from langgraph.types import Interrupt, StateSnapshot

from readmit.backends.langgraph import ReturningSaver
from readmit.backends.langgraph import run_or_look as looking
from tests.backends.contract import check_version

pytestmark = pytest.mark.backends

OPERATIONS = {
    GetOp: ("namespace", "key", "refresh_ttl"),
    SearchOp: ("namespace_prefix", "filter", "limit", "offset", "query", "refresh_ttl"),
    ListNamespacesOp: ("match_conditions", "max_depth", "limit", "offset"),
    PutOp: ("namespace", "key", "value", "index", "ttl"),
    CheckpointTuple: ("config", "checkpoint", "metadata", "parent_config", "pending_writes"),
}
SAVER = {
    "get_tuple": ("config",),
    "list": ("config", "filter", "before", "limit"),
    "put": ("config", "checkpoint", "metadata", "new_versions"),
    "put_writes": ("config", "writes", "task_id", "task_path"),
    "delete_thread": ("thread_id",),
    "delete_for_runs": ("run_ids",),
    "copy_thread": ("source_thread_id", "target_thread_id"),
    "prune": ("thread_ids", "strategy"),
    "get_next_version": ("current", "channel"),
    "with_allowlist": ("extra_allowlist",),
}
READS = {"get", "get_tuple", "list", "get_delta_channel_history"}
"""Every way to read state. The first and the last are built on ``get_tuple`` by LangGraph itself."""
WRITES = {"put", "put_writes", "delete_thread", "delete_for_runs", "copy_thread", "prune"}


def _tested() -> str:
    return f"langgraph {version('langgraph')}, langgraph-checkpoint {version('langgraph-checkpoint')}"


def test_the_tested_releases_are_installed() -> None:
    check_version("langgraph", least=(1, 2), below=(2,))
    check_version("langgraph-checkpoint", least=(4, 3), below=(5,))


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    without = "import sys; sys.modules['langgraph'] = None; import readmit.backends.langgraph"
    failed = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=False)
    assert "BackendError: langgraph is not installed; run: pip install 'readmit[langgraph]'" in failed.stderr


def test_importing_readmit_does_not_import_it() -> None:
    lazily = "import sys, readmit, readmit.workspace.memory_handle; sys.exit('langgraph' in sys.modules)"
    subprocess.run([sys.executable, "-c", lazily], check=True)


@pytest.mark.parametrize("kind", OPERATIONS, ids=lambda kind: kind.__name__)
def test_the_fields_of_operations(kind: type) -> None:
    expected, found = OPERATIONS[kind], tuple(kind._fields)  # type: ignore[attr-defined]
    assert found == expected, f"{kind.__name__} had {expected}, has {found} in {_tested()}: see langgraph/records.py"


@pytest.mark.parametrize("name", SAVER)
def test_the_methods_of_savers(name: str) -> None:
    for method in (name, f"a{name}") if name not in ("get_next_version", "with_allowlist") else (name,):
        found = tuple(inspect.signature(getattr(BaseCheckpointSaver, method)).parameters)[1:]
        assert found == SAVER[name], (
            f"{method} took {SAVER[name]}, takes {found} in {_tested()}: see langgraph/saver.py"
        )


def test_no_way_to_read_or_write_is_new() -> None:
    public = {name for name in vars(BaseCheckpointSaver) if not name.startswith("_")}
    known = READS | WRITES | {f"a{name}" for name in READS | WRITES}
    known |= {"serde", "config_specs", "get_next_version", "with_allowlist"}
    assert public - known == set(), f"BaseCheckpointSaver has new methods in {_tested()}: do they read past the view?"
    abstract = BaseStore.__abstractmethods__
    assert abstract == {"batch", "abatch"}, f"BaseStore asks for {sorted(abstract)} in {_tested()}"


def test_reads_that_are_inherited_rest_on_get_tuple() -> None:
    for name in ("get", "get_delta_channel_history"):
        assert name not in vars(ReturningSaver)
        source = inspect.getsource(getattr(BaseCheckpointSaver, name))
        assert "self.get_tuple(" in source, f"{name} no longer reads through get_tuple in {_tested()}"


def test_every_method_that_writes_has_its_own_way_here() -> None:
    for name in WRITES:
        assert {name, f"a{name}"} <= set(vars(ReturningSaver)), f"{name} would write past the ledger"


def test_a_run_is_marked_by_its_runtime() -> None:
    assert looking.RUNTIME == constants.CONFIG_KEY_RUNTIME, f"runs are marked otherwise in {_tested()}"


def test_counters_name_the_channels_that_are_kept_as_a_history() -> None:
    assert "counters_since_delta_snapshot" in CheckpointMetadata.__annotations__, f"they are gone in {_tested()}"


def test_the_shape_of_a_checkpoint() -> None:
    found = set(empty_checkpoint())
    expected = {"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "pending_sends"}
    assert found - {"updated_channels"} == expected, f"a checkpoint has {sorted(found)} in {_tested()}"


def test_the_names_of_control_channels() -> None:
    assert graph_state._CHANNEL_BRANCH_TO == "branch:to:{}", f"edges are named otherwise in {_tested()}"
    assert "join:{" in inspect.getsource(graph_state), f"joins are named otherwise in {_tested()}"


def test_interrupts() -> None:
    assert Interrupt(value=1, id="x").id == "x"
    assert GraphInterrupt((Interrupt(value=1, id="x"),)).args[0][0].value == 1
    assert {"next", "interrupts", "values", "tasks"} <= set(StateSnapshot._fields)
