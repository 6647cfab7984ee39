"""Commands that write do it in the steps of a scenario: the same checks, the same words, one commit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.cli.command import Invocation
    from readmit.scenario.steps import Step
    from readmit.workspace.workspace import Workspace

# Shorter ones may be ordinary words: an observation is text too.
_DIGEST = re.compile("[0-9a-f]{8,64}")


def step_of(fields: dict[str, Any]) -> Step:
    """A step from the options; missing ones keep their defaults."""
    from readmit.scenario.document import step

    return step({name: value for name, value in fields.items() if value is not None and value not in ((), False)})


def write_steps(invocation: Invocation, written: Sequence[tuple[Step, str]]) -> tuple[list[str], int]:
    """Write steps in one commit. Returns their ids, and the epoch after them."""
    from readmit.scenario.play import Player

    with invocation.open() as workspace, workspace.act():
        player = Player(workspace)
        return [player.play(step, place) for step, place in written], workspace.epoch


def write_item(invocation: Invocation, fields: dict[str, Any], *, sources: Sequence[str]) -> tuple[str, list[str], int]:
    """Write an item and the observations it rests on, all or nothing. Returns its id, its evidence and the epoch."""
    from readmit.scenario.play import Player

    scope = {name: fields[name] for name in ("task", "roles", "principals")}
    with invocation.open() as workspace, workspace.act():
        player = Player(workspace)
        evidence = []
        for number, source in enumerate(sources, 1):
            digest = _digest(workspace, source)
            if digest is None:
                seen = {"do": "observe", "id": _source_id(fields["id"], number), "text": text_of(source), **scope}
                digest = player.play(step_of({**seen, "by": fields["by"]}), f"--source {number}")
            evidence.append(digest)
        item = player.play(step_of({**fields, "sources": evidence}), str(fields["do"]))
        return item, evidence, workspace.epoch


def _source_id(item: str | None, number: int) -> str | None:
    """An id for the source of an item that has one, so that the same command again changes nothing."""
    from readmit.records.canonical import digest

    return None if item is None else digest((item, number))[:32]


def text_of(source: str) -> str:
    """A text, or the contents of the file that ``@FILE`` names."""
    if not source.startswith("@"):
        return source
    try:
        return Path(source[1:]).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        from readmit.records.errors import RecordError

        raise RecordError(f"{source[1:]}: not UTF-8 text; convert it first") from None


def _digest(workspace: Workspace, source: str) -> str | None:
    """Stored evidence by its digest, or by the beginning of it; none for a text."""
    from readmit.cli.references import resolve

    if not _DIGEST.fullmatch(source):
        return None
    found = resolve(workspace, ("evidence",), source, label="--source")
    if found is None and len(source) == 64:  # noqa: PLR2004 - SHA-256 in hex
        return source
    return None if found is None else found.name
