"""Lines of memory files become items, and fall when the checkout or the file moves on."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from readmit.clients.known_clients import claude_slug
from readmit.clients.memory_import import Imported, import_memory, imported_lines
from readmit.clients.project import open_project, project_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit import Return, Workspace

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "class Cart:\n    def add_line(self, item):\n        return item\n\n\nMAX_LINES = 5\n",
    "src/shop/prices.py": "def price_of(item):\n    return 3\n",
    "Makefile": "test:\n\tpytest\n\nship: test\n\ttrue\n",
    "package.json": '{\n  "scripts": {\n    "e2e": "playwright"\n  }\n}\n',
    "pyproject.toml": '[project]\nname = "shop"\nrequires-python = ">=3.11"\n',
    "config.toml": "port = 8080\n",
}
MEMORY = """# Shop

- Prices are made in `src/shop/prices.py`.
- Call `Cart.add_line()` for each item.
- Release with `make ship`.
- The server has `port = 8080`.
- Needs Python 3.11.
- Be kind.
"""


class Desk:
    """A checkout with its workspace, and an agent that comes back to it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir()
        self.git("init", "-q", "-b", "main")
        for name, text in FILES.items():
            self.write(name, text)
        self.write("CLAUDE.md", MEMORY)
        self.commit()
        self.project = project_of(top)
        self.workspace: Workspace = open_project(self.project)

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=A2", "-c", "user.email=a2@example.org")
        subprocess.run(["git", *who, *words], cwd=self.top, check=True, capture_output=True)

    def write(self, name: str, text: str) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "Change")

    def load(self, *files: str | Path, deadline: float | None = None) -> Imported:
        names = files or ("CLAUDE.md",)
        return import_memory(self.workspace, self.project, [self.top / one for one in names], deadline=deadline)

    def back(self) -> Return:
        agent = self.workspace.agent("claude-code:1", role="coding-agent", task=self.project.task)
        agent.depart()
        return agent.come_back()

    def held(self) -> list[str]:
        back = self.back()
        return sorted(item.text for item in (self.workspace.admin.log.item(one) for one in back.items))

    def fallen(self) -> dict[str, str]:
        """Texts that are out, with the note of the first cause."""
        log = self.workspace.admin.log
        out = [one for one in self.back().dispositions if one.state != "admitted"]
        return {log.item(one.item).text: f"{one.reasons[0]}: {one.causes[0].note}" for one in out}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("READMIT_DATA", str(home / "data"))
    monkeypatch.setenv("READMIT_KEYS", str(home / "keys"))
    made = Desk(tmp_path / "shop")
    yield made
    made.workspace.close()


SAID = sorted(line.removeprefix("- ") for line in MEMORY.splitlines() if line.startswith("- "))


def test_each_line_becomes_an_item_by_the_user_in_the_projects_task(desk: Desk) -> None:
    done = desk.load()
    assert (done.statements, done.recorded, done.refuted, done.unread) == (6, 6, 0, ())
    assert desk.held() == SAID
    items = [desk.workspace.admin.log.item(one) for one in imported_lines(desk.project)]
    assert {(one.by, one.scope.task) for one in items} == {("user", desk.project.task)}


def test_importing_again_writes_nothing(desk: Desk) -> None:
    desk.load()
    before = desk.workspace.epoch
    started = time.monotonic()
    assert desk.load()[1:6] == (0, 0, 0, 0, ())
    assert time.monotonic() - started < 1, "no check ran"
    assert desk.workspace.epoch == before


@dataclass(frozen=True)
class Fall:
    """A change of the checkout, the line that falls, and what is said about it."""

    change: dict[str, str | None]
    line: str
    by_look: str
    by_import: str


