"""Parts of readmit for experiments: unstable, and without a promise.

``readmit-bench`` is made of the public names and of these: the stages of inference one at a time, the rules without a
workspace, the records they take and give, and the form of the command line. Each may change or go in any version, also
in a patch. Name the exact version of readmit that an experiment was made with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily

if TYPE_CHECKING:
    from readmit.backends.admission import text_digest
    from readmit.cli.command import Invocation, command
    from readmit.cli.options import grouped
    from readmit.cli.output import emit, progress, show, shown
    from readmit.cli.status import Status
    from readmit.inference.derive import keep_extraction
    from readmit.inference.signals import near_implications, near_sentences, near_texts
    from readmit.log.ledger import Entry
    from readmit.models.answers import Answers, read_answers, result_of
    from readmit.models.chat import failure_of
    from readmit.models.embedders import CachedEmbedder, VectorsInMemory
    from readmit.models.fence import fence, visible_text
    from readmit.models.stages.checks import grounded, line, share
    from readmit.models.stages.extract import Extracted, ExtractFrom, extract_claims
    from readmit.models.stages.plan import Plan, PlannedDuty, Task, plan_tasks
    from readmit.models.stages.verify import Judgment, PairCase, Verifier, verdict_of
    from readmit.records.acts.event import Link, Suspect
    from readmit.records.canonical import canonical, decode, digest, explained
    from readmit.records.items import Drafted, Obligation, Scope
    from readmit.records.verdicts import Ruling, quoted, ruling
    from readmit.rules.cover.coverage import report, sufficient
    from readmit.rules.invalidate.propose import (
        Limits,
        Observation,
        Openings,
        Scored,
        Scorer,
        Target,
        open_pairs,
        propose,
        windows,
    )
    from readmit.text.carried import worded
    from readmit.text.english import common_words
    from readmit.workspace.workspace import as_readmit, desk_of
else:
    __getattr__ = lazily(
        __name__,
        {
            "readmit.backends.admission": ("text_digest",),
            "readmit.cli.command": ("Invocation", "command"),
            "readmit.cli.options": ("grouped",),
            "readmit.cli.output": ("emit", "progress", "show", "shown"),
            "readmit.cli.status": ("Status",),
            "readmit.inference.derive": ("keep_extraction",),
            "readmit.inference.signals": ("near_implications", "near_sentences", "near_texts"),
            "readmit.log.ledger": ("Entry",),
            "readmit.models.answers": ("Answers", "read_answers", "result_of"),
            "readmit.models.chat": ("failure_of",),
            "readmit.models.embedders": ("CachedEmbedder", "VectorsInMemory"),
            "readmit.models.fence": ("fence", "visible_text"),
            "readmit.models.stages.checks": ("grounded", "line", "share"),
            "readmit.models.stages.extract": ("ExtractFrom", "Extracted", "extract_claims"),
            "readmit.models.stages.plan": ("PlannedDuty", "Plan", "Task", "plan_tasks"),
            "readmit.models.stages.verify": ("Judgment", "PairCase", "Verifier", "verdict_of"),
            "readmit.records.acts.event": ("Link", "Suspect"),
            "readmit.records.canonical": ("canonical", "decode", "digest", "explained"),
            "readmit.records.items": ("Drafted", "Obligation", "Scope"),
            "readmit.records.verdicts": ("Ruling", "quoted", "ruling"),
            "readmit.rules.cover.coverage": ("report", "sufficient"),
            "readmit.rules.invalidate.propose": (
                "Limits",
                "Observation",
                "Openings",
                "Scored",
                "Scorer",
                "Target",
                "open_pairs",
                "propose",
                "windows",
            ),
            "readmit.text.carried": ("worded",),
            "readmit.text.english": ("common_words",),
            "readmit.workspace.workspace": ("as_readmit", "desk_of"),
        },
    )

__all__ = [
    "Answers",
    "CachedEmbedder",
    "Drafted",
    "Entry",
    "ExtractFrom",
    "Extracted",
    "Invocation",
    "Judgment",
    "Limits",
    "Link",
    "Obligation",
    "Observation",
    "Openings",
    "PairCase",
    "Plan",
    "PlannedDuty",
    "Ruling",
    "Scope",
    "Scored",
    "Scorer",
    "Status",
    "Suspect",
    "Target",
    "Task",
    "VectorsInMemory",
    "Verifier",
    "as_readmit",
    "canonical",
    "command",
    "common_words",
    "decode",
    "desk_of",
    "digest",
    "emit",
    "explained",
    "extract_claims",
    "failure_of",
    "fence",
    "grounded",
    "grouped",
    "keep_extraction",
    "line",
    "near_implications",
    "near_sentences",
    "near_texts",
    "open_pairs",
    "plan_tasks",
    "progress",
    "propose",
    "quoted",
    "read_answers",
    "report",
    "result_of",
    "ruling",
    "share",
    "show",
    "shown",
    "sufficient",
    "text_digest",
    "verdict_of",
    "visible_text",
    "windows",
    "worded",
]
