"""Answers that are kept under a caller's ``Idempotency-Key``: a repeated request is answered again, and not done again.

They are kept in memory for a day. Verbs that take an ``id`` are safe without that: the key becomes the event's id, so
after a restart the log itself knows the repetition.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from readmit.records.base import shown
from readmit.records.canonical import digest, digest_of
from readmit.records.error_types import RecordError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

DAY_SECONDS = 86_400.0
MOST = 20_000
"""Answers that are kept. The oldest go first."""
LARGEST = 64 << 20
"""Bytes of them together."""
LONGEST_KEY = 200


class KeptAnswers:
    """The answers of the last day by caller, place and key."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str, str], _KeptAnswer] = OrderedDict()
        self._bytes = 0

    async def answer(
        self, caller: str, place: str, key: str, body: bytes, work: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """The answer of ``work``, or the one that it gave to the same caller, place, key and body before."""
        self._drop_old()
        name, asked = (caller, place, key), digest_of(body)
        kept = self._kept.get(name)
        if kept is not None and kept.body != asked:
            raise RecordError(
                f"Idempotency-Key: {shown(key)} was used for another body; a key stands for one request, so make a new"
            )
        if kept is not None:
            return await asyncio.shield(kept.answer)
        self._kept[name] = kept = _KeptAnswer(asked, asyncio.ensure_future(work()), self._clock())
        try:
            answer = await asyncio.shield(kept.answer)
        except asyncio.CancelledError:
            # The caller left. The work goes on, and its answer waits for the repetition.
            kept.answer.add_done_callback(lambda done: self._forget_failed(name, done))
            raise
        except BaseException:
            self._forget(name)
            raise
        if self._kept.get(name) is kept:
            self._bytes += len(answer)
            kept.size = len(answer)
            self._drop_old()
        return answer

    def _forget_failed(self, name: tuple[str, str, str], done: asyncio.Future[bytes]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._forget(name)

    def _forget(self, name: tuple[str, str, str]) -> None:
        gone = self._kept.pop(name, None)
        self._bytes -= 0 if gone is None else gone.size

    def _drop_old(self) -> None:
        oldest = self._clock() - DAY_SECONDS
        while self._kept:
            name, first = next(iter(self._kept.items()))
            if len(self._kept) <= MOST and self._bytes <= LARGEST and first.since > oldest:
                break
            self._forget(name)


class _KeptAnswer:
    """The answer to one body, perhaps still awaited."""

    def __init__(self, body: str, answer: asyncio.Future[bytes], since: float) -> None:
        self.body = body
        self.answer = answer
        self.since = since
        self.size = 0


def checked_key(key: str) -> str:
    """A key that a caller gave, if it can be one."""
    if not (1 <= len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        raise RecordError(f"Idempotency-Key: give 1 to {LONGEST_KEY} printable ASCII characters, as a random UUID")
    return key


def id_from(caller: str, place: str, key: str) -> str:
    """The id of the event that a request with this key writes."""
    return f"key-{digest((caller, place, key))[:40]}"
