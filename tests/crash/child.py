"""A process that is made to be killed.

``count DB STEP``: prints how many statements a step takes; of a server, how often it waits for it.
``point DB STEP N``: does a step and kills itself before its N-th statement or wait.
``some DB NAME COUNT``: does that many steps of every sort and ends.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from typing import TYPE_CHECKING, Any

from readmit import Workspace
from tests.crash.team import STEPS
from tests.postgres import on_server

if TYPE_CHECKING:
    from collections.abc import Callable


def main(mode: str, path: str, *rest: str) -> None:
    team = Workspace.open(path)
    if mode == "some":
        name, count = rest
        chance = random.Random(name)
        for number in range(int(count)):
            report(STEPS[chance.choice(list(STEPS))](team, f"{name}-{number}"))
    elif mode == "count":
        statements = 0

        def count_one(_: str) -> None:
            nonlocal statements
            statements += 1

        trace(team, path, count_one)
        STEPS[rest[0]](team, "counted")
        print(statements)
    else:
        step, point = rest
        left = int(point)

        def die(_: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        trace(team, path, die)
        report(STEPS[step](team, "point"))


def trace(team: Workspace, path: str, callback: Callable[[str], None]) -> None:
    if not on_server(path):
        team.admin.log.connection.sql.set_trace_callback(callback)  # type: ignore[attr-defined]
        return
    from readmit.log.engines.postgres_client import Client

    wait = Client.wait

    def traced(self: Client, *args: Any, **kwargs: Any) -> Any:
        callback("")
        return wait(self, *args, **kwargs)

    Client.wait = traced  # type: ignore[method-assign]


def report(names: str) -> None:
    print(names, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
