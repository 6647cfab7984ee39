"""A pytest plugin: the run ends with the process that started it.

The mutator runs pytest in a session of its own. Stopped from outside, it would leave a test behind, and one of a
mutant that loops would never end.
"""

from __future__ import annotations

import os
import threading
import time

EVERY = 0.5


def pytest_configure() -> None:
    threading.Thread(target=_watch, args=(os.getppid(),), name="parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(EVERY)
    os._exit(1)
