"""STALE: implicit invalidation, a later statement that ends an earlier one without naming it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from readmit.errors import RecordError
from readmit.inference import RequestBudgets
from readmit_bench.benchmarks.benchmark import Study, other_counts
from readmit_bench.benchmarks.conversations import Conversations
from readmit_bench.datasets.memora_files import read_fillers
from readmit_bench.datasets.stale_cases import PAIRS_FILE, STRATA, SUBSTITUTE_NOTE, read_stale
from readmit_bench.judges import judge_stale
from readmit_bench.methods import MODEL_FREE, entry_named
from readmit_bench.methods.governance import Tuning
from readmit_bench.methods.method import ABLATIONS
from readmit_bench.metrics import StaleOutcome
from readmit_bench.retrieval import IndexedHistory
from readmit_bench.stale_turns import with_questions_only
from readmit_bench.work_state import Extracting, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from readmit.models import Embedder, Model
    from readmit_bench.datasets.stale_cases import StaleLabels
    from readmit_bench.episode_runs import Attempt
    from readmit_bench.episodes import Budget, Case, Checkpoint, Dataset, Episode, View
    from readmit_bench.results import Result, RunPlan
    from readmit_bench.settings import ActorForm, Settings

SUBSET = 20
PAPER_CASES = {"early": 64, "middle": 64, "late": 72}
WITH_SHORTCUT = (*MODEL_FREE, "drop-last-session")


class Stale(Conversations):
    """Every session is read, several a request. Observations are items too: a turn that gave nothing stays a row."""

    name = "stale"
    title = "STALE"
    data = "a folder of full records; or pairs.jsonl with --fillers, a Memora folder"
    studies = (
        Study(
            "stale", ("stale",), "Implicit invalidation, Type II, by early, middle and late departure.", WITH_SHORTCUT
        ),
        Study(
            "stale-type1",
            ("stale",),
            "STALE Type I: a later value of the same attribute. Not among the paper's experiments.",
            WITH_SHORTCUT,
            part="T1",
            in_paper=False,
        ),
        Study(
            "stale-cost",
            ("stale",),
            f"{SUBSET} STALE cases per stratum, with token totals per stage.",
            ("Static", "MemStrata", "MemTX"),
            ("CUPMem", "trace-paper", "readmit"),
            per_block=SUBSET,
            published=("tab:stale-subset-buckets",),
            costs=True,
        ),
        Study(
            "ablations",
            ("stale",),
            "STALE Type II with one mechanism removed at a time.",
            (),
            ("trace-paper", *ABLATIONS),
            published=("tab:stale-core-ablation",),
        ),
    )
    blocks = STRATA
    strata = STRATA
    judged = True
    published = ("tab:qwen-stale", "tab:gemini-stale", "tab:deepseek-stale")
    published_costs = "tab:stale-subset-buckets"
    accuracy = ("ls", "LS")
    metric_names: Mapping[str, str] = {"via": "VIA (IPA) ↑"}
    construction = (
        "The departure is set at the end of the session that holds the old statement: drop-last-session rejects "
        "it by that alone, without reading it."
    )

    def load(self, root: Path, study: Study, *, fillers: Path | None, seed: int, settings: Settings) -> Dataset[Any]:
        kind: Literal["T1", "T2"] = "T1" if study.part == "T1" else "T2"
        if (root / PAIRS_FILE).exists() and fillers is not None:
            return read_stale(root, kind=kind, fillers=read_fillers(fillers), settings=settings.stale, seed=seed)
        if (root / PAIRS_FILE).exists() and not _has_records(root, kind):
            raise RecordError(
                f"{root}: holds {PAIRS_FILE} without session text; give --fillers, a Memora folder, for a substitute "
                "haystack"
            )
        return read_stale(root, kind=kind, settings=settings.stale, seed=seed)

    def budget(self, settings: Settings) -> Budget:
        return settings.stale.budget

    def extracted(
        self, episode: Episode, extractor: Model, embedder: Embedder | None, settings: Settings
    ) -> Checkpoint:
        """Reads only the assistant's questions that the user replies to, unless the setting asks for whole turns."""
        stale = settings.stale
        episode = with_questions_only(episode) if stale.assistant_turns == "questions" else episode
        how = Extracting(
            per_call=stale.extraction_sessions,
            max_items=stale.extraction_items,
            max_tokens=stale.extraction_tokens,
            max_chars=stale.extraction_characters,
        )
        with closing(IndexedHistory(episode.sessions, embedder)) as history:
            return drawn(extractor, self.checkpoint(episode, history, settings), how)

    def tuning(self, settings: Settings) -> Tuning:
        stale = settings.stale
        return Tuning(
            plan_tokens=stale.governance_tokens,
            plan_chars=stale.governance_characters,
            budgets=RequestBudgets(
                lines_tokens=stale.governance_tokens,
                lines_chars=stale.governance_characters,
                scan_tokens=stale.scan_tokens,
                scan_chars=stale.scan_characters,
                verify_tokens=stale.verification_tokens,
                verify_chars=stale.governance_characters,
            ),
            scan_targets=stale.scan_targets,
            scan_observations=stale.scan_observations,
            retractions=stale.form != "notes",
        )

    def form(self, settings: Settings) -> ActorForm:
        return settings.stale.form

    def answer_tokens(self, settings: Settings) -> int:
        return settings.stale.answer_tokens

    def score(self, case: Case[Any], made: Attempt, line: Result) -> Result:
        line = super().score(case, made, line)
        if made.view is None or not entry_named(line.method).proposes_pairs:
            return line
        return replace(line, true_pair=_true_pair(case.labels, made.view))

    def judge(self, case: Case[Any], line: Result, judge: Model, settings: Settings) -> Result:
        tokens = settings.stale.judge_tokens
        outcome, why = judge_stale(judge, case.episode, case.labels, line.answers, max_tokens=tokens)
        return replace(line, stale=outcome, judgment=why)

    def failed(self, case: Case[Any], line: Result, *, answered: bool) -> Result:
        line = super().failed(case, line, answered=answered)
        none = StaleOutcome(episode=case.episode.id, sr=False, pr=False, ipa=False)
        return replace(line, stale=none) if answered else line

    def facts(self, plan: RunPlan) -> tuple[tuple[str, str], ...]:
        shipped = "smoke" if plan.data["data"] == "smoke" else "official"
        return (("Haystack", "substitute" if SUBSTITUTE_NOTE in plan.notes else shipped),)

    def differing(self, plan: RunPlan, study: Study) -> Iterator[str]:
        return other_counts(self.name, plan, study, PAPER_CASES)


def _has_records(root: Path, kind: Literal["T1", "T2"]) -> bool:
    try:
        read_stale(root, kind=kind)
    except RecordError:
        return False
    return True


def _true_pair(labels: StaleLabels, view: View) -> Literal["missed", "proposed", "confirmed"]:
    """Whether the pair of the two labelled sessions was proposed, and confirmed."""
    found = [
        finding
        for finding in view.findings
        if finding.row.startswith(f"s{labels.old_session}.")
        and finding.observation.startswith(f"{labels.new_session}/")
    ]
    if any(finding.confirmed for finding in found):
        return "confirmed"
    return "proposed" if found else "missed"
