"""What does a whole return cost in tokens, and where does each token go?

First the benchmark's methods: one attempt each on STALE's two full records, by the code that ``readmit bench`` runs,
with the stand-in of ``readmit bench plan`` for every model. Then three arms of whole returns over the same histories,
with the prompts that the stages really build: readmit as a product; a static arm that extracts every session whole; and
the paper's arm, which besides scans every target against every later observation and verifies what the scan names.
Their answers have the length of recorded ones, so no model is needed. The tokenizer is the embedder's for all: on these
sessions it makes a tenth more tokens than that of the paper's Qwen.

What readmit's arm leaves out, and why that is sound: turns of the assistant are no evidence about the user, so they
are neither extracted from nor judged; sessions during the absence become items only where the question's retrieval
reaches them, because no other could enter the answer. All of them are still looked at as invalidators.

Run it with ``python -m benchmarks.tokens [SHARED]``.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.result import Result, at_most, shared_folder
from readmit import Pair, Policy, Workspace
from readmit.inference import Inference, Prepared, Settings, Signal, Turn
from readmit.inference.baseline import observation_text
from readmit.lab import ExtractFrom, PairCase, Verifier, decode, desk_of, digest, extract_claims, windows
from readmit.models import Metered, MiniLM, Question, Reply, TokenLedger, Usage, opine
from readmit.models.stages.extract import Extraction
from readmit.models.stages.scan import Later, TargetLook, scan
from readmit_bench.datasets.stale_cases import read_stale
from readmit_bench.episode_runs import Roles, attempt, method_named
from readmit_bench.evaluation.development import FillerFacts, read_lines, stale_pairs
from readmit_bench.evaluation.histories import SESSIONS
from readmit_bench.plans.standin import answer_to, compatible
from readmit_bench.settings import Settings as BenchSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from readmit.models import Ask

PAIRS = 28
"""Pairs verified in a return of the paper's arm: its average."""
ITEMS = 3
"""Items drawn from a session, in every arm."""
RETRIEVED = 10
"""Sessions that the question's retrieval reaches: the paper's limit per query."""
IN_CONTEXT = 30
"""Most items in an answer's context: the paper's limit."""
USER = "user"
LEAST_WORDS = 6
"""Words of a sentence that states something."""
BENCHED = ("Static", "readmit", "trace-paper")
"""Methods of the benchmark that are counted."""
STAGES = ("extract", "plan", "premises", "implied", "scan", "link", "verify", "answer")
FREE_ANSWER = 700
"""Characters of a free answer, as a strong model's was long on average."""


@dataclass(frozen=True)
class Record:
    """A history: its sessions in order, where the agent departs, and the question it returns to."""

    name: str
    sessions: tuple[tuple[Turn, ...], ...]
    times: tuple[datetime, ...]
    departure: int
    """The last session before departure."""
    question: str

    def spoken(self, at: int) -> tuple[Turn, ...]:
        """What the user said."""
        return tuple(turn for turn in self.sessions[at] if turn.by == USER)

    def text(self, at: int) -> str:
        return "\n\n".join(turn.text for turn in self.spoken(at))


def full_records(shared: Path) -> list[Record]:
    """The two STALE records with all their sessions."""
    rows = json.loads((shared / "data" / "stale" / "full_records.json").read_bytes())
    return [
        Record(
            name=row["uid"][:8],
            sessions=tuple(
                tuple(Turn(turn["role"], turn["content"]) for turn in one) for one in row["haystack_session"]
            ),
            times=tuple(datetime.fromisoformat(moment).replace(tzinfo=UTC) for moment in row["timestamps"]),
            departure=row["relevant_session_index"][0],
            question=row["probing_queries"]["dim3_query"],
        )
        for row in rows
    ]


def short_record(shared: Path) -> Record:
    """A Type II pair among whole Memora sessions, a tenth as long: a substitute haystack."""
    pair = stale_pairs(shared / "data", "T2")[0]
    facts = read_lines(shared / "data" / "stale" / "filler_implied_facts.jsonl", FillerFacts)[:SESSIONS]
    wanted = {row.path: at for at, row in enumerate(facts)}
    sessions: dict[int, tuple[Turn, ...]] = {}
    with tarfile.open(shared / "data" / "memora" / "memora-weekly-monthly.tar.xz", "r:xz") as archive:
        for member in archive:
            if member.name in wanted and (file := archive.extractfile(member)) is not None:
                turns = json.loads(file.read())["conversation"]
                speakers = {"user_agent": USER}
                sessions[wanted[member.name]] = tuple(
                    Turn(speakers.get(turn["speaker"], "assistant"), turn["message"]) for turn in turns
                )
            if len(sessions) == SESSIONS:
                break
    old, new = pair.index
    sessions |= {old: (Turn(USER, pair.old),), new: (Turn(USER, pair.new),)}
    return Record(
        name="short",
        sessions=tuple(sessions[at] for at in range(SESSIONS)),
        times=tuple(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=at) for at in range(SESSIONS)),
        departure=old,
        question="Should I agree to the same evening every week?",
    )


