"""Checks in a process of its own, which can be ended: a memory file, or the tree that it is about, may be a stranger's.

Started as ``python -P -m readmit.check.apart``: nothing of the working directory is imported. It reads the
paths to check from standard input and prints the report, or an error, as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.check.changed_files import FileChange, changes_of
from readmit.check.check_values import CheckedStatement, CheckReport
from readmit.records.error_types import CheckLimitError, ReadmitError, RecordError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_MEMORY = 2 << 30


class Checked(msgspec.Struct, frozen=True):
    """The report of one check, and the changes of named files if the caller wanted them."""

    report: CheckReport
    changes: tuple[FileChange, ...] = ()


def check_apart(paths: Sequence[Path], root: Path | None, *, seconds: float, changes: bool = False) -> Checked:
    """Check the memory files at some paths in a process of its own, within a time limit."""
    asked = {
        "paths": [str(path) for path in paths],
        "root": None if root is None else str(root),
        "changes": changes,
    }
    return msgspec.convert(_asked(asked, seconds), Checked)


def statements_apart(
    paths: Sequence[Path], root: Path, *, unchecked: Sequence[Path] = (), seconds: float
) -> tuple[CheckedStatement, ...]:
    """The statements at some paths, checked in a process of its own; those of ``unchecked`` files are only read."""
    asked = {
        "paths": [str(path) for path in (*paths, *unchecked)],
        "root": str(root),
        "unchecked": [str(path) for path in unchecked],
    }
    return msgspec.convert(_asked(asked, seconds), tuple[CheckedStatement, ...])


def _asked(asked: dict[str, Any], seconds: float) -> Any:
    """The answer of a process of its own, which is ended with everything that it started if it takes too long.

    It also limits its own processor time: this process may be killed before it can end the other one.
    """
    with subprocess.Popen(  # noqa: S603 - this program
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, wrong = process.communicate(json.dumps(asked | {"seconds": ceil(seconds) + 1}), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise CheckLimitError(
                f"timeout: the check took more than {seconds:g} s; check fewer files at once, or allow more"
            ) from None
        finally:
            if process.poll() is None:
                # With everything that it started.
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode < 0 or not said:
        last = (wrong.strip().splitlines() or [f"signal {-process.returncode}"])[-1]
        raise CheckLimitError(f"the check ended before it was done ({last}); check fewer files at once")
    answer = json.loads(said)
    match answer["error"]:
        case None:
            return answer["checked"]
        case "limit":
            raise CheckLimitError(answer["message"])
    raise RecordError(answer["message"])


def check_from_stdin() -> None:
    """Check the paths that standard input names, and print the report as JSON."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = _MOST_MEMORY if hard == resource.RLIM_INFINITY else min(_MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    asked = json.load(sys.stdin)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    seconds = asked["seconds"] if hard == resource.RLIM_INFINITY else min(asked["seconds"], hard)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
    json.dump(_answer(asked), sys.stdout)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    from readmit.check.memory_files import read_memories
    from readmit.check.statement_checks import check_memories, check_statements

    root = asked["root"]
    try:
        memories = read_memories([Path(path) for path in asked["paths"]], None if root is None else Path(root))
        checked: object
        if "unchecked" in asked:
            checked = tuple(check_statements(memories, asked["unchecked"]))
        else:
            checked = Checked(check_memories(memories), tuple(changes_of(memories)) if asked["changes"] else ())
    except CheckLimitError as error:
        return {"error": "limit", "message": str(error)}
    except ReadmitError as error:
        return {"error": "unfit", "message": str(error)}
    except RecursionError:
        return {"error": "limit", "message": "the tree, or what is in it, is nested too deeply; name another --root"}
    except MemoryError:
        said = f"the check takes more than {_MOST_MEMORY >> 30} GiB of memory; check fewer files at once"
        return {"error": "limit", "message": said}
    return {"error": None, "checked": msgspec.to_builtins(checked)}


if __name__ == "__main__":
    check_from_stdin()
