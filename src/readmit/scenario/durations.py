"""Spans of time as people write them: ``90s``, ``2h``, ``1d12h``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

import msgspec

from readmit.records.error_types import RecordError

Duration = Annotated[str, msgspec.Meta(pattern=r"^([0-9]{1,9}[smhdw])+$(?!\n)", max_length=64)]

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def duration(text: str, *, field: str) -> timedelta:
    """The duration that a text describes."""
    parts = re.findall(r"([0-9]{1,9})([smhdw])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise RecordError(
            f"{field}: {text!r} is not a duration; write a number and s, m, h, d or w, as in 90s or 1d12h"
        )
    try:
        return timedelta(seconds=sum(int(number) * _SECONDS[unit] for number, unit in parts))
    except OverflowError:
        raise RecordError(f"{field}: {text!r} is longer than a date can reach; write a shorter one") from None
