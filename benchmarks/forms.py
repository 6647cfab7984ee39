"""Which form of a view does a small model answer best from?

    python -m benchmarks.forms OUT --actor gguf:PATH --judge LINE

Each episode is one STALE record of Type II, of every other one: its old statement among unrelated ones before the
departure, its new statement among unrelated ones after it, in the product. The new statement supersedes the old one, as
if every model before the actor had been right, so that what is handed over differs in nothing but its form. Answers are
kept in OUT, and the same command goes on. The judge gets the answers in an order that does not tell forms apart.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import defaultdict
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.result import shared_folder
from readmit import Policy, Workspace
from readmit.errors import PendingAnswers
from readmit.models import open_model
from readmit_bench.actor_answers import texts
from readmit_bench.datasets.files import read_lines
from readmit_bench.datasets.stale_cases import RawStale, StaleLabels
from readmit_bench.episodes import Episode
from readmit_bench.intervals import Sample, interval_of, resampled
from readmit_bench.judges import judge_stale
from readmit_bench.metrics import stale_values
from readmit_bench.prompt_requests import request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from readmit.models import Model

AROUND = 1
"""Unrelated statements on each side of the departure. Few, because a small model reads slowly where there is no GPU."""
ANSWER_TOKENS = 80
FORMS = ("full", "brief")
SEED = 3


def episodes(shared: Path, limit: int) -> list[tuple[RawStale, list[tuple[str, str]]]]:
    """Records with their statements in time order, each with its date; the departure is after the first half."""
    records = [one for one in read_lines(shared / "data" / "stale" / "pairs.jsonl", RawStale) if one.type == "T2"][::2]
    generator = random.Random(SEED)
    found = []
    for record in generator.sample(records, limit):
        others = [one.m_old for one in generator.sample([one for one in records if one is not record], 2 * AROUND)]
        before, after = [record.m_old, *others[:AROUND]], [record.m_new, *others[AROUND:]]
        generator.shuffle(before)
        generator.shuffle(after)
        dates = record.timestamps[:: len(record.timestamps) // (2 * AROUND + 2)]
        found.append((record, list(zip((*before, *after), dates, strict=False))))
    return found


def views(record: RawStale, said: Sequence[tuple[str, str]]) -> Iterator[tuple[str, int, str]]:
    """The record's view in both forms, for each probe."""
    moment = [datetime.fromisoformat(said[0][1]).replace(tzinfo=UTC)]
    policy = Policy(budgets={"retraction_chars": 4_000}, returns={"fill": "always"})
    with Workspace.open(clock=lambda: moment[0], policy=policy) as workspace:
        agent = workspace.agent("assistant", role="assistant", task="help")
        workspace.oblige("Answer the person's message", required=["topic"], by="person")
        for place, (text, at) in enumerate(said):
            moment[0] = datetime.fromisoformat(at).replace(tzinfo=UTC)
            about = ["topic"] if text in (record.m_old, record.m_new) else []
            evidence = workspace.observe(text, by="person")
            workspace.record(text, id=f"s{place}", sources=[evidence], supports=about, by="person")
            if text == record.m_new:
                workspace.supersede(f"s{[one for one, _ in said].index(record.m_old)}", f"s{place}", by="person")
            if place == AROUND:
                agent.depart()
        moment[0] += timedelta(days=1)
        bundle = agent.come_back().expose()
    for probe, task in enumerate(tasks_of(record)):
        yield "full", probe, bundle.markdown()
        yield "brief", probe, bundle.markdown(form="brief", asked=task)


def tasks_of(record: RawStale) -> tuple[str, str, str]:
    probes = record.probing_queries
    return probes.dim1_query, probes.dim2_query, probes.dim3_query


def answered(out: Path, shared: Path, limit: int, actor: Model) -> dict[tuple[str, str, int], str]:
    """Every answer by record, form and probe; kept ones are not asked for again."""
    file = out / "answers.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    kept = {(line["record"], line["form"], line["probe"]): line["answer"] for line in lines}
    for record, said in episodes(shared, limit):
        for form, probe, text in views(record, said):
            if (record.uid, form, probe) in kept:
                continue
            sections = [("notes", text), ("message", tasks_of(record)[probe])]
            (answer,) = texts(actor, [request("respond@1", "answer", sections, max_tokens=ANSWER_TOKENS)])
            kept[record.uid, form, probe] = answer
            with file.open("a") as written:
                line = {"record": record.uid, "form": form, "probe": probe, "chars": len(text), "answer": answer}
                written.write(json.dumps(line, ensure_ascii=False) + "\n")
    return kept


def judged(
    records: Sequence[RawStale], answers: dict[tuple[str, str, int], str], judge: Model
) -> dict[str, dict[str, float]]:
    """By form and record: the share of probes answered right. Raises ``PendingAnswers`` after all were asked."""
    wanted = [(form, record) for record in records for form in FORMS]
    found: dict[str, dict[str, float]] = defaultdict(dict)
    waiting: PendingAnswers | None = None
    for form, record in sorted(wanted, key=lambda one: hashlib.sha256(f"{one[0]}{one[1].uid}".encode()).digest()):
        labels = StaleLabels(
            case=record.uid, type="T2", stratum=None, old=record.m_old, new=record.m_new,
            explanation=record.explanation, old_session=0, new_session=1,
        )  # fmt: skip
        episode = Episode(id=record.uid, benchmark="stale", tasks=tasks_of(record), departure=0)
        said = [answers[record.uid, form, probe] for probe in range(3)]
        try:
            outcome, _ = judge_stale(judge, episode, labels, said, max_tokens=512)
        except PendingAnswers as stop:
            waiting = stop
            continue
        found[form][record.uid] = float(stale_values(outcome)["overall"])
    if waiting is not None:
        raise waiting
    return found


def table(found: dict[str, dict[str, float]]) -> Iterator[str]:
    """Each form's share of answers that are right, and the difference, with 95 % intervals over records."""
    for form, own in found.items():
        yield f"{form}: {_with_interval(own)} of {3 * len(own)} answers right"
    full, brief = (found[form] for form in FORMS)
    yield f"brief less full: {_with_interval({uid: brief[uid] - full[uid] for uid in full})}"


def _with_interval(values: dict[str, float]) -> str:
    samples = [Sample(uid, "", value) for uid, value in values.items()]
    bounds = interval_of(resampled(samples, seed=SEED).tolist(), seed=SEED)
    return f"{100 * sum(values.values()) / len(values):.1f} [{100 * bounds.low:.1f}, {100 * bounds.high:.1f}]"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forms", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--actor", required=True)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--limit", type=int, default=12)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    shared = shared_folder()
    with closing(open_model(given.actor)) as actor:
        answers = answered(given.out, shared, given.limit, actor)
    with closing(open_model(given.judge)) as judge:
        try:
            found = judged([record for record, _ in episodes(shared, given.limit)], answers, judge)
        except PendingAnswers as waiting:
            print(waiting)
            return 6
    print("\n".join(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
