"""A real model, loaded and served for real. The test checks the form of its answers, not their content."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Annotated

import msgspec
import pytest

from readmit import Answer
from readmit.errors import ModelError
from readmit.models import (
    Ask,
    Failure,
    Fault,
    Gguf,
    Metered,
    Recorded,
    Recorder,
    Reply,
    TokenLedger,
    ask_typed,
    open_model,
)
from readmit.models.structured import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]
pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: pip install 'readmit[gguf]'", exc_type=ImportError)


class Judgement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    answer: Answer
    certain: bool
    quotes: Annotated[tuple[Answer, ...], msgspec.Meta(max_length=2)]


def ask(number: int = 0, *, max_tokens: int = 120) -> Ask:
    user = f"The hotel room {number} is booked. Later: the hotel closed. Does the later statement invalidate the first?"
    return Ask(stage="verify", prompt="verify@1", system="Answer in JSON.", user=user, max_tokens=max_tokens)


@pytest.fixture(scope="module")
def model(local_model: Path) -> Iterator[Gguf]:
    with Gguf(local_model, context=1_024, concurrency=2, threads=1, deadline=120) as opened:
        yield opened


def test_typed_answers_in_order_with_their_usage(model: Gguf) -> None:
    ledger = TokenLedger()
    results = ask_typed(Metered(model, ledger), [ask(number) for number in range(3)], Judgement)
    assert [type(result) for result in results] == [Judgement] * 3
    (stage,) = ledger.stages()
    assert stage.calls == 3
    assert stage.input > 60
    assert stage.output > 15
    assert stage.unreported == 0


def test_what_it_answered_can_be_recorded_and_replayed(model: Gguf, tmp_path: Path) -> None:
    asked = [ask(number) for number in range(2)]
    said = ask_typed(Recorder(model, tmp_path / "answers.jsonl"), asked, Judgement)
    replayed = Recorded(tmp_path / "answers.jsonl")
    assert replayed.name == model.name
    assert ask_typed(replayed, asked, Judgement) == said


def test_the_name_follows_the_content(model: Gguf, local_model: Path) -> None:
    assert model.name == "smollm2-135m.gguf@b179c9523d0e6a0f"
    same = open_model(f"gguf:{local_model}?context=512&threads=1")
    assert same.name == model.name
    same.close()


class Open(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts, lists and numbers without bounds: a small model fills them until it is cut off."""

    reason: str
    queries: Annotated[list[str], msgspec.Meta(min_length=2, max_length=8)]
    notes: list[str]
    few: Annotated[list[int], msgspec.Meta(max_length=2)]
    share: float


def test_short_answers_in_form(local_model: Path) -> None:
    with Gguf(local_model, context=1_024, threads=1, text_chars=12, list_items=3, compact=True) as small:
        results = ask_typed(small, [ask(number) for number in range(2)], Open, repair=False)
        assert small.name == "smollm2-135m.gguf@b179c9523d0e6a0f"
        (reply,) = small.ask([msgspec.structs.replace(ask(), schema=schema_of(Open))])
    for result in results:
        assert isinstance(result, Open)
        assert max(map(len, (result.reason, *result.queries, *result.notes))) <= 12
        assert (len(result.queries), len(result.notes), len(result.few)) == (3, 3, 2)
        assert result.share == round(result.share, 2)
    assert isinstance(reply, Reply)
    assert reply.text.startswith('{"reason":"')
    assert '","queries":["' in reply.text


@pytest.mark.parametrize("option", ["concurrency", "text_chars", "list_items"])
def test_a_bound_of_nothing_is_refused(option: str, local_model: Path) -> None:
    with pytest.raises(ModelError, match=f"{option}: 0 is too small"):
        open_model(f"gguf:{local_model}?{option}=0")


def test_the_deadline_stops_generation(local_model: Path) -> None:
    with Gguf(local_model, context=4_096, threads=1, deadline=0.5) as slow:
        begun = time.monotonic()
        (result,) = slow.ask([ask(max_tokens=3_000)])
        assert time.monotonic() - begun < 120
        assert isinstance(result, Failure)
        assert result.fault is Fault.TIMEOUT


def test_a_prompt_beyond_the_context_is_a_failure(model: Gguf) -> None:
    huge = Ask(stage="verify", prompt="verify@1", system="", user="word " * 5_000, max_tokens=5)
    results = model.ask([huge, ask()])
    assert isinstance(results[0], Failure)
    assert results[0].fault is Fault.REFUSED
    assert not isinstance(results[1], Failure)


def test_others_on_this_machine_cannot_ask_it(model: Gguf) -> None:
    model.ask([ask(max_tokens=1)])
    address = model._server.listening_address
    assert address.startswith("http://127.0.0.1:")
    for path in ("/v1/chat/completions", "/slots", "/props", "/metrics"):
        request = urllib.request.Request(f"{address}{path}", data=b"{}" if "v1" in path else None)  # noqa: S310
        with pytest.raises(urllib.error.HTTPError) as raised, urllib.request.urlopen(request, timeout=10):  # noqa: S310
            pass
        assert raised.value.code in (401, 403, 404, 501)
        raised.value.close()


@pytest.mark.parametrize("size", [20, 200_000])
def test_a_damaged_file_is_refused_and_the_process_lives(size: int, local_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    with local_model.open("rb") as file:
        path.write_bytes(file.read(size))
    with Gguf(path) as damaged, pytest.raises(ModelError, match="cannot load"):
        damaged.ask([ask()])
