"""The project that a session works in: which store it has, and what its items are scoped to.

All checkouts of one repository share a store, whose key is the real path of the git common directory. A remote is never
asked for: two clones are two projects. ``.git`` is read here, because starting git takes longer than a hook has, and a
repository is data of a stranger: a ``.git`` file that leads to another repository counts only if that leads back.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from readmit.records.base import nfc
from readmit.records.error_types import ConflictError, StoreError

if TYPE_CHECKING:
    from readmit.records.policy import Policy
    from readmit.workspace.workspace import Workspace

ROLE = "coding-agent"
"""The role of every session."""
PACKAGE_FILES = ("pyproject.toml", "package.json", "go.mod", "Cargo.toml")
"""A folder below the top of a checkout that holds one of these is a package of its own."""
PRIVATE = 0o700
_LARGEST = 65_536
_LONGEST_NAME = 60
_LONGEST_PACKAGE = 160
_CORE_WORKTREE = re.compile(
    r"^\s*\[core\](?:(?!^\s*\[).)*?^\s*worktree\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Project:
    """A repository, the checkout of it that a session works in, and the package within that checkout."""

    key: str
    """16 hexadecimal digits of the SHA-256 over ``common``: the name of the project's folder."""
    common: Path
    """Real path of the git common directory, or of the folder itself outside of git."""
    worktree: Path
    """Real path of the top of the checkout."""
    package: str
    """Path of the nearest package below the top, or an empty text."""
    folder: Path
    """Folder of the store and of the project's small files, in readmit's data folder."""

    @property
    def store(self) -> Path:
        return self.folder / "store.db"

    @property
    def status_file(self) -> Path:
        return self.folder / "status.json"

    @property
    def faults_file(self) -> Path:
        return self.folder / "faults.log"

    @property
    def task(self) -> str:
        """The task that sessions and items of this checkout and package have: readable, and unique for its path.

        The same line in two checkouts or packages is two items, so an id that is derived from a line includes the task.
        """
        name = _printable(self.worktree.name)[:_LONGEST_NAME] or "root"
        task = f"{name}@{_digest(self.worktree)[:8]}"
        if not self.package:
            return task
        package = _printable(self.package)
        if len(package) > _LONGEST_PACKAGE or package != self.package:
            package = f"{package[-_LONGEST_PACKAGE:]}@{_digest(Path(self.package))[:8]}"
        return f"{task}/{package}"


def data_folder() -> Path:
    """The folder of readmit's data: the one that ``READMIT_DATA`` names, or the platform's for this user."""
    if given := os.environ.get("READMIT_DATA", ""):
        return Path(given).absolute()
    from platformdirs import user_data_path

    folder = user_data_path("readmit")
    if not folder.is_absolute():  # neither HOME nor an entry of the user
        raise StoreError("data: there is no home folder; set READMIT_DATA to a folder that you can write")
    return folder


def spool_folder() -> Path:
    """The folder of the lines that hooks after a tool use append."""
    return data_folder() / "spool"


def project_of(cwd: Path) -> Project:
    """The project of a folder. Writes nothing, starts no process, and needs no repository."""
    here = Path(os.path.realpath(cwd))
    worktree, common = here, here
    for folder in (here, *here.parents):
        if (found := _common_directory(folder)) is not None:
            worktree, common = folder, found
            break
    key = _digest(common)[:16]
    return Project(key, common, worktree, _package(here, worktree), data_folder() / "projects" / key)


def writable_project(cwd: Path) -> Project | None:
    """The project of a folder; none where nothing can be remembered, because the data folder cannot be written."""
    with suppress(StoreError):
        project = project_of(cwd)
        make_private(project.folder)
        if all(os.access(path, os.W_OK) for path in (project.folder, project.store) if path.exists()):
            return project
    return None


class PolicyChoice(NamedTuple):
    """A setting of the policy that differs from the default, and why."""

    group: str
    setting: str
    value: object
    reason: str


CHOICES = (
    # A client cuts a hook's text at 10,000 bytes, or at 10,000 characters.
    PolicyChoice("budgets", "items", 40, "a start prints at most 9,500 bytes, whatever is remembered"),
    PolicyChoice("budgets", "chars", 3_500, "the same; what frames the texts takes as much again"),
    PolicyChoice("budgets", "item_chars", 400, "a remembered line is a sentence; a pasted document stays out"),
    PolicyChoice("budgets", "retractions", 24, "what no longer holds comes first, and the rest is counted"),
    PolicyChoice("budgets", "retraction_chars", 2_000, "a session remembers texts, not ids: withdrawn texts are named"),
    PolicyChoice("evidence", "drafts", "confirm", "what a model wrote counts once a person or a probe confirmed it"),
    PolicyChoice("evidence", "on_concurrent", ("user",), "your word stands before an agent's; agents are equals"),
    PolicyChoice(
        "returns", "on_incomplete", "partial", "one duty without its evidence keeps no session from the others"
    ),
    PolicyChoice("returns", "fill", "always", "few sessions owe a duty; all need what is known about the repository"),
    PolicyChoice("looks", "seconds", 1, "a start has two seconds for everything"),
    PolicyChoice("looks", "total_seconds", 1, "the same; what nobody looked at is said to be unseen"),
)
"""Every choice of ``client_policy`` but the folders that are looked at, which are the checkout's and the clients'."""


