"""The benchmark's own prompts for the actor, the active agents and the judges.

``prompts/NAME@VERSION.md`` holds a ``# System`` and a ``# Request`` part, as the library's prompts do. Texts of the
data enter between fences only.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from readmit.lab import fence
from readmit.models import Ask

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CHARS = 200_000

_PLACE = re.compile(r"\{(code|texts)\}")


@cache
def wording(name: str) -> tuple[str, str]:
    """The system message, and the text of each request."""
    text = resources.files("readmit_bench").joinpath("prompts", f"{name}.md").read_text("utf-8")
    system, _, request = text.partition("\n# Request\n")
    return system.removeprefix("# System\n").strip(), request.strip()


def request(name: str, stage: str, sections: Sequence[tuple[str, str]], *, max_tokens: int) -> Ask:
    """One request that shows these sections."""
    system, said = wording(name)
    fenced = fence(sections, max_chars=MAX_CHARS)
    values = {"code": fenced.mark, "texts": "\n\n".join(fenced.texts)}
    user = _PLACE.sub(lambda place: values[place[1]], said)
    return Ask(stage=stage, prompt=name, system=system, user=user, max_tokens=max_tokens)
