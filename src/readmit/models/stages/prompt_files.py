"""Prompts from Markdown files, and requests built from them.

``models/prompts/NAME@VERSION.md`` holds the system message (``# System``) and the text of each request (``# Request``).
A changed text is a new version, because stored answers are found by it. Record text enters a request only between
fences, and is never searched for placeholders.
"""

from __future__ import annotations

import pkgutil
import re
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from readmit.models.fence import fence
from readmit.models.protocols import Ask
from readmit.records.base import utc
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACE = re.compile(r"\{(code|texts)\}")


class PromptWording(msgspec.Struct, frozen=True):
    """One version of one prompt."""

    name: str
    """Stage and version, as ``verify@2``."""
    system: str
    request: str


class Section(msgspec.Struct, frozen=True):
    """One record text of a request, and when it was observed."""

    label: str
    """The name of the text in the prompt. Never record text."""
    text: str
    at: datetime | None = None


@cache
def wording(name: str) -> PromptWording:
    """Read a prompt file."""
    data = pkgutil.get_data("readmit.models", f"prompts/{name}.md") or b""
    text = data.decode()
    system, _, request = text.partition("\n# Request\n")
    return PromptWording(name, system.removeprefix("# System\n").strip(), request.strip())


def request(prompt: str, sections: Sequence[Section], *, workspace: str, max_tokens: int, max_chars: int) -> Ask:
    """The request that shows these sections whole. The stage refuses longer ones beforehand."""
    said = wording(prompt)
    fenced = fence([(section.label, section.text) for section in sections], max_chars=max_chars)
    if fenced.cut:
        raise ModelError(f"{prompt}: {fenced.cut[0]} is longer than {max_chars} characters; what is cut is not judged")
    shown = (_dated(section, text) for section, text in zip(sections, fenced.texts, strict=True))
    values = {"code": fenced.mark, "texts": "\n\n".join(shown)}
    return Ask(
        # ``scan-many`` is another wording of the stage ``scan``.
        stage=prompt.partition("@")[0].partition("-")[0],
        prompt=prompt,
        system=said.system,
        user=_PLACE.sub(lambda place: values[place[1]], said.request),
        max_tokens=max_tokens,
        workspace=workspace,
    )


def _dated(section: Section, fenced: str) -> str:
    if section.at is None:
        return fenced
    return f"The {section.label} is of {utc(section.at).isoformat(timespec='seconds')}.\n{fenced}"
