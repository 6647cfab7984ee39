"""For tests: one conformance class for memory backends, and stand-ins for the clock and for a model.

    from readmit.testing import BackendConformance

    def open_mine(team, folder):                  # at module level: a child process opens it by its name
        return MyStore(folder / "mine.db", workspace=team.name)

    class TestMyStore(BackendConformance):
        opener = staticmethod(open_mine)

``team`` is a ``Workspace``, ``folder`` a directory: the same pair is opened again after a restart, and the same folder
for another team. ``BackendConformance`` needs pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily

if TYPE_CHECKING:
    from readmit.testing.conformance import BackendConformance
    from readmit.testing.stand_ins import Clock, ScriptedModel
else:
    __getattr__ = lazily(
        __name__,
        {
            "readmit.testing.conformance": ("BackendConformance",),
            "readmit.testing.stand_ins": ("Clock", "ScriptedModel"),
        },
    )

__all__ = ["BackendConformance", "Clock", "ScriptedModel"]