FALLS = {
    "a renamed path": Fall(
        {"src/shop/prices.py": None, "src/shop/costs.py": FILES["src/shop/prices.py"]},
        "Prices are made in `src/shop/prices.py`.",
        "src/shop/prices.py gone",
        "renamed to src/shop/costs.py",
    ),
    "a renamed method": Fall(
        {"src/shop/cart.py": FILES["src/shop/cart.py"].replace("add_line", "push")},
        "Call `Cart.add_line()` for each item.",
        "does not say 'def add_line'",
        "no code holds add_line",
    ),
    "a removed target": Fall(
        {"Makefile": "test:\n\tpytest\n"}, "Release with `make ship`.", "does not say 'ship:'", "has no such target"
    ),
    "a changed setting": Fall(
        {"config.toml": "port = 9090\n"},
        "The server has `port = 8080`.",
        "does not say 'port = 8080'",
        "config.toml says 9090",
    ),
    "a raised version": Fall(
        {"pyproject.toml": '[project]\nname = "shop"\nrequires-python = ">=3.13"\n'},
        "Needs Python 3.11.",
        "does not say",
        "pyproject.toml declares >=3.13",
    ),
}


@pytest.mark.parametrize("fall", FALLS.values(), ids=FALLS)
def test_a_line_falls_with_what_it_names(desk: Desk, fall: Fall) -> None:
    desk.load()
    for name, text in fall.change.items():
        desk.write(name, text) if text is not None else (desk.top / name).unlink()
    desk.commit()
    assert list(looked := desk.fallen()) == [fall.line], "by the look alone"
    assert looked[fall.line].startswith("source_changed")
    assert fall.by_look in looked[fall.line]
    assert desk.load().refuted == 1
    assert fall.by_import in desk.fallen()[fall.line], "and check says what became of it"
    assert desk.held() == [one for one in SAID if one != fall.line]


def test_what_is_wrong_already_is_never_held(desk: Desk) -> None:
    desk.git("mv", "src/shop/prices.py", "src/shop/costs.py")
    desk.commit()
    assert desk.load().refuted == 1
    assert desk.held() == [one for one in SAID if "prices.py" not in one]
    assert "renamed to src/shop/costs.py" in desk.fallen()["Prices are made in `src/shop/prices.py`."]
    desk.git("mv", "src/shop/costs.py", "src/shop/prices.py")
    desk.commit()
    assert desk.load().recorded == 1
    assert desk.held() == SAID, "it holds again"


def test_an_edit_of_the_code_that_keeps_the_name_costs_nothing(desk: Desk) -> None:
    desk.load()
    desk.write("src/shop/prices.py", "import os\n\n\ndef price_of(item, tax=0):\n    return 4\n")
    desk.write("Makefile", "ship: test lint\n\ttrue\n\ntest:\n\tpytest -x\n\nlint:\n\truff\n")
    assert desk.held() == SAID
    before = desk.workspace.epoch
    assert desk.load()[1:6] == (0, 0, 0, 0, ())
    assert desk.workspace.epoch == before


def test_a_name_that_moved_to_another_file_still_holds(desk: Desk) -> None:
    desk.load()
    desk.write("src/shop/basket.py", FILES["src/shop/cart.py"])
    (desk.top / "src/shop/cart.py").unlink()
    assert desk.load().refuted == 0
    assert desk.held() == SAID


@dataclass(frozen=True)
class Edit:
    """A memory file, and what its second version makes of the items of the first."""

    before: str
    after: str
    held: tuple[str, ...]
    recorded: int
    superseded: int = 0
    revoked: int = 0


