from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readmit.errors import ModelError, PendingAnswers
from readmit.models import Ask, Failure, Fault, Metered, Reply, TokenLedger, Usage
from readmit.models.usage import most_tokens
from tests.models.scripted import Scripted, reply


def ask(stage: str = "verify", *, size: int = 100, max_tokens: int = 50) -> Ask:
    return Ask(stage=stage, prompt="verify@1", system="", user="x" * size, max_tokens=max_tokens)


NEED = most_tokens(ask())


def test_every_call_is_accounted_to_its_stage() -> None:
    ledger = TokenLedger()
    failure = Failure(fault=Fault.REFUSED, message="no", usage=Usage(stage="verify", milliseconds=4))
    model = Metered(
        Scripted(reply("a", stage="extract", tokens=(100, 20)), reply("b", tokens=(30, 3)), failure), ledger
    )
    model.ask([ask("extract"), ask()])
    model.ask([ask()])
    extract, verify = ledger.stages()
    assert (extract.stage, extract.calls, extract.input, extract.output, extract.tokens) == ("extract", 1, 100, 20, 120)
    assert (verify.calls, verify.failed, verify.input, verify.output, verify.milliseconds) == (2, 1, 30, 3, 7)
    total = ledger.total()
    assert (total.calls, total.tokens, ledger.spent) == (3, 153, 153)


def test_cached_tokens_and_replayed_answers_are_counted_apart() -> None:
    usage = Usage(stage="verify", input=100, cached=80, output=5)
    ledger = TokenLedger()
    Metered(Scripted(Reply(text="", usage=usage, model="m", replayed=True)), ledger).ask([ask()])
    (stage,) = ledger.stages()
    assert (stage.cached, stage.replayed, stage.input) == (80, 1, 100)


def test_the_budget_stops_before_it_is_exceeded() -> None:
    model = Scripted(reply("ok", tokens=(100, 50)))
    ledger = TokenLedger(2 * NEED)
    results = Metered(model, ledger).ask([ask() for _ in range(9)])
    asked = [result for result in results if isinstance(result, Reply)]
    unasked = [result for result in results if isinstance(result, Failure)]
    assert len(asked) == len(model.asked) == 2
    assert {result.fault for result in unasked} == {Fault.BUDGET}
    assert f"of {2 * NEED}" in unasked[0].message
    assert ledger.spent == 300 <= 2 * NEED
    assert ledger.total().calls == 2


def test_what_was_not_used_of_a_reservation_serves_the_next_wave() -> None:
    model = Scripted(reply("ok", tokens=(20, 5)))
    ledger = TokenLedger(3 * NEED)
    results = Metered(model, ledger).ask([ask() for _ in range(10)])
    assert all(isinstance(result, Reply) for result in results)
    assert model.rounds[0] == 3
    assert len(model.rounds) > 1
    assert ledger.spent == 250


@given(
    limit=st.integers(0, 2_000),
    calls=st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300), st.floats(0, 1), st.floats(0, 1)), max_size=12),
)
@settings(max_examples=150)
def test_no_budget_is_ever_exceeded(limit: int, calls: list[tuple[int, int, float, float]]) -> None:
    """As long as a provider does not report more than the request can have taken."""
    shares = iter([(size + 64, size, cap, used, wrote) for size, cap, used, wrote in calls])

    def say(asked: Ask) -> Reply:
        most, _, cap, used, wrote = next(shares)
        return reply("", tokens=(round(most * used), round(cap * wrote)))

    ledger = TokenLedger(limit)
    asks = [ask(size=size, max_tokens=cap) for size, cap, _, _ in calls]
    results = Metered(Scripted(say), ledger).ask(asks)
    assert ledger.spent <= limit
    assert len(results) == len(asks)
    faults = [isinstance(result, Failure) for result in results]
    assert faults == sorted(faults)


@pytest.mark.parametrize(
    "result",
    [
        Reply(text="ok", usage=Usage(stage="verify"), model="m"),
        Failure(fault=Fault.TIMEOUT, message="late", usage=Usage(stage="verify", milliseconds=9)),
    ],
    ids=["no usage in the answer", "a timeout"],
)
def test_what_a_provider_does_not_report_counts_in_full(result: Reply | Failure) -> None:
    ledger = TokenLedger(2 * NEED)
    results = Metered(Scripted(result), ledger).ask([ask() for _ in range(4)])
    assert ledger.spent == 2 * NEED
    assert ledger.total().unreported == 2
    assert [getattr(one, "fault", None) for one in results[2:]] == [Fault.BUDGET] * 2


def test_a_failure_that_took_nothing_costs_nothing() -> None:
    ledger = TokenLedger(NEED)
    refused = Failure(fault=Fault.RATE_LIMITED, message="429", usage=Usage(stage="verify"))
    results = Metered(Scripted(refused), ledger).ask([ask() for _ in range(5)])
    assert {result.fault for result in results if isinstance(result, Failure)} == {Fault.RATE_LIMITED}
    assert ledger.spent == 0


def test_an_exception_gives_the_reservation_back() -> None:
    def stop(_: Ask) -> str:
        raise PendingAnswers(1, "somewhere")

    ledger = TokenLedger(NEED)
    model = Metered(Scripted(stop, "ok"), ledger)
    with pytest.raises(PendingAnswers):
        model.ask([ask()])
    assert isinstance(model.ask([ask()])[0], Reply)


def test_threads_that_share_a_ledger_wait_for_each_other_and_stay_within_it() -> None:
    def slow(_: Ask) -> Reply:
        time.sleep(0.01)
        return reply("ok", tokens=(20, 5))

    ledger = TokenLedger(NEED + 25 * 7)
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda: results.extend(Metered(Scripted(slow), ledger).ask([ask()]))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 8
    assert all(isinstance(result, Reply) for result in results)
    assert ledger.spent == 200


def test_text_outside_latin_is_reserved_by_its_bytes() -> None:
    wide = Ask(stage="s", prompt="p@1", system="", user="漢" * 100, max_tokens=1)
    assert most_tokens(wide) >= 300


def test_a_budget_below_zero_is_refused() -> None:
    with pytest.raises(ModelError, match="budget"):
        TokenLedger(-1)
