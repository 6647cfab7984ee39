"""Memory systems with their own inference, in rounds: a small one here, the real ones where they are installed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tests.bench.data import SMOKE
from tests.bench.store_answers import answer_store
from tests.cli.run import run

from readmit.errors import BackendError, PendingAnswers
from readmit.lab import Status
from readmit.models import Batch, Lexical, Reply, Usage, check_batch
from readmit_bench.checkpoints import checkpoint as checkpoint_of
from readmit_bench.datasets.memora_cases import read_memora
from readmit_bench.methods import Resources, admitted, registry
from readmit_bench.methods import made as method_made
from readmit_bench.methods.played_stores import PYTHON, PlayedStore
from readmit_bench.results import read_results

pytest.importorskip("inspect_ai", reason="runs with models need readmit-bench's dependencies")
pytest.importorskip("filelock", reason="batch files need readmit[models]")
pytest.importorskip("time_machine", reason="a play needs a fixed clock")
pytestmark = [pytest.mark.usefixtures("swept"), pytest.mark.filterwarnings("ignore")]

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from readmit.models import Ask
    from readmit_bench.episodes import Checkpoint

TOY = """
import datetime, uuid
from openai import OpenAI

class Toy:
    def __init__(self, client):
        self.client, self.notes, self.heard = client, [], 0
    def prepare(self, sessions):
        pass
    def remember(self, session, at):
        self.heard += 1
        if self.heard > 3:
            return
        shown = f"{uuid.uuid4()} {datetime.datetime.now().isoformat()}\\n" + "\\n".join(self.notes[-2:])
        said = "\\n".join(turn["text"] for turn in session["turns"] if turn["speaker"] == "user")
        try:
            answer = self.client.chat.completions.create(
                model="any", messages=[{"role": "user", "content": f"{shown}\\n---\\n{said}"}])
            self.notes.append(answer.choices[0].message.content)
        except Exception:
            pass  # as careless as some real ones
    def search(self, query, limit):
        self.client.embeddings.create(model="any", input=query)
        return self.notes[:limit]

def opened(given, folder):
    if given["tasks"][0] == "break":
        raise ValueError("the store is broken")
    return Toy(OpenAI(base_url=given["url"], api_key=given["key"]))
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy_player.py").write_text(TOY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


class Echo:
    """Answers with the last line it is shown, and notes what it was asked."""

    name = "echo"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        self.asked += [ask.user for ask in asks]
        return [
            Reply(text=ask.user.splitlines()[-1], usage=Usage(stage=ask.stage, input=1, output=1), model="echo")
            for ask in asks
        ]


@pytest.fixture(scope="module")
def made() -> Checkpoint:
    return checkpoint_of(read_memora(SMOKE / "memora").cases[0].episode)


@pytest.mark.usefixtures("toy")
def test_a_second_play_asks_the_same(made: Checkpoint) -> None:
    models = Echo(), Echo()
    views = [admitted(PlayedStore("Mem0", "toy_player", model, Lexical()), made, rewords=True) for model in models]
    assert models[0].asked == models[1].asked, "clock and ids are fixed"
    assert len(models[0].asked) == 3
    assert views[0] == views[1]
    assert 0 < len(views[0].memories) <= made.budget.union


@pytest.mark.usefixtures("toy")
def test_a_store_that_breaks_fails_its_episode_with_its_own_words(made: Checkpoint) -> None:
    broken = replace(made, tasks=("break",))
    with pytest.raises(BackendError, match="before it answered: ValueError: the store is broken"):
        PlayedStore("Mem0", "toy_player", Echo(), Lexical()).view(broken)


@pytest.mark.usefixtures("toy")
def test_a_careless_store_is_played_to_its_end_in_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._OWN, "Mem0", registry._played("Mem0", "toy_player", "toy"))
    model = f"batch:{tmp_path / 'batch'}?model=by-file"
    line = ["bench", "run", "stale", "--data", str(SMOKE / "stale"), "--out", str(tmp_path / "out"), "--limit", "1"]
    line += ["--methods", "Mem0", "--embedder", "lexical", "--actor", model, "--judge", model]
    asked: list[int] = []
    while (ran := run(*line, status=None)).exit_code == Status.WAITING:
        asked.append(answer_store(tmp_path / "batch", len(asked) + 1))
    assert ran.exit_code == Status.OK, ran.output
    assert asked == [1, 1, 1, 3, 1], "one session a round, then the three answers, then the judge"
    (result,) = read_results(tmp_path / "out")
    assert result.failure == ""
    assert result.view is not None
    assert len(result.view.memories) == 3
    assert {stage.stage: stage.calls for stage in result.usage}["memory"] == 3, "the account is complete"


def _has(module: str) -> bool:
    look = f"import importlib.util, time_machine; assert importlib.util.find_spec({module!r})"
    return subprocess.run([os.environ.get(PYTHON, sys.executable), "-c", look], capture_output=True).returncode == 0  # noqa: PLW1510


REAL = {"Mem0": "mem0", "A-MEM": "agentic_memory", "Graphiti": "graphiti_core"}


@pytest.mark.slow
@pytest.mark.parametrize("method", REAL)
def test_the_real_systems_are_played_to_their_end_in_rounds(method: str, made: Checkpoint, tmp_path: Path) -> None:
    if not _has(REAL[method]):
        pytest.skip(f"{REAL[method]} and time-machine are not installed; name an interpreter with {PYTHON}")
    given = Resources(extractor=Batch(tmp_path, "by-file"), verifier=Batch(tmp_path, "by-file"), embedder=Lexical())
    short, rounds = replace(made, history=made.history[:3]), 0
    while True:
        try:
            view = admitted(method_made(method, given), short, rewords=True)
            break
        except PendingAnswers:
            rounds += 1
            assert answer_store(tmp_path, rounds), "every round asks something new"
    assert check_batch(tmp_path).ok, "nothing is asked twice"
    assert rounds == {"Mem0": 3, "A-MEM": 3, "Graphiti": 7}[method]
    # Stand-in facts name no two entities, so Graphiti keeps none.
    assert bool(view.memories) is (method != "Graphiti")
