from __future__ import annotations

import threading
import time

import pytest

from readmit import LookRules
from readmit.errors import GoneError, ProbeError
from readmit.sources import Call, Finding, Looker


def test_the_answer_of_a_registered_function_is_captured_and_compared() -> None:
    rates = {"EUR": "1.00", "USD": "1.08"}
    looker = Looker(callables={"rate": rates.get})
    text, probe = looker.capture(Call("rate", ["USD"]))
    assert text == "1.08"
    assert looker.look([probe]) == [(Finding.UNCHANGED, probe, "", "")]
    rates["USD"] = "1.09"
    assert [(found.outcome, found.text) for found in looker.look([probe])] == [(Finding.CHANGED, "1.09")]
    del rates["USD"]
    assert looker.look([probe]) == [(Finding.GONE, probe, "", "rate answers None")]


def test_a_value_that_is_no_text_is_compared_as_json_whatever_the_order_of_its_keys() -> None:
    answers = iter([{"a": 1, "b": [2]}, {"b": [2], "a": 1}])
    looker = Looker(callables={"state": lambda: next(answers)})
    text, probe = looker.capture(Call("state"))
    assert text == '{"a":1,"b":[2]}'
    assert [found.outcome for found in looker.look([probe])] == [Finding.UNCHANGED]


def test_only_registered_names_are_called() -> None:
    with pytest.raises(ProbeError, match=r"^name: the prober knows no function 'os:getcwd'; add it to callables"):
        Looker().capture(Call("os:getcwd"))


@pytest.mark.parametrize("fault", [ValueError("no"), SystemExit(3), KeyboardInterrupt(), MemoryError()])
def test_a_function_that_raises_was_not_looked_through(fault: BaseException) -> None:
    faults: list[BaseException] = []

    def call() -> str:
        if faults:
            raise faults[0]
        return "text"

    looker = Looker(callables={"call": call})
    _, probe = looker.capture(Call("call"))
    faults.append(fault)
    [found] = looker.look([probe])
    assert found.outcome is Finding.UNSEEN
    assert type(fault).__name__ in found.why


def test_a_function_that_hangs_is_given_up_and_not_called_again_until_it_ends() -> None:
    hold = threading.Event()
    hold.set()
    calls: list[int] = []

    def call() -> str:
        calls.append(len(calls))
        hold.wait(60)
        return "text"

    looker = Looker(LookRules(seconds=3), callables={"call": call})
    _, probe = looker.capture(Call("call"))
    hold.clear()
    assert [found.why for found in looker.look([probe])] == ["it took too long"]
    assert [found.why for found in looker.look([probe])] == ["an earlier call of call has not ended"]
    assert len(calls) == 2
    hold.set()
    while any(thread.name == "readmit-look-call" for thread in threading.enumerate()):
        time.sleep(0.01)
    assert [found.outcome for found in looker.look([probe])] == [Finding.UNCHANGED]


@pytest.mark.parametrize("answer", [object(), "x" * 2_000_000, "\ud800", float])
def test_an_answer_that_evidence_cannot_hold_is_refused(answer: object) -> None:
    with pytest.raises(ProbeError):
        Looker(callables={"call": lambda: answer}).capture(Call("call"))


def test_an_empty_answer_is_nothing() -> None:
    with pytest.raises(GoneError, match="it is empty"):
        Looker(callables={"call": lambda: " "}).capture(Call("call"))


def test_a_look_ends_after_its_total_time_and_count_and_says_what_it_did_not_reach() -> None:
    quick = iter(("as it is captured", "as it is looked at first"))
    over = threading.Event()

    def slow() -> str:
        if next(quick, None) is None:
            over.wait(60)
        return "text"

    looker = Looker(LookRules(total_seconds=3, count=3), callables={"slow": slow})
    _, probe = looker.capture(Call("slow"))
    found = looker.look([probe] * 5)
    over.set()
    assert [one.outcome for one in found] == ["unchanged", "unseen", "unseen", "unseen", "unseen"]
    assert [one.why for one in found[1:]] == [
        "it took too long",
        "total_seconds: the look ended after 3 s",
        "count: this look has 5 probes; the limit is 3",
        "count: this look has 5 probes; the limit is 3",
    ]


def test_a_reason_is_one_short_line_without_control_characters() -> None:
    def call() -> str:
        raise ValueError("\x1b[31mred\nline\u202e" + "x" * 10_000)

    looker = Looker(callables={"call": lambda: "text"})
    _, probe = looker.capture(Call("call"))
    [found] = Looker(callables={"call": call}).look([probe])
    assert found.why.startswith("ValueError: ?[31mred line?xxx")
    assert len(found.why) <= 201
