"""What does a view cost on top of a memory store's own search, with 10,000 records?

Native search and search through the view alternate in one process, and of every query the best of several rounds
counts, so that what else the machine does falls on both, or on neither.
Views of different size are measured, down to one that holds one item in a hundred and so has to look past 99 records
for each that it may show.
"""

from __future__ import annotations

import random
import statistics
import time
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.result import Result, at_most, scratch
from readmit import Policy, Workspace
from readmit.backends import ScopedMem
from readmit.lab import Entry, desk_of, text_digest
from readmit.memory import Archived, Binding, Memory, Stored
from readmit.models import FunctionEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from readmit.memory import MemoryBackend, ReturnedMemory

RECORDS, ITEMS, LIMIT, QUERIES, ROUNDS = 10_000, 1_000, 10, 12, 5
DIMENSIONS = 384
HEADS = ("ba", "ke", "lo", "mi", "nu", "pa", "ri", "so")
TAILS = ("lan", "mer", "tis", "vor", "zen", "dal", "gon", "fis", "qua", "wex")
WORDS = [head + tail for head in HEADS for tail in TAILS]


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    results = []
    for name, opener in _openers().items():
        with scratch() as folder:
            results += _measure(name, opener, folder)
        step(1)
    return results


def _openers() -> dict[str, Callable[[Workspace, Path], MemoryBackend]]:
    openers: dict[str, Callable[[Workspace, Path], MemoryBackend]] = {
        "ScopedMem": lambda team, _: ScopedMem(desk_of(team).log.memories, team.name)
    }
    if find_spec("mem0") is not None:
        from readmit.backends import Mem0

        openers["Mem0"] = lambda team, folder: Mem0.open(folder / "mem0", team.name, embedder=_embedder())
    if find_spec("agentic_memory") is not None:
        from readmit.backends import AMem

        openers["A-MEM"] = lambda team, folder: AMem.open(folder / "amem", team.name, embedder=_embedder())
    if find_spec("langgraph") is not None:
        from langgraph.store.memory import InMemoryStore

        from readmit.backends.langgraph import LangGraphMemory, index_with

        openers["LangGraph's InMemoryStore"] = lambda team, _: LangGraphMemory(
            InMemoryStore(index=index_with(_embedder())), team.name, history=desk_of(team).log.memories
        )
    return openers


def _embedder() -> FunctionEmbedder:
    """Projected words: as long as real vectors, and nearly free, so that the store's own work is what is timed."""
    table = dict(zip(WORDS, np.random.default_rng(7).normal(size=(len(WORDS), DIMENSIONS)), strict=True))

    def embed(texts: Sequence[str]) -> list[np.ndarray]:
        return [sum((table[word] for word in text.split() if word in table), np.zeros(DIMENSIONS)) for text in texts]

    return FunctionEmbedder("projected-words@1", DIMENSIONS, embed)


def _measure(name: str, opener: Callable[[Workspace, Path], MemoryBackend], folder: Path) -> list[Result]:
    policy = Policy(
        returns={"fill": "always"}, budgets={"items": 2 * ITEMS, "chars": 10**7}, limits={"invalidations": 10**6}
    )
    with ExitStack() as stack:
        team = stack.enter_context(Workspace.open(folder / "team.db", policy=policy))
        items = _team(team)
        memory = Memory(team, opener(team, folder))
        stack.callback(memory.close)
        archive = _archive(items)
        start = time.perf_counter()
        for at in range(0, RECORDS, 1_000):
            memory.load(archive[at : at + 1_000])
        results = [at_most(f"{name}: import of {RECORDS:,} bound records", time.perf_counter() - start, None, "s")]
        for share in (90, 30, 10, 1):
            kept = ITEMS * share // 100
            with team.batch():
                for item in [one for one in items if one not in set(items[:kept])]:
                    team.revoke(item, by="lead", id=f"{item}-{kept}")
            results += _searches(f"{name}, view of {share} %", team, memory)
    return results


def _searches(name: str, team: Workspace, memory: Memory) -> list[Result]:
    agent = team.agent("walker", role="guide", task="journey")
    agent.depart()
    handle = memory.returned(agent.come_back().expose())
    rng = random.Random(3)
    native, through = [], []
    for _ in range(QUERIES):
        query = " ".join(rng.sample(WORDS, 4))
        assert handle.search(query, limit=LIMIT)
        turns = [_both(memory.backend, handle, query) for _ in range(ROUNDS)]
        native.append(min(before for before, _ in turns))
        through.append(min(after for _, after in turns))
    return [
        at_most(f"{name}: native search, median", statistics.median(native) * 1_000, None, "ms"),
        at_most(f"{name}: search through the view / native", sum(through) / sum(native), 1.3, "×"),
        at_most(f"{name}: added by the view, median", _added(native, through) * 1_000, 5, "ms"),
        at_most(f"{name}: the first search after an event", _after_an_event(team, handle) * 1_000, None, "ms"),
    ]


def _both(backend: MemoryBackend, handle: ReturnedMemory, query: str) -> tuple[float, float]:
    start = time.perf_counter()
    backend.search(query, limit=LIMIT)
    middle = time.perf_counter()
    handle.search(query, limit=LIMIT)
    return middle - start, time.perf_counter() - middle


def _after_an_event(team: Workspace, handle: ReturnedMemory) -> float:
    """The log moved, so the view is judged again."""
    times = []
    for number in range(3):
        team.observe(f"Something else happened, {number}.", by="scout")
        start = time.perf_counter()
        handle.search("balan", limit=LIMIT)
        times.append(time.perf_counter() - start)
    return min(times)


def _added(native: list[float], through: list[float]) -> float:
    return statistics.median(after - before for before, after in zip(native, through, strict=True))


def _team(team: Workspace) -> list[str]:
    with team.batch():
        seen = team.observe("The survey of the whole region.", by="scout")
        return [team.record(f"Statement {at}", id=f"item-{at}", by="scout", sources=[seen]) for at in range(ITEMS)]


def _archive(items: list[str]) -> list[Archived]:
    rng = random.Random(1)
    made = []
    for at in range(RECORDS):
        text = f"Note {at}: {' '.join(rng.choices(WORDS, k=12))}"
        name = f"00000000-0000-4000-8000-{at:012d}"
        entry = Entry(record=name, text=text_digest(text), bindings=(Binding(ref=items[at % ITEMS]),), by="scout")
        made.append(Archived(record=Stored(id=name, text=text), entry=entry))
    return made


if __name__ == "__main__":
    for result in run():
        print(result)
