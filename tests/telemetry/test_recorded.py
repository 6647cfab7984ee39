"""What OpenTelemetry's SDK gets of returns and of models, and what it never gets."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from readmit import Policy, Workspace
from readmit.errors import ExposureError, ReadmitError
from readmit.models import Ask, Failure, Fault, Metered, TokenLedger, Usage
from readmit.telemetry import SPANS, span
from tests.models.scripted import Scripted, reply
from tests.telemetry.recorder import recording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit import Return
    from tests.telemetry.recorder import Recorder

STAGES = ["read", "look", "capture", "invalidate", "gate", "cover", "readmission", "decide", "seal", "commit"]
"""In the order of their ends."""
WORDS = ("Sunrise", "Riverside", "hotel", "planner", "trip-7", "h-hidden", "h-shown")


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with recording() as made:
        yield made


def returned(**policy: object) -> Return:
    """A return to a workspace in which one item is hidden from the agent, and one is replaced."""
    team = Workspace.open(":memory:", policy=Policy(**policy))  # type: ignore[arg-type]  # of the caller
    agent = team.agent("ann-principal", role="planner", task="trip-7")
    seen = team.observe("Sunrise confirms two nights.", by="bob")
    team.oblige("Prepare the hotel details", required=["hotel"], by="bob", sources=[seen])
    team.record("Sunrise is booked", id="h-shown", slot="hotel", by="bob", sources=[seen])
    agent.depart()
    team.record("Riverside costs too much", id="@bob/h-hidden", slot="x", by="bob", sources=[seen], principals=["bob"])
    return agent.come_back()


def test_each_stage_is_a_span_below_its_return(recorder: Recorder) -> None:
    came = returned()
    assert came.admitted
    (top,) = recorder.spans("readmit.return")
    assert recorder.names()[-len(STAGES) - 1 :] == [*(f"readmit.return.{one}" for one in STAGES), "readmit.return"]
    spans = {one.name.rpartition(".")[2]: one for one in recorder.spans()}
    above = {"capture": "decide", "gate": "decide", "cover": "decide", "seal": "commit", "read": "return"}
    for name, parent in above.items():
        below, over = spans[name].parent, spans[parent].context
        assert below is not None
        assert over is not None
        assert below.span_id == over.span_id, name
    assert dict(top.attributes or {}) == {"readmit.outcome": "admitted", "readmit.epoch": came.decision.epoch}
    assert recorder.points("readmit.returns") == [({"outcome": "admitted"}, 1)]
    ((labels, seconds),) = recorder.points("readmit.return.duration")
    assert labels == {"outcome": "admitted"}
    assert 0 < seconds < 60


def test_a_blocked_return_says_its_reason(recorder: Recorder) -> None:
    with Workspace.open(":memory:") as team:
        agent = team.agent("ann", role="planner", task="trip")
        seen = team.observe("A hotel is needed.", by="bob")
        team.oblige("Prepare the hotel details", required=["hotel"], by="bob", sources=[seen])
        agent.depart()
        blocked = agent.come_back()
    assert not blocked.admitted
    reason = str(blocked.decision.reasons[0])
    (top,) = recorder.spans("readmit.return")
    assert (top.attributes or {})["readmit.reason"] == reason
    assert recorder.points("readmit.returns") == [({"outcome": "blocked", "reason": reason}, 1)]


def test_no_text_id_or_principal_is_in_a_span(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    came = returned()
    came.expose()
    held = recorder.everything()
    assert [word for word in (*WORDS, "ann-principal", came.id, came.secret) if word in held] == []
    monkeypatch.setenv("READMIT_TELEMETRY_PRINCIPALS", "1")
    returned()
    assert (recorder.spans("readmit.return")[-1].attributes or {})["readmit.principal"] == "ann-principal"
    assert [word for word in WORDS if word in recorder.everything()] == []


def test_an_error_is_its_class_without_its_message(recorder: Recorder) -> None:
    came = returned()
    came.expose()
    came.acknowledge()
    with pytest.raises(ExposureError):
        came.expose()
    failed = recorder.spans("readmit.expose")[-1]
    assert (failed.attributes or {})["error.type"] == "ExposureError"
    assert (failed.status.is_ok, failed.status.description, failed.events) == (False, None, ())
    with suppress(ValueError), span("readmit.return.read"):
        raise ValueError("Sunrise")
    assert "Sunrise" not in recorder.everything()


def test_an_attribute_that_is_not_declared_is_left_out(recorder: Recorder) -> None:
    with span("readmit.return") as note:
        note({"readmit.text": "Sunrise", "readmit.epoch": 3})
    assert dict(recorder.spans()[0].attributes or {}) == {"readmit.epoch": 3}


def test_a_request_to_a_model_has_the_names_that_exist_for_it(recorder: Recorder) -> None:
    failure = Failure(fault=Fault.REFUSED, message="Sunrise", usage=Usage(stage="verify", milliseconds=4))
    model = Metered(Scripted(reply("Sunrise", tokens=(30, 3)), failure), TokenLedger())
    before = time.time_ns()
    model.ask([Ask(stage="verify", prompt="verify@1", system="", user="Riverside")] * 2)
    answered, refused = recorder.spans("readmit.model")
    assert dict(answered.attributes or {}) == {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "scripted", "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 3, "readmit.stage": "verify",
    }  # fmt: skip
    assert (refused.attributes or {})["error.type"] == "refused"
    assert answered.start_time is not None
    assert answered.end_time is not None
    assert before <= answered.start_time < answered.end_time == answered.start_time + 3_000_000
    assert not [word for word in WORDS if word in recorder.everything()]
    tokens = {labels["gen_ai.token.type"]: total for labels, total in recorder.points("gen_ai.client.token.usage")}
    assert tokens == {"input": 30, "output": 3}
    faults = [labels.get("error.type") for labels, _ in recorder.points("gen_ai.client.operation.duration")]
    assert sorted(map(str, faults)) == ["None", "refused"]


def test_an_answer_from_a_store_is_no_request(recorder: Recorder) -> None:
    kept = reply("a").__class__(text="a", usage=Usage(stage="s", input=9), model="m", replayed=True)
    Metered(Scripted(kept), TokenLedger()).ask([Ask(stage="s", prompt="p@1", system="", user="u")])
    assert recorder.names() == []


def test_every_span_is_opened_somewhere(recorder: Recorder) -> None:
    """Those of a preparation and of a server have tests of their own."""
    came = returned()
    came.expose()
    Metered(Scripted("a"), TokenLedger()).ask([Ask(stage="s", prompt="p@1", system="", user="u")])
    assert set(SPANS) - set(recorder.names()) == {"readmit.request", "readmit.return.prepare"}
    with pytest.raises(KeyError), span("readmit.unknown") as note:
        note({})


ALONE = """
import sys, readmit
from readmit import Workspace
API
with Workspace.open(":memory:") as team:
    agent = team.agent("ann", role="planner", task="trip")
    agent.depart()
    agent.come_back()
loaded = sorted(name for name in sys.modules if name.startswith("opentelemetry"))
from readmit.telemetry import span
assert span("readmit.return") is span("readmit.expose"), "one that does nothing"
print(len(loaded), any("sdk" in name for name in loaded))
"""


@pytest.mark.parametrize(("api", "loads"), [("", False), ("import opentelemetry.trace", True)])
def test_nothing_is_imported_and_without_an_sdk_nothing_is_recorded(api: str, loads: bool) -> None:
    done = subprocess.run([sys.executable, "-c", ALONE.replace("API", api)], capture_output=True, text=True, check=True)
    count, sdk = done.stdout.split()
    assert (int(count) > 0, sdk) == (loads, "False")


def test_an_error_of_the_caller_ends_its_span(recorder: Recorder) -> None:
    with Workspace.open(":memory:") as team, pytest.raises(ReadmitError):
        team.agent("ann", role="planner", task="trip").come_back()
    (top,) = recorder.spans("readmit.return")
    assert not top.status.is_ok
