"""A decided return: the decision, its reasons, and access to the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.arguments import explained
from readmit.records.base import require_flag, require_id
from readmit.records.error_types import UnknownError
from readmit.state.past_returns import dispositions, recorded

if TYPE_CHECKING:
    from fractions import Fraction

    from readmit.diagnosis.history import Explanation, Replay
    from readmit.diagnosis.symptoms import Diagnosis
    from readmit.records.decisions import (
        ConstraintNote,
        Decision,
        Disposition,
        DutyNote,
        Request,
        ReturnView,
        ViewSource,
    )
    from readmit.records.identity import Identity
    from readmit.records.items import Drafted
    from readmit.records.reasons import Reason
    from readmit.records.retractions import Retractions
    from readmit.returning.desk import Desk
    from readmit.returning.expose import Bundle, RetractionBundle


class DecidedReturn:
    """The outcome of a return, without its verbs."""

    def __init__(
        self, request: Request, decision: Decision, dispositions: tuple[Disposition, ...], *, secret: str
    ) -> None:
        self.request = request
        self.decision = decision
        self.dispositions = dispositions
        self.secret = secret
        """The secret with which the workload proves that the view was issued to it. Only its hash is stored."""

    def __repr__(self) -> str:
        named = self.items if self.admitted else self.missing
        said = f", {'with' if self.admitted else 'missing'} {', '.join(named)}" if named else ""
        return f"<Return {self.id} of {self.request.identity.principal!r}: {self.kind}{said}>"

    @property
    def id(self) -> str:
        return self.decision.return_id

    @property
    def kind(self) -> str:
        """``admitted``, ``blocked`` or ``reset``."""
        return self.decision.kind

    @property
    def admitted(self) -> bool:
        return self.decision.admitted

    @property
    def missing(self) -> tuple[str, ...]:
        """Dependencies the role still lacks."""
        return self.decision.missing

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why the return was not admitted."""
        return self.decision.reasons

    @property
    def duties(self) -> tuple[DutyNote, ...]:
        """Every duty that was considered, and its outcome."""
        return self.decision.duties

    @property
    def constraints(self) -> tuple[ConstraintNote, ...]:
        """Every constraint that was considered, and its outcome."""
        return self.decision.constraints

    @property
    def coverage(self) -> Fraction:
        return self.decision.report.coverage

    @property
    def critical_coverage(self) -> Fraction:
        return self.decision.report.critical_coverage

    @property
    def view(self) -> ReturnView | None:
        return self.decision.view

    @property
    def items(self) -> tuple[str, ...]:
        """The ids of the items that the view holds; none if nothing is handed over."""
        return () if self.view is None else tuple(item.id for item in self.view.items)

    @property
    def sources(self) -> tuple[ViewSource, ...]:
        """The freshness of the sources of the view's items, for those that can be looked at again."""
        return () if self.view is None else self.view.sources

    @property
    def retractions(self) -> Retractions:
        """Items that the agent held and should no longer rely on. ``expose`` or ``expose_retractions`` names them."""
        return self.decision.retractions

    @property
    def partial(self) -> bool:
        """Whether the view leaves out duties that are owed."""
        return self.view is not None and self.view.partial

    @property
    def falls_short(self) -> bool:
        """Whether it was judged and something is missing, a duty is left out, or nothing is handed over."""
        return not self.decision.faults and bool(self.missing or self.partial or not self.items)


@explained
class Delivery:
    """The delivery of one return to the workload that it was decided for, which proves it by its secret."""

    def __init__(self, desk: Desk, return_id: str, identity: Identity, secret: str) -> None:
        self._desk = desk
        self._to = (return_id, identity, secret)

    def expose(self, *, within_batch: bool = False) -> Bundle:
        """Recheck the view at this moment and hand it over.

        It may be asked for again, and is checked again each time, until the workload acknowledges it, writes or
        departs. ``within_batch`` is for a caller that keeps the bundle to itself until its batch is committed.
        """
        return self._desk.expose(*self._to, within_batch=require_flag("within_batch", within_batch))

    def expose_retractions(self, *, within_batch: bool = False) -> RetractionBundle:
        """Recheck the retractions of a return that was blocked for missing needs, and hand them over.

        It holds no item and does not end the absence. An admitted return hands the same over with its view.
        """
        return self._desk.expose_retractions(*self._to, within_batch=require_flag("within_batch", within_batch))

    def acknowledge(self) -> None:
        """Say that the bundle has arrived. From here on it is not handed over again."""
        self._desk.acknowledge(*self._to)


@explained
class Return(DecidedReturn, Delivery):
    """The outcome of ``come_back``. Its details about items left out are for the operator, not the agent."""

    def __init__(
        self,
        desk: Desk,
        request: Request,
        decision: Decision,
        dispositions: tuple[Disposition, ...],
        *,
        secret: str,
    ) -> None:
        DecidedReturn.__init__(self, request, decision, dispositions, secret=secret)
        Delivery.__init__(self, desk, request.return_id, request.identity, secret)

    def explain(self, item: str) -> Explanation:
        """Why an item was in or out."""
        from readmit.diagnosis.history import explain

        return explain(self._desk.log, self.id, require_id("item", item))

    def why(self) -> Diagnosis:
        """The causes of the outcome, near misses, and what would fix it now. For operators, never for the agent.

        Its ``lacks`` are what was missing: which items last met it, why they are out, and the call that would meet it.
        """
        from readmit.diagnosis.why import why

        return why(self._desk, self.id)

    def drafts(self) -> dict[str, Drafted]:
        """The candidates that a model drafted, with the model and the words it quotes."""
        from readmit.diagnosis.history import drafts

        return drafts(self._desk.log, self.id)

    def replay(self) -> Replay:
        """Recompute the decision from the log and compare bytes."""
        from readmit.diagnosis.history import replay

        return replay(self._desk.log, self.id)


def past_return(desk: Desk, return_id: str) -> Return:
    """A return that is on the log, to look into. Without its workload's secret it hands nothing over."""
    returned, decision = recorded(desk.log, return_id)
    if not (desk.writer.is_operators() or desk.writer.author.name == returned.request.identity.principal):
        raise UnknownError(f"no return {return_id!r} in workspace {desk.log.workspace!r}; see `readmit audit list`")
    return Return(desk, returned.request, decision, tuple(dispositions(desk.log, return_id)), secret="")
