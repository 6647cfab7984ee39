"""What every memory backend must do, as one class of tests. Needs pytest.

    from readmit.backends.conformance import BackendConformance

    def open_mine(team, folder):                  # at module level: a child process opens it by its name
        return MyStore(folder / "mine.db", workspace=team.name)

    class TestMyStore(BackendConformance):
        opener = staticmethod(open_mine)

``team`` is a ``Workspace``, ``folder`` a directory that outlives one opening: the same pair is opened again after a
restart, and the same folder for another team.
"""

from __future__ import annotations

from readmit.backends.conformance.suite import BackendConformance

__all__ = ["BackendConformance"]
