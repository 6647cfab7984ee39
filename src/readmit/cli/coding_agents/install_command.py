"""``readmit install``: hooks and tools for the coding agent that a user already runs, and their removal."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readmit.cli.command import command
from readmit.clients.known_clients import CLIENTS, DOES
from readmit.clients.project import CHOICES, ROLE, data_folder, open_project, project_of
from readmit.clients.setup.hook_entries import MCP_EXTRA, has_mcp
from readmit.clients.setup.install_manifest import installed
from readmit.clients.setup.installation import apply_plan, plan_install, plan_removal
from readmit.clients.setup.stores import delete_stores, kept_stores
from readmit.log.key_folder import KeyFolder
from readmit.text.english import counted
from readmit.text.escapes import escaped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.cli.command import Invocation
    from readmit.clients.known_clients import KnownClient
    from readmit.clients.project import Project
    from readmit.clients.setup.installation import InstallPlan


@command(
    "install",
    store=False,
    examples=("readmit install", "readmit install claude-code --dry-run", "readmit install codex --remove"),
)
@click.argument("name", metavar="[CLIENT]", required=False, type=click.Choice(list(CLIENTS)))
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--project", "local", is_flag=True, help="For this checkout alone, in files that are not committed.")
@click.option("--remove", is_flag=True, help="Take out what was installed, and nothing else.")
@click.option(
    "--model",
    metavar="LINE",
    help="A model that drafts statements from what you say in sessions, such as openai:NAME; 'none' for none again.",
)
@click.option("--yes", is_flag=True, help="Answer every question with yes; with --remove, delete the stores too.")
@click.option("--keep-store", is_flag=True, help="With --remove: keep what was remembered, without asking.")
def install_client(
    invocation: Invocation, /, *, name: str | None, dry_run: bool, local: bool, remove: bool, yes: bool,
    keep_store: bool, model: str | None,
) -> None:  # fmt: skip
    """Install readmit into a coding agent: claude-code, codex, gemini or opencode. Without CLIENT, look which are here.

    Writes hooks and an MCP entry into the client's settings in your home, merged into what is there. From then on each
    session starts with what no longer holds of what it remembers. --remove takes out exactly that.
    """
    if model is not None and not dry_run and not remove:
        invocation.say_lines(_choose_model(model))
    project = project_of(Path.cwd())
    done = []
    for client in _chosen(name, project if local else None, remove=remove, sure=yes or dry_run):
        plan = (plan_removal if remove else plan_install)(client, project if local else None)
        backups = None if dry_run else apply_plan(plan, datetime.now(UTC))
        changed = [str(file.path) for file in plan.files if file.changes]
        done.append({"client": client.name, "changed": changed, "backups": backups and str(backups)})
        invocation.say_lines(*_report(client, plan, backups, dry_run=dry_run, remove=remove))
    started: dict[str, Any] = {}
    if not dry_run:
        started = _forget(invocation, done, sure=yes, keep=keep_store) if remove else _start(invocation, project, done)
    if invocation.json:
        invocation.say({"dry_run": dry_run, "removed": remove, "clients": done, **started})


def _choose_model(line: str) -> str:
    """Choose the model that reads transcripts, if the line names one, and say what follows."""
    from readmit.clients.intake.model_drafts import choose_model, opened

    if line == "none":
        choose_model("")
        return "No model reads what you say in sessions."
    # A wrong name is said now, and not in the log of a session to come.
    name = opened(line).name
    choose_model(line)
    return f"What you say in sessions is sent to {one_line(name)}, without secrets. What it drafts waits for you."


def _chosen(name: str | None, project: Project | None, *, remove: bool, sure: bool) -> list[KnownClient]:
    """The clients to install into, or to take out of: the named one, or those that are here and that the user wants."""
    if name is not None:
        return [CLIENTS[name]]
    checkout = "" if project is None else str(project.worktree)
    there = {one.client for one in installed() if one.checkout == checkout}
    found = [one for one in CLIENTS.values() if (one.name in there if remove else _is_here(one))]
    names = ", ".join(CLIENTS)
    if not found:
        why = "nothing is installed" if remove else "no coding agent found here"
        raise click.UsageError(f"CLIENT: {why}; name one of {names}")
    if sure:
        return found
    if not sys.stdin.isatty():
        raise click.UsageError(f"CLIENT: name one of {', '.join(one.name for one in found)}, or say --yes for all")
    verb = "Take readmit out of" if remove else "Install readmit into"
    return [one for one in found if click.confirm(f"{verb} {one.title}?", default=True)]


def _is_here(client: KnownClient) -> bool:
    return client.home() is not None or any(map(shutil.which, client.programs))


def _report(
    client: KnownClient, plan: InstallPlan, backups: Path | None, *, dry_run: bool, remove: bool
) -> Iterator[str]:
    """The lines about one client: which files changed, or would, and the moments."""
    verb = ("take readmit out of" if remove else "install readmit into") if dry_run else ""
    done = "Taken out of" if remove else "Installed into"
    if not plan.changes:
        yield f"{client.title}: nothing to change."
    else:
        yield f"Would {verb} {client.title}:" if dry_run else f"{done} {client.title}:"
    for file in plan.files:
        if file.changes:
            was = "new" if file.before is None else "deleted" if file.after is None else "merged"
            yield f"  {one_line(str(file.path))} ({was})"
        yield from (f"  {one_line(str(file.path))}: {note}" for note in file.notes)
        if dry_run and file.changes:
            lines = unified_diff((file.before or "").splitlines(), (file.after or "").splitlines(), n=0, lineterm="")
            yield from (f"    {escaped(line)}" for line in list(lines)[2:] if not line.startswith("@@"))
    if backups is not None:
        yield f"  The files as they were: {one_line(str(backups))}"
    if remove:
        return
    yield "At each moment:"
    yield from (f"  {moment:8} {DOES[moment]}" for moment in client.events)
    if not has_mcp():
        yield f"The agent's own tools are left out: run `{MCP_EXTRA}`, then this again."
    if client.trust:
        yield client.trust


def _start(invocation: Invocation, project: Project, done: list[dict[str, Any]]) -> dict[str, Any]:
    """Start the project's workspace, and import what the agents already remember."""
    files = list(dict.fromkeys(path for one in done for path in CLIENTS[one["client"]].memory_files(project)))
    if not (project.worktree / ".git").exists() and not files:
        invocation.say_lines("The first session in a repository starts its workspace.")
        return {}
    from readmit.clients.memory_import import import_memory, imported_lines

    with open_project(project) as workspace:
        found = import_memory(workspace, project, files)
    real = {str(path.resolve()) for path in files}
    lines = [line for path, line in imported_lines(project).values() if path in real]
    invocation.say_lines(
        f"This project: {one_line(str(project.worktree))}, in {one_line(str(project.store))}",
        f"  role {ROLE}, task {project.task}",
        f"  from {counted(len(files), 'memory file')}: {counted(len(lines), 'statement')}, "
        f"{sum(bool(line.finding) for line in lines)} of them not true here",
        *(f"  not read: {one_line(f'{one.file} {one.why}'.strip())}" for one in found.unread),
        "Its policy, where it differs from the default (`readmit policy explain` says all):",
        *(f"  {one.group}.{one.setting} = {_shown(one.value)}: {one.reason}" for one in CHOICES),
        "Start a session as ever. `readmit today` says what agents here remember, and what fell.",
    )
    return {"task": project.task, "store": str(project.store), "imported": found._asdict()}


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _forget(invocation: Invocation, done: list[dict[str, Any]], *, sure: bool, keep: bool) -> dict[str, Any]:
    """Ask about the stores once no client uses them any more."""
    stores = kept_stores()
    if not stores:
        return {"stores": []}
    size = sum(one.size for one in stores)
    where = f"{counted(len(stores), 'project')} ({size / 1e6:.1f} MB) in {one_line(str(data_folder()))}"
    if used := sorted({one.client for one in installed()}):
        invocation.say_lines(f"What was remembered stays, because of {', '.join(used)}: {where}")
        return {"stores": [str(one.store) for one in stores]}
    asked = not keep and not sure and sys.stdin.isatty() and not invocation.json
    if not keep and (sure or (asked and click.confirm(f"Delete what was remembered about {where}?", default=False))):
        delete_stores(stores)
        keys = one_line(str(KeyFolder.chosen(None).path))
        stays = f"Backups of settings stay, and signing keys in {keys}: a copy of a store needs its own."
        invocation.say_lines(f"Deleted what was remembered about {where}. {stays}")
        return {"stores": []}
    again = f"`readmit install {done[-1]['client']} --remove --yes` deletes it" if done else ""
    invocation.say_lines(f"What was remembered stays: {where}. {again}")
    return {"stores": [str(one.store) for one in stores]}
