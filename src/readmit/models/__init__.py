"""Language models and embedders: open one from a line of text, bring your own, account for usage.

Each provider imports its library on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.records.lazy import lazily

if TYPE_CHECKING:
    from readmit.models.batch import Batch, BatchCheck, BatchStatus, batch_status, check_batch
    from readmit.models.embedders import FunctionEmbedder, Lexical, MiniLM, OpenAIEmbedder, open_embedder
    from readmit.models.endpoint import Endpoint
    from readmit.models.gguf import Gguf
    from readmit.models.model_lines import open_model
    from readmit.models.openai_compatible import OpenAICompatible
    from readmit.models.protocols import Ask, Embedder, Failure, Fault, Model, OpenModel, Reply, Usage
    from readmit.models.recorded import Recorded, Recorder
    from readmit.models.stages.answer import Opinion, Question, opine
    from readmit.models.structured import ask_typed
    from readmit.models.usage import Metered, StageUsage, TokenLedger
    from readmit.plugins import Line
else:
    __getattr__ = lazily(
        __name__,
        {
            "readmit.models.batch": ("Batch", "BatchCheck", "BatchStatus", "batch_status", "check_batch"),
            "readmit.models.embedders": ("FunctionEmbedder", "Lexical", "MiniLM", "OpenAIEmbedder", "open_embedder"),
            "readmit.models.endpoint": ("Endpoint",),
            "readmit.models.gguf": ("Gguf",),
            "readmit.models.model_lines": ("open_model",),
            "readmit.models.openai_compatible": ("OpenAICompatible",),
            "readmit.models.recorded": ("Recorded", "Recorder"),
            "readmit.models.stages.answer": ("Opinion", "Question", "opine"),
            "readmit.models.structured": ("ask_typed",),
            "readmit.models.usage": ("Metered", "StageUsage", "TokenLedger"),
            "readmit.models.protocols": ("Ask", "Embedder", "Failure", "Fault", "Model", "OpenModel", "Reply", "Usage"),
            "readmit.plugins": ("Line",),
        },
    )

__all__ = [
    "Ask",
    "Batch",
    "BatchCheck",
    "BatchStatus",
    "Embedder",
    "Endpoint",
    "Failure",
    "Fault",
    "FunctionEmbedder",
    "Gguf",
    "Lexical",
    "Line",
    "Metered",
    "MiniLM",
    "Model",
    "OpenAICompatible",
    "OpenAIEmbedder",
    "OpenModel",
    "Opinion",
    "Question",
    "Recorded",
    "Recorder",
    "Reply",
    "StageUsage",
    "TokenLedger",
    "Usage",
    "ask_typed",
    "batch_status",
    "check_batch",
    "open_embedder",
    "open_model",
    "opine",
]
