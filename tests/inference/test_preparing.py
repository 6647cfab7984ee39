from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from readmit import Reason, Verdict
from readmit.errors import ModelError
from readmit.events import EventKind
from readmit.inference import Prepared, RequestBudgets, Signal
from readmit.lab import decode
from readmit.models import Fault, Lexical
from tests.inference.world import NEAR, SHIFT, SHOES, STRUCTURE, Ruled, away, foresee, hear, home, states

if TYPE_CHECKING:
    from readmit import Workspace


def inference(workspace: Workspace) -> list[Prepared]:
    rows = [row for row in workspace._desk.log.audit.rows() if row.kind == "inference"]
    return [decode(row.body, Prepared, what="row") for row in rows]


def test_a_changed_premise_takes_the_item_out_and_the_audit_says_what_was_done() -> None:
    with home() as workspace:
        agent = away(workspace)
        (shift, _) = hear(workspace, SHIFT, SHOES)
        returned = foresee(workspace, Ruled()).come_back(agent)
        found = states(returned)
        (instead,) = found.keys() - {"bedtime", "screens", "o_advise"}
        assert found == {
            "bedtime": "premise_changed", "screens": "not_needed", "o_advise": "withheld", instead: "not_needed"
        }  # fmt: skip
        assert SHIFT.startswith(workspace._desk.log.item(instead).text)
        assert (returned.kind, returned.missing) == ("blocked", ("d_bed",))
        (cause,) = returned.explain("bedtime").disposition.causes
        assert (cause.ref, cause.note) == (shift, "The user is at home in the evening.")
        (row,) = inference(workspace)
        assert (row.targets, row.judged, row.invalidated, row.faults) == (2, 5, ("bedtime",), ())
        # The last of each is for what took its place, held against what was observed after it.
        assert {one.stage: one.calls for one in row.usage} == {"premises": 3, "implied": 2, "verify": 5}
        assert (row.tokens, row.replacements) == (10 * 120, (instead,))
        assert workspace.returned(returned.id).replay().matches


def test_without_a_change_everything_stands() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        returned = foresee(workspace, Ruled()).come_back(agent)
        assert returned.admitted
        assert states(returned)["bedtime"] == "admitted"


def test_nothing_is_asked_twice() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT, SHOES)
        model = Ruled()
        inference = foresee(workspace, model)
        inference.prepare(agent)
        once = dict(model.asked)
        again = inference.prepare(agent)
        assert dict(model.asked) == once
        assert (again.judged, again.usage) == (0, ())
        hear(workspace, "It rained all day.")
        third = inference.prepare(agent)
        # One new text and the two standing targets: nothing that was judged costs anything.
        assert model.asked["implied"] == once["implied"] + 1
        assert model.asked["premises"] == once["premises"]
        assert third.judged == 2


def test_a_pair_that_is_not_near_is_not_paid_for_by_the_next_return() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT, *(f"Remark {number} about nothing much." for number in range(8)))
        model = Ruled()
        inference = foresee(workspace, model, near=1, near_stated=1, linking=False)
        first = inference.prepare(agent)
        assert 0 < first.judged < first.open == 18
        assert inference.prepare(agent).judged == 0
        assert model.asked["verify"] == first.judged
        # A changed configuration examines everything again, but for what fell and what is answered.
        fallen = sum(one.pair.item == "bedtime" for one in first.proposed) if first.invalidated else 0
        again = foresee(workspace, model, linking=False).prepare(agent)
        assert again.judged == (9 - (first.judged - fallen) if fallen else 18 - first.judged)


def test_verdicts_serve_every_agent_role_and_purpose() -> None:
    with home() as workspace:
        first, second, third = away(workspace), away(workspace, "A2"), away(workspace, "A3", role="auditor")
        hear(workspace, SHIFT, SHOES)
        model = Ruled()
        inference = foresee(workspace, model)
        assert inference.come_back(first).kind == "blocked"
        asked = model.asked["verify"]
        assert states(inference.come_back(second))["bedtime"] == "premise_changed"
        assert model.asked["verify"] == asked
        # A verdict is about two statements, whoever returns for whatever.
        assert states(inference.come_back(third, purpose=None))["bedtime"] == "premise_changed"
        assert model.asked["verify"] == asked


def test_the_verdict_on_the_log_names_model_and_prompt() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT)
        foresee(workspace, Ruled()).prepare(agent)
        said = [event.payload for event in workspace._desk.log.tail() if event.kind is EventKind.JUDGE]
        assert {(one.model, one.prompt) for one in said if isinstance(one, Verdict)} == {("ruled", "verify@3")}


