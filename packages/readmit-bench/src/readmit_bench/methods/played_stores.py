"""Mem0, A-MEM and Graphiti with their own inference: the real systems, through an OpenAI-compatible server of ours.

A store plays the whole history up to the return, session by session, in a process of its own (``players``), asks the
extractor's model and the run's embedder over HTTP, and hands over what its own search finds for the questions. A
request without an answer ends the play, and the episode waits; the next round plays it again whole. Clock and ids of a
play are fixed, so that its requests repeat up to the first that is new.

The store forms its own memory from the conversations, in its own words, and gets no more room in a view than others.
``READMIT_STORES_PYTHON`` names the interpreter that has the stores' packages, if it is not the one of the run.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from readmit.errors import BackendError, ModelError, PendingAnswers
from readmit.lab import ModelServer
from readmit.memory import Hit
from readmit_bench.episodes import View
from readmit_bench.methods.memory_stores import texts_of, union

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.models import Ask, Embedder, Failure, Model, Reply
    from readmit_bench.episodes import Checkpoint

PLAYERS = Path(__file__).parents[1] / "players"
PYTHON = "READMIT_STORES_PYTHON"
KEY = "play"
MOST_SILENT = 900.0
"""Seconds in which a store asks nothing before it counts as stuck."""
_AT_ONCE = threading.Semaphore(max(1, os.cpu_count() or 1))
"""A store loads some hundred MB of libraries."""
_SAID = 300
_LOOK = 0.5


@dataclass
class _Handed:
    asks: Sequence[Ask]
    answered: threading.Event = field(default_factory=threading.Event)
    results: Sequence[Reply | Failure] = ()
    stopped: Exception | None = None


class Relay:
    """A model for the server's threads. The requests are asked in the thread of the method, as a run requires."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.stopped: Exception | None = None
        """Why there was no answer, because a store may swallow the error."""
        self.closed = False
        self._model = model
        self._waiting: queue.SimpleQueue[_Handed] = queue.SimpleQueue()

    def ask(self, asks: Sequence[Ask]) -> Sequence[Reply | Failure]:
        """Hand the requests over and wait."""
        handed = _Handed(asks)
        self._waiting.put(handed)
        while not handed.answered.wait(_LOOK):
            if self.closed:
                raise ModelError("the play is over")
        if isinstance(handed.stopped, PendingAnswers):
            raise handed.stopped
        if handed.stopped is not None:
            raise ModelError(f"{type(handed.stopped).__name__}: {handed.stopped}")
        return handed.results

    def serve(self, seconds: float) -> bool:
        """Ask the requests that arrive within this time; false if none did."""
        try:
            handed = self._waiting.get(timeout=seconds)
        except queue.Empty:
            return False
        try:
            handed.results = self._model.ask(handed.asks)
        except Exception as error:  # noqa: BLE001 - raised again in the thread that asked, and by the method
            handed.stopped = self.stopped = error
        finally:
            handed.answered.set()
        return True


class PlayedStore:
    """One memory system with its own inference."""

    def __init__(self, name: str, player: str, model: Model, embedder: Embedder) -> None:
        self.name = name
        self._player, self._model, self._embedder = player, model, embedder

    def view(self, checkpoint: Checkpoint) -> View:
        relay = Relay(self._model)
        with (
            _AT_ONCE,
            tempfile.TemporaryDirectory(prefix="readmit-play-") as made,
            _served(relay, self._embedder) as at,
        ):
            folder = Path(made)
            self._write(folder, checkpoint, at.url)
            with _started(folder) as process:
                last = time.monotonic()
                while process.poll() is None and not at.play(KEY).ended:
                    if relay.serve(0.05):
                        last = time.monotonic()
                    elif time.monotonic() - last > MOST_SILENT:
                        raise BackendError(f"{self.name}: asked nothing for {MOST_SILENT:g} s and was stopped")
                if relay.stopped is not None:
                    raise relay.stopped
                found = self._found(folder, process)
        hits = [[Hit(id=text, text=text, score=0.0) for text in texts if text] for texts in found]
        return View(method=self.name, rows=(), memories=texts_of(union(hits, checkpoint.budget)))

    def _write(self, folder: Path, checkpoint: Checkpoint, url: str) -> None:
        sessions = [
            {"at": one.at, "turns": [{"speaker": turn.speaker, "text": turn.text} for turn in one.turns]}
            for one in checkpoint.history
        ]
        play = {
            "player": self._player,
            "sessions": sessions,
            "tasks": checkpoint.tasks,
            "limit": checkpoint.budget.per_query,
            "url": url,
            "key": KEY,
            "model": "served",
            "embedder": "served",
            "dimensions": self._embedder.dimensions,
        }
        (folder / "play.json").write_text(json.dumps(play))

    def _found(self, folder: Path, process: subprocess.Popen[bytes]) -> list[list[str]]:
        try:
            found: list[list[str]] = json.loads((folder / "found.json").read_text())
        except FileNotFoundError:
            said = (folder / "said.txt").read_text(errors="replace").split("\n")
            last = next((line for line in reversed(said) if line.strip()), "nothing was said")[:_SAID]
            raise BackendError(f"{self.name}: ended with {process.returncode} before it answered: {last}") from None
        return found


@contextmanager
def _served(relay: Relay, embedder: Embedder) -> Iterator[ModelServer]:
    with ModelServer(relay, embedder) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        serving.start()
        try:
            yield server
        finally:
            relay.closed = True
            server.shutdown()
            serving.join()


@contextmanager
def _started(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process that plays. It gets no setting of this one but where programs and certificates are."""
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR", "PYTHONPATH")}
    env |= {"PYTHONHASHSEED": "0", "HOME": str(folder)}
    line = [os.environ.get(PYTHON, sys.executable), str(PLAYERS / "play.py"), str(folder)]
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(  # noqa: S603  # our own file
            line, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=env, cwd=folder, start_new_session=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
