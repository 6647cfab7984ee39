"""Runs made by hand, for reports whose figures can be counted on one's fingers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from readmit_bench.metrics import ManBenchOutcome, MemoraOutcome, StaleOutcome
from readmit_bench.results import RESULTS, RUN, Result, RunPlan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DIGEST = "d" * 64


def plan(study: str, *methods: str, **fields: Any) -> RunPlan:
    return RunPlan(
        study=study, data={"data": "somewhere/stale"}, methods=methods, models=fields.pop("models", {}), embedder="",
        notes=fields.pop("notes", ()), cases=fields.pop("cases", {}), digest=DIGEST, version="0.0.0", **fields,
    )  # fmt: skip


def stale(method: str, block: str, number: int, judged: tuple[bool, bool, bool], **fields: Any) -> Result:
    sr, pr, ipa = judged
    name = f"{block}-{number}"
    outcome = StaleOutcome(episode=name, sr=sr, pr=pr, ipa=ipa)
    return Result(
        benchmark="stale", method=method, episode=name, case=name, block=block, unit=name, stale=outcome, **fields
    )


def manbench(method: str, block: str, number: int, *, valid: bool, invalid: bool, **fields: Any) -> Result:
    name = f"{block}-{number}"
    outcome = ManBenchOutcome(
        episode=name,
        condition="old-valid" if block == "old-valid" else "old-stale",
        valid_admitted=valid,
        invalid_admitted=invalid,
        correct=fields.pop("correct", None),
    )
    return Result(
        benchmark="manbench", method=method, episode=name, case=name, block=block, unit=name, manbench=outcome, **fields
    )


def memora(method: str, block: str, number: int, held: tuple[bool, ...], gone: tuple[bool, ...]) -> Result:
    outcome = MemoraOutcome(episode=f"{number}@{block}", presence=held, forgetting=gone)
    return Result(
        benchmark="memora", method=method, episode=outcome.episode, case=outcome.episode, block=block,
        unit=str(number), memora=outcome,
    )  # fmt: skip


def written(folder: Path, planned: RunPlan, results: Sequence[Result]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RUN).write_bytes(msgspec.json.encode(planned))
    (folder / RESULTS).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in results))
    return folder
