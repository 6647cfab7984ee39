"""Commands that write do it in the steps of a scenario: the same checks, the same words, one commit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from readmit.records.base import nfc
from readmit.workspace.workspace import desk_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from readmit.cli.command import Invocation
    from readmit.scenario.steps import Step
    from readmit.workspace.workspace import Workspace
    from readmit.writing.passed_plans import Notice

# Shorter ones may be ordinary words: an observation is text too.
_DIGEST = re.compile("[0-9a-fA-F]{8,64}")
# One word with a digit or an underscore in it: e0, msg-17, o_plan.
_AN_ID = re.compile(r"(?=[^\d_]*[\d_])[A-Za-z][\w-]*", re.ASCII)


def step_of(fields: dict[str, Any]) -> Step:
    """A step from the options; missing ones keep their defaults."""
    from readmit.scenario.document import step

    return step({name: value for name, value in fields.items() if value is not None and value not in ((), False)})


def write_steps(invocation: Invocation, written: Sequence[tuple[Step, str]]) -> tuple[list[str], int]:
    """Write steps in one commit. Returns their ids, and the epoch after them."""
    from readmit.scenario.play import Player

    with invocation.open() as workspace, desk_of(workspace).writer.act():
        player = Player(workspace)
        return [player.play(step, place) for step, place in written], workspace.epoch


class WrittenItem(NamedTuple):
    """An item that was written, its evidence, the end of the log, and the notices to its writer."""

    item: str
    evidence: list[str]
    epoch: int
    notices: tuple[Notice, ...]


def write_item(invocation: Invocation, fields: dict[str, Any], *, sources: Sequence[str]) -> WrittenItem:
    """Write an item and the observations it rests on, all or nothing."""
    from readmit.scenario.play import Player

    scope = {name: fields[name] for name in ("task", "roles", "principals")}
    with invocation.open() as workspace, desk_of(workspace).writer.act():
        player = Player(workspace)
        evidence = []
        for number, source in enumerate(sources, 1):
            digest = _digest(workspace, source, nfc(fields["by"]))
            if digest is None:
                name = _source_id(fields, number)
                seen = {"do": "observe", "id": name, "text": text_of(source), "by": fields["by"], **scope}
                digest = player.play(step_of(seen), f"--source {number}")
            evidence.append(digest)
        item = player.play(step_of({**fields, "sources": evidence}), str(fields["do"]))
        return WrittenItem(item, evidence, workspace.epoch, notices_of(workspace, fields["by"], [item]))


def notices_of(workspace: Workspace, by: str, written: Collection[str]) -> tuple[Notice, ...]:
    """The plans that somebody has just passed over with items of these ids."""
    return tuple(one for one in workspace.admin.notices(by=by) if one.news in written and one.written_by == by)


def _source_id(fields: dict[str, Any], number: int) -> str | None:
    """An id for the source of an item that has one, so that the same command again changes nothing."""
    from readmit.records.canonical import digest
    from readmit.records.identity import made_id

    item = fields["id"]
    return None if item is None else made_id(nfc(fields["by"]), digest((item, number))[:32], fields["principals"])


def text_of(source: str) -> str:
    """A text, or the contents of the file that ``@FILE`` names."""
    if not source.startswith("@"):
        return source
    try:
        return Path(source[1:]).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        from readmit.records.error_types import RecordError

        raise RecordError(f"{source[1:]}: not UTF-8 text; convert it first") from None


def _digest(workspace: Workspace, source: str, by: str) -> str | None:
    """Stored evidence by its id, its digest or the beginning of that; none for a text or a file.

    What looks like either and is unknown is refused: a mistyped digest would become evidence with that text.
    """
    from readmit.cli.references import resolve
    from readmit.records.acts.event import EventKind
    from readmit.records.error_types import UnknownError
    from readmit.records.identity import is_own

    is_id = bool(_DIGEST.fullmatch(source) or _AN_ID.fullmatch(source))
    # A writer's own id looks like a file.
    if (is_id or is_own(source, by)) and (seen := desk_of(workspace).log.named(EventKind.OBSERVE, source)) is not None:
        return seen.digest
    if not is_id:
        return None
    found = resolve(workspace, ("evidence",), source, label="--source", by=by) if _DIGEST.fullmatch(source) else None
    if found is not None:
        return found.name
    is_item = desk_of(workspace).log.named(EventKind.RECORD, source) is not None
    raise UnknownError(
        f"--source: {source!r} is "
        + ("an item, not evidence: name it with --depends-on" if is_item else "neither evidence nor an id of any")
        + "; if it is what was observed, word for word, observe it first (`readmit observe`), or put it into a @FILE"
    )