def client_policy(project: Project) -> Policy:
    """The policy that a project's workspace starts under: ``CHOICES``, without network and commands."""
    from readmit.clients.known_clients import CLIENTS
    from readmit.records.policy import Policy

    folders = [project.worktree, *(folder for client in CLIENTS.values() if (folder := client.home()) is not None)]
    roots = tuple(dict.fromkeys(str(folder) for folder in folders if _is_storable(str(folder))))
    groups: dict[str, dict[str, object]] = {"looks": {"roots": roots}}
    for choice in CHOICES:
        groups.setdefault(choice.group, {})[choice.setting] = choice.value
    return Policy().changed(**groups)


def open_project(project: Project) -> Workspace:
    """Open the project's workspace, or start it under ``client_policy``.

    A checkout that its policy does not name yet is added to the folders that are looked at, and checkouts that are gone
    are dropped. The first folder stays, because probes of files below it keep relative paths.
    """
    from readmit.clients.intake.secret_free_looks import SecretFreeLooker
    from readmit.workspace.workspace import Workspace

    make_private(project.folder)
    policy = None if project.store.exists() else client_policy(project)
    prober = partial(SecretFreeLooker, project.folder / "looks.json")
    try:
        workspace = Workspace.open(project.store, policy=policy, prober=prober)
    except ConflictError:  # another checkout's session started it in between, with another folder to look at
        workspace = Workspace.open(project.store, prober=prober)
    try:
        _see_checkout(workspace, project)
    except BaseException:
        workspace.close()
        raise
    return workspace


def make_private(folder: Path) -> None:
    """Make a folder within readmit's data folder, for its owner alone."""
    top = data_folder()
    try:
        for one in (*reversed([above for above in folder.parents if above.is_relative_to(top)]), folder):
            one.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    except OSError as error:
        why = f"data: the folder {folder} cannot be made: {error.strerror}"
        raise StoreError(f"{why}; set READMIT_DATA to a folder that you can write") from None


def _see_checkout(workspace: Workspace, project: Project) -> None:
    policy = workspace.admin.policy
    first, *others = policy.looks.roots or ("",)
    wanted = client_policy(project).looks.roots
    kept = [root for root in others if root not in wanted and Path(root).is_dir()]
    roots = (first, *kept, *(root for root in wanted if root != first)) if first else wanted
    if set(wanted) - set(policy.looks.roots):
        workspace.as_owner().admin.govern(policy.changed(looks={"roots": roots}))


def _common_directory(folder: Path) -> Path | None:
    """Real path of the common directory of the repository whose checkout has its top here; none if none has."""
    entry = folder / ".git"
    if os.path.isdir(entry):  # noqa: PTH112 - Path.is_dir raises where a folder cannot be searched
        return Path(os.path.realpath(entry)) if _is_file(entry / "HEAD") else None
    if not _is_file(entry):
        return None
    leads = _first_line(entry)
    if not leads.startswith("gitdir:"):
        return None
    own = Path(os.path.realpath(folder / leads.removeprefix("gitdir:").strip()))
    if common := _first_line(own / "commondir"):  # of a linked worktree
        back, found = _first_line(own / "gitdir"), own / common
        leads_back = bool(back) and os.path.realpath(own / back) == os.path.realpath(entry)
    else:  # of a submodule
        named, found = _CORE_WORKTREE.search(file_start(own / "config")), own
        leads_back = named is not None and os.path.realpath(own / named[1]) == str(folder)
    return Path(os.path.realpath(found)) if leads_back else folder


def _package(here: Path, worktree: Path) -> str:
    """The nearest package between a folder and the top of its checkout, the top itself apart."""
    for folder in (here, *here.parents):
        if folder == worktree:
            return ""
        if any(_is_file(folder / name) for name in PACKAGE_FILES):
            return folder.relative_to(worktree).as_posix()
    return ""


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises where a folder cannot be searched


def file_start(path: Path) -> str:
    """The beginning of a regular file; empty if there is none. A pipe would keep a reader waiting."""
    with suppress(OSError), open(path, "rb", opener=_without_waiting) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return os.fsdecode(file.read(_LARGEST))
    return ""


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _first_line(path: Path) -> str:
    return file_start(path).partition("\n")[0].strip()


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()


def _is_storable(text: str) -> bool:
    """Whether a path is UTF-8. Nothing is looked at below another one."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _printable(name: str) -> str:
    """A name as it is stored, without characters that cannot be shown."""
    return nfc("".join(letter if letter.isprintable() else "?" for letter in name))