EDITS = {
    "an edited line supersedes": Edit("- Be kind.\n- Ship on Monday.\n", "- Be kind.\n- Ship on Tuesday.\n",
                                      ("Be kind.", "Ship on Tuesday."), 1, superseded=1),
    "the same thing in other words": Edit("- `Makefile` has everything.\n", "- Look first into `Makefile`, then ask.\n",
                                          ("Look first into `Makefile`, then ask.",), 1, superseded=1),
    "a deleted line revokes": Edit("- Be kind.\n- Ship on Monday.\n", "- Be kind.\n", ("Be kind.",), 0, revoked=1),
    "lines move": Edit("- One.\n- Two.\n", "New words above.\n\n- Two.\n- One.\n",
                       ("New words above.", "One.", "Two."), 1),
    "a heading is renamed": Edit("# A\n\n- One.\n", "# B\n\n- One.\n", ("One.",), 0),
    "a line twice": Edit("- One.\n- One.\n", "- One.\n", ("One.",), 0, revoked=1),
    "back to the old words": Edit("- Ship on Monday.\n", "- Ship on Monday.\n", ("Ship on Monday.",), 0),
    "other line ends": Edit("- One.\n- Two.\n", "- One.\r\n- Two.\r\n", ("One.", "Two."), 2),
    "another mark": Edit("- One.\n- Two.\n", "* One.\n* Two.\n", ("One.", "Two."), 2),
    "front matter": Edit("---\nglobs: x\n---\n- One.\n", "---\nglobs: y\n---\n- One.\n", ("One.",), 0),
    "a block of commands": Edit("```bash\nmake test\n# a comment\nmake ship\n```\n", "```bash\nmake test\n```\n",
                                ("make test",), 0, revoked=1),
    "a table": Edit("|a|b|\n|-|-|\n|x|y|\n", "|a|b|\n|-|-|\n|x|z z z|\n", ("a | b", "x | z z z"), 1, revoked=1),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_of_the_file(desk: Desk, edit: Edit) -> None:
    desk.write("NOTES.md", edit.before)
    desk.load("NOTES.md")
    desk.write("NOTES.md", edit.after)
    done = desk.load("NOTES.md")
    assert (done.recorded, done.superseded, done.revoked) == (edit.recorded, edit.superseded, edit.revoked)
    assert desk.held() == sorted(edit.held)
    desk.write("NOTES.md", edit.before)
    desk.load("NOTES.md")
    desk.write("NOTES.md", edit.after)
    desk.load("NOTES.md")
    assert desk.held() == sorted(edit.held), "there and back again"


def test_an_import_ends_no_more_items_than_one_writer_may(desk: Desk) -> None:
    lines = [f"- Rule number {number} of many." for number in range(450)]
    desk.write("NOTES.md", "\n".join(lines))
    assert desk.load("NOTES.md").recorded == 450
    desk.write("NOTES.md", "- The only rule.\n")
    done = desk.load("NOTES.md")
    assert (done.revoked, [one.why for one in done.unread]) == (
        400,
        ["more than 400 lines changed; the next import does the rest"],
    )
    assert desk.load("NOTES.md").revoked == 50
    assert desk.load("NOTES.md")[1:6] == (0, 0, 0, 0, ())


def test_a_deleted_file_revokes_its_lines_and_another_clients_files_stay(desk: Desk) -> None:
    desk.write("AGENTS.md", "- One.\n")
    desk.load("CLAUDE.md", "AGENTS.md")
    assert desk.load("CLAUDE.md")[1:6] == (0, 0, 0, 0, ()), "AGENTS.md was not asked for, and is there"
    (desk.top / "AGENTS.md").unlink()
    assert desk.load("CLAUDE.md").revoked == 1
    assert desk.held() == SAID


def test_a_lost_record_of_the_import_does_no_harm(desk: Desk) -> None:
    desk.load()
    for file in (desk.project.folder / "memory").iterdir():
        file.unlink()
    desk.write("CLAUDE.md", MEMORY.replace("- Be kind.\n", ""))
    desk.load()
    assert desk.held() == [one for one in SAID if one != "Be kind."]


def test_the_users_own_files_are_read_and_not_checked_and_belong_to_no_task(desk: Desk) -> None:
    own = Path.home() / ".claude" / "CLAUDE.md"
    own.parent.mkdir(exist_ok=True)
    own.write_text("- Always run `make nothing-here` in `src/never/there.py`.\n")
    done = desk.load(own)
    assert (done.recorded, done.refuted) == (1, 0)
    [name] = imported_lines(desk.project)
    assert desk.workspace.admin.log.item(name).scope.task is None
    own.write_text("- Run nothing.\n")
    assert desk.load(own).recorded == 1
    assert desk.held() == ["Run nothing."]


def test_a_clients_notes_about_the_checkout_are_checked(desk: Desk) -> None:
    notes = Path.home() / ".claude" / "projects" / claude_slug(desk.project.worktree) / "memory" / "MEMORY.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("- Prices are in `src/shop/nowhere.py`.\n")
    assert desk.load(notes).refuted == 1


UNREAD = {
    "binary": (b"- One.\0\n", "zero bytes"),
    "not UTF-8": (b"- One \xff\xfe.\n", "not readable as text"),
    "huge": (b"- One.\n" * 200_000, "larger than"),
    "a long line": (b"- " + b"word " * 200 + b"\n", "line 1: longer than"),
    "a secret": (b"- The token is `ghp_" + b"a1B2c3D4e5" * 4 + b"`.\n", "line 1: it may hold a secret"),
}


@pytest.mark.parametrize(("data", "why"), UNREAD.values(), ids=UNREAD)
def test_what_is_not_read_is_reported(desk: Desk, data: bytes, why: str) -> None:
    (desk.top / "AGENTS.md").write_bytes(data)
    done = desk.load("CLAUDE.md", "AGENTS.md")
    assert done.recorded == 6
    [unread] = done.unread
    assert unread.file == "AGENTS.md"
    assert why in unread.why


def test_a_malformed_file_does_not_keep_others_out(desk: Desk) -> None:
    desk.write("facts.json", '{"no": "list"}')
    done = desk.load("CLAUDE.md", "facts.json")
    assert done.recorded == 6
    assert [(one.file, "not a JSON list" in one.why) for one in done.unread] == [("facts.json", True)]


def test_a_file_that_is_too_much_for_a_check_does_not_keep_others_out(desk: Desk) -> None:
    desk.write("NOTES.md", "- We ship on Monday.\n")
    desk.write("AGENTS.md", f"- `src/{'a/' * 3_000}b.py`\n")
    done = desk.load("NOTES.md", "AGENTS.md")
    assert desk.held() == ["We ship on Monday."]
    assert [(one.file, "a name of 6,008 characters" in one.why) for one in done.unread] == [("AGENTS.md", True)]


def test_a_link_within_the_project_is_followed_once_and_one_out_of_it_never(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "private.md").write_text("- A private line.\n")
    (desk.top / "AGENTS.md").symlink_to("CLAUDE.md")
    (desk.top / "GEMINI.md").symlink_to(tmp_path / "private.md")
    done = desk.load("AGENTS.md", "CLAUDE.md", "GEMINI.md")
    assert done.recorded == 6
    assert [(Path(one.file).name, one.why) for one in done.unread] == [
        ("GEMINI.md", "a link that leads out of the project")
    ]


def test_after_the_deadline_nothing_is_written_and_everything_is_reported(desk: Desk) -> None:
    before = desk.workspace.epoch
    done = desk.load(deadline=time.monotonic() - 1)
    assert desk.workspace.epoch == before
    assert [one.file for one in done.unread] == ["CLAUDE.md"]


def test_a_file_that_is_written_meanwhile_is_left_for_the_next_import(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements_apart = import_memory.__globals__["statements_apart"]

    def slow(*given: object, **more: object) -> object:
        found = statements_apart(*given, **more)
        desk.write("CLAUDE.md", "- Something else.\n")
        return found

    monkeypatch.setattr("readmit.clients.memory_import.statements_apart", slow)
    before = desk.workspace.epoch
    done = desk.load()
    assert desk.workspace.epoch == before
    assert "changes while it is read" in done.unread[0].why
    monkeypatch.setattr("readmit.clients.memory_import.statements_apart", statements_apart)
    desk.load()
    assert desk.held() == ["Something else."]
