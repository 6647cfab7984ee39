"""``readmit page``: a return, an item, a slot over time, or a coding agent's project, as one HTML file to look at."""

from __future__ import annotations

from pathlib import Path

import click

from readmit.cli.command import Invocation, command
from readmit.cli.references import Reference
from readmit.diagnosis.history import newest_return
from readmit.text.escapes import one_line
from readmit.workspace.workspace import desk_of


@command(
    "page",
    examples=(
        "readmit page --to return.html",
        "readmit page RETURN --to return.html",
        "readmit page --item h0 --to h0.html",
        "readmit page --slot hotel --task trip --to hotel.html",
        "readmit page --project --to project.html",
    ),
)
@click.argument("return_id", type=Reference("return"), metavar="RETURN", required=False)
@click.option(
    "--to", required=True, type=click.Path(dir_okay=False), metavar="FILE", help="Write the page to this file."
)
@click.option("--item", type=Reference("item"), metavar="ID", help="Show this item instead of a return.")
@click.option("--slot", metavar="NAME", help="Show this slot over time instead of a return.")
@click.option("--project", is_flag=True, help="Show what coding agents remember about the project of this folder.")
@click.option("--task", metavar="NAME", help="With --slot: on this task. Needed where several tasks use the slot.")
@click.option("--principal", metavar="NAME", help="With --slot: as this agent finds it. Default: as everybody does.")
@click.option("--role", metavar="NAME", help="With --slot: as this role finds it. Default: as every role does.")
def write_page(
    invocation: Invocation, /, *, return_id: str | None, to: str, item: str | None, slot: str | None, project: bool,
    task: str | None, principal: str | None, role: str | None,
) -> None:  # fmt: skip
    """Write a past return, an item, a slot over time, or a project, as one HTML page that needs nothing else.

    Without RETURN, the newest return. The page is for operators: it shows texts of items that were left out, so never
    hand it to the returning agent.
    """
    from readmit.pages import item_page, return_page, slot_page

    if sum((slot is not None, item is not None, return_id is not None, project)) > 1:
        raise click.UsageError("give one of RETURN, --item, --slot and --project")
    reader = {"task": task, "principal": principal, "role": role}
    if slot is None and (unused := [name for name, value in reader.items() if value is not None]):
        raise click.UsageError(f"--{unused[0]} has no use without --slot")
    if project:
        html, about = _of_project()
        _write(invocation, html, to, about)
        return
    with invocation.open() as workspace:
        if slot is not None:
            html = slot_page(workspace, slot, task=task, principal=principal or "", role=role or "")
            about = {"slot": slot}
        elif item is not None:
            html, about = item_page(workspace, item), {"item": item}
        else:
            name = return_id or newest_return(desk_of(workspace).log)
            html, about = return_page(workspace, name), {"return": name}
    _write(invocation, html, to, about)


def _of_project() -> tuple[str, dict[str, str]]:
    """The page of the project of this folder."""
    from readmit.cli.coding_agents.today_command import open_here
    from readmit.clients.project import project_of
    from readmit.clients.report.project_report import project_report
    from readmit.pages.page_templates import project_html

    found = project_of(Path.cwd())
    with open_here(found) as workspace:
        return project_html(project_report(workspace, found)), {"project": str(found.worktree)}


def _write(invocation: Invocation, html: str, to: str, about: dict[str, str]) -> None:
    Path(to).write_text(html, encoding="utf-8")
    invocation.say(
        {**about, "output": to},
        f"Written to {one_line(to)}. For the people who run the workspace: it shows what was left out.",
    )
