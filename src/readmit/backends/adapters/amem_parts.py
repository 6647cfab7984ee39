"""readmit's embedder and model in the places where A-MEM would put its own.

A-MEM builds both in its constructor: a sentence transformer that it downloads, and a client that wants a key. Its
constructor runs unchanged, with substitutes for those names, so its prompts and settings stay upstream's and nothing
outside the new object changes.
"""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import msgspec

from readmit.models.protocols import Ask, Failure
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from readmit.models.protocols import Embedder, Model

EMBEDDER = "readmit_embedder"
"""The metadata key under which a collection names its embedder."""


def build(folder: Path, collection: str, embedder: Embedder, llm: Llm) -> Any:
    """An ``AgenticMemorySystem`` with these parts."""
    with _offline():
        module: Any = import_module("agentic_memory.memory_system")
    retriever = _retriever(folder, collection, embedder)
    system = object.__new__(module.AgenticMemorySystem)
    original = module.AgenticMemorySystem.__init__
    names = {**vars(module), "ChromaRetriever": lambda **_: retriever, "LLMController": lambda *_: llm}
    construct = FunctionType(original.__code__, names, original.__name__, original.__defaults__, original.__closure__)
    # Without its cache: another process may have written since.
    construct(system, storage_path=str(folder), enable_cache=False)
    return system


def _retriever(folder: Path, collection: str, embedder: Embedder) -> Any:
    module: Any = import_module("agentic_memory.retrievers")
    chroma: Any = import_module("chromadb")
    settings = import_module("chromadb.config").Settings(anonymized_telemetry=False)
    retriever = object.__new__(module.ChromaRetriever)
    retriever.persist_directory = str(folder)
    retriever.client = chroma.PersistentClient(path=str(folder), settings=settings)
    try:
        retriever.embedding_function = _embedding(embedder)
        retriever.collection = retriever.client.get_or_create_collection(
            name=collection, embedding_function=retriever.embedding_function, metadata={EMBEDDER: embedder.name}
        )
        _check_embedder(retriever.collection, embedder, folder)
    except BaseException:
        retriever.client.close()
        raise
    return retriever


def _check_embedder(collection: Any, embedder: Embedder, folder: Path) -> None:
    made_by = (collection.metadata or {}).get(EMBEDDER)
    if made_by != embedder.name:
        raise BackendError(
            f"embedder: {folder} holds vectors of {made_by or 'another one'}, not of {embedder.name}; open it with "
            "that one, or export its records and load them into a new folder"
        )


def _embedding(embedder: Embedder) -> Any:
    """A Chroma embedding function. Made here, because its base class must be loaded first."""
    base: Any = import_module("chromadb.api.types").EmbeddingFunction

    class AMemEmbedding(base):  # type: ignore[misc]  # loaded at run time
        """One of readmit's embedders, as Chroma calls it."""

        def __init__(self) -> None:
            """Nothing to set up."""

        def __call__(self, input: list[str]) -> Any:  # noqa: A002 - Chroma's own name
            return list(embedder.embed(list(input)))

        @staticmethod
        def name() -> str:
            return "readmit"

        def default_space(self) -> str:
            return "cosine"

        def get_config(self) -> dict[str, Any]:
            return {"embedder": embedder.name}

        @staticmethod
        def build_from_config(config: dict[str, Any]) -> Any:
            if config.get("embedder") != embedder.name:
                raise BackendError(
                    f"embedder: the vectors are of {config.get('embedder')}; open the store with that one"
                )
            return AMemEmbedding()

    return AMemEmbedding()


class Llm:
    """Replaces A-MEM's language model.

    A-MEM only prints when there is no answer. The failure is kept here until the adapter checks.
    """

    def __init__(self, model: Model | None, workspace: str, max_tokens: int) -> None:
        self.failed: BackendError | None = None
        self._model = model
        self._workspace = workspace
        self._max_tokens = max_tokens

    @property
    def llm(self) -> Llm:
        """A-MEM asks ``controller.llm``."""
        return self

    def get_completion(self, prompt: str, response_format: Any = None, temperature: float = 1.0) -> str:  # noqa: ARG002
        """Complete a prompt, as A-MEM's own client does."""
        if self._model is None:
            self.failed = BackendError("model: A-MEM's notes need one; open AMem with model=, or form verbatim=True")
            raise self.failed
        schema = (response_format or {}).get("json_schema", {}).get("schema", {})
        ask = Ask(
            stage="memory",
            prompt="amem.note@1",
            system="You must respond with a JSON object.",
            user=prompt,
            schema=msgspec.json.encode(schema) if schema else b"",
            max_tokens=self._max_tokens,
            workspace=self._workspace,
        )
        (answer,) = self._model.ask([ask])
        if isinstance(answer, Failure):
            self.failed = BackendError(f"model: {answer.fault}: {answer.message}; no memory was formed")
            raise self.failed
        try:
            msgspec.json.decode(answer.text, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.failed = BackendError("model: the answer is not a JSON object; no memory was formed")
            raise self.failed from None
        return answer.text


@contextmanager
def _offline() -> Iterator[None]:
    """A-MEM imports litellm, which downloads a price list unless that is disabled."""
    name = "LITELLM_LOCAL_MODEL_COST_MAP"
    before = os.environ.get(name)
    os.environ[name] = "True"
    try:
        with warnings.catch_warnings():
            # Warnings of packages that A-MEM imports and this adapter does not use.
            warnings.simplefilter("ignore")
            yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
