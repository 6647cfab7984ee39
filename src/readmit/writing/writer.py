"""The one way into the log: an event is made, signed, checked against rights and limits, and committed here.

Several events may be one act, which is written whole, or waits whole for an overseer if one of them is beyond a limit.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING

import msgspec

from readmit.records.acts.event import EventKind, Resolve
from readmit.records.acts.operation import Approve, Void
from readmit.records.base import Moment, listed, nfc, require_flag, require_id, utc
from readmit.records.error_types import NotAllowedError, RateError, RecordError
from readmit.records.identity import check_giver
from readmit.records.items import Frontier, Item, Obligation
from readmit.records.policy import AUTHOR, OWNER, Policy
from readmit.rules.capture.moment import later
from readmit.state.authority import HostClock, policy_in_force, resumed
from readmit.writing.author import ANYBODY, Author, Signatures
from readmit.writing.item_content import ItemFields, all_nfc
from readmit.writing.limits import file, held_back
from readmit.writing.new_event import Observer, new_event
from readmit.writing.passed_plans import contest_plans
from readmit.writing.rights import concerned_by
from readmit.writing.slot_check import SlotUse, check_expected, check_replaces, contest, counts, unseen
from readmit.writing.write_checks import check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.acts.draft import Draft
    from readmit.records.acts.kinds import DeclaredKind


class Act:
    """The events that an act has written so far, and the first limit that one of them hit."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.limit: RateError | None = None
        self.limited = ""
        """The writer whose limit it is."""
        self.thread = get_ident()


