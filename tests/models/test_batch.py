from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from readmit.errors import ModelError, PendingAnswers
from readmit.models import Ask, Batch, Failure, Fault, Metered, Reply, TokenLedger, ask_typed, batch_status, check_batch
from readmit.models.batch import unanswered_requests
from readmit.models.structured import schema_of
from readmit.models.usage import most_tokens
from tests.models.stand_in import completion

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    answer: str


def ask(number: int = 0, *, workspace: str = "trip") -> Ask:
    user = f"question {number}\nwith a second line"
    return Ask(stage="verify", prompt="verify@1", system="Judge.", user=user, workspace=workspace)


def requests(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "requests.jsonl").read_text().splitlines()]


def line(custom_id: str, text: str = "an answer") -> str:
    response = {"status_code": 200, "request_id": "req_1", "body": json.loads(completion(text))}
    return json.dumps({"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": None})


def error_line(custom_id: str, code: str = "batch_expired") -> str:
    return json.dumps({"custom_id": custom_id, "response": None, "error": {"code": code, "message": "not run in time"}})


def respond(directory: Path, lines: Iterable[str], name: str = "responses.jsonl") -> None:
    with (directory / name).open("a") as file:
        file.writelines(f"{text}\n" for text in lines)


def pending(model: Batch, asks: list[Ask]) -> int:
    with pytest.raises(PendingAnswers) as raised:
        model.ask(asks)
    assert str(model.directory) in str(raised.value)
    return raised.value.count