@cache
def counter() -> Callable[[str], int]:
    """Tokens of a text, by the embedder's own vocabulary."""
    tokenizer, _ = MiniLM(threads=1)._parts()  # noqa: SLF001 - the one tokenizer that is installed anyway
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


@dataclass
class Typical:
    """A model that answers everything acceptably and at the usual length, and counts both sides."""

    lines: Sequence[tuple[str, ...]]
    name: str = "typical"
    _next: Iterator[tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._next = cycle(self.lines)

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        count = counter()
        text = json.dumps(self._said(ask), ensure_ascii=False)
        size = sum(map(count, (ask.system, ask.user, ask.schema.decode())))
        return Reply(text=text, usage=Usage(stage=ask.stage, input=size, output=count(text)), model=self.name)

    def _said(self, ask: Ask) -> dict[str, object]:
        match ask.stage:
            case "extract":
                return {"items": [claim for one in _sections(ask.user, "observation") for claim in self._claims(*one)]}
            case "premises" | "implied":
                return {"lines": list(next(self._next))}
            case "scan":
                found = _sections(ask.user, "observation")
                return {"labels": [{"observation": number, "may_change": False} for number, _ in found]}
            case "verify":
                return compatible(dict(_named(ask.user)))
            case _:
                reason = " ".join(next(self._next)[:3])
                return {"reason": reason, "answerable": True, "answer": " ".join(next(self._next)), "confidence": 0.8}

    def _claims(self, number: int, text: str) -> Iterator[dict[str, object]]:
        turns = re.findall(r"\[\w+\] turn (\d+), (\w+)\n(.*?)(?=\n\[\w+\] turn|\Z)", text, re.DOTALL)
        said = [(turn, quote) for turn, by, words in turns if by == USER and (quote := _stated(words))]
        for turn, quote in said[:ITEMS]:
            yield {
                "observation": number,
                "turn": int(turn),
                "quote": quote,
                "slot": f"topic.{digest(quote)[:12]}",
                "statement": f"The user says: {quote}",
                "operation": "add",
                "premises": list(next(self._next))[:4],
                "confidence": 0.9,
            }


def _named(request: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"--- ([\w ]+) \[(\w+)\] begins ---\n(.*?)\n--- \1 \[\2\] ends ---", request, re.DOTALL):
        yield found[1], found[3]


def _sections(request: str, label: str) -> list[tuple[int, str]]:
    return [(int(name.split()[-1]), text) for name, text in _named(request) if name.startswith(label)]


def _stated(text: str) -> str:
    """The beginning of the first sentence that says something: nothing is drawn from a question or a greeting."""
    sentences = re.findall(r"[^.!?\n]+[.!?]?", text)
    stated = (one.strip() for one in sentences if not one.endswith("?") and len(one.split()) >= LEAST_WORDS)
    return next((_opening(one, 18) for one in stated), "")


def _opening(text: str, words: int) -> str:
    """The first words of a text, exactly as they stand there."""
    found = re.match(rf"\s*((?:\S+[ ]?){{1,{words}}})", text)
    return found[1].strip() if found else text


class Spent(dict[str, int]):
    """Tokens per stage."""

    @property
    def total(self) -> int:
        return sum(self.values())

    def add(self, ledger: TokenLedger) -> None:
        for stage in ledger.stages():
            self[stage.stage] = self.get(stage.stage, 0) + stage.tokens


def static_arm(record: Record, model: Typical) -> Spent:
    """Extract every session, whole; retrieve; answer."""
    spent, ledger = Spent(), TokenLedger()
    rows = _extract_all(record, Metered(model, ledger))
    _answer(record, Metered(model, ledger), [item.statement for one in rows for item in one.items][:IN_CONTEXT])
    spent.add(ledger)
    return spent


def paper_arm(record: Record, model: Typical) -> Spent:
    """The static arm, and the scan of every session known at departure against every later one, four per call."""
    spent, ledger = Spent(), TokenLedger()
    metered = Metered(model, ledger)
    rows = _extract_all(record, metered)
    later = range(record.departure + 1, len(record.sessions))
    looks = [
        TargetLook(
            item=f"s{old}",
            text=record.text(old),
            at=record.times[old],
            later=tuple(
                Later(evidence=f"{at:064d}", text=record.text(at), at=record.times[at])
                for at in later[start : start + 4]
            ),
        )
        for old in range(record.departure + 1)
        for start in range(0, len(later), 4)
    ]
    scan(metered, [[look] for look in looks])
    pairs = [(old, at) for at in later for old in range(record.departure + 1)][:PAIRS]
    cases = [
        PairCase(
            pair=Pair(item=f"s{old}", evidence=f"{at:064d}"),
            item_text=record.text(old),
            evidence_text=record.text(at),
            item_at=record.times[old],
            evidence_at=record.times[at],
        )
        for old, at in pairs
    ]
    Verifier(model=metered, per_call=1).verify(cases)
    _answer(record, metered, [item.statement for one in rows for item in one.items][:IN_CONTEXT])
    spent.add(ledger)
    return spent


def _extract_all(record: Record, model: Metered) -> list[Extraction]:
    observations = [
        ExtractFrom(key=str(at), turns=turns, at=record.times[at]) for at, turns in enumerate(record.sessions)
    ]
    return [one for one in extract_claims(model, observations, per_call=6) if isinstance(one, Extraction)]


def _answer(record: Record, model: Metered, context: Sequence[str]) -> None:
    opine(model, [Question(text=record.question, context="\n".join(context))])


def our_arm(record: Record, model: Typical, embedder: MiniLM) -> tuple[Spent, Spent]:
    """A return through ``Inference`` on a real workspace, and a second one over the same history."""
    settings = Settings(signals=(Signal.EMBEDDING, Signal.PASSAGE, Signal.IMPLIED_FACTS), since="departure")
    policy = Policy(
        returns={"fill": "always"}, budgets={"items": IN_CONTEXT}, paper={"min_confidence": Decimal("0.65")}
    )
    moment = iter(record.times)
    with Workspace.open(policy=policy) as workspace:
        inference = Inference(workspace, settings, verifier=model, implier=model, extractor=model, embedder=embedder)
        agent = workspace.agent("A1", role="assistant", task="advice")
        seen = {
            workspace.observe(record.text(at), by="A1", task="advice", at=next(moment)): record.spoken(at)
            for at in range(record.departure + 1)
        }
        known = inference.ingest(list(seen), by="A1", turns=seen, per_call=6)
        assert not any(one.failure for one in known)
        assert sum(map(len, (one.items for one in known))) >= len(known)
        agent.depart()
        later = {
            workspace.observe(record.text(at), by="A2", task="advice", at=next(moment)): record.spoken(at)
            for at in range(record.departure + 1, len(record.sessions))
        }
        near = _nearest(
            record.question, {name: observation_text(desk_of(workspace).log.evidence(name)) for name in later}, embedder
        )
        inference.ingest(near, by="A2", turns=later, per_call=6)
        first, second = Spent(), Spent()
        first.add(inference.ledger)
        for spent in (first, second):
            returned = inference.come_back(agent)
            assert returned.admitted, returned.reasons
            ledger = TokenLedger()
            assert returned.view is not None
            texts = [desk_of(workspace).log.item(one.id).text for one in returned.view.items]
            _answer(record, Metered(model, ledger), texts)
            for stage, tokens in _prepared(workspace, returned.id):
                spent[stage] = spent.get(stage, 0) + tokens
            spent.add(ledger)
    return first, second


def _prepared(workspace: Workspace, return_id: str) -> list[tuple[str, int]]:
    """What the audit says that preparing a return took, per stage."""
    rows = [row for row in desk_of(workspace).log.audit.rows() if (row.return_id, row.kind) == (return_id, "inference")]
    found = [decode(row.body, Prepared, what="audit row") for row in rows]
    return [(one.stage, one.input + one.output) for prepared in found for one in prepared.usage]


def _nearest(question: str, texts: dict[str, str], embedder: MiniLM) -> list[str]:
    (wanted,) = embedder.embed([question])
    near = {name: float((embedder.embed(windows(text)) @ wanted).max()) for name, text in texts.items()}
    return sorted(near, key=near.__getitem__, reverse=True)[:RETRIEVED]


@dataclass
class Counted:
    """The stand-in that plans a run, with both sides of every request counted."""

    name: str = "counted"

    def ask(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        text = answer_to(ask, FREE_ANSWER)
        size = sum(map(counter(), (ask.system, ask.user, ask.schema.decode())))
        return Reply(text=text, usage=Usage(stage=ask.stage, input=size, output=counter()(text)), model=self.name)


def benched(shared: Path, embedder: MiniLM) -> list[tuple[str, dict[str, Spent]]]:
    """What the benchmark's own methods take on the two full records."""
    found = []
    for case in read_stale(shared / "data" / "stale" / "full_records.json", kind="T1").cases:
        arms = {}
        for method in BENCHED:
            ledger, settings = TokenLedger(), BenchSettings()
            model = Metered(Counted(), ledger)
            roles = Roles(actor=model, extractor=model, verifier=model, embedder=embedder)
            made = attempt(case.episode, method_named(method, "stale", roles, settings), roles, settings)
            assert not made.failure, made.failure
            arms[method] = Spent()
            arms[method].add(ledger)
        found.append((case.labels.case[:8], arms))
    return found


def measure(shared: Path) -> list[tuple[str, dict[str, Spent]]]:
    """Every arm on every record."""
    rows = [json.loads(line) for line in (shared / "data" / "stale" / "implied_facts.jsonl").read_text().splitlines()]
    lines = [tuple(row[part]) for row in rows for part in ("old_premises", "new_implied")]
    embedder = MiniLM()
    found = []
    for record in (*full_records(shared), short_record(shared)):
        first, second = our_arm(record, Typical(lines), embedder)
        arms = {"readmit": first, "second return": second}
        arms |= {"static": static_arm(record, Typical(lines)), "scan and verify": paper_arm(record, Typical(lines))}
        found.append((record.name, arms))
    return found


def run(shared: Path) -> list[Result]:
    return [*bench_figures(benched(shared, MiniLM())), *figures(measure(shared))]


def bench_figures(found: Sequence[tuple[str, dict[str, Spent]]]) -> list[Result]:
    """The worst of the full records for each method of the benchmark."""
    most = {method: max(arms[method].total for _, arms in found) for method in BENCHED}
    bars = {"readmit": 65_000}
    return [
        at_most(f"Benchmark: tokens of {method} on a full STALE record", tokens, bars.get(method), "tokens")
        for method, tokens in most.items()
    ]


def figures(found: Sequence[tuple[str, dict[str, Spent]]]) -> list[Result]:
    """The worst of the full records for each bar; short sessions beside them, without one."""
    full, (_, short) = [arms for _, arms in found[:-1]], found[-1]
    most = {arm: max(arms[arm].total for arms in full) for arm in full[0]}
    static = max(arms["readmit"].total / arms["static"].total for arms in full)
    paper = max(arms["readmit"].total / arms["scan and verify"].total for arms in full)
    again = max(arms["second return"].total / arms["readmit"].total for arms in full)
    ours = short["readmit"].total
    return [
        at_most("Tokens of a return, of the static arm's", static, 0.5, "share"),
        at_most("Tokens of a return, of the scan-and-verify arm's", paper, 0.25, "share"),
        at_most("Tokens of a return on a full STALE record", most["readmit"], 110_000, "tokens"),
        at_most("Static arm on a full STALE record", most["static"], None, "tokens"),
        at_most("Scan-and-verify arm on a full STALE record", most["scan and verify"], None, "tokens"),
        at_most("Tokens of a second return, of the first one's", again, 0.05, "share"),
        at_most("Short sessions: of the static arm's", ours / short["static"].total, None, "share"),
        at_most("Short sessions: of the scan-and-verify arm's", ours / short["scan and verify"].total, None, "share"),
    ]


def table(arms: dict[str, Spent]) -> Iterator[str]:
    """Where each token goes, as the guides show it."""
    stages = [stage for stage in STAGES if any(stage in spent for spent in arms.values())]
    yield f"| arm | {' | '.join(stages)} | all |"
    yield "|---" * (len(stages) + 2) + "|"
    for arm, spent in arms.items():
        cells = (f"{spent[stage]:,}" if stage in spent else "" for stage in stages)
        yield f"| {arm} | {' | '.join(cells)} | {spent.total:,} |"


def main() -> int:
    shared = Path(sys.argv[1]) if len(sys.argv) > 1 else shared_folder()
    bench, found = benched(shared, MiniLM()), measure(shared)
    for name, arms in (*bench, *found):
        print(f"Record {name}:\n")
        print("\n".join(table(arms)), end="\n\n")
    rows = [*bench_figures(bench), *figures(found)]
    for row in rows:
        bar = "" if row["bar"] is None else f"bar {row['bar']:g}: {'holds' if row['holds'] else 'MISSED'}"
        print(f"{row['value']:<10g} {row['name']}  {bar}".rstrip())
    return 0 if all(row["holds"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
