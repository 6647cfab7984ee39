"""A process that is made to be killed.

``stream DB NAME STEP...``: does the steps in turn until killed; prints a line after each that returned.
``count DB STEP``: prints how many statements a step takes.
``point DB STEP N``: does a step and kills itself before its N-th statement.
``some DB NAME COUNT``: does that many steps of every sort and ends.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys

from readmit import Workspace
from tests.crash.team import STEPS


def main(mode: str, path: str, *rest: str) -> None:
    team = Workspace.open(path)
    if mode == "stream":
        name, *steps = rest
        for number in itertools.count():
            report(STEPS[steps[number % len(steps)]](team, f"{name}-{number}"))
    elif mode == "some":
        name, count = rest
        chance = random.Random(name)
        for number in range(int(count)):
            report(STEPS[chance.choice(list(STEPS))](team, f"{name}-{number}"))
    elif mode == "count":
        statements = 0

        def count_one(_: str) -> None:
            nonlocal statements
            statements += 1

        team.log.connection.sql.set_trace_callback(count_one)  # type: ignore[attr-defined]
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

        team.log.connection.sql.set_trace_callback(die)  # type: ignore[attr-defined]
        report(STEPS[step](team, "point"))


def report(names: str) -> None:
    print(names, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
