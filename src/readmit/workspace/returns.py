"""A decided return: what was decided, why, and the way to the bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.errors import UnknownError
from readmit.workspace.history import explain
from readmit.workspace.missing import lacking

if TYPE_CHECKING:
    from fractions import Fraction

    from readmit.records.decisions import Decision, Disposition, Request, ReturnView
    from readmit.records.reasons import Reason
    from readmit.workspace.exposing import Bundle
    from readmit.workspace.history import Explanation
    from readmit.workspace.missing import Lack
    from readmit.workspace.workspace import Workspace


class Return:
    """The outcome of ``come_back``. Whatever it holds about items left out is for the operator, not the agent."""

    def __init__(
        self, workspace: Workspace, request: Request, decision: Decision, dispositions: tuple[Disposition, ...]
    ) -> None:
        self._workspace = workspace
        self.request = request
        self.decision = decision
        self.dispositions = dispositions

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
    def coverage(self) -> Fraction:
        return self.decision.report.coverage

    @property
    def critical_coverage(self) -> Fraction:
        return self.decision.report.critical_coverage

    @property
    def view(self) -> ReturnView | None:
        return self.decision.view

    def expose(self, *, within_batch: bool = False) -> Bundle:
        """Recheck the view at this moment and hand it over, once.

        ``within_batch`` is for a caller that keeps the bundle to itself until its batch is committed.
        """
        if self.decision.view is None:
            raise UnknownError(f"the return was {self.kind}: there is no view to expose; missing: {self.missing}")
        return self._workspace.expose(
            self.id, identity=self.request.identity, instance=self.request.instance, within_batch=within_batch
        )

    def explain(self, item: str) -> Explanation:
        """Why this was in, or why it was out."""
        return explain(self._workspace.log, self.id, item)

    def lacking(self) -> tuple[Lack, ...]:
        """What is missing, which items last met it, why they are out, and the call that would meet it."""
        return lacking(self._workspace.log, self.id)
