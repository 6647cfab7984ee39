"""Which store a folder has, and what its items are scoped to."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from readmit.clients.project import client_policy, data_folder, open_project, project_of, spool_folder
from readmit.errors import StoreError
from tests.clients.home import git

pytestmark = pytest.mark.usefixtures("home")


def test_a_plain_repository_is_one_project_from_any_of_its_folders(repo: Path, home: Path) -> None:
    (repo / "src" / "deep").mkdir(parents=True)
    top, below = project_of(repo), project_of(repo / "src" / "deep")
    assert top == below
    assert (top.common, top.worktree, top.package) == (repo / ".git", repo, "")
    assert top.folder == home / ".local/share/readmit/projects" / top.key
    assert len(top.key) == 16
    assert top.task.startswith("shop@")
    assert {path.parent for path in (top.store, top.status_file, top.faults_file)} == {top.folder}
    assert spool_folder() == data_folder() / "spool"
    assert not data_folder().exists(), "looking writes nothing"


def test_a_linked_worktree_shares_the_store_and_has_a_task_of_its_own(repo: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", tmp_path / "other", "-b", "other", cwd=repo)
    main, linked = project_of(repo), project_of(tmp_path / "other")
    assert (main.key, main.common) == (linked.key, linked.common)
    assert linked.worktree == tmp_path / "other"
    assert main.task != linked.task


def test_two_checkouts_of_the_same_name_have_two_tasks(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    git("worktree", "add", "-q", tmp_path / "else" / "shop", "-b", "other", cwd=repo)
    assert project_of(repo).task != project_of(tmp_path / "else" / "shop").task


def test_a_clone_is_another_project(repo: Path, tmp_path: Path) -> None:
    git("clone", "-q", repo, tmp_path / "clone", cwd=tmp_path)
    assert project_of(repo).key != project_of(tmp_path / "clone").key


def test_a_submodule_is_a_project_of_its_own(repo: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git("init", "-q", ".", cwd=outer)
    git("submodule", "add", "-q", repo, "lib/shop", cwd=outer)
    inner = project_of(outer / "lib" / "shop")
    assert inner.common == outer / ".git/modules/lib/shop"
    assert inner.worktree == outer / "lib" / "shop"
    assert inner.key not in (project_of(outer).key, project_of(repo).key)


@pytest.mark.parametrize("marker", ["pyproject.toml", "package.json", "go.mod", "Cargo.toml"])
def test_the_nearest_package_below_the_top_is_part_of_the_task(repo: Path, marker: str) -> None:
    deep = repo / "packages" / "cart" / "src"
    deep.mkdir(parents=True)
    (repo / "packages" / "cart" / marker).write_text("")
    cart = project_of(deep)
    assert cart.package == "packages/cart"
    assert cart.task == f"{project_of(repo).task}/packages/cart"
    assert cart.key == project_of(repo).key


def test_outside_of_git_the_folder_itself_is_the_project(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "package.json").write_text("{}")
    found = project_of(folder / "sub")
    assert (found.common, found.worktree, found.package) == (folder / "sub", folder / "sub", "")
    assert project_of(folder).key != found.key


def test_a_symbolic_link_is_the_folder_that_it_leads_to(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo)
    assert project_of(tmp_path / "link") == project_of(repo)


def test_a_folder_that_is_gone_is_still_a_project(tmp_path: Path) -> None:
    assert project_of(tmp_path / "gone").worktree == tmp_path / "gone"


LEADS = {
    "to another repository's": "gitdir: {repo}/.git\n",
    "to nothing": "gitdir: /nowhere/at/all\n",
    "to a linked worktree's of another": "gitdir: {repo}/.git/worktrees/linked\n",
    "nowhere": "no such line\n",
    "of no text": "\xff\xfe\x00",
}


@pytest.mark.parametrize("leads", LEADS)
def test_a_git_file_that_is_not_led_back_to_takes_no_other_store(repo: Path, tmp_path: Path, leads: str) -> None:
    """Else a folder out of an archive could read what is remembered about another repository."""
    git("worktree", "add", "-q", tmp_path / "linked", "-b", "linked", cwd=repo)
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(LEADS[leads].format(repo=repo), encoding="latin-1")
    assert project_of(hostile).common == hostile


def test_an_empty_folder_named_git_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "a" / "b").mkdir()
    assert project_of(tmp_path / "a" / "b").common == tmp_path / "a" / "b"


NAMES = {
    "a very long one": "n" * 250,
    "a line break": "one\ntwo",
    "no text": os.fsdecode(b"caf\xe9"),
    "decomposed": unicodedata.normalize("NFD", "café"),
    "spaces": "my shop",
}


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_folder_gives_a_task_that_can_be_written(tmp_path: Path, name: str) -> None:
    project = project_of(tmp_path / NAMES[name])
    project.worktree.mkdir()
    with open_project(project) as workspace:
        workspace.agent("claude-code:1", role="coding-agent", task=project.task).depart()
    assert project.task.isprintable()


def test_opening_starts_the_workspace_for_its_owner_alone(repo: Path) -> None:
    project = project_of(repo)
    with open_project(project) as workspace:
        assert workspace.admin.policy == client_policy(project)
    assert project.folder.stat().st_mode & 0o777 == 0o700
    assert data_folder().stat().st_mode & 0o777 == 0o700
    with open_project(project) as workspace:
        epoch = workspace.epoch
    with open_project(project) as workspace:
        assert workspace.epoch == epoch, "opening again writes nothing"


def test_a_checkout_is_added_to_the_folders_that_are_looked_at(repo: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", tmp_path / "second", "-b", "second", cwd=repo)
    git("worktree", "add", "-q", tmp_path / "third", "-b", "third", cwd=repo)
    for folder in (repo, tmp_path / "second"):
        open_project(project_of(folder)).close()
    git("worktree", "remove", tmp_path / "second", cwd=repo)
    with open_project(project_of(tmp_path / "third")) as workspace:
        assert workspace.admin.policy.looks.roots == (str(repo), str(tmp_path / "third"))


def test_a_change_of_the_policy_by_the_user_stays(repo: Path, tmp_path: Path) -> None:
    with open_project(project_of(repo)) as workspace:
        workspace.as_owner().admin.govern(workspace.admin.policy.changed(budgets={"items": 7}))
    git("worktree", "add", "-q", tmp_path / "second", "-b", "second", cwd=repo)
    with open_project(project_of(tmp_path / "second")) as workspace:
        assert workspace.admin.policy.budgets.items == 7


def test_a_clients_folder_is_looked_at_once_it_is_there(repo: Path, home: Path) -> None:
    open_project(project_of(repo)).close()
    (home / "dotfiles").mkdir()
    (home / ".claude").symlink_to(home / "dotfiles")
    with open_project(project_of(repo)) as workspace:
        assert workspace.admin.policy.looks.roots == (str(repo), str(home / "dotfiles"))


def test_a_home_that_cannot_be_written_is_said_so(repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = home / "file"
    blocked.write_text("")
    monkeypatch.setenv("READMIT_DATA", str(blocked / "data"))
    with pytest.raises(StoreError, match=r"^data: the folder .* cannot be made: .*; set READMIT_DATA to a folder"):
        open_project(project_of(repo))


def test_without_a_home_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "")
    monkeypatch.setattr("platformdirs.user_data_path", lambda _: Path("~/.local/share/readmit"))
    with pytest.raises(StoreError, match="there is no home folder; set READMIT_DATA"):
        data_folder()
