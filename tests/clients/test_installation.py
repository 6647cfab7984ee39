"""Installing and removing as a user does it, in a home of the test's own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from readmit.cli import main
from readmit.clients.intake.model_drafts import chosen_model
from readmit.clients.known_clients import CLIENTS
from readmit.clients.project import data_folder, open_project, project_of
from tests.clients.home import git, repository

ALL = list(CLIENTS)


@pytest.fixture(autouse=True)
def _here(home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home.is_dir()
    monkeypatch.chdir(repo)


def install(*words: str, status: int = 0) -> Result:
    done = CliRunner().invoke(main, ["install", *words])
    assert done.exit_code == status, done.output
    return done


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder, readmit's own apart."""
    own = (folder / ".local", folder / "keys")
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.parts and not any(path.is_relative_to(one) for one in own)
    }


def settings(home: Path) -> Any:
    return json.loads((home / ".claude/settings.json").read_text())


def commands(home: Path) -> dict[str, str]:
    return {event: groups[-1]["hooks"][0]["command"] for event, groups in settings(home)["hooks"].items()}


@pytest.mark.parametrize("client", ALL)
def test_installing_twice_changes_nothing_and_removing_leaves_nothing(client: str, home: Path) -> None:
    install(client)
    written = tree(home)
    assert written
    backups = list(data_folder().glob("backups/*"))
    assert "nothing to change" in install(client).output
    assert tree(home) == written
    assert list(data_folder().glob("backups/*")) == backups
    install(client, "--remove", "--yes")
    assert tree(home) == {}
    assert [path.name for path in home.iterdir() if path.name not in (".local", "keys", ".config")] == []


@pytest.mark.parametrize("client", ALL)
def test_a_dry_run_writes_nothing(client: str, home: Path) -> None:
    said = install(client, "--dry-run").output
    assert said.startswith(f"Would install readmit into {CLIENTS[client].title}:")
    assert "readmit.clients.hook" in said
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("client", ALL)
def test_for_one_checkout_nothing_is_committed(client: str, home: Path, repo: Path) -> None:
    before = tree(repo)
    install(client, "--project")
    assert set(tree(repo)) - set(before)
    git("add", "-A", cwd=repo)
    staged = subprocess.check_output(["git", "diff", "--cached", "--name-only"], cwd=repo, text=True)
    assert staged == ""
    install(client, "--project", "--remove", "--keep-store")
    assert tree(repo) == before
    assert tree(home) == {}
    assert "readmit" not in (repo / ".git/info/exclude").read_text()
    assert CLIENTS[client].local_hooks_file not in (repo / ".git/info/exclude").read_text()


def test_a_committed_file_of_a_checkout_is_refused(repo: Path) -> None:
    (repo / ".codex").mkdir()
    (repo / ".codex/hooks.json").write_text("{}")
    git("add", "-A", cwd=repo)
    done = install("codex", "--project", status=1)
    assert "it is committed, so teammates without readmit would get its hooks" in done.output
    assert (repo / ".codex/hooks.json").read_text() == "{}"


def test_settings_of_the_user_are_merged_and_later_edits_stay(home: Path) -> None:
    (home / ".claude").mkdir()
    file = home / ".claude/settings.json"
    theirs = '{\n   "model": "opus", // mine\n   "hooks": {"PreToolUse": [{"hooks": []}]}\n}\n'
    file.write_text(theirs)
    file.chmod(0o640)
    (home / ".claude.json").write_text('{"numStartups": 3}')
    install("claude-code")
    assert file.stat().st_mode & 0o777 == 0o640
    file.write_text(file.read_text().replace('"opus"', '"sonnet"').replace('"timeout": 5', '"timeout": 50'))
    install("claude-code", "--remove", "--keep-store")
    assert file.read_text() == theirs.replace('"opus"', '"sonnet"')
    assert (home / ".claude.json").read_text() == '{"numStartups": 3}'
    backups = list(data_folder().glob("backups/**/settings.json"))
    assert theirs in [path.read_text() for path in backups]
    assert {path.stat().st_mode & 0o077 for path in data_folder().rglob("*")} == {0}


def test_an_entry_that_the_user_changed_stays(home: Path) -> None:
    install("claude-code")
    file = home / ".claude.json"
    file.write_text(file.read_text().replace('"-m"', '"-X", "utf8", "-m"'))
    edited = file.read_text()
    assert "mcpServers.readmit is there already and stays as it is" in install("claude-code").output
    assert "mcpServers.readmit was edited, and stays" in install("claude-code", "--remove", "--keep-store").output
    assert file.read_text() == edited