def test_several_rounds_to_the_end(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "batch"
    asks = [ask(number) for number in range(5)]
    assert pending(Batch(directory, "strong"), asks[:3]) == 3
    assert pending(Batch(directory, "strong"), asks[:3]) == 3
    respond(directory, [line(request["custom_id"], "first") for request in requests(directory)[:2]])
    assert pending(Batch(directory, "strong"), asks) == 3
    assert len(requests(directory)) == 5
    respond(
        directory,
        (line(json.loads(text)["custom_id"], "second") for text in list(unanswered_requests(directory))),
        "responses-2.jsonl",
    )
    replies = Batch(directory, "strong").ask(asks)
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["first"] * 2 + ["second"] * 3
    assert all(isinstance(reply, Reply) and reply.replayed and reply.usage.input == 40 for reply in replies)
    assert batch_status(directory).waiting == 0
    assert check_batch(directory).ok


def test_requests_are_in_the_openai_batch_format(tmp_path: Path) -> None:
    one = msgspec.structs.replace(ask(), schema=schema_of(Verdict), max_tokens=77)
    pending(Batch(tmp_path, "strong"), [one])
    (request,) = requests(tmp_path)
    assert set(request) == {"custom_id", "method", "url", "body"}
    assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
    assert request["custom_id"] == one.key("strong")
    body = request["body"]
    assert (body["model"], body["max_completion_tokens"]) == ("strong", 77)
    assert body["messages"] == [{"role": "system", "content": "Judge."}, {"role": "user", "content": one.user}]
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["answer"]
    assert "temperature" not in body
    assert "trip" not in (tmp_path / "requests.jsonl").read_text()


def test_a_repair_is_one_more_round(tmp_path: Path) -> None:
    model = Batch(tmp_path, "strong")
    for text in ("not json", '{"answer": "compatible"}'):
        with pytest.raises(PendingAnswers):
            ask_typed(model, [ask()], Verdict)
        respond(tmp_path, [line(request["custom_id"], text) for request in requests(tmp_path)[-1:]])
    assert ask_typed(model, [ask()], Verdict) == [Verdict(answer="compatible")]
    assert len(requests(tmp_path)) == 2


def test_two_workspaces_with_equal_texts_share_nothing_unless_told_to(tmp_path: Path) -> None:
    apart, together = tmp_path / "apart", tmp_path / "together"
    pending(Batch(apart, "strong"), [ask()])
    respond(apart, [line(requests(apart)[0]["custom_id"])])
    assert pending(Batch(apart, "strong"), [ask(workspace="other")]) == 1
    assert len(requests(apart)) == 2
    pending(Batch(together, "strong", shared=True), [ask()])
    respond(together, [line(requests(together)[0]["custom_id"])])
    assert len(Batch(together, "strong", shared=True).ask([ask(workspace="other")])) == 1


def test_another_prompt_is_another_request(tmp_path: Path) -> None:
    pending(Batch(tmp_path, "strong"), [ask()])
    pending(Batch(tmp_path, "strong"), [msgspec.structs.replace(ask(), prompt="verify@2")])
    pending(Batch(tmp_path, "strong"), [msgspec.structs.replace(ask(), max_tokens=9)])
    assert len({request["custom_id"] for request in requests(tmp_path)}) == 3


def test_another_model_is_refused_and_adds_no_request(tmp_path: Path) -> None:
    pending(Batch(tmp_path, "strong"), [ask()])
    before = (tmp_path / "requests.jsonl").read_bytes()
    for _ in range(2):
        with pytest.raises(
            ModelError, match=r"to the model 'strong', and 'cheap' is asked now.*batch:OTHER\?model=cheap"
        ):
            Batch(tmp_path, "cheap").ask([ask()])
    assert (tmp_path / "requests.jsonl").read_bytes() == before
    assert pending(Batch(tmp_path, "strong"), [ask(1)]) == 2


def test_two_models_that_start_at_once_do_not_mix(tmp_path: Path) -> None:
    """Each looks before any request is there: the lock decides."""
    models = [Batch(tmp_path, name) for name in ("strong", "cheap")]
    ended = []

    def run(model: Batch) -> None:
        try:
            model.ask([ask(number) for number in range(20)])
        except ModelError as error:
            ended.append(type(error))

    threads = [threading.Thread(target=run, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.__name__ for one in ended) == ["ModelError", "PendingAnswers"]
    assert len({request["body"]["model"] for request in requests(tmp_path)}) == 1


def answered_by(custom_id: str, model: str) -> str:
    return line(custom_id).replace('"model": "stand-in-2025"', f'"model": "{model}"')


def test_answers_of_two_models_are_warned_of_and_listed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asks = [ask(number) for number in range(3)]
    pending(Batch(tmp_path, "strong"), asks)
    names = ["strong-2026", "strong-2026", "cheap-2025"]
    lines = zip((request["custom_id"] for request in requests(tmp_path)), names, strict=True)
    respond(tmp_path, [answered_by(*pair) for pair in lines])
    model = Batch(tmp_path, "strong")
    assert len(model.ask(asks)) == 3
    assert len(model.ask(asks)) == 3
    (warning,) = caplog.messages
    assert "responses.jsonl:3: answered by 'cheap-2025', while responses.jsonl:1 is by 'strong-2026'" in warning
    (problem,) = check_batch(tmp_path).problems
    assert (problem.kind, problem.where) == ("models", "responses.jsonl:3")


def test_requests_of_two_models_are_listed(tmp_path: Path) -> None:
    pending(Batch(tmp_path / "one", "strong"), [ask()])
    pending(Batch(tmp_path / "two", "cheap"), [ask()])
    with (tmp_path / "one" / "requests.jsonl").open("a") as file:
        file.write((tmp_path / "two" / "requests.jsonl").read_text())
    (problem,) = check_batch(tmp_path / "one").problems
    assert (problem.kind, problem.where) == ("models", "requests.jsonl:2")


MARK = b"\xef\xbb\xbf"


def test_a_byte_order_mark_loses_neither_the_first_answer_nor_the_first_request(tmp_path: Path) -> None:
    """Some editors write one before the text."""
    asks = [ask(number) for number in range(2)]
    pending(Batch(tmp_path, "strong"), asks)
    file = tmp_path / "requests.jsonl"
    file.write_bytes(MARK + file.read_bytes())
    respond(tmp_path, [line(request["custom_id"]) for request in map(json.loads, unanswered_requests(tmp_path))])
    answers = tmp_path / "responses.jsonl"
    answers.write_bytes(MARK + answers.read_bytes())
    assert len(Batch(tmp_path, "strong").ask(asks)) == 2
    assert check_batch(tmp_path).ok
    pending(Batch(tmp_path, "strong"), [*asks, ask(2)])
    assert batch_status(tmp_path).requests == 3, "the request behind the mark is not written again"


def test_the_same_request_twice_in_one_call_is_asked_once(tmp_path: Path) -> None:
    assert pending(Batch(tmp_path, "strong"), [ask(), ask(), ask(1)]) == 2


def test_a_budget_stops_requests_before_they_are_written(tmp_path: Path) -> None:
    model = Metered(Batch(tmp_path, "strong"), TokenLedger(2 * most_tokens(ask())))
    with pytest.raises(PendingAnswers) as raised:
        model.ask([ask(number) for number in range(9)])
    assert raised.value.count == 2


@dataclass
class Case:
    lines: list[str]
    result: str | Fault | None
    kinds: list[str]


ID = ask().key("strong")
CASES = {
    "answered": Case([line(ID, "yes")], "yes", []),
    "twice the same": Case([line(ID, "yes"), line(ID, "yes")], "yes", []),
    "twice, differently: the first counts": Case([line(ID, "yes"), line(ID, "no")], "yes", ["conflict"]),
    "an unknown id": Case([line("f" * 64), line(ID, "yes")], "yes", ["unknown"]),
    "an error": Case([error_line(ID)], Fault.UNAVAILABLE, ["error"]),
    "an error, then an answer": Case([error_line(ID), line(ID, "yes")], "yes", []),
    "an answer, then an error": Case([line(ID, "yes"), error_line(ID)], "yes", []),
    "an error as text": Case([json.dumps({"custom_id": ID, "error": "no"})], Fault.UNAVAILABLE, ["error"]),
    "a bad status": Case([line(ID).replace('"status_code": 200', '"status_code": 500')], Fault.UNAVAILABLE, ["error"]),
    "no response": Case([json.dumps({"custom_id": ID})], Fault.UNAVAILABLE, ["error"]),
    "a body that is no completion": Case(
        [json.dumps({"custom_id": ID, "response": {"status_code": 200, "body": {"object": "list"}}})],
        Fault.UNAVAILABLE,
        ["error"],
    ),
    "no status": Case([line(ID, "yes").replace('"status_code": 200, ', "")], "yes", []),
    "broken lines around": Case(["", "{", "null", '"text"', line(ID, "yes"), "\x00\x01"], "yes", ["malformed"] * 4),
    "no id": Case([line(ID).replace("custom_id", "id")], None, ["malformed"]),
    "an id that is a number": Case([line(ID).replace(f'"{ID}"', "7")], None, ["malformed"]),
    "nested beyond reason": Case(["[" * 100_000, line(ID, "yes")], "yes", ["malformed"]),
    "a huge answer": Case([line(ID, "x" * 300_000)], Fault.TOO_LONG, []),
    "a refusal": Case(
        [line(ID).replace('"content": "an answer"', '"content": null, "refusal": "no"')], Fault.REFUSED, []
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_answer_files_hold(case: Case, tmp_path: Path) -> None:
    pending(Batch(tmp_path, "strong"), [ask()])
    respond(tmp_path, case.lines)
    report = check_batch(tmp_path)
    assert [problem.kind for problem in report.problems] == case.kinds
    assert all(problem.where.startswith("responses.jsonl:") for problem in report.problems)
    assert report.ok == (not case.kinds)
    if case.result is None:
        assert pending(Batch(tmp_path, "strong"), [ask()]) == 1
        return
    (result,) = Batch(tmp_path, "strong").ask([ask()])
    if isinstance(case.result, Fault):
        assert isinstance(result, Failure)
        assert result.fault is case.result
    else:
        assert isinstance(result, Reply)
        assert result.text == case.result


def test_the_counts(tmp_path: Path) -> None:
    pending(Batch(tmp_path, "strong"), [ask(number) for number in range(4)])
    ids = [request["custom_id"] for request in requests(tmp_path)]
    respond(tmp_path, [line(ids[0]), line(ids[0]), error_line(ids[1])])
    report = check_batch(tmp_path)
    counts = report.status
    assert (counts.requests, counts.answered, counts.failed, counts.waiting) == (4, 1, 1, 2)
    assert counts == batch_status(tmp_path)
    assert report.repeated == 1
    assert [json.loads(text)["custom_id"] for text in unanswered_requests(tmp_path)] == ids[2:]


def test_files_count_in_the_natural_order_of_their_names(tmp_path: Path) -> None:
    pending(Batch(tmp_path, "strong"), [ask()])
    respond(tmp_path, [line(ID, "tenth")], "responses-10.jsonl")
    respond(tmp_path, [line(ID, "second")], "responses-2.jsonl")
    (result,) = Batch(tmp_path, "strong").ask([ask()])
    assert isinstance(result, Reply)
    assert result.text == "second"


def test_half_a_last_line_is_not_there_yet(tmp_path: Path) -> None:
    model = Batch(tmp_path, "strong")
    pending(model, [ask(), ask(1)])
    ids = [request["custom_id"] for request in requests(tmp_path)]
    whole = line(ids[1], "later")
    with (tmp_path / "responses.jsonl").open("w") as file:
        file.write(line(ids[0]) + "\n" + whole[:100])
        file.flush()
        assert [problem.kind for problem in check_batch(tmp_path).problems] == ["incomplete"]
        assert pending(model, [ask(), ask(1)]) == 1
        file.write(whole[100:])
        file.flush()
        assert len(model.ask([ask(), ask(1)])) == 2, "a whole line counts even before its newline"
        file.write("\n")
    assert check_batch(tmp_path).ok


def test_a_writer_at_work_never_confuses_a_reader(tmp_path: Path) -> None:
    model = Batch(tmp_path, "strong")
    asks = [ask(number) for number in range(30)]
    pending(model, asks)
    data = "".join(line(request["custom_id"], "ü" * 20) + "\n" for request in requests(tmp_path)).encode()

    def write() -> None:
        with (tmp_path / "responses.jsonl").open("wb", buffering=0) as file:
            for begin in range(0, len(data), 97):
                file.write(data[begin : begin + 97])
                time.sleep(0.001)

    writer = threading.Thread(target=write)
    writer.start()
    counts = []
    while writer.is_alive():
        report = check_batch(tmp_path)
        assert {problem.kind for problem in report.problems} <= {"incomplete"}
        counts.append(report.status.answered)
    writer.join()
    assert counts == sorted(counts)
    assert len(model.ask(asks)) == 30
    assert len(requests(tmp_path)) == 30


@pytest.mark.parametrize("target", ["notes.txt", "absent.txt"])
def test_requests_that_are_a_link_are_refused_and_the_target_stays_as_it_is(target: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("first\nhalf a line")
    folder = tmp_path / "batch"
    folder.mkdir()
    (folder / "requests.jsonl").symlink_to(tmp_path / target)
    with pytest.raises(ModelError, match=r"requests\.jsonl is a symbolic link; put a file in its place"):
        Batch(folder, "m").ask([ask()])
    assert notes.read_text() == "first\nhalf a line"
    assert not (tmp_path / "absent.txt").exists()


def test_a_folder_that_is_a_link_and_answers_that_are_links_are_used(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    folder = tmp_path / "batch"
    folder.symlink_to(tmp_path / "disk")
    model = Batch(folder, "m")
    assert pending(model, [ask()]) == 1
    respond(tmp_path, [line(requests(folder)[0]["custom_id"], "yes")], "elsewhere.jsonl")
    (folder / "responses.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    (reply,) = model.ask([ask()])
    assert isinstance(reply, Reply)


@pytest.mark.parametrize(
    "tail", ['{"custom_id": "ab', "{", "   ", "\x00\x00", '{"custom_id": "' + "e" * 64 + '", "body": {}}']
)
def test_a_torn_request_line_is_mended(tail: str, tmp_path: Path) -> None:
    pending(Batch(tmp_path, "strong"), [ask()])
    path = tmp_path / "requests.jsonl"
    path.write_text(path.read_text() + tail)
    pending(Batch(tmp_path, "strong"), [ask(), ask(1)])
    ids = [request["custom_id"] for request in requests(tmp_path)]
    assert ids[0] == ask().key("strong")
    assert ids[-1] == ask(1).key("strong")
    assert len(ids) == (3 if tail.endswith("}") else 2)


def test_a_request_cut_by_a_crash_is_written_again(tmp_path: Path) -> None:
    asks = [ask(number) for number in range(3)]
    pending(Batch(tmp_path, "strong"), asks)
    path = tmp_path / "requests.jsonl"
    whole = path.read_bytes()
    for end in random.Random(7).sample(range(len(whole)), 60):
        path.write_bytes(whole[:end])
        pending(Batch(tmp_path, "strong"), asks)
        assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines()), f"cut at byte {end}"


WORK = """
import sys
from readmit.models.batch import Batch
from readmit.models.protocols import Ask
from readmit.records.error_types import PendingAnswers
model = Batch(sys.argv[1], "strong")
print("ready", flush=True)
for number in range(int(sys.argv[2])):
    try:
        users = [f"{n} " + "x" * 3000 for n in range(number, number + 3)]
        model.ask([Ask(stage="s", prompt="p@1", system="", user=user) for user in users])
    except PendingAnswers:
        pass
"""


def started(directory: Path, count: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(directory), str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_processes_at_once_never_write_a_request_twice(tmp_path: Path) -> None:
    processes = [started(tmp_path, 40) for _ in range(3)]
    for process in processes:
        with process:
            assert process.wait(240) == 0
    ids = [request["custom_id"] for request in requests(tmp_path)]
    assert len(ids) == len(set(ids)) == 42


def test_killed_at_any_moment_it_goes_on_cleanly(tmp_path: Path) -> None:
    seed = 11
    times = random.Random(seed)
    for _ in range(8):
        with started(tmp_path, 10_000) as process:
            time.sleep(times.uniform(0.005, 0.15))
            process.send_signal(signal.SIGKILL)
            process.wait(240)
    with started(tmp_path, 20) as process:
        assert process.wait(240) == 0
    ids = [request["custom_id"] for request in requests(tmp_path)]
    assert len(ids) == len(set(ids)) >= 22, f"seed {seed}"
    assert check_batch(tmp_path).ok


def test_what_is_wrong_with_the_requests_is_told(tmp_path: Path) -> None:
    pending(Batch(tmp_path, "strong"), [ask()])
    path = tmp_path / "requests.jsonl"
    path.write_text(path.read_text() * 2 + "junk\n" + '{"custom_id": "mine"}\n' + '{"half')
    kinds = [(problem.kind, problem.where) for problem in check_batch(tmp_path).problems]
    assert kinds == [
        ("duplicate", "requests.jsonl:2"),
        ("malformed", "requests.jsonl:3"),
        ("foreign", "requests.jsonl:4"),
        ("incomplete", "requests.jsonl:5"),
    ]


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    for look in (batch_status, check_batch):
        with pytest.raises(ModelError, match="no such directory"):
            look(tmp_path / "nowhere")


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="writable"):
        Batch(tmp_path / "file" / "below", "strong").ask([ask()])


def test_ten_thousand_answers_are_read_quickly(tmp_path: Path) -> None:
    model = Batch(tmp_path, "strong")
    asks = [ask(number) for number in range(10_000)]
    respond(tmp_path, (line(one.key("strong")) for one in asks))
    begun = time.process_time()
    assert len(model.ask(asks)) == 10_000
    assert time.process_time() - begun < 5
    begun = time.process_time()
    for one in asks[:1_000]:
        model.ask([one])
    assert time.process_time() - begun < 1
