"""Runs the methods of a run without models in a separate process, which holds no labels.

The process starts with nothing but the package, and receives a checkpoint as bytes and the names of methods. It answers
with their views as bytes. Labels are never in its memory. The views are checked in this process (``checked``), out of
the method's reach. It is not a sandbox: a method that searches the disk can find the benchmark's files.

In a run with models all methods run in the main process, where the models are asked, and memory stores always do.
Labels are in that process, but not reachable from anything a method receives (``tests/bench/test_leak.py``).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Self

import msgspec

from readmit.errors import ReadmitError, RecordError
from readmit_bench.episodes import Checkpoint, View
from readmit_bench.methods import Resources, made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit_bench.methods import Method

_SIZE = 8


class Asked(msgspec.Struct, frozen=True):
    """Some methods on one checkpoint."""

    methods: tuple[str, ...]
    checkpoint: Checkpoint


class Made(msgspec.Struct, frozen=True):
    """One method's result: a view, or why there is none."""

    view: View | None
    failure: str
    milliseconds: int


class MethodProcess:
    """The other process. It starts when it is first needed, and ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                # A process that has ended cannot read pending writes.
                with suppress(BrokenPipeError):
                    if pipe is not None:
                        pipe.close()
            self._process.wait()
            self._process = None

    def views(self, methods: Sequence[str], checkpoint: Checkpoint) -> dict[str, Made]:
        """What each of the methods hands over, unchecked."""
        if not methods:
            return {}
        process = self._process = self._process or _started()
        try:
            _put(process.stdin, msgspec.msgpack.encode(Asked(tuple(methods), checkpoint)))
            data = _taken(process.stdout)
        except BrokenPipeError:
            data = None
        if data is None:
            raise RecordError(f"methods: {', '.join(methods)}: their process ended before it answered")
        return dict(zip(methods, msgspec.msgpack.decode(data, type=tuple[Made, ...]), strict=True))


def answered(asked: Asked) -> tuple[Made, ...]:
    """What the other process does."""
    return tuple(_made(made(name, Resources()), asked.checkpoint) for name in asked.methods)


def _made(method: Method, checkpoint: Checkpoint) -> Made:
    started = time.monotonic()
    view, failure = None, ""
    try:
        view = method.view(checkpoint)
    except ReadmitError as error:
        failure = f"{type(error).__name__}: {error}"
    return Made(view, failure, round((time.monotonic() - started) * 1000))


def _started() -> subprocess.Popen[bytes]:
    # The same package as here, wherever it was found; no file, name or argument of the run.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "readmit_bench.method_process"]
    # In its own session, so that Ctrl-C reaches only the run. It ends when its input does.
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True)  # noqa: S603


def _put(pipe: IO[bytes] | None, data: bytes) -> None:
    assert pipe is not None  # noqa: S101  # opened as a pipe above
    pipe.write(len(data).to_bytes(_SIZE, "big") + data)
    pipe.flush()


def _taken(pipe: IO[bytes] | None) -> bytes | None:
    assert pipe is not None  # noqa: S101  # opened as a pipe above
    size = pipe.read(_SIZE)
    data = pipe.read(int.from_bytes(size, "big")) if size else b""
    return data if len(size) == _SIZE and data else None


def main() -> None:
    """Answer until the input ends."""
    # Printed output must not end up among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (data := _taken(sys.stdin.buffer)) is not None:
        _put(answers, msgspec.msgpack.encode(answered(msgspec.msgpack.decode(data, type=Asked))))


if __name__ == "__main__":
    main()
