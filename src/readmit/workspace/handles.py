"""Handles on one workspace: for callers that name who writes, for one principal, for the owner, for readmit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from readmit.records.arguments import explained
from readmit.records.base import nfc, require_name, utc
from readmit.records.policy import AUTHOR, OWNER, unreserved
from readmit.state.authority import Signatures
from readmit.state.log_moment import HostClock
from readmit.trust.signer_file import load_signer
from readmit.writing.author import ANYBODY, Writer
from readmit.writing.observation_draft import Observer
from readmit.writing.writer_enrolment import Writers

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.trust.signer import Signer
    from readmit.writing.source_capture import Eyes
    from readmit.writing.workspace_keys import Keys


@explained
class Handles:
    """A workspace and the writer that a handle on it was opened for. All handles share one log and one connection."""

    def __init__(
        self,
        log: Log,
        keys: Keys,
        clock: Callable[[], datetime],
        writer: Writer = ANYBODY,
        signatures: Signatures | None = None,
        *,
        eyes: Eyes,
    ) -> None:
        self.log = log
        if signatures is None:
            log.keep_time(HostClock(clock))
        self.signatures = signatures or Signatures(log)
        self.keys = keys.written_by(writer, self.signatures)
        self.writer = writer
        self.eyes = eyes
        self._clock = clock
        self._observer = Observer(log.workspace)

    def principal(self, name: str, *, signer: Signer | str | Path | None = None) -> Self:
        """A handle that writes as one principal. Its verbs need no ``by``, and refuse that of anybody else.

        With a ``signer``, or the file of a private key, what it writes is signed.
        """
        who = unreserved("name", nfc(require_name("name", name)))
        self.writer.acts_for(who)
        return self._as(Writer(who, _signer(signer)))

    def as_owner(self, *, signer: Signer | str | Path | None = None) -> Self:
        """A handle that writes as ``owner``, who governs and changes keys. For the operator's code only."""
        self.writer.acts_for(OWNER)
        return self._as(Writer(OWNER, _signer(signer)))

    def as_readmit(self) -> Self:
        """A handle that writes as ``readmit``: what models found that the program itself ran."""
        return self._as(Writer(AUTHOR))

    def under(self, writer: Writer) -> Self:
        """A handle that writes as one principal while it is present."""
        return self._as(writer)

    def _as(self, writer: Writer) -> Self:
        return type(self)(self.log, self.keys, self._clock, writer, self.signatures, eyes=self.eyes)

    @property
    def writers(self) -> Writers:
        """The keys of principals. Changed by the owner and the overseers."""
        return Writers(self.log, self.signatures, self.writer, utc(self._clock(), field="clock"))


def _signer(given: Signer | str | Path | None) -> Signer | None:
    if isinstance(given, str | Path):
        return load_signer(given)
    return given
