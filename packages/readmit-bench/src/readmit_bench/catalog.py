"""What can be run: the studies with their data and methods, the methods with their rule, the settings."""

from __future__ import annotations

from typing import Any

import msgspec

from readmit_bench.settings import Settings
from readmit_bench.studies import BACKED, METHODS, MODEL_BASED, STUDIES

DATA = {
    "memora": "{weekly,monthly,quarterly}/…, or an archive of it",
    "stale": "a folder of full records; or pairs.jsonl with --fillers, a Memora folder",
    "manbench": "data/bbh_all_small/<task>/val_data.json",
}
RULES = {
    "Static": "Ordinary retrieval over everything.",
    "Restore": "The departure state, whole.",
    "Reset": "Nothing.",
    "MemStrata": "A bi-temporal ledger of slots.",
    "MemTX": "Belief transactions on slots.",
    "readmit-lexical": "Explicit lifecycle read off rows and plain words, decided by the library.",
    "same-version": "Compares the two task-version ids, and nothing else. ManBench only.",
    "drop-last-session": "Static without the last session before the departure. STALE only.",
    "trace-paper": "The paper's pipeline: its scan, greedy selection, its budgets and thresholds.",
    "readmit": "Premises against implied facts, exact cover.",
    "trace-without-ii": "trace-paper without implicit invalidation.",
    "trace-without-oas": "trace-paper without obligation-aware selection.",
    "trace-without-cvg": "trace-paper without the complete-view gate.",
    "trace-without-sbpr": "trace-paper without source-bound private readmission.",
    "CUPMem": "A current-state memory kept at write time. STALE only.",
}


def catalog(*, settings: bool = False) -> dict[str, Any]:
    """Everything, as values that print and that JSON can hold."""
    found: dict[str, Any] = {
        "studies": [
            {
                "study": study.name,
                "says": study.says,
                "data": "comes with the package" if study.name == "smoke" else DATA[study.benchmarks[0]],
                "methods": list(study.model_free),
                "with models": list(study.model_based),
            }
            for study in STUDIES.values()
        ],
        "methods": [{"method": name, "rule": _rule(name), "asks models": name in MODEL_BASED} for name in METHODS],
    }
    if settings:
        found["settings"] = {
            f"{group}.{name}": ",".join(map(str, value)) if isinstance(value, list | tuple) else value
            for group, values in msgspec.to_builtins(_whole(Settings())).items()
            for name, value in values.items()
        }
    return found


def _whole(settings: Settings) -> dict[str, dict[str, Any]]:
    return {group: msgspec.structs.asdict(getattr(settings, group)) for group in Settings.__struct_fields__}


def _rule(name: str) -> str:
    if name not in BACKED:
        return RULES[name]
    store, _, half = name.partition("/")
    return f"{store} {'with' if half == 'readmit' else 'without'} admission in front of it."
