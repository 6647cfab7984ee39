"""What a workspace hands over: views, retractions, and the acknowledgement that a view has arrived."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from readmit.records.arguments import explained
from readmit.records.base import require, require_flag, require_id
from readmit.records.error_types import QuarantineError
from readmit.records.identity import Identity
from readmit.returning.expose import Asker, acknowledge, expose, instance_of
from readmit.returning.expose_retractions import expose_retractions
from readmit.writing.spelling import who

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from readmit.log.log import Log
    from readmit.records.policy import Policy
    from readmit.returning.expose import Bundle
    from readmit.returning.expose_retractions import RetractionBundle
    from readmit.writing.author import Writer
    from readmit.writing.workspace_keys import Keys


@explained
class Delivering(ABC):
    """How a workspace hands something over to the workload that it was issued to."""

    log: Log
    keys: Keys
    writer: Writer

    @abstractmethod
    def now(self) -> datetime:
        """The clock."""

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """The policy in force."""

    def expose(self, return_id: str, *, identity: Identity, secret: str, within_batch: bool = False) -> Bundle:
        """Check a view again now and hand it over to the workload it was issued to.

        ``secret`` proves that the caller is that workload, which gets the same bundle again until it acknowledges,
        writes or departs.
        """
        self._require_durable(within_batch=require_flag("within_batch", within_batch))
        bundle = expose(self.log, require_id("return_id", return_id), self._asker(identity, secret))
        self._remember_handing_over()
        return bundle

    def expose_retractions(
        self, return_id: str, *, identity: Identity, secret: str, within_batch: bool = False
    ) -> RetractionBundle:
        """Check again now what a blocked return says no longer holds, and hand that over to its workload."""
        self._require_durable(within_batch=require_flag("within_batch", within_batch))
        bundle = expose_retractions(self.log, require_id("return_id", return_id), self._asker(identity, secret))
        self._remember_handing_over()
        return bundle

    def acknowledge(self, return_id: str, *, identity: Identity, secret: str) -> None:
        """Acknowledge the bundle: it is not handed over again. Repeating it changes nothing."""
        acknowledge(self.log, require_id("return_id", return_id), self._asker(identity, secret))

    def _require_durable(self, *, within_batch: bool) -> None:
        if self.log.pending and not within_batch:
            raise QuarantineError("nothing is handed over before it is committed: expose after the batch")

    def _remember_handing_over(self) -> None:
        self.keys.handed_over.raise_to(self.log.head)
        self.keys.pin.flush()

    def _asker(self, identity: Identity, secret: str) -> Callable[[], Asker]:
        asker, instance = who(require("identity", identity, Identity)), instance_of(secret)
        self.writer.acts_for(asker.principal)
        return lambda: Asker(asker, instance, self.policy, self.now(), self.keys.handed_over.read)
