"""A life with real clients and the hooks as ``readmit install`` wrote them, read in the requests of the model.

Nothing of readmit is replaced. What a client loads by itself, its own memory block, is its own matter: all assertions
are on the rest of each request.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.clients.real.conftest import WHO
from tests.clients.real.driven import ClaudeCode, Codex, Gemini, OpenCode
from tests.clients.real.model_api import Call
from tests.clients.secret_samples import SECRETS
from tests.clients.told import MOST_BYTES, NOT_CHECKED, contexts_of, is_fenced, withdrawn_in

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.real.driven import Driven
    from tests.clients.real.model_api import ModelApi, Request

GONE = "Carts are in `carts.py`."
RENAMED = "Prices are in `prices.py`."
STAYS = "Routes are in `routes.py`."
MEMORY = f"# Shop\n\n- {GONE}\n- {RENAMED}\n- {STAYS}\n"
SECRET = SECRETS["AWS secret"]
OTHERS = f"# Of the other client\n\n- {SECRET}\n- Taxes are in `taxes.py`.\n"


class Life:
    """One client at work in one repository."""

    def __init__(self, client: Driven, api: ModelApi) -> None:
        self.client, self.api, self.top = client, api, client.repository
        for name in ("carts", "prices", "routes", "taxes"):
            (self.top / f"{name}.py").write_text(f"def {name}():\n    return 1\n", encoding="utf-8")
        (self.top / client.memory_file).write_text(MEMORY, encoding="utf-8")
        other = "AGENTS.md" if client.memory_file == "CLAUDE.md" else "CLAUDE.md"
        (self.top / other).write_text(OTHERS, encoding="utf-8")
        self.commit("Work")
        (self.top / "carts.py").unlink()
        self.commit("No carts")
        for name in {client.name, "codex" if client.name == "claude-code" else "claude-code"}:
            client.readmit("install", name)
        if isinstance(client, Codex):
            assert len(client.trust_hooks()) >= 5

    def commit(self, subject: str) -> None:
        for words in (["add", "--all"], [*WHO, "commit", "--quiet", "--message", subject]):
            subprocess.run(["git", "-C", self.top, *words], check=True)

    def run_command(self, command: str) -> Call:
        if self.client.name == "codex":
            return Call("exec_command", {"cmd": command})
        return Call("Bash", {"command": command, "description": "run it"})

    def tool(self, name: str, given: dict[str, str]) -> Call:
        """A call of one of readmit's own tools."""
        if self.client.name == "codex":
            return Call(name, given, namespace="mcp__readmit")
        return Call(f"mcp__readmit__{name}", given)

    def move(self, old: str, new: str) -> None:
        (self.top / old).rename(self.top / new)
        self.commit(f"{new} instead of {old}")

    @property
    def store(self) -> Path:
        [store] = (self.client.home / ".local").rglob("store.db")
        return store

    def departures(self, session: str = "") -> list[str]:
        """Who departed, each time: of one session, or of all."""
        listed = json.loads(self.client.readmit("log", "--kind", "depart", "--db", str(self.store), "--json"))
        return [one["by"] for one in listed["events"] if one["by"].endswith(session)]

    def wait_until_taken_in(self) -> None:
        """Wait until neither the spool that hooks write to nor that of the project holds a line."""
        end = time.monotonic() + 30
        while left := [*(self.client.home / ".local" / "share" / "readmit").rglob("spool/*.jsonl*")]:
            assert time.monotonic() < end, left
            time.sleep(0.1)

    def holding(self, text: str) -> list[str]:
        """The files of all that readmit stored in which a text stands."""
        files = (path for path in (self.client.home / ".local").rglob("*") if path.is_file())
        return [str(path) for path in files if text.encode() in path.read_bytes()]


def beside_memory(request: Request) -> list[str]:
    """The texts of a request without what the client loads from its memory file."""
    return [text.replace(MEMORY.strip(), "") for _, text in request.texts()]


def check(request: Request, *withdrawn: str) -> None:
    """Lines that are stale stand nowhere but in the list of what no longer holds, and no secret anywhere."""
    texts = beside_memory(request)
    contexts = contexts_of(texts)
    assert contexts, "the model received a context"
    for context in contexts:
        assert len(context.encode()) <= MOST_BYTES
        assert is_fenced(context)
    assert withdrawn_in(contexts) >= set(withdrawn)
    for line in withdrawn:
        rest = "\n".join(texts)
        for context in contexts:
            rest = rest.replace(context, "")
        assert line not in rest, "outside of what readmit says"
    assert not any(SECRET in text for text in texts)
    assert not any("persisted-output" in text or "hook_outputs" in text for text in texts), "the client cut nothing"


