"""How long does a session wait for the hooks of its client? Each is a process of its own, interpreter start included.

One repository with 2,000 memory lines that name 300 files. Each round is a session: it starts, resumes, hears a prompt
before which nothing changed and one before which a file changed, uses a tool and ends. The time is what its client
waits for, on a machine that does nothing else; processor time is measured beside it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from unittest import mock

from benchmarks.result import Result, at_most, scratch, sized
from readmit.clients.hook_command import hook_command
from readmit.clients.memory_import import import_memory
from readmit.clients.project import open_project, project_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from readmit.clients.known_clients import Moment

ITEMS, FILES = sized(2_000, 60), sized(300, 20)
ROUNDS = sized(40, 2)
BARS = {"start": 500, "resume": 500, "prompt": 500, "prompt after a change": 500, "tool": 60, "end": None}
_TICK = 2.1


class Waited(NamedTuple):
    """One hook: the time that a client waits for it, and the processor time that it takes, in milliseconds."""

    wall: float
    cpu: float


def run(step: Callable[[int], None] = lambda _: None) -> list[Result]:
    with scratch() as folder, mock.patch.dict(os.environ, {"HOME": str(folder), "READMIT_DATA": str(folder / "data")}):
        top = folder / "shop"
        _make(top)
        waited: dict[str, list[Waited]] = {name: [] for name in BARS}
        for number in range(ROUNDS):
            for name, one in _session(top, number).items():
                waited[name].append(one)
            step(number + 1)
        _wait_for_late_work(folder)
    results = []
    for name, bar in BARS.items():
        walls, cpus = (sorted(getattr(one, kind) for one in waited[name]) for kind in ("wall", "cpu"))
        results.append(at_most(f"{name}, 95th percentile", walls[int(0.95 * ROUNDS)], bar, "ms"))
        results.append(at_most(f"{name}, CPU, 95th percentile", cpus[int(0.95 * ROUNDS)], None, "ms"))
    return results


def _make(top: Path) -> None:
    lines = ["# Notes", ""]
    for number in range(FILES):
        path = top / "src" / f"part_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        own = range(number, ITEMS, FILES)
        path.write_text("".join(f"def part_{one}():\n    return {one}\n\n\n" for one in own))
        lines += [f"- Number {one}: call `part_{one}()` of `src/part_{number}.py`." for one in own]
    (top / "CLAUDE.md").write_text("\n".join(lines))
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "1"]):
        subprocess.run(["git", "-C", str(top), *words], check=True, capture_output=True)
    with open_project(project_of(top)) as workspace:
        import_memory(workspace, project_of(top), [top / "CLAUDE.md"])
    time.sleep(_TICK)  # younger versions of files are not trusted


def _session(top: Path, number: int) -> dict[str, Waited]:
    hook = partial(_hook, top, f"s{number}")
    found = {"start": hook("start", source="startup")}
    hook("end")
    found["resume"] = hook("start", source="resume")
    found["prompt"] = hook("prompt", prompt="Go on.")
    changed = top / "src" / f"part_{number}.py"
    changed.write_text(f"# {number}\n{changed.read_text()}")
    found["prompt after a change"] = hook("prompt", prompt="Go on.")
    found["tool"] = hook("tool", tool_name="Bash", tool_input={"command": "ls"}, tool_response={"stdout": "a"})
    found["end"] = hook("end")
    return found


def _hook(top: Path, session: str, moment: Moment, **fields: object) -> Waited:
    payload = json.dumps({"session_id": session, "cwd": str(top), **fields}).encode()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(hook_command(moment, "claude-code"), input=payload, capture_output=True, check=True, cwd=top)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Waited(wall * 1000, cpu * 1000)


def _wait_for_late_work(folder: Path) -> None:
    """Wait for the processes that hooks began and left, which still write to the folder."""
    while subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, check=False).returncode == 0:
        time.sleep(0.1)


if __name__ == "__main__":
    for result in run():
        print(result)
