"""What can be run: the studies with their data and methods, the methods with their rule, the settings."""

from __future__ import annotations

from typing import Any

import msgspec

from readmit_bench.benchmarks import benchmark_named
from readmit_bench.methods import entries
from readmit_bench.settings import Settings
from readmit_bench.studies import studies


def catalog(*, settings: bool = False) -> dict[str, Any]:
    """Everything, as values that print and that JSON can hold."""
    found: dict[str, Any] = {
        "studies": [
            {
                "study": study.name,
                "says": study.says,
                "data": "comes with the package" if study.shipped else benchmark_named(study.benchmarks[0]).data,
                "methods": list(study.model_free),
                "with models": list(study.model_based),
            }
            for study in studies().values()
        ],
        "methods": [
            {"method": entry.name, "rule": entry.rule, "asks models": entry.asks_models} for entry in entries().values()
        ],
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
