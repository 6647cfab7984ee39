"""Every method of the comparison: its name, its rule, and how it is made. A method is one file and one entry here.

Other packages add a ``MethodEntry`` through the entry point group ``readmit_bench.methods``. Code that asks models is
imported only when its method is made, so that the process of the methods without models stays small and never loads
data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from readmit.errors import BackendError, ModelError, RecordError
from readmit_bench.entry_points import METHODS, with_installed
from readmit_bench.methods.drop_last_session import DropLastSession
from readmit_bench.methods.memstrata import MemStrata
from readmit_bench.methods.memtx import MemTX
from readmit_bench.methods.readmit_lexical import ReadmitLexical
from readmit_bench.methods.reset import Reset
from readmit_bench.methods.restore import Restore
from readmit_bench.methods.same_version import SameVersion
from readmit_bench.methods.static import Static
from readmit_bench.methods.stores import HALVES, STORES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from readmit.models import Embedder, Model
    from readmit_bench.methods.governance import Tuning
    from readmit_bench.methods.method import Method
    from readmit_bench.methods.store_histories import Stores
    from readmit_bench.methods.stores import Store


@dataclass(frozen=True)
class Resources:
    """What a method may use. One that needs neither models nor a store gets none of it."""

    extractor: Model | None = None
    verifier: Model | None = None
    embedder: Embedder | None = None
    stores: Stores | None = None
    tuning: Tuning | None = None
    answer_tokens: int = 0


@dataclass(frozen=True)
class MethodEntry:
    """One method."""

    name: str
    rule: str
    """One sentence, for `readmit bench list`."""
    make: Callable[[Resources], Method]
    asks_models: bool = False
    only: str = ""
    """The one benchmark that it is defined on."""
    store: Store | None = None
    """The memory store that it uses."""
    own_memory: bool = False
    """Whether it forms its own memory, and so neither gets nor is bound by the shared checkpoint."""
    rewords: bool = False
    """Whether a model of its own words what it hands over."""
    proposes_pairs: bool = False
    """Whether it looks for implicit invalidation, so that STALE's labelled pair can be looked for in its findings."""

    @property
    def asks_by_itself(self) -> bool:
        """Whether a memory system sends requests of its own."""
        return self.store is not None or self.rewords

    @property
    def runs_apart(self) -> bool:
        """Whether it works in a process that holds no labels."""
        return not self.asks_models and self.store is None


def _governed(name: str) -> Callable[[Resources], Method]:
    def make(given: Resources) -> Method:
        from readmit_bench.methods.governance import GOVERNANCE, Tuning
        from readmit_bench.methods.governed import Governed

        assert given.extractor and given.verifier and given.embedder  # noqa: PT018, S101  # method_named has checked
        return Governed(
            GOVERNANCE[name],
            extractor=given.extractor,
            verifier=given.verifier,
            embedder=given.embedder,
            tuning=given.tuning or Tuning(),
        )

    return make


def _cupmem(given: Resources) -> Method:
    from readmit_bench.methods.cupmem import CUPMem

    assert given.extractor is not None  # noqa: S101  # method_named has checked
    return CUPMem(given.extractor, answer_tokens=given.answer_tokens)


def _backed(store: Store, *, admits: bool) -> MethodEntry:
    def make(given: Resources) -> Method:
        from readmit_bench.methods.memory_stores import MemoryStoreMethod

        assert given.stores is not None  # noqa: S101  # method_named has checked
        return MemoryStoreMethod(store, given.stores, admits=admits, model=given.extractor)

    rule = f"{store} {'with' if admits else 'without'} admission in front of it."
    return MethodEntry(f"{store}/{HALVES[admits]}", rule, make, store=store, own_memory=True)


def _played(name: str, player: str, package: str) -> MethodEntry:
    def make(given: Resources) -> Method:
        from readmit_bench.methods.played_stores import PlayedStore

        assert given.extractor and given.embedder  # noqa: PT018, S101  # method_named has checked
        return PlayedStore(name, player, given.extractor, given.embedder)

    rule = f"{name} ({package}) with its own inference: the real system, in a process of its own."
    return MethodEntry(name, rule, make, asks_models=True, own_memory=True, rewords=True)


def _implicit(name: str, rule: str, *, proposes: bool = True) -> MethodEntry:
    return MethodEntry(name, rule, _governed(name), asks_models=True, proposes_pairs=proposes)


COMPARED = (
    MethodEntry("Static", "Ordinary retrieval over everything.", lambda _: Static()),
    MethodEntry("Restore", "The departure state, whole.", lambda _: Restore()),
    MethodEntry("Reset", "Nothing.", lambda _: Reset()),
    MethodEntry("MemStrata", "A bi-temporal ledger of slots.", lambda _: MemStrata()),
    MethodEntry("MemTX", "Belief transactions on slots.", lambda _: MemTX()),
    MethodEntry(
        "readmit-lexical",
        "Explicit lifecycle read off rows and plain words, decided by the library.",
        lambda _: ReadmitLexical(),
    ),
)
"""What a study without models compares unless it names others."""
OWN = (
    *COMPARED,
    # These exploit what a benchmark's construction reveals, and are defined on that benchmark alone.
    MethodEntry(
        "same-version",
        "Compares the two task-version ids, and nothing else. ManBench only.",
        lambda _: SameVersion(),
        only="manbench",
    ),
    MethodEntry(
        "drop-last-session",
        "Static without the last session before the departure. STALE only.",
        lambda _: DropLastSession(),
        only="stale",
    ),
    _implicit("trace-paper", "The paper's pipeline: its scan, greedy selection, its budgets and thresholds."),
    _implicit("readmit", "Premises against implied facts, exact cover."),
    _implicit("trace-without-ii", "trace-paper without implicit invalidation.", proposes=False),
    _implicit("trace-without-oas", "trace-paper without obligation-aware selection."),
    _implicit("trace-without-cvg", "trace-paper without the complete-view gate."),
    _implicit("trace-without-sbpr", "trace-paper without source-bound private readmission."),
    MethodEntry(
        "CUPMem",
        "A current-state memory kept at write time. STALE only.",
        _cupmem,
        asks_models=True,
        only="stale",
        own_memory=True,
    ),
    _played("Mem0", "mem0_player", "mem0ai 2"),
    _played("A-MEM", "amem_player", "a-mem 0.2"),
    _played("Graphiti", "graphiti_player", "graphiti-core 0.31 with Kuzu"),
    *(_backed(store, admits=admits) for store in STORES for admits in (False, True)),
)
_OWN = {entry.name: entry for entry in OWN}


@cache
def entries() -> Mapping[str, MethodEntry]:
    """Every method that can be run here, by name."""
    return with_installed(METHODS, OWN, MethodEntry)


def entry_named(name: str) -> MethodEntry:
    """A method's entry, or an error that lists them. Built-in ones are found without scanning installed packages."""
    entry = _OWN.get(name) or entries().get(name)
    if entry is None:
        raise RecordError(f"methods: {name} unknown; use some of {', '.join(entries())}")
    return entry


def made(name: str, given: Resources) -> Method:
    """A method with its models and stores; refused if one is missing."""
    entry = entry_named(name)
    if entry.store is not None and given.stores is None:
        raise BackendError(f"{name}: needs a place for the histories that it forms; give stores")
    if entry.asks_models and (given.extractor is None or given.verifier is None or given.embedder is None):
        raise ModelError(f"{name}: asks an extractor and a verifier; name them with --extractor and --verifier")
    return entry.make(given)
