"""The program of every hook but the one after a tool use: ``python -m readmit.clients.hook MOMENT --client NAME``.

It reads the client's payload, prints one answer or none, and ends in success within a deadline of its own, whatever
happens: a client takes a status as an order, and waits for a hook that hangs. An answer that is not whole is none: a
hook that fails or is late says that memory was not checked, and no item.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from readmit.clients.spool_line import standard_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from readmit.clients.project import Project

NOT_CHECKED = "memory was not checked; treat it as unverified"
"""All that a session reads of a start or a prompt that failed."""
SECONDS = {"start": 2.0, "prompt": 2.0, "compact": 1.2, "end": 1.2}
"""The deadline of each moment. Claude Code ends a hook after 1.4 s where its settings name no time."""
OTHER_SECONDS = "READMIT_HOOK_SECONDS"
"""The environment variable that gives starts and prompts another deadline, for a machine that is slow."""
_EVENTS = {"start": "SessionStart", "prompt": "UserPromptSubmit"}
_GRACE = 0.6
"""Seconds after the deadline in which a failure is noted, or an answer that was begun is ended."""


class HookAnswer:
    """The answer of a hook: once, whole, in the form that every client reads. Ends and compactions print nothing."""

    def __init__(self, moment: str) -> None:
        self._event = _EVENTS.get(moment, "")
        self._once = _thread.allocate_lock()
        self._out = os.dup(1)
        # Whatever a library prints would spoil the answer, and a client shows errors to the model.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)

    def give(self, text: str) -> bool:
        """Print an answer, if none was given yet. An empty one is silence."""
        if not self._once.acquire(blocking=False):
            return False
        if text and self._event:
            said = {"hookEventName": self._event, "additionalContext": text}
            data = json.dumps({"hookSpecificOutput": said}).encode()
            while data:
                data = data[os.write(self._out, data) :]
        os.close(self._out)
        return True


class Hook:
    """One hook at work: its answer, its deadline, and the project once that is known."""

    def __init__(self, moment: str, client: str) -> None:
        self.moment = moment
        self.client = client
        self.seconds = SECONDS[moment]
        if moment in _EVENTS:
            with suppress(ValueError):
                self.seconds = float(os.environ.get(OTHER_SECONDS, self.seconds))
        self.until = time.monotonic() + self.seconds
        """A moment of ``time.monotonic``."""
        self.answer = HookAnswer(moment)
        self.project: Project | None = None

    def run(self) -> None:
        """Answer the payload on standard input."""
        _thread.start_new_thread(self._watch, ())
        try:
            self._work(standard_input())
        except BaseException as error:  # noqa: BLE001 - whatever failed, nothing is asserted, and the session goes on
            self.fail(f"{type(error).__name__}: {error}")

    def fail(self, why: str) -> None:
        """Say that nothing was checked, unless something was said already, and keep the reason for ``doctor``."""
        self.answer.give(NOT_CHECKED)
        from readmit.clients.moments.hook_status import keep_fault
        from readmit.clients.project import writable_project

        if (project := self.project or writable_project(Path.cwd())) is not None:
            keep_fault(project, self.moment, self.client, why)

    def _watch(self) -> None:
        time.sleep(max(0.0, self.until - time.monotonic()))
        _thread.start_new_thread(self._exit_soon, ())
        if self.answer.give(NOT_CHECKED):
            with suppress(BaseException):
                self.fail(f"it was not done within {self.seconds:g} s")
            os._exit(0)

    def _exit_soon(self) -> None:
        """End the process, whatever still goes on: an answer that was given, or the note of a failure."""
        time.sleep(_GRACE)
        os._exit(0)

    def _work(self, data: bytes) -> None:
        if self.moment == "prompt":
            from readmit.clients.project import spool_folder
            from readmit.clients.spool_line import append
            from readmit.records.error_types import StoreError

            with suppress(OSError, StoreError):
                append(str(spool_folder()), self.client, data)
        payload = json.loads(data)
        if not isinstance(payload, dict):
            raise TypeError("the payload is not an object")
        given = payload.get("cwd")
        here = Path(given if isinstance(given, str) and given else ".").absolute()
        from readmit.clients.moments.moment_of_session import at_moment
        from readmit.clients.project import writable_project

        self.project = writable_project(here)
        if self.project is None:  # in a container, or with a home that is read-only
            self.answer.give("")
        else:
            at_moment(self, self.project, payload)


def run_hook(words: Sequence[str]) -> NoReturn:
    """Run a hook and end the process, with success."""
    try:
        moment, flag, client = words
        if moment in SECONDS and flag == "--client":
            Hook(moment, client).run()
    finally:
        os._exit(0)


if __name__ == "__main__":
    run_hook(sys.argv[1:])
