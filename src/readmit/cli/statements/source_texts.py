"""``--source`` of an item: a text, a file, or stored evidence by its digest or id."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readmit.cli.references import resolve_id
from readmit.records.acts.event import EventKind
from readmit.records.base import nfc
from readmit.records.canonical import digest
from readmit.records.error_types import RecordError, UnknownError
from readmit.records.identity import is_own, made_id
from readmit.workspace.workspace import Workspace, desk_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# Shorter ones may be ordinary words: an observation is text too.
_DIGEST = re.compile("[0-9a-fA-F]{8,64}")
# An observation may have any word as its id. It is that observation then, and not a text of one word.
_WORD = re.compile("[!-~]{1,128}")
# One word with a digit or an underscore in it: e0, msg-17, o_plan.
_AN_ID = re.compile(r"(?=[^\d_]*[\d_])[A-Za-z][\w-]*", re.ASCII)


def observe_sources(workspace: Workspace, sources: Sequence[str], fields: Mapping[str, Any]) -> list[str]:
    """The digests of an item's sources. Texts and files are observed, for the same readers as the item."""
    scope = {name: fields[name] for name in ("task", "roles", "principals")}
    by, digests = fields["by"], []
    for number, source in enumerate(sources, 1):
        found = _stored(workspace, source, nfc(by))
        if found is None:
            name = _source_id(fields, number)
            found = workspace.observe(read_text(source), by=by, id=name, **scope)
        digests.append(found)
    return digests


def _source_id(fields: Mapping[str, Any], number: int) -> str | None:
    """An id for the source of an item that has one, so that the same command again changes nothing."""
    item = fields["id"]
    return None if item is None else made_id(nfc(fields["by"]), digest((item, number))[:32], fields["principals"])


def read_text(source: str) -> str:
    """A text, or the contents of the file that ``@FILE`` names."""
    if not source.startswith("@"):
        return source
    try:
        return Path(source[1:]).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RecordError(f"{source[1:]}: not UTF-8 text; convert it first") from None


def _stored(workspace: Workspace, source: str, by: str) -> str | None:
    """Stored evidence by its id, its digest or the beginning of that; none for a text or a file.

    What looks like either and is unknown is refused: a mistyped digest would become evidence with that text.
    """
    log = desk_of(workspace).log
    # A writer's own id looks like a file.
    is_word = is_own(source, by) or (_WORD.fullmatch(source) and not source.startswith("@"))
    if is_word and (seen := log.named(EventKind.OBSERVE, source)) is not None:
        return seen.digest
    if not (_DIGEST.fullmatch(source) or _AN_ID.fullmatch(source)):
        return None
    found = resolve_id(workspace, ("evidence",), source, label="--source", by=by) if _DIGEST.fullmatch(source) else None
    if found is not None:
        return found.name
    is_item = log.named(EventKind.RECORD, source) is not None
    raise UnknownError(
        f"--source: {source!r} is "
        + ("an item, not evidence: name it with --depends-on" if is_item else "neither evidence nor an id of any")
        + "; if it is what was observed, word for word, observe it first (`readmit observe`), or put it into a @FILE"
    )