class Writer:
    """Writes to one log for one author. Writers for other authors share its log, clock and signatures."""

    def __init__(
        self,
        log: Log,
        clock: Callable[[], datetime],
        author: Author = ANYBODY,
        signatures: Signatures | None = None,
    ) -> None:
        if signatures is None:
            log.keep_time(HostClock(clock))
        self.log = log
        self.author = author
        self.signatures = signatures or Signatures(log)
        self.observer = Observer(log.workspace)
        self._clock = clock
        self._act: Act | None = None

    def as_author(self, author: Author) -> Writer:
        """A writer for another author."""
        return Writer(self.log, self._clock, author, self.signatures)

    def clock(self) -> datetime:
        """The host's clock, which an event is dated by if its writer gives no moment."""
        return utc(self._clock(), field="clock")

    def now(self) -> datetime:
        """The moment that counts: the later of the clock and the last moment that the log has learnt."""
        return later(self.clock(), self.log.learnt)

    def policy(self) -> Policy:
        """The policy in force."""
        return policy_in_force(self.log)

    def is_operators(self) -> bool:
        """Whether the handle is that of the program itself, the owner or an overseer, not of another principal."""
        name = self.author.name
        return name in (None, OWNER, AUTHOR) or name in self.policy().evidence.overseers

    def check_operator(self, what: str) -> None:
        """Refuse the handle of one principal what shows or changes things of the others."""
        if not self.is_operators():
            raise NotAllowedError(
                f"{what}: this handle is that of {self.author.name!r}, and it is for the owner and the overseers; "
                "use a handle from Workspace.open or workspace.as_owner()"
            )

    def write(
        self,
        kind: DeclaredKind,
        payload: object,
        *,
        by: str | None = None,
        id: str | None = None,
        at: Moment | None = None,
        moment: datetime | None = None,
        named: tuple[str, ...] = (),
    ) -> int:
        """Write one event and return its epoch. Outside of an act and a batch it waits if it is beyond a limit.

        ``moment`` dates it if ``at`` is not given, instead of the clock; ``named`` are items that its writer has seen.
        """
        now = self.clock()
        entry = new_event(
            kind,
            payload,
            id=secrets.token_hex(8) if id is None else id,
            by=self.author.of(by),
            at=(moment or now) if at is None else utc(at, field="at"),
            given=at is not None,
            # A resolution concerns the items of its dispute.
            about=concerned_by(self.log, payload) if isinstance(payload, Resolve) else None,
        )
        if id is None:
            entry = msgspec.structs.replace(entry, named=False)
        epoch = self._commit(self.signatures.signed(entry, self.author), now, named)
        self.signatures.forget()
        return epoch

    def write_observations(self, given: Sequence[Draft], now: datetime) -> list[str]:
        """Commit observations, all or none, and return their digests."""
        entries = [self.signatures.signed(entry, self.author) for entry in given]
        if not any(entry.named for entry in entries):
            self._append(entries, now)
            return [entry.digest for entry in entries]
        new: list[str] = []
        epochs = self._append(entries, now, new)
        fresh = set(new)
        return [
            # Under its id it may already be stored with an earlier moment.
            entry.digest if not entry.named or entry.id in fresh else self.log.event(epoch).digest
            for entry, epoch in zip(entries, epochs, strict=True)
        ]

    @contextmanager
    def act(self, *, short: bool = False) -> Iterator[None]:
        """Several events that are one act, in one durable commit. If one is beyond a limit, all of them wait."""
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
            raise file(self.log, act.drafts, limit, by=act.limited, policy=self.policy(), now=self.clock()) from None

    @contextmanager
    def expecting(
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
        moment = self.now()
        check_expected(self.log, use, expects=expected, by=by, policy=self.policy(), now=moment)
        yield
        check_replaces(self.log, self.log.item(name), expected, self.policy(), moment)

    def giver(self, by: str | None, id: str | None) -> str:
        """The writer of an event, unless it gives an id that is another's own. Nothing is looked up under that."""
        author = self.author.of(by)
        if id is not None:
            check_giver(require_id("id", id), author)
        return author

    def _commit(self, entry: Draft, now: datetime, named: tuple[str, ...]) -> int:
        if isinstance(entry.payload, Void):
            with self.log.atomic():
                (epoch,) = self._append([entry], resumed(self.log, entry.payload.event, now))
            return epoch
        if isinstance(entry.payload, Approve):
            return self._approve(entry, entry.payload.waiting, now)
        try:
            with self._contesting(entry, now, named):
                (epoch,) = self._append([entry], now)
        except RateError as limit:
            if self.log.pending:
                raise
            raise file(self.log, [entry], limit, by=entry.by, policy=self.policy(), now=now) from None
        return epoch

    def _approve(self, entry: Draft, name: str, now: datetime) -> int:
        """Append an approval, and with it the events that it approves."""

        def check_approved(new: Draft) -> None:
            self.signatures.check(new)
            check(self.log, new, self.policy, now, limited=False)

        with self.log.atomic():
            (epoch,) = self._append([entry], now)
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
            found = unseen(self.log, item, named, self.policy, moment)
            head = self.log.head
            repeated = self.log.named(entry.kind, entry.name) is not None
            yield
            if repeated or self.log.head == head:
                return
            if found is not None and counts(self.log, item, self.policy(), moment):
                contest(self.log, item, *found, now)
            if not isinstance(item, Obligation | Frontier):
                contest_plans(self.log, item, named, self.policy(), moment)

    def _append(self, entries: Sequence[Draft], now: datetime, new: list[str] | None = None) -> list[int]:
        """Append events within the author's presence. Takes the ids of those that were not on the log yet."""
        if self.author.fence is None:
            return self._append_checked(entries, now, new)
        with self.author.fence.passed(self.log, self.signatures, self.author, now) as epochs:
            epochs.extend(self._append_checked(entries, now, new))
        return epochs

    def _append_checked(self, entries: Sequence[Draft], now: datetime, new: list[str] | None) -> list[int]:
        # An act that another thread opened is none of this one's.
        act = self._act if self._act is not None and self._act.thread == get_ident() else None
        if act is not None:
            act.drafts += entries

        def check_new(entry: Draft) -> None:
            self.author.check(entry.by)
            if self.author.fence is None:
                self.signatures.check_present(entry)
            self.signatures.check(entry)
            try:
                check(self.log, entry, self.policy, now)
            except RateError as limit:
                if act is None:
                    raise
                # Appended for the moment, so that the rest of the act can refer to it. Nothing of it is committed.
                if act.limit is None:
                    act.limit, act.limited = limit, entry.by
            if new is not None:
                new.append(entry.id)

        return self.log.append(entries, now=now, check=check_new)
