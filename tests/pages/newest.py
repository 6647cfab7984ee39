"""The values of the page of the newest return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from readmit.diagnosis.history import newest_return
from readmit.pages.gather_return import return_values

if TYPE_CHECKING:
    from datetime import datetime

    from readmit.pages.page_values import ReturnPage


def newest_values(log: Any, now: datetime) -> ReturnPage:
    """What the page of the newest return shows."""
    return return_values(log, newest_return(log), now=now)
