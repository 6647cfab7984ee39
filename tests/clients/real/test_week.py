"""The week of ``benchmarks/week`` through the real clients: their requests hold what the played week counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.week.commits import start_repository
from benchmarks.week.player import PlayedTeam, play

from tests.clients.real.driven import ClaudeCode, Codex
from tests.clients.real.model_api import Call

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.week.sessions import Session

    from tests.clients.real.driven import Driven
    from tests.clients.real.model_api import ModelApi


class RealTeam:
    """Claude Code and Codex in one home, each with its own settings."""

    def __init__(self, folder: Path, api: ModelApi, *, installed: bool) -> None:
        folder.mkdir()
        self.top = folder / "ferry"
        start_repository(self.top)
        self.api, self.installed = api, installed
        self.clients: dict[str, Driven] = {
            kind.name: kind(folder / "home", self.top, api) for kind in (ClaudeCode, Codex)
        }
        self._names: dict[str, str] = {}

    def first_request(self, session: Session) -> list[str]:
        client = self.clients[session.client]
        if self.installed and not self._names:
            for one in self.clients.values():
                one.readmit("install", one.name)
                if isinstance(one, Codex):
                    one.trust_hooks()
        self.api.plan(*self._work(session))
        if session.name in self._names:
            turns = client.run(*client.resume(session.prompts[0], self._names[session.name]))
        else:
            name = client.new_session()
            turns = client.run(*client.start(session.prompts[0], name))
            self._names[session.name] = name or client.session
        return [text for _, text in turns[0].texts()]

    def work(self, session: Session) -> None:
        client = self.clients[session.client]
        if session.notes and isinstance(client, ClaudeCode):
            client.memory_folder().mkdir(parents=True, exist_ok=True)
            with (client.memory_folder() / "MEMORY.md").open("a", encoding="utf-8") as file:
                file.writelines(f"- {note}\n" for note in session.notes)
        for prompt in session.prompts[1:]:
            client.run(*client.resume(prompt, self._names[session.name]))

    def _work(self, session: Session) -> list[Call]:
        if session.client == "codex":
            commands = (*(f"cat {path}" for path in session.reads), *(command for command, _ in session.commands))
            return [Call("exec_command", {"cmd": command}) for command in commands]
        reads = [Call("Read", {"file_path": str(self.top / path)}) for path in session.reads]
        return reads + [Call("Bash", {"command": command, "description": "run"}) for command, _ in session.commands]


def test_without_readmit_the_played_week_is_the_real_one(tmp_path: Path, api: ModelApi) -> None:
    real, played = RealTeam(tmp_path / "real", api, installed=False), PlayedTeam(tmp_path / "played", installed=False)
    assert play(real.top, real) == play(played.top, played)


def test_with_readmit_most_stale_lines_are_withdrawn_and_no_true_one(tmp_path: Path, api: ModelApi) -> None:
    team, plain = RealTeam(tmp_path / "real", api, installed=True), PlayedTeam(tmp_path / "plain", installed=False)
    counts, before = play(team.top, team), play(plain.top, plain)
    print([len(one.standing) for one in counts], [len(one.standing) for one in before])
    assert [one.wronged for one in counts] == [()] * len(counts)
    for one, other in zip(counts, before, strict=True):
        assert not [line for line in one.standing if "src/" in line], "a path that is gone is always withdrawn"
        assert len(one.standing) <= len(other.standing)
    assert sum(len(one.standing) for one in counts) <= sum(len(one.standing) for one in before) * 2 / 3
