"""The base of every command: ``--json``, ``--debug``, the store it works on, and errors in one line."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from readmit.cli import error_lines
from readmit.cli.options import GroupedOption
from readmit.cli.output import emit, show
from readmit.cli.references import Reference, resolve_params
from readmit.cli.status import MEANINGS, Status
from readmit.log.location import exists, names, shown
from readmit.records.base import nfc
from readmit.records.error_types import CheckLimitError, NotAllowedError, PendingAnswers, ReadmitError, StoreError
from readmit.records.policy import OWNER
from readmit.trust.signer import load_signer
from readmit.workspace.workspace import DEFAULT_NAME, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from readmit.workspace.agent import Agent

DEFAULT_DB = "readmit.db"


class Invocation(NamedTuple):
    """The options that every command has, as one object."""

    json: bool
    db: str
    workspace: str
    as_owner: bool = False
    signer: str | None = None
    """The file of the key that signs."""

    @property
    def store(self) -> str:
        """The place of the store as it may be printed: without a password."""
        return shown(self.db)

    @property
    def store_options(self) -> str:
        """The options that make a command use the same store, if the defaults do not."""
        options = {"--db": (self.store, DEFAULT_DB), "--workspace": (self.workspace, DEFAULT_NAME)}
        return "".join(f" {name} {quote(value)}" for name, (value, usual) in options.items() if value != usual)

    def open(self) -> Workspace:
        """The workspace, which must exist: only ``init`` and ``play`` make one."""
        if not exists(self.db):
            fix = _of_checkout() if self.db == DEFAULT_DB else ""
            raise StoreError(
                f"--db: {self.store} does not exist; {fix or f'run `readmit init --db {quote(self.store)}`'}"
            )
        if not {self.workspace, nfc(self.workspace)}.intersection(known := names(self.db)):
            there = f"; it has {', '.join(map(repr, known))}" if known else ""
            raise StoreError(
                f"--workspace: {self.store} has no workspace {self.workspace!r}{there}; "
                f"run `readmit init --db {quote(self.store)} --workspace {quote(self.workspace)}` to start it"
            )
        workspace = Workspace.open(self.db, name=self.workspace)
        if self.as_owner:
            return workspace.as_owner(signer=self.signer)
        return workspace if self.signer is None else _signing(workspace, self.signer)

    @contextmanager
    def agent(self, **who: str) -> Iterator[Agent]:
        """The agent that ``options.identity`` names: its principal, role and task."""
        with self.open() as workspace:
            yield workspace.agent(**who)

    def say(self, said: object, *parts: RenderableType) -> None:
        """Print the outcome of a command: one JSON object, or lines and tables for a person."""
        if self.json:
            emit(said)
        else:
            show(*parts)

    def say_lines(self, *lines: str) -> None:
        """Print lines for a person as they come; nothing if the outcome is to be one JSON object."""
        if not self.json:
            show(*lines)

    def acting(self, by: str | None) -> Workspace:
        """The workspace for an act of the owner, or of the overseer ``by``.

        A user who can run the command has the file, so by default it is the owner's.
        """
        return (self if by is not None else self._replace(as_owner=True)).open()


class ReadmitCommand(click.Command):
    """A command. Its function gets the ``Invocation`` first and returns the exit status.

    ``store``: whether it works on one, named by ``--db``. ``ends_with`` are the exit statuses of its own, which
    ``--help`` explains.
    """

    def __init__(
        self, *args: Any, callback: Callable[..., Any], store: bool = True, examples: Sequence[str] = (),
        ends_with: Sequence[Status] = (), fields: Mapping[str, str] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, callback=click.pass_obj(callback), **kwargs)  # type: ignore[misc]  # by its name alone
        self._examples = examples
        self._ends_with = ends_with
        # Fields that errors name and that the command's parameters call differently.
        self._fields = fields or {}
        if store:
            self.params += [
                click.Option(
                    ["--db"], default=DEFAULT_DB, envvar="READMIT_DB", show_default=True, metavar="FILE|URL",
                    help="Database file, or a postgresql:// URL. Its signing keys are in the folder READMIT_KEYS, or "
                    "in your configuration folder. [env: READMIT_DB]",
                ),
                click.Option(
                    ["--workspace"], default=DEFAULT_NAME, envvar="READMIT_WORKSPACE", show_default=True,
                    metavar="NAME", help="Workspace within the store. [env: READMIT_WORKSPACE]",
                ),
            ]  # fmt: skip
        self.params += [
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
            click.Option(["--debug"], is_flag=True, help="Show a traceback when something fails."),
        ]
        self._store = store

    def invoke(self, ctx: click.Context) -> Any:
        as_json, debug = ctx.params.pop("as_json"), ctx.params.pop("debug")
        db, name = (ctx.params.pop("db"), ctx.params.pop("workspace")) if self._store else ("", "")
        ctx.obj = Invocation(
            as_json, db, name, as_owner=ctx.params.pop("as_owner", False), signer=ctx.params.pop("signer", None)
        )
        for stream in (sys.stdout, sys.stderr):
            # Text that the terminal's encoding cannot show must not abort the command.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        if not debug:
            logging.getLogger("readmit").addFilter(_without_traceback)
        try:
            if any(
                isinstance(param.type, Reference) and ctx.params[str(param.name)] not in (None, ())
                for param in self.params
            ):
                with ctx.obj.open() as workspace:
                    resolve_params(workspace, self.params, ctx.params)
            status = super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, click.ClickException, BrokenPipeError):
            raise
        except ReadmitError as error:
            message = error_lines.in_options(str(error), self, self._fields)
            status = error_lines.report_error(error, message, as_json=as_json, debug=debug)
            status = {PendingAnswers: Status.WAITING, CheckLimitError: Status.TOO_MUCH}.get(type(error), status)
        except OSError as error:
            status = error_lines.report_error(error, error_lines.of_file(error), as_json=as_json, debug=debug)
        except Exception as error:  # noqa: BLE001 - whatever it is, the user gets one line, and a traceback on demand
            message = f"unexpected {type(error).__name__}: {error}; run again with --debug and report what it shows"
            status = error_lines.report_error(error, message, as_json=as_json, debug=debug)
        ctx.exit(status or Status.OK)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options under their headings, and those without one at the end."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                heading = param.group if isinstance(param, GroupedOption) else "Options"
                sections.setdefault(heading, []).append(record)
        for heading in sorted(sections, key=lambda heading: heading == "Options"):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self._examples:
            with formatter.section("Examples"):
                # Each on its own line however long it is.
                formatter.write("".join(f"{'':{formatter.current_indent}}{line}\n" for line in self._examples))
        if self._ends_with:
            with formatter.section("Exit status"):
                formatter.write_dl([(str(int(status)), MEANINGS[status]) for status in self._ends_with])
        super().format_epilog(ctx, formatter)


class CommandGroup(click.Group):
    """Commands under one word."""

    command_class = ReadmitCommand


def _of_checkout() -> str:
    """The option that names the store of the coding agents of this checkout; empty if they have none."""
    from readmit.clients.project import project_of

    store = project_of(Path.cwd()).store
    return f"what coding agents remember about this checkout is in `--db {quote(str(store))}`" if store.exists() else ""


def _signing(workspace: Workspace, file: str) -> Workspace:
    """The handle of the principal that a key is enrolled for."""
    signer = load_signer(file)
    for one in workspace.admin.writers.enrolled():
        if one.key == signer.keyid:
            owner = one.principal == OWNER
            return workspace.as_owner(signer=signer) if owner else workspace.principal(one.principal, signer=signer)
    raise NotAllowedError(f"signer: the key in {file} is enrolled for nobody here; see `readmit writers enrol --help`")


def command(name: str, **kwargs: Any) -> Callable[[Callable[..., Any]], ReadmitCommand]:
    """Make a function a ``ReadmitCommand``."""
    return click.command(name, cls=ReadmitCommand, **kwargs)


def _without_traceback(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True