@pytest.fixture(params=[ClaudeCode, Codex], ids=lambda kind: kind.name)
def life(request: pytest.FixtureRequest, tmp_path: Path, repository: Path, api: ModelApi) -> Life:
    return Life(request.param(tmp_path / "home", repository, api), api)


def begin(life: Life, prompt: str = "Begin.") -> tuple[str, list[Request]]:
    """A session's name and its turns."""
    name = life.client.new_session()
    turns = life.client.run(*life.client.start(prompt, name))
    return name or life.client.session, turns


def last_context(request: Request) -> str:
    return contexts_of(beside_memory(request))[-1]


def test_start_work_kill_resume_fork_compact_and_end(life: Life) -> None:
    client = life.client
    life.api.plan(life.run_command("cat routes.py"))
    session, turns = begin(life)
    assert len(turns) == 2, "one turn, and one after its command: no hook made the client go on"
    check(turns[0], GONE)
    assert not {RENAMED, STAYS} & withdrawn_in(beside_memory(turns[0]))
    assert life.departures(session), "the end is a departure"

    life.move("prices.py", "costs.py")
    (resumed,) = client.run(*client.resume("Go on.", session))
    check(resumed, GONE, RENAMED)
    assert RENAMED in withdrawn_in([last_context(resumed)])
    assert STAYS not in withdrawn_in(beside_memory(resumed))

    life.api.delay = 5.0
    arrived = len(life.api.requests)
    client.run_until(lambda: len(life.api.requests) > arrived, signal.SIGKILL, *client.resume("And on.", session))
    life.api.delay = 0.0
    life.move("costs.py", "fares.py")
    (back,) = client.run(*client.resume("Where were we?", session))
    check(back, GONE, RENAMED)

    (forked,) = client.run(*client.fork("Another way.", session))
    check(forked, GONE, RENAMED)
    assert STAYS not in withdrawn_in(beside_memory(forked))

    before = len(life.api.requests)
    client.run(*client.compact(session))
    asked = [text for one in life.api.requests[before:] for _, text in one.texts()]
    assert not any("Additional Instructions" in text for text in asked), "no hook says how to compact"
    (after,) = client.run(*client.resume("Go on.", session))
    check(after, RENAMED)
    assert RENAMED in withdrawn_in([last_context(after)])


def test_what_a_command_printed_and_others_wrote_reaches_no_other_session(life: Life) -> None:
    life.api.plan(life.run_command(f"echo '{SECRET}'; echo The tide is at noon."))
    begin(life)
    _, turns = begin(life, "Begin again.")
    check(turns[0], GONE)
    texts = "\n".join(text for _, text in turns[0].texts())
    assert "Taxes are in `taxes.py`." in texts, "what holds in the other client's file is handed over"
    assert "The tide is at noon." not in texts, "nobody vouched for it"
    life.wait_until_taken_in()
    assert life.holding(SECRET) == []


def test_with_a_broken_store_a_session_reads_the_fixed_line_and_nothing_else(life: Life) -> None:
    begin(life)
    life.store.write_bytes(b"no database" * 1_000)
    _, turns = begin(life, "Begin again.")
    texts = "\n".join(beside_memory(turns[0]))
    assert len(turns) == 1
    assert NOT_CHECKED in texts
    assert not any(line in texts for line in (GONE, RENAMED, STAYS, "Taxes are in"))


@pytest.mark.parametrize("kind", [Gemini, OpenCode], ids=lambda kind: kind.name)
def test_start_and_end_of_the_others(kind: type[Driven], tmp_path: Path, repository: Path, api: ModelApi) -> None:
    life = Life(kind(tmp_path / "home", repository, api), api)
    (turn, *others) = life.client.run(*life.client.start("Begin."))
    assert not others
    check(turn, GONE)
    assert life.departures()


def test_the_agents_own_tools_answer_in_the_conversation(life: Life) -> None:
    # Codex asks its model before the servers of its tools are up.
    life.api.plan(
        life.run_command("sleep 3"),
        life.tool("recall", {}),
        life.tool("remember", {"text": "The lighthouse is green."}),
    )
    _, turns = begin(life)
    assert len(turns) == 4
    answers = [
        [text for _, text in later.texts() if text not in dict(before.texts()).values()]
        for before, later in pairwise(turns)
    ]
    assert any("taxes.py" in text for text in answers[1]), "what the session was handed"
    assert any("draft" in text for text in answers[2])
    _, turns = begin(life, "Begin again.")
    assert not any("lighthouse" in text for _, text in turns[0].texts()), "a draft counts once a person confirmed it"