def test_a_link_to_dotfiles_stays_a_link(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles/settings.json").write_text("{}\n")
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(home / "dotfiles/settings.json")
    install("claude-code")
    assert (home / ".claude/settings.json").is_symlink()
    assert "readmit.clients.hook" in (home / "dotfiles/settings.json").read_text()


@pytest.mark.parametrize("broken", [".claude/settings.json", ".claude.json"])
def test_a_malformed_file_is_named_and_nothing_changes(home: Path, broken: str) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text("{}")
    (home / broken).write_text('{\n  "a": oops\n}')
    before = tree(home)
    done = install("claude-code", status=1)
    assert f"{home / broken}: line 2, column 8: a value is expected" in done.output
    assert tree(home) == before
    assert not data_folder().exists()


def test_a_file_that_cannot_be_written_takes_the_others_back(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text("{}")
    before = tree(home)
    (home / "blocked").write_text("")
    from readmit.clients.setup import installation

    real = installation._write
    monkeypatch.setattr(
        installation,
        "_write",
        lambda path, text: real(home / "blocked/x" if path.name == ".claude.json" else path, text),
    )
    done = install("claude-code", status=1)
    assert "cannot be written" in done.output
    assert "nothing was changed" in done.output
    (home / "blocked").unlink()
    assert tree(home) == before


def test_a_home_that_cannot_be_written_is_one_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("READMIT_DATA", str(home / "file/data"))
    done = install("claude-code", status=1)
    assert done.output.count("\n") == 1
    assert "set READMIT_DATA to a folder that you can write" in done.output


def test_windows_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr("readmit.clients.setup.installation.sys.platform", "win32")
    assert "Windows is not supported" in install("claude-code", status=1).output
    assert list(home.iterdir()) == []


def test_every_command_names_its_interpreter_and_ends_in_success(home: Path, repo: Path) -> None:
    """Also once readmit is gone: exit status 2 would block the user's prompt, or replace a tool's output."""
    install("claude-code")
    for event, command in commands(home).items():
        assert Path(shlex.split(command)[0]).is_absolute()
        gone = command.replace(sys.executable, f"{sys.executable} -c 'raise SystemExit(2)'")
        for line in (gone, command.replace("readmit", "gone_readmit")):
            ran = subprocess.run(["sh", "-c", line], cwd=repo, input=b"{}", capture_output=True, check=False)
            assert (ran.returncode, ran.stdout) == (0, b""), event


def test_no_module_of_the_checkout_is_imported(home: Path, repo: Path, tmp_path: Path) -> None:
    install("claude-code")
    planted = f"open({str(tmp_path / 'ran')!r}, 'w')"
    (repo / "readmit").mkdir()
    for name in ("readmit/__init__.py", "json.py", "sitecustomize.py"):
        (repo / name).write_text(planted)
    for command in commands(home).values():
        env = {**os.environ, "PYTHONPATH": str(repo)}
        subprocess.run(["sh", "-c", command], cwd=repo, input=b"{}", capture_output=True, check=False, env=env)
    assert not (tmp_path / "ran").exists()


def test_paths_with_spaces_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("READMIT_DATA", str(tmp_path / "my data"))
    install("claude-code")
    assert str(tmp_path / "my data/spool") in shlex.split(commands(home)["PostToolUse"])


def test_timeouts_are_in_the_units_of_the_client(home: Path) -> None:
    install("claude-code")
    install("gemini")
    gemini = json.loads((home / ".gemini/settings.json").read_text())
    ends = [one["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] for one in (settings(home), gemini)]
    assert ends == [3, 3_000]
    assert set(gemini["hooks"]) == {"SessionStart", "SessionEnd"}
    assert gemini["mcpServers"]["readmit"]["command"] == sys.executable


def test_codex_gets_no_trust_but_a_sentence(home: Path) -> None:
    done = install("codex")
    assert "trust" in done.output
    assert "readmit does not write that trust for you" in done.output
    config = tomllib.loads((home / ".codex/config.toml").read_text())
    assert list(config) == ["mcp_servers"]
    assert "readmit" in (home / ".codex/hooks.json").read_text()


def test_the_variables_of_a_client_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "x"))
    install("claude-code")
    install("codex")
    assert {str(path) for path in (tmp_path / "c").iterdir()} == {
        f"{tmp_path}/c/settings.json",
        f"{tmp_path}/c/.claude.json",
    }
    assert (tmp_path / "x/hooks.json").exists()
    assert tree(home) == {}


def test_without_the_mcp_package_the_hooks_alone_are_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("claude-code")
    monkeypatch.setattr("readmit.clients.setup.hook_entries.find_spec", lambda _: None)
    done = install("claude-code")
    assert "run `pip install 'readmit[mcp]'`, then this again" in done.output
    assert not (home / ".claude.json").exists()
    assert commands(home)


def test_after_the_interpreter_moved_its_old_commands_go(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/elsewhere/python")
        install("claude-code")
    install("claude-code")
    assert "/elsewhere/python" not in json.dumps(tree(home))
    assert {len(groups) for groups in settings(home)["hooks"].values()} == {1}


def test_without_a_client_those_that_are_here_are_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "no coding agent found here; name one of claude-code" in install(status=2).output
    (home / ".codex").mkdir()
    assert "name one of codex, or say --yes for all" in install(status=2).output
    install("--yes")
    assert (home / ".codex/hooks.json").exists()
    assert not (home / ".claude").exists()


def test_the_store_stays_until_its_user_says_so(repo: Path) -> None:
    install("claude-code")
    install("codex")
    store = project_of(repo).store
    assert "because of codex" in install("claude-code", "--remove", "--yes").output
    assert store.exists()
    assert "What was remembered stays: 1 project" in install("codex", "--remove").output
    assert store.exists()
    assert "Backups of settings stay, and signing keys in " in install("codex", "--remove", "--yes").output
    assert not store.exists()
    with open_project(project_of(repo)) as workspace:  # no refusal: its absence is accepted
        assert workspace.epoch


def test_a_plugin_file_of_somebody_else_is_not_replaced(home: Path) -> None:
    file = home / ".config/opencode/plugin/readmit.js"
    file.parent.mkdir(parents=True)
    file.write_text("// mine\n")
    assert "this file is not readmit's" in install("opencode", status=1).output
    assert file.read_text() == "// mine\n"


def test_outside_of_a_repository_no_workspace_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert "The first session in a repository starts its workspace." in install("claude-code").output
    assert not (data_folder() / "projects").exists()


def test_a_model_is_chosen_only_if_it_can_be_opened(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text("")
    line = f"recorded:{answers}?model=m"
    assert "is sent to" in install("codex", "--model", line).output
    assert chosen_model() == line
    install("codex", "--model", "nothing:known", status=1)
    install("codex")
    assert chosen_model() == line
    install("codex", "--model", "none")
    assert chosen_model() == ""


def test_the_outcome_in_json(repo: Path) -> None:
    said = json.loads(install("claude-code", "--json").stdout)
    assert said["clients"][0]["client"] == "claude-code"
    assert len(said["clients"][0]["changed"]) == 2
    assert said["task"] == project_of(repo).task


def test_memory_files_are_those_that_the_client_loads(tmp_path: Path, home: Path) -> None:
    top = repository(tmp_path / "mono", CLAUDE__md="a", AGENTS__md="b")
    package = top / "packages" / "cart"
    package.mkdir(parents=True)
    for path in (package / "package.json", package / "CLAUDE.md", top / "packages" / "CLAUDE.md"):
        path.write_text("{}")
    (home / ".claude").mkdir()
    (home / ".claude/CLAUDE.md").write_text("c")
    claude, project = CLIENTS["claude-code"], project_of(package)
    own = claude.memory_folder(top)
    assert own is not None
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("d")
    assert claude.memory_files(project) == (
        top / "CLAUDE.md",
        top / "packages/CLAUDE.md",
        package / "CLAUDE.md",
        home / ".claude/CLAUDE.md",
        own / "MEMORY.md",
    )
    assert CLIENTS["codex"].memory_files(project) == (top / "AGENTS.md",)


IMPORTS = {
    "a file beside it": ("@AGENTS.md", ["CLAUDE.md", "AGENTS.md"]),
    "by another file": ("See @docs/rules.md.", ["CLAUDE.md", "docs/rules.md", "docs/more.md"]),
    "one that names itself": ("@./CLAUDE.md @AGENTS.md", ["CLAUDE.md", "AGENTS.md"]),
    "in code": ("`@AGENTS.md`\n```\n@AGENTS.md\n```\n", ["CLAUDE.md"]),
    "an address": ("Write to a@AGENTS.md.", ["CLAUDE.md"]),
    "a file that is not there": ("@none.md", ["CLAUDE.md"]),
    "a file of another kind": ("@package.json", ["CLAUDE.md"]),
    "out of the checkout": ("@../private.md @~/private.md @out.md", ["CLAUDE.md"]),
}


@pytest.mark.parametrize("case", IMPORTS)
def test_files_that_a_memory_file_imports_are_memory(case: str, repo: Path, home: Path) -> None:
    said, names = IMPORTS[case]
    for place in (repo.parent / "private.md", home / "private.md", repo / "AGENTS.md", repo / "package.json"):
        place.write_text("- Private.\n")
    (repo / "out.md").symlink_to(repo.parent / "private.md")
    (repo / "docs").mkdir()
    (repo / "docs/rules.md").write_text("@more.md\n@rules.md\n")
    (repo / "docs/more.md").write_text("- More.\n")
    (repo / "CLAUDE.md").write_text(said)
    found = CLIENTS["claude-code"].memory_files(project_of(repo))
    assert [path.relative_to(repo).as_posix() for path in found] == names


def test_the_agents_memory_is_imported(repo: Path) -> None:
    (repo / "server.py").write_text("PORT = 1\n")
    git("add", "-A", cwd=repo)
    git("commit", "-qm", "two", cwd=repo)
    git("rm", "-q", "server.py", cwd=repo)
    git("commit", "-qm", "three", cwd=repo)
    (repo / "CLAUDE.md").write_text("- The settings are in `pyproject.toml`.\n- The server is in `server.py`.\n")
    said = json.loads(install("claude-code", "--json").stdout)["imported"]
    assert (said["statements"], said["refuted"]) == (2, 1)
    assert "from 1 memory file: 2 statements, 1 of them not true here" in install("claude-code").stdout
    assert "from 0 memory files: 0 statements, 0 of them" in install("gemini").stdout, "of the files that it loads"
