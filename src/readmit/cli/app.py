"""All commands, in the sections of a person's work."""

from __future__ import annotations

from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from readmit.cli import entry_points
from readmit.cli.agents import presence_commands, return_commands
from readmit.cli.coding_agents import install_command, mcp_command, today_command
from readmit.cli.error_lines import JsonUsageError
from readmit.cli.inquiry import (
    check_command,
    diagnosis_commands,
    explain_commands,
    listing_commands,
    page_command,
    verify_command,
)
from readmit.cli.model_use import backend_commands, batch_commands, inference_commands
from readmit.cli.operation import (
    admin_commands,
    audit_commands,
    backup_commands,
    credential_commands,
    head_commands,
    key_commands,
    policy_command,
    serve_command,
    store_commands,
    witness_command,
    writer_commands,
)
from readmit.cli.scenarios import demo_command, play_command
from readmit.cli.statements import item_commands, observe_command
from readmit.cli.statements.declared_commands import declared_commands
from readmit.records.acts.kinds import load_declared_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ADMIN = frozenset({"approve", "decline", "reassign", "void"})
"""Declared kinds whose command is below ``readmit admin``."""

declared = tuple(declared_commands())
BELOW: dict[click.Group, tuple[click.Command, ...]] = {
    admin_commands.admin: (
        *(one for one in declared if one.name in _ADMIN),
        backup_commands.backup_store,
        backup_commands.restore_store,
    ),
    audit_commands.audit: (head_commands.sign_head, head_commands.prove_event),
}
for group, members in BELOW.items():
    for one in members:
        group.add_command(one)

SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Start": (
        install_command.install_client,
        today_command.show_today,
        mcp_command.serve_mcp,
        demo_command.play_demo,
        store_commands.init,
        play_command.play_scenario,
    ),
    "Remember": (
        observe_command.observe,
        item_commands.record,
        item_commands.oblige,
        item_commands.move_frontier,
        *(one for one in declared if one.name not in _ADMIN),
        item_commands.remember,
    ),
    "Depart": (return_commands.depart_agent, presence_commands.present_agent, presence_commands.subscribe_agent),
    "Return": (
        return_commands.return_agent,
        return_commands.expose_view,
        return_commands.acknowledge_view,
        presence_commands.look_for_agent,
    ),
    "Look into": (
        diagnosis_commands.why_return,
        explain_commands.explain_item,
        listing_commands.list_items,
        listing_commands.show_one,
        listing_commands.show_log,
        page_command.write_page,
        explain_commands.replay_return,
        verify_command.verify_file,
        check_command.check_files,
    ),
    "Operate": (
        store_commands.show_status,
        diagnosis_commands.check_workspace,
        admin_commands.admin,
        admin_commands.forget_texts,
        audit_commands.audit,
        policy_command.policy,
        key_commands.keys,
        writer_commands.writers,
        serve_command.serve_store,
        credential_commands.credentials,
        witness_command.serve_witness,
    ),
    "Models": (
        inference_commands.prepare_return,
        inference_commands.watch_log,
        inference_commands.ingest_evidence,
        inference_commands.plan_duties,
        batch_commands.batch,
        backend_commands.backends,
    ),
}
"""The commands of this package, in the order of use."""


class Main(click.Group):
    """Lists the names of commands by section; each command's own ``--help`` says the rest."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [name for names in _sections().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return (
            super().get_command(ctx, cmd_name) or entry_points.plugged(cmd_name) or _declared_elsewhere().get(cmd_name)
        )

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _in_json(args):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_json([*ctx._protected_args, *ctx.args]):  # noqa: SLF001 - click keeps the rest of the line there
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands before options: readers look for commands."""
        with formatter.section("Commands"):
            for title, names in _sections().items():
                # A name is never broken at its hyphen.
                lines = wrap(", ".join(names), formatter.width - 13, break_on_hyphens=False)
                for head, line in zip((title, *("" for _ in lines)), lines, strict=False):
                    formatter.write(f"  {head:11}{line}\n")
        click.Command.format_options(self, ctx, formatter)


def _sections() -> dict[str, list[str]]:
    """The names of all commands by section, with those that other packages add."""
    found = {title: [str(one.name) for one in commands] for title, commands in SECTIONS.items()}
    known = {name for names in found.values() for name in names}
    plugged = [name for name in entry_points.command_names() if name not in known]
    found["Bench"] = [name for name in plugged if name in entry_points.PACKAGES]
    found["Added"] = [name for name in (*_declared_elsewhere(), *plugged) if name not in entry_points.PACKAGES]
    return found


@contextmanager
def _in_json(args: Sequence[str]) -> Iterator[None]:
    """Usage errors are JSON if the command line asks for JSON."""
    # Before parsing, which may empty the list.
    asked = "--json" in args
    try:
        yield
    except click.UsageError as error:
        if not asked:
            raise
        raise JsonUsageError(error) from error


def _declared_elsewhere() -> dict[str, click.Command]:
    """Commands of event kinds that other packages declare."""
    load_declared_elsewhere()
    ours = {one.name for one in declared}
    return {str(one.name): one for one in declared_commands() if one.name not in ours}


@click.group(
    cls=Main,
    commands=[one for commands in SECTIONS.values() for one in commands],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try `readmit demo`. `readmit COMMAND --help` says what a command does.",
)
@click.version_option(package_name="readmit", prog_name="readmit")
def main() -> None:
    """What may a returning agent still act on?

    An agent departs, the team goes on, the agent returns and gets a small signed bundle of what still holds, or
    nothing if that would not be enough.
    """
