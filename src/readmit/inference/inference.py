"""``Inference``: implicit invalidation for one workspace, at return time or before.

Verdicts enter the core as data. This class obtains them and writes them to the log; the next return reads them. A
failure here ends in a refused return with an audit row, never in one that was decided without verdicts.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Self, Unpack

from readmit.inference import duty_plan as planning
from readmit.inference.disputes import resolve_disputes
from readmit.inference.expected_return import ExpectedReturn
from readmit.inference.ingestion import conversation, ingest
from readmit.inference.preparation import file_prepared, note, prepare_return
from readmit.inference.settings import InferenceModels, ModelFields, Settings
from readmit.inference.watch import Watch
from readmit.models.stages.answer import MAX_TOKENS
from readmit.models.stages.extract import WITHOUT, Turn
from readmit.models.usage import Metered, TokenLedger
from readmit.records.arguments import check_fields, explained
from readmit.records.base import listed, nfc, require, require_digest, require_name, require_text
from readmit.records.error_types import ModelError
from readmit.writing.item_content import UseFields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from readmit.inference.disputes import Asked, Resolution
    from readmit.inference.duty_plan import Planned
    from readmit.inference.ingestion import Ingested
    from readmit.inference.prepared import Prepared
    from readmit.inference.watch import Announcement
    from readmit.models.protocols import Model
    from readmit.models.usage import StageUsage
    from readmit.records.acts.event import Checkpoint
    from readmit.records.base import Moment
    from readmit.records.identity import Identity
    from readmit.workspace.agent import Agent
    from readmit.workspace.return_handle import Return
    from readmit.workspace.workspace import Workspace

ROUNDS = 4
"""Most restarts of a preparation because of observations that arrived while it ran."""


@explained
class Inference:
    """Models and settings for one workspace. Each model is a provider, or a line such as ``openai:NAME``.

    Without ``settings``, every signal that the given models can serve is used.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings | None = None,
        **models: Unpack[ModelFields],
    ) -> None:
        """``models`` names the model of each stage; a stage without one is not used."""
        self.workspace = workspace
        self.team = InferenceModels(**models)
        self.settings = settings or Settings(signals=self.team.signals())
        self.ledger = TokenLedger()
        """The usage of ingesting, planning and resolving. A preparation's usage is in its ``Prepared``."""

    def __repr__(self) -> str:
        return f"<Inference on workspace {self.workspace.name!r}>"

    def close(self) -> None:
        """Close the models that were opened from a line."""
        self.team.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Before a decision.

    def prepare(self, agent: Agent, *, purpose: str | None = None, checkpoint: str | None = None) -> Prepared:
        """Find implicit changes of one agent's items, and write the verdicts to the log for its next return."""
        name = f"prepare-{secrets.token_hex(8)}"
        return self._prepare(agent.departed(checkpoint), agent.identity, purpose, name)

    def come_back(
        self,
        agent: Agent,
        *,
        purpose: str | None = None,
        checkpoint: str | None = None,
        id: str | None = None,
        report: Callable[[Prepared], object] = lambda _: None,
    ) -> Return:
        """Prepare a return and decide it. If preparing fails, the return is refused with ``internal_error``.

        ``report`` gets the ``Prepared`` before anything is decided.
        """

        def prepare(departed: Checkpoint, return_id: str) -> None:
            prepared = self._prepare(departed, agent.identity, purpose, return_id)
            report(prepared)
            if prepared.unlinked:
                # If it were decided now, they would count as open questions.
                raise ModelError(f"linker: no answer about {', '.join(prepared.unlinked)}; try again")

        return agent.come_back(purpose=purpose, checkpoint=checkpoint, id=id, prepare=prepare)

    def resolve(
        self, agent: Agent, *, by: str, about: Mapping[str, Asked] | None = None, max_tokens: int = MAX_TOKENS
    ) -> tuple[Resolution, ...]:
        """Put the open disputes that an agent can see to the verifier, without the authors of the statements.

        A dispute is resolved in the name of ``by``, who is not the agent, if the answer matches exactly one side and is
        sure enough for the policy; otherwise it stays open. ``about`` gives the question of a dispute.
        """
        model = self._needed(self.team.verifier, "verifier")
        return resolve_disputes(self.workspace, model, agent.identity, by=by, about=about, max_tokens=max_tokens)

    def watch(
        self, *, purposes: Sequence[str | None] = (None,), report: Callable[[Announcement], object] | None = None
    ) -> Watch:
        """Do the same work when events arrive, for everyone who is away or holds a view."""

        def early(departed: Checkpoint, identity: Identity, purpose: str | None) -> Prepared:
            return self._prepare(departed, identity, purpose, f"watch-{secrets.token_hex(8)}", always=False)

        return Watch(self.workspace, early, purposes=purposes, report=report)

    def _prepare(
        self, departed: Checkpoint, identity: Identity, purpose: str | None, name: str, *, always: bool = True
    ) -> Prepared:
        ledger = TokenLedger(self.settings.budget)
        use = None if purpose is None else nfc(purpose)
        expected = ExpectedReturn(self.workspace, departed, identity, use, self.settings)
        for _ in range(ROUNDS):
            prepared = self._looked(expected, name, ledger)
            if always or prepared.eventful:
                file_prepared(expected.log, name, prepared)
            # Looking only at premises does not examine the items that depend on them, and explicit operations say
            # nothing about implicit changes.
            if self.settings.targets == "premises" or self.settings.changes == "explicit":
                return prepared
            if note(expected, prepared, self._needed(self.team.verifier, "verifier").name):
                return prepared
        raise ModelError(f"the log took in observations faster than {ROUNDS} preparations could look at them")

    def _looked(self, expected: ExpectedReturn, name: str, ledger: TokenLedger) -> Prepared:
        """One look at the log, and further ones while needed items are replaced."""
        earlier: Prepared | None = None
        while True:
            try:
                prepared = prepare_return(expected, self.team, ledger)
            except BaseException:
                if earlier is not None:
                    # Everything found so far is on the log, and the audit records it.
                    file_prepared(expected.log, name, earlier)
                raise
            earlier = prepared.after(earlier)
            if not prepared.replacements:
                return earlier

    # From conversation to items.

    def ingest(
        self,
        evidence: Sequence[str],
        *,
        by: str,
        turns: Mapping[str, Sequence[Turn]] | None = None,
        supports: Mapping[str, Sequence[str]] | None = None,
        without: Sequence[str] = WITHOUT,
        per_call: int = 1,
        **fields: Unpack[UseFields],
    ) -> tuple[Ingested, ...]:
        """Draw items from evidence that was observed, by digest, and record them with receipts. ``by`` records them.

        ``turns`` says, by digest, which turns of a conversation to read; ``supports`` what a slot is evidence for;
        ``without`` which speakers give no items.
        """
        check_fields(self.ingest, fields, UseFields)
        by = require_name("by", by)
        named = [require_digest(f"evidence[{n}]", one) for n, one in enumerate(listed("evidence", evidence))]
        return ingest(
            self.workspace,
            self._needed(self.team.extractor, "extractor"),
            named,
            by=by,
            turns=turns,
            supports=supports,
            without=listed("without", without),
            per_call=per_call,
            **fields,
        )

    def converse(
        self,
        turns: Sequence[Turn],
        *,
        by: str,
        speakers: Sequence[str] | None = None,
        without: Sequence[str] = WITHOUT,
        id: str | None = None,
        at: Moment | None = None,
        **fields: Unpack[UseFields],
    ) -> Ingested:
        """Observe a conversation, under ``id`` if there is one, and draw items from it.

        ``speakers`` limits whose turns are read for items.
        """
        check_fields(self.converse, fields, UseFields)
        said = [require(f"turns[{n}]", one, Turn) for n, one in enumerate(listed("turns", turns))]
        name = self.workspace.observe(
            conversation(said),
            by=by,
            id=id,
            at=at,
            task=fields.get("task"),
            roles=fields.get("roles", ()),
            principals=fields.get("principals", ()),
        )
        read = [turn for turn in said if speakers is None or turn.by in speakers]
        (ingested,) = self.ingest([name], by=by, turns={name: read}, without=without, **fields)
        return ingested

    def plan(self, text: str, *, by: str, role: str, task: str) -> Planned:
        """Open the obligations that a task or question amounts to."""
        text, by = require_text("text", text), require_name("by", by)
        role, task = require_name("role", role), require_name("task", task)
        model = self._needed(self.team.planner, "planner")
        return planning.plan_duties(self.workspace, model, text, by=by, role=role, task=task)

    def usage(self) -> tuple[StageUsage, ...]:
        """The usage of ingesting, planning and resolving so far, per stage."""
        return self.ledger.stages()

    def _needed(self, model: Model | None, name: str) -> Model:
        if model is None:
            raise ModelError(f"{name}: none is given; open Inference with one, as {name}='openai:NAME'")
        return Metered(model, self.ledger)
