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
    from readmit.cli.output import emit, progress, show
    from readmit.cli.status import Status
    from readmit.inference.derive import keep_extraction, keep_stated
    from readmit.inference.proposals import near_implications, near_sentences, near_texts
    from readmit.log.ledger import Entry
    from readmit.models.answers import Answers, read_answers, result_of
    from readmit.models.chat import failure_of
    from readmit.models.embedders import CachedEmbedder, VectorsInMemory
    from readmit.models.fence import fence, visible_text
    from readmit.models.model_server import ModelServer
    from readmit.models.stages.checks import grounded, line, share
    from readmit.models.stages.extract import Extracted, ExtractFrom, extract_claims
    from readmit.models.stages.link import Candidate, NeedLook, ask_links, packed
    from readmit.models.stages.plan import Plan, PlannedDuty, Task, plan_tasks
    from readmit.models.stages.verify import Judgment, PairCase, Verifier, verdict_of
    from readmit.records.acts.event import Link, Suspect
    from readmit.records.canonical import canonical, decode, digest, explained
    from readmit.records.verdicts import Ruling, quoted, ruling
    from readmit.rules.cover.coverage import report, sufficient
    from readmit.rules.invalidate.propose import (
        Observation,
        Openings,
        Scored,
        Scorer,
        Target,
        open_pairs,
        propose,
        windows,
    )
    from readmit.text.brief_form import EndedNote, StandingNote, brief_lines
    from readmit.text.carried import worded
    from readmit.text.english import common_words, word_list
    from readmit.text.escapes import one_line
    from readmit.text.named_endings import ENDS, WIDEST, clauses_of, named_by, same_theme, sentences_of, words_of
    from readmit.text.nearness import content_words, near
    from readmit.workspace.workspace import as_readmit, desk_of
else:
    __getattr__ = lazily(
        __name__,
        {
            "readmit.backends.admission": ("text_digest",),
            "readmit.cli.command": ("Invocation", "command"),
            "readmit.cli.options": ("grouped",),
            "readmit.cli.output": ("emit", "progress", "show"),
            "readmit.cli.status": ("Status",),
            "readmit.inference.derive": ("keep_extraction", "keep_stated"),
            "readmit.inference.proposals": ("near_implications", "near_sentences", "near_texts"),
            "readmit.log.ledger": ("Entry",),
            "readmit.models.answers": ("Answers", "read_answers", "result_of"),
            "readmit.models.chat": ("failure_of",),
            "readmit.models.embedders": ("CachedEmbedder", "VectorsInMemory"),
            "readmit.models.fence": ("fence", "visible_text"),
            "readmit.models.model_server": ("ModelServer",),
            "readmit.models.stages.checks": ("grounded", "line", "share"),
            "readmit.models.stages.extract": ("ExtractFrom", "Extracted", "extract_claims"),
            "readmit.models.stages.link": ("Candidate", "NeedLook", "ask_links", "packed"),
            "readmit.models.stages.plan": ("PlannedDuty", "Plan", "Task", "plan_tasks"),
            "readmit.models.stages.verify": ("Judgment", "PairCase", "Verifier", "verdict_of"),
            "readmit.records.acts.event": ("Link", "Suspect"),
            "readmit.records.canonical": ("canonical", "decode", "digest", "explained"),
            "readmit.records.verdicts": ("Ruling", "quoted", "ruling"),
            "readmit.rules.cover.coverage": ("report", "sufficient"),
            "readmit.rules.invalidate.propose": (
                "Observation",
                "Openings",
                "Scored",
                "Scorer",
                "Target",
                "open_pairs",
                "propose",
                "windows",
            ),
            "readmit.text.brief_form": ("EndedNote", "StandingNote", "brief_lines"),
            "readmit.text.carried": ("worded",),
            "readmit.text.named_endings": (
                "ENDS",
                "WIDEST",
                "clauses_of",
                "named_by",
                "same_theme",
                "sentences_of",
                "words_of",
            ),
            "readmit.text.english": ("common_words", "word_list"),
            "readmit.text.nearness": ("content_words", "near"),
            "readmit.workspace.workspace": ("as_readmit", "desk_of"),
            "readmit.text.escapes": ("one_line",),
        },
    )

__all__ = [
    "ENDS",
    "WIDEST",
    "Answers",
    "CachedEmbedder",
    "Candidate",
    "EndedNote",
    "Entry",
    "ExtractFrom",
    "Extracted",
    "Invocation",
    "Judgment",
    "Link",
    "ModelServer",
    "NeedLook",
    "Observation",
    "Openings",
    "PairCase",
    "Plan",
    "PlannedDuty",
    "Ruling",
    "Scored",
    "Scorer",
    "StandingNote",
    "Status",
    "Suspect",
    "Target",
    "Task",
    "VectorsInMemory",
    "Verifier",
    "as_readmit",
    "ask_links",
    "brief_lines",
    "canonical",
    "clauses_of",
    "command",
    "common_words",
    "content_words",
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
    "keep_stated",
    "line",
    "named_by",
    "near",
    "near_implications",
    "near_sentences",
    "near_texts",
    "one_line",
    "open_pairs",
    "packed",
    "plan_tasks",
    "progress",
    "propose",
    "quoted",
    "read_answers",
    "report",
    "result_of",
    "ruling",
    "same_theme",
    "sentences_of",
    "share",
    "show",
    "sufficient",
    "text_digest",
    "verdict_of",
    "visible_text",
    "windows",
    "word_list",
    "worded",
    "words_of",
]
