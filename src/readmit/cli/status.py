"""Exit status of every command."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The outcome of a command, for callers that do not read its output."""

    OK = 0
    ERROR = 1
    USAGE = 2
    BLOCKED = 3
    RESET = 4
    UNVERIFIED = 5
    WAITING = 6
    OUTAGE = 7
    UNWELL = 8
    TOO_MUCH = 9
    INTERRUPTED = 130


OF_DECISION = {"admitted": Status.OK, "blocked": Status.BLOCKED, "reset": Status.RESET}

MEANINGS = {
    Status.OK: "done; a return was admitted, whole or, where the policy asks for that, in part",
    Status.ERROR: "error, in one line on standard error; or `readmit check` found something that no longer holds",
    Status.USAGE: "wrong usage, or `readmit check` could not look",
    Status.BLOCKED: "the return was blocked, or the exposure was refused",
    Status.RESET: "the return ended in a reset",
    Status.UNVERIFIED: "a signature, an audit trail or a replay does not verify",
    Status.WAITING: "requests wait in a batch directory; answer them and run the same command again",
    Status.OUTAGE: "a model's provider gave no answer; run the same command again when it does",
    Status.UNWELL: "`readmit doctor` found a problem, or `readmit admin sweep` a lease that it cannot judge",
    Status.TOO_MUCH: "`readmit check` gave up: the tree or a memory file takes more time or memory than it may",
    Status.INTERRUPTED: "stopped by Ctrl-C; run the same command again to continue",
}
