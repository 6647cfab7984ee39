"""Implicit invalidation with models: worked out before a decision, written to the log, read by the return.

Paper, "From a possible dependency to a confirmed invalidation". ``Foresight`` is the user's handle.
"""

from __future__ import annotations

from readmit.foresight.foresight import Foresight
from readmit.foresight.prepared import Prepared
from readmit.foresight.settings import Settings, Team, settings_from
from readmit.foresight.settling import Settlement
from readmit.foresight.watching import Announcement, Watch

__all__ = ["Announcement", "Foresight", "Prepared", "Settings", "Settlement", "Team", "Watch", "settings_from"]
