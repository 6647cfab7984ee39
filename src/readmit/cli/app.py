"""The group of all commands."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from readmit.cli import entry_points as plugins
from readmit.cli.agents import presence_commands as leasing
from readmit.cli.agents import return_commands as returning
from readmit.cli.agents import subscribe_command as subscribing
from readmit.cli.command import write_examples
from readmit.cli.error_lines import JsonUsageError
from readmit.cli.inquiry import check_command as checking
from readmit.cli.inquiry import diagnosis_commands as diagnosis
from readmit.cli.inquiry import explain_commands as queries
from readmit.cli.inquiry import listing_commands as browsing
from readmit.cli.inquiry import page_command as page
from readmit.cli.inquiry import verify_command as verifying
from readmit.cli.model_use import backend_commands as backends
from readmit.cli.model_use import batch_commands as batch
from readmit.cli.model_use import inference_commands as inferring
from readmit.cli.operation import audit_commands as audit
from readmit.cli.operation import backup_commands as backups
from readmit.cli.operation import key_commands as keys
from readmit.cli.operation import witness_command as witness
from readmit.cli.operation import writer_commands as writers
from readmit.cli.scenarios import demo_command as demo
from readmit.cli.scenarios import play_command as play
from readmit.cli.statements import item_commands as writing
from readmit.cli.statements import observe_command as sources
from readmit.cli.statements.declared_commands import command_of
from readmit.cli.status import MEANINGS
from readmit.records.acts.kinds import KINDS, load_declared_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXAMPLES = (
    "readmit demo",
    "readmit init",
    'readmit record "Sunrise is booked" --source "Sunrise confirms." --by A2 --supports d_h',
    "readmit depart --principal A1 --role planner --task trip",
    "readmit return --principal A1 --role planner --task trip",
)


class Main(click.Group):
    """Lists commands in the order of use and those of plugins, then examples and exit statuses."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(dict.fromkeys((*self.commands, *_declared_elsewhere(), *plugins.names())))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or plugins.plugged(cmd_name) or _declared_elsewhere().get(cmd_name)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _in_json(args):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_json([*ctx._protected_args, *ctx.args]):  # noqa: SLF001 - click keeps the rest of the line there
            return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_examples(EXAMPLES, formatter)
        with formatter.section("Exit status"):
            formatter.write_dl([(str(int(status)), meaning) for status, meaning in MEANINGS.items()])


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
    return {
        name: command_of(kind, kind.wording)
        for name, kind in KINDS.items()
        if kind.wording is not None and name not in main.commands
    }


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="readmit", prog_name="readmit")
def main() -> None:
    """What may a returning agent still act on?

    An agent departs, the team changes the shared state, the agent returns and gets a decision: a small signed
    bundle of what is still true, still allowed and still needed, or nothing if that would not be enough.
    """


for commands in (
    demo, play, writing, sources, browsing, returning, leasing, subscribing, inferring, verifying, queries, diagnosis,
    page, audit, keys, writers, witness, backups, backends, batch, checking,
):  # fmt: skip
    commands.add_to(main)
