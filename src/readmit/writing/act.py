"""Acts: several events that are written, or wait for an overseer, as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING

from readmit.records.acts.event import EventKind
from readmit.records.acts.held_back import Approve
from readmit.records.acts.moments import Void
from readmit.records.arguments import explained
from readmit.records.base import listed, nfc, require_flag, require_id
from readmit.records.error_types import RateError, RecordError
from readmit.records.items import Frontier, Item, Obligation
from readmit.rules.capture.moment import later
from readmit.state.log_moment import resumed
from readmit.writing.limit_queue import file, held_back, waiting
from readmit.writing.passed_plans import Notice, contest_plans, notices
from readmit.writing.slot_check import SlotUse, check_expected, check_replaces, contest, counts, unseen
from readmit.writing.spelling import all_nfc
from readmit.writing.write_checks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft
    from readmit.records.acts.event import Event
    from readmit.records.policy import Policy
    from readmit.state.authority import Signatures
    from readmit.writing.author import Writer
    from readmit.writing.item_content import ItemFields


class Act:
    """What an act has written so far, the first limit that it hit, and whose it was."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.limit: RateError | None = None
        self.limited = ""
        self.thread = get_ident()


@explained
class Acting(ABC):
    """How a workspace appends events under its limits."""

    log: Log
    writer: Writer
    signatures: Signatures
    _act: Act | None = None

    @abstractmethod
    def now(self) -> datetime:
        """The clock."""

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """The policy in force."""

    def act(self) -> AbstractContextManager[None]:
        """Several events that are one act, in one durable commit. If one is beyond a limit, all of them wait."""
        return self._in_act()

    @contextmanager
    def _in_act(self, *, short: bool = False) -> Iterator[None]:
        if self.log.pending:
            with self.log.atomic():
                yield
            return
        act = Act()
        try:
            with self.log.atomic(short=short):
                self._act = act
                try:
                    yield
                finally:
                    self._act = None
                if act.limit is not None:
                    raise act.limit
        except RateError as limit:
            if limit is not act.limit:
                raise
            raise file(self.log, act.drafts, limit, by=act.limited, policy=self.policy, now=self.now()) from None

    def waiting(self) -> tuple[Event, ...]:
        """What hit its writer's limit and waits for an overseer to ``approve`` or ``decline`` it, in order."""
        return tuple(waiting(self.log))

    def notices(self, *, by: str | None = None) -> tuple[Notice, ...]:
        """Plans that later news passed over, so that their slot is or will be contested, until somebody settles it.

        For a writer, those that it wrote one side of. Items for particular principals are not named to others.
        """
        by = self.writer.name if by is None else self.writer.author(by)
        return tuple(notices(self.log, by, self.policy, later(self.now(), self.log.learnt)))

    def _append(self, entry: Draft, now: datetime, named: tuple[str, ...] = ()) -> int:
        """Append one event. Outside of an act and a batch it waits by itself if it is beyond a limit."""
        if isinstance(entry.payload, Void):
            with self.log.atomic():
                (epoch,) = self._write([entry], resumed(self.log, entry.payload.event, now))
            return epoch
        if isinstance(entry.payload, Approve):
            return self._approve(entry, entry.payload.waiting, now)
        try:
            with self._contesting(entry, now, named):
                (epoch,) = self._write([entry], now)
        except RateError as limit:
            if self.log.pending:
                raise
            raise file(self.log, [entry], limit, by=entry.by, policy=self.policy, now=now) from None
        return epoch

    def _approve(self, entry: Draft, name: str, now: datetime) -> int:
        """Append an approval, and with it what it approves."""

        def check_approved(new: Draft) -> None:
            self.signatures.check(new)
            check(self.log, new, self._rules, now, limited=False)

        with self.log.atomic():
            (epoch,) = self._write([entry], now)
            for one in held_back(self.log, name):
                with self._contesting(one, now):
                    self.log.append([one], now=now, check=check_approved)
        return epoch

    @contextmanager
    def _contesting(self, entry: Draft, now: datetime, named: tuple[str, ...] = ()) -> Iterator[None]:
        """A transaction for an event. If it is about a slot in which its writer has not seen everything, it says so."""
        item = entry.payload
        if not isinstance(item, Item) or item.slot is None:
            yield
            return
        with self.log.atomic(short=True):
            moment = later(now, self.log.learnt)
            found = unseen(self.log, item, named, self._rules, moment)
            head = self.log.head
            repeated = self.log.named(entry.kind, entry.name) is not None
            yield
            if repeated or self.log.head == head:
                return
            if found is not None and counts(self.log, item, self.policy, moment):
                contest(self.log, item, *found, now)
            if not isinstance(item, Obligation | Frontier):
                contest_plans(self.log, item, named, self.policy, moment)

    @contextmanager
    def _expecting(
        self, name: str, expects: str | None, kind: str, fields: ItemFields, by: str, *, nothing: bool
    ) -> Iterator[None]:
        """Refuse a statement unless its slot holds what the writer expects, and holds the statement afterwards.

        A repetition of what is recorded changes nothing.
        """
        if require_flag("expects_nothing", nothing) and expects is not None:
            raise RecordError("expects: give either expects or expects_nothing")
        expected = None if expects is None else require_id("expects", expects)
        if (expected is None and not nothing) or self.log.named(EventKind.RECORD, require_id("id", name)) is not None:
            yield
            return
        slot, task, purposes = fields.get("slot"), fields.get("task"), listed("purposes", fields.get("purposes", ()))
        use = None if slot is None else SlotUse(slot, None if task is None else nfc(task), all_nfc(purposes), kind)
        moment = later(self.now(), self.log.learnt)
        check_expected(self.log, use, expects=expected, by=by, policy=self.policy, now=moment)
        yield
        check_replaces(self.log, self.log.item(name), expected, self.policy, moment)

    def _write(
        self, entries: Sequence[Draft], now: datetime, check: Callable[[Draft], None] | None = None
    ) -> list[int]:
        fence = self.writer.fence
        if fence is not None:
            with fence.passed(self.log, self.signatures, self.writer, now) as epochs:
                epochs.extend(self._write_checked(entries, now, check))
            return epochs
        return self._write_checked(entries, now, check)

    def _write_checked(
        self, entries: Sequence[Draft], now: datetime, check: Callable[[Draft], None] | None
    ) -> list[int]:
        if (act := self._own_act()) is not None:
            act.drafts += entries
        return self.log.append(entries, now=now, check=check or self._checker(now))

    def _observed(self, given: Sequence[Draft], now: datetime) -> list[str]:
        """Commit observations and return their digests."""
        entries = [self.signatures.signed(entry, self.writer) for entry in given]
        check, new = self._checker(now), []

        def note(entry: Draft) -> None:
            check(entry)
            new.append(entry.id)

        if not any(entry.named for entry in entries):
            self._write(entries, now, check)
            return [entry.digest for entry in entries]
        epochs = self._write(entries, now, note)
        if len(new) == len(entries):
            return [entry.digest for entry in entries]
        fresh = set(new)
        return [
            # Under its id it may already be stored with an earlier moment.
            entry.digest if not entry.named or entry.id in fresh else self.log.event(epoch).digest
            for entry, epoch in zip(entries, epochs, strict=True)
        ]

    def _checker(self, now: datetime) -> Callable[[Draft], None]:
        act = self._own_act()

        def check_in_act(new: Draft) -> None:
            self.writer.check(new.by)
            if self.writer.fence is None:
                self.signatures.check_present(new)
            self.signatures.check(new)
            try:
                check(self.log, new, self._rules, now)
            except RateError as limit:
                if act is None:
                    raise
                # Appended for the moment, so that the rest of the act can refer to it. Nothing of it is committed.
                if act.limit is None:
                    act.limit, act.limited = limit, new.by

        return check_in_act

    def _own_act(self) -> Act | None:
        """The open act, unless another thread opened it: what this one writes is no part of that."""
        return self._act if self._act is not None and self._act.thread == get_ident() else None

    def _rules(self) -> Policy:
        return self.policy
