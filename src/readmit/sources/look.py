"""Shared by every kind of source: the deadline, the comparison with the captured text, and a bounded call."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

import msgspec

from readmit.records.base import LONGEST_TEXT, listed
from readmit.records.canonical import digest_of
from readmit.records.error_types import GoneError, ProbeError
from readmit.records.probes import Finding, Probe
from readmit.sources.prober import Captured, ProbeResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from readmit.sources.places import Place
    from readmit.sources.quote_finder import FoundQuote

P = TypeVar("P", bound=Probe)
T = TypeVar("T")

LONGEST_WHY = 200
_LISTS = frozenset({"argv", "arguments", "parameters"})


class LookDeadline:
    """The moment at which a look must have ended."""

    def __init__(self, seconds: float, *, within: LookDeadline | None = None) -> None:
        self.until = time.monotonic() + seconds
        if within is not None:
            self.until = min(self.until, within.until)

    def left(self) -> float:
        """The seconds that are left; raises once there are none."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise ProbeError("it took too long")
        return left

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self.until


def evidence_text(data: bytes) -> str:
    """Some bytes as a text that evidence can hold. Its UTF-8 form is exactly these bytes."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise GoneError("it is not UTF-8 text") from None
    if "\0" in text:
        raise GoneError("it is not text: it holds zero bytes")
    if not text.strip():
        raise GoneError("it is empty")
    if len(text) > LONGEST_TEXT:
        raise GoneError(f"it has {len(text)} characters; evidence holds {LONGEST_TEXT}: quote a part of it")
    return text


def compared(probe: Probe, data: bytes) -> ProbeResult:
    """The result of a look that read these bytes: unchanged, or changed with the new text."""
    found = digest_of(data)
    if found == probe.digest:
        return ProbeResult(Finding.UNCHANGED, probe)
    return ProbeResult(Finding.CHANGED, msgspec.structs.replace(probe, digest=found), evidence_text(data))


def unread(kind: type[P], place: Place, **more: str) -> P:
    """The probe of a place without its digest. Fields that no probe can hold are refused before anything is read."""
    given = {name: one for name, one in vars(place).items() if name in kind.__struct_fields__}
    fields = {name: listed(name, one) if name in _LISTS else one for name, one in given.items()}
    return msgspec.convert({**fields, "digest": "0" * 64, **more}, kind)


def quoted_at(probe: P, quote: FoundQuote, **more: str) -> Captured:
    """A part of a file, and its probe."""
    found = {**quote.place, **more, "digest": digest_of(quote.data)}
    return Captured(evidence_text(quote.data), msgspec.structs.replace(probe, **found))


def check_size(size: int, limit: int) -> None:
    """Refuse a source that is larger than the limit."""
    if size > limit:
        raise ProbeError(f"it has {size} bytes; the limit is {limit}")


def reason(error: Exception) -> str:
    """Why a look failed, as one short line."""
    said = " ".join(str(error).split())
    if not isinstance(error, ProbeError):
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    printable = "".join(letter if letter.isprintable() else "?" for letter in said)
    return printable if len(printable) <= LONGEST_WHY else f"{printable[:LONGEST_WHY]}…"


def within(deadline: LookDeadline, call: Callable[[], T], *, name: str) -> T:
    """Run a call in a thread of its own, and return its answer.

    Python cannot end a thread: a call that is late goes on in the background, as a daemon, and its answer is dropped.
    """
    answers: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that waits
            failures.append(error)

    thread = threading.Thread(target=run, name=f"readmit-look-{name}", daemon=True)
    thread.start()
    thread.join(deadline.left())
    if answers:
        return answers[0]
    if failures:
        error = failures[0]
        # Not every failure of foreign code is one of ours: SystemExit in a thread must not end the program.
        raise error if isinstance(error, Exception) else ProbeError(f"it raised {type(error).__name__}")
    raise ProbeError("it took too long")
