"""Errors for the command line: one line, with option names for fields and the missing folder."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from readmit.cli.references import label_of
from readmit.cli.status import Status
from readmit.records.acts.kinds import KINDS
from readmit.records.error_types import TamperedError
from readmit.text.escapes import json_text, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

# The field that a message is about: where the step says it, or at the beginning of the message.
_FIELD = re.compile(r"^(?:[a-z]+\.)?([a-z_]+)(?:\[\d+\])?(?=: | must )")


def report_error(error: Exception, message: str, *, as_json: bool, debug: bool) -> Status:
    """One line on standard error, or one JSON object on standard output; and a traceback on demand."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, TamperedError) and "backup" not in message:
        message += "; `readmit audit verify` lists all of it, and `readmit admin restore FILE` puts a backup back"
    if as_json:
        click.echo(as_object(type(error).__name__, message))
    else:
        click.echo(f"error: {one_line(message)}", err=True)
    return Status.ERROR


def as_object(kind: str, message: str) -> str:
    """An error as the JSON object that every command prints."""
    return json_text({"error": {"type": kind, "message": message}}, indent=2)


def of_file(error: OSError) -> str:
    """The problem of a file, and the missing folder if that is the cause."""
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str):
        folder = Path(error.filename).parent
        if not folder.is_dir():
            return f"{error.filename}: the folder {folder} does not exist; make it with `mkdir -p {folder}`"
    if error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def name_of(file: IO[bytes]) -> str:
    """The name of a file in an error."""
    name = str(getattr(file, "name", "-"))
    return "standard input" if name in {"-", "<stdin>"} else name


def in_options(message: str, command: click.Command, also: Mapping[str, str]) -> str:
    """A message with option names instead of field names. ``also`` names fields that differ."""
    labels = {str(param.name): label_of(param) for param in command.params}
    labels |= {field: labels[name] for field, name in also.items() if name in labels}
    # Where the command and the kind of event have names of their own, the message begins with both.
    message = re.sub(rf"^(?:(?:{command.name}|{'|'.join(KINDS)}): )+", "", message)
    if (found := _FIELD.match(message)) and found[1] in labels:
        message = labels[found[1]] + message[found.end() :]
    # In the middle of a sentence, a field whose name could be an English word is left alone.
    for name, label in labels.items():
        if "_" in name:
            message = re.sub(rf"(?<![\w.-]){name}\b(?!=)", label, message)
    return message


class JsonUsageError(click.UsageError):
    """Wrong usage under ``--json``: the error is one JSON object too, with the same exit status."""

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(error.format_message(), error.ctx)

    def show(self, file: object = None) -> None:  # noqa: ARG002 - click's signature
        message = self.message if self.message.endswith((".", "?")) else f"{self.message}."
        more = "" if self.ctx is None else f" See `{self.ctx.command_path} --help`."
        click.echo(as_object("UsageError", f"{message}{more}"))