@dataclass(frozen=True)
class Broken:
    """A fault in one stage, and how a return with an otherwise harmless observation ends."""

    stage: str
    fault: Fault
    bedtime: str
    kind: str
    settings: dict[str, object] = field(default_factory=dict)


@pytest.mark.parametrize(
    "case",
    {
        "verifier timeout": Broken("verify", Fault.TIMEOUT, "suspected", "blocked"),
        "verifier malformed": Broken("verify", Fault.MALFORMED, "suspected", "blocked"),
        "verifier rate limited": Broken("verify", Fault.RATE_LIMITED, "suspected", "blocked"),
        "implier down, structure alone found nothing": Broken(
            "implied", Fault.UNAVAILABLE, "suspected", "blocked", {"signals": (*STRUCTURE, Signal.IMPLIED_FACTS)}
        ),
        "premises down": Broken(
            "premises", Fault.REFUSED, "suspected", "blocked", {"signals": (*STRUCTURE, Signal.IMPLIED_FACTS)}
        ),
        "scan down": Broken("scan", Fault.TIMEOUT, "suspected", "blocked", {"signals": (*STRUCTURE, Signal.SCAN)}),
        "implier down, and that is only noted": Broken(
            "implied",
            Fault.TIMEOUT,
            "admitted",
            "admitted",
            {"signals": (*STRUCTURE, Signal.IMPLIED_FACTS), "on_unseen": "note"},
        ),
        "implier down, another signal looked at the same pairs": Broken(
            "implied", Fault.TIMEOUT, "admitted", "admitted"
        ),
    }.items(),
    ids=lambda pair: pair[0],
)
def test_a_fault_ends_closed_and_audited(case: tuple[str, Broken]) -> None:
    fault = case[1]
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        returned = foresee(workspace, Ruled(broken={fault.stage: fault.fault}), **fault.settings).come_back(agent)
        assert (states(returned)["bedtime"], returned.kind) == (fault.bedtime, fault.kind)
        (row,) = inference(workspace)
        assert row.faults


def test_a_suspicion_left_by_a_fault_is_settled_by_the_next_return() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        assert foresee(workspace, Ruled(broken={"verify": Fault.TIMEOUT})).come_back(agent).kind == "blocked"
        assert foresee(workspace, Ruled()).come_back(agent).admitted


def test_an_exception_refuses_the_return_with_an_audit_row() -> None:
    class Exploding(Ruled):
        def ask(self, asks: object) -> list[object]:  # type: ignore[override]
            raise RuntimeError("the cable is out")

    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        returned = foresee(workspace, Exploding()).come_back(agent)
        assert (returned.kind, returned.reasons) == ("blocked", (Reason.INTERNAL_ERROR,))
        assert returned.view is None
        assert "decision" in {row.kind for row in workspace._desk.log.audit.rows() if row.return_id == returned.id}
        assert workspace.returned(returned.id).replay().skipped


def test_observations_that_arrive_while_preparing_are_looked_at_too() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES)
        late = iter([SHIFT])

        class Slow(Ruled):
            def ask(self, asks: object) -> list[object]:  # type: ignore[override]
                hear(workspace, *[text for text in [next(late, None)] if text])
                return super().ask(asks)  # type: ignore[arg-type,return-value]

        assert states(foresee(workspace, Slow()).come_back(agent))["bedtime"] == "premise_changed"


def test_the_token_budget_stops_before_it_is_exceeded() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT, SHOES)
        returned = foresee(workspace, Ruled(tokens=(1_500, 100)), budget=9_000).come_back(agent)
        (row,) = inference(workspace)
        assert (row.tokens, row.judged, row.unanswered) == (6_400, 0, 4)
        assert states(returned)["bedtime"] == "suspected"
        assert returned.kind == "blocked"


@pytest.mark.parametrize("signal", [Signal.EMBEDDING, Signal.PASSAGE, Signal.IMPLIED_FACTS, Signal.SCAN])
def test_every_signal_can_run_alone(signal: Signal) -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT, SHOES)
        returned = foresee(workspace, Ruled(), signals=(signal,)).come_back(agent)
        assert states(returned)["bedtime"] == "premise_changed"
        (row,) = inference(workspace)
        (count,) = row.signals
        assert (count.signal, count.kept) == (signal, row.judged)


def test_the_scan_is_not_repeated() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHOES, "It rained.", "Nothing happened.")
        model = Ruled()
        foresee(workspace, model, signals=(Signal.SCAN,)).prepare(agent)
        assert model.asked == {"scan": 2}
        hear(workspace, SHIFT)
        # A changed threshold examines everything again, and still only the new text is scanned.
        foresee(workspace, model, signals=(Signal.SCAN,), near=0).prepare(agent)
        assert model.asked["scan"] == 4
        assert sum("It rained" in ask.user for ask in model.seen if ask.stage == "scan") == 2


