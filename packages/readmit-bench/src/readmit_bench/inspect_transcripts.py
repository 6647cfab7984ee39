"""A sample as inspect's viewer shows it: what was handed over, what was asked and answered, and why.

The texts come from the finished attempt. Labels are added with the score, never before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

from readmit_bench.actor_answers import NOTHING
from readmit_bench.notes import handed, notes

if TYPE_CHECKING:
    from readmit_bench.episode_runs import Attempt
    from readmit_bench.episodes import Episode
    from readmit_bench.results import Result


def as_messages(episode: Episode, made: Attempt) -> list[ChatMessage]:
    """The view, then each task with its answer. The requests as they were really put are in the transcript."""
    messages: list[ChatMessage] = []
    if made.view is not None and made.checkpoint is not None:
        said = "nothing, the return was blocked" if made.view.blocked else notes(made.view, made.checkpoint)
        messages.append(ChatMessageSystem(content=f"Handed over by {made.view.method}:\n\n{said or NOTHING}"))
    for place, task in enumerate(episode.tasks):
        messages.append(ChatMessageUser(content=task))
        if place < len(made.answers):
            messages.append(ChatMessageAssistant(content=made.answers[place]))
    return messages


def as_metadata(result: Result, made: Attempt | None) -> dict[str, Any]:
    """The outcome of the sample, and how the view was made."""
    said: dict[str, Any] = {
        "state": f"failed: {result.failure}" if result.failure else "done" if result.eligible else "not eligible",
        "case": result.case,
        "block": result.block,
        "tokens": result.tokens,
        "judge tokens": result.judge_tokens,
        "answers replayed": sum(stage.replayed for stage in result.usage),
        "repairs": result.repairs,
        "retries": result.retries,
    }
    view = result.view
    if view is not None and made is not None and made.checkpoint is not None:
        said |= {
            "view": handed(view, made.checkpoint),
            "memories": list(view.memories),
            "left out": {row: list(reasons) for row, reasons in view.left_out.items()},
            "missing": list(view.missing),
            "findings": msgspec.to_builtins(view.findings),
            "read, nothing stated": view.nothing_stated,
        }
    return said