def test_a_slot_and_a_declared_premise_propose_without_any_text() -> None:
    with home() as workspace:
        agent = away(workspace)
        said = hear(workspace, "Dinner moved.")[0]
        workspace.record("Dinner is at eight.", id="dinner", slot="dinner", sources=[said], by="A5", task="advice")
        workspace.record(
            "Bring wine to dinner.", id="wine", depends_on=["dinner"], sources=[said], by="A5", task="advice"
        )
        later = hear(workspace, "The restaurant called about dinner.")[0]
        workspace.record("The table is under Lee.", id="table", slot="dinner", sources=[later], by="A5", task="advice")
        prepared = foresee(workspace, Ruled(), signals=STRUCTURE).prepare(agent)
        kept = {one.signal: one.kept for one in prepared.signals}
        # "dinner" lost its slot by structure alone, and "wine" its premise: no model is asked about either.
        assert kept == {"declared_premise": 0, "same_slot": 0}


@pytest.mark.parametrize(
    ("lacking", "settings"),
    [
        ("verifier", {}),
        ("implier", {"signals": NEAR}),
        ("scanner", {"signals": (Signal.SCAN,)}),
        ("embedder", {"signals": (Signal.EMBEDDING,)}),
        ("second_verifier", {"confirm_critical": "second_model"}),
    ],
)
def test_settings_that_nobody_can_carry_out_name_what_is_missing(lacking: str, settings: dict[str, object]) -> None:
    from readmit.inference import Inference, Settings

    with home() as workspace:
        agent = away(workspace)
        model = Ruled()
        given = {"verifier": model, "implier": model, "scanner": model, "embedder": Lexical()}
        given.pop(lacking, None)
        inference = Inference(workspace, Settings(**settings), **given)  # type: ignore[arg-type]
        with pytest.raises(ModelError, match=f"^{lacking}: none is given"):
            inference.prepare(agent)


def test_confirmation_asks_again_about_critical_items_only() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT)
        swapped, second = Ruled(), Ruled(name="other", rules={"verify": _compatible})
        inference = foresee(workspace, swapped, confirm_critical="second_model")
        inference.team.second_verifier = second
        returned = inference.come_back(agent)
        assert (swapped.asked["verify"], second.asked["verify"]) == (2, 1)
        # They disagree, so the item is only suspected.
        assert states(returned)["bedtime"] == "suspected"


def _compatible(ask: object) -> str:
    from tests.inference.world import judgment

    return judgment(ask, changes="nothing at all")  # type: ignore[arg-type]


def test_only_what_others_rest_on_is_looked_at_and_what_rests_on_it_falls_with_it() -> None:
    """The paper's targets. Examining them alone leaves the rest unexamined, and the return does not claim otherwise."""
    with home(critical=False) as workspace:
        seen = workspace.observe("I sleep well.", by="A1", task="advice")
        workspace.record(
            "Calls end at ten.", id="calls", sources=[seen], by="A1", depends_on=["bedtime"], task="advice"
        )
        agent = away(workspace)
        hear(workspace, SHIFT, SHOES)
        model = Ruled()
        returned = foresee(workspace, model, signals=("scan",), targets="premises", linking=False).come_back(agent)
        (row,) = inference(workspace)
        assert row.targets == 1
        assert {one.pair.item for one in row.proposed} == {"bedtime"}
        assert {one.signals for one in row.proposed} == {("scan",)}
        assert states(returned)["calls"] == "premise_changed"
        assert returned.decision.examination is None


def test_several_targets_and_more_observations_share_a_scan() -> None:
    with home() as workspace:
        agent = away(workspace)
        hear(workspace, SHIFT, SHOES, *(f"{SHOES} {number}" for number in range(4)))
        model = Ruled()
        model.rules["scan"] = lambda _: '{"labels": []}'
        budgets = RequestBudgets(scan_tokens=99, verify_tokens=88)
        settings = {"scan_targets": 2, "scan_per_call": 6, "budgets": budgets, "linking": False}
        foresee(workspace, model, signals=("scan",), **settings).come_back(agent)
        assert model.asked["scan"] == 1
        assert {ask.max_tokens for ask in model.seen if ask.stage == "scan"} == {99}
        assert {ask.max_tokens for ask in model.seen if ask.stage == "verify"} == {88}
        assert model.asked["verify"] == 12, "what is not labeled is proposed"
