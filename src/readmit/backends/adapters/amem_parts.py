"""readmit's embedder and model in the places where A-MEM would put its own, and guards against its losses.

A-MEM builds both in its constructor: a sentence transformer that it downloads, and a client that wants a key. Its
constructor runs unchanged, with substitutes for those names, so its prompts and settings stay upstream's and nothing
outside the new object changes.

A-MEM changes a note by deleting it and adding it again, and only prints if the second step fails: because the embedder
is down, or because a content that looks like a list was read as one. While it forms a note it does this to the nearest
others. So these notes are remembered first, and put back if they are missing afterwards.

Two processes must not have one folder open: Chroma's index in one of them silently lacks the other's notes.
"""

from __future__ import annotations

import fcntl
import os
import threading
import warnings
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from readmit.backends.adapters.foreign_store import FormingModel
from readmit.records.error_types import BackendError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from readmit.models.protocols import Embedder

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
        """An embedder of readmit, as Chroma calls it."""

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


class Llm(FormingModel):
    """Replaces A-MEM's language model. A-MEM only prints when there is no answer."""

    prompt = "amem.note@1"
    missing = "A-MEM's notes need one; open AMem with model=, or form with verbatim=True"
    shape = "a JSON object"

    @property
    def llm(self) -> Llm:
        """A-MEM asks ``controller.llm``."""
        return self

    def get_completion(self, prompt: str, response_format: Any = None, temperature: float = 1.0) -> str:  # noqa: ARG002
        """Complete a prompt, as A-MEM's own client does."""
        schema = (response_format or {}).get("json_schema", {}).get("schema", {})
        return self._answered("You must respond with a JSON object.", prompt, schema, dict[str, Any])[0]


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


NEIGHBORS = 5
"""How many notes A-MEM looks at, and may change, when it forms one."""
_PARTS = ["metadatas", "documents", "embeddings"]


class RememberedNotes(NamedTuple):
    """Notes as they were before a write."""

    ids: Sequence[str]
    metadatas: Sequence[dict[str, Any]]
    documents: Sequence[str]
    embeddings: Sequence[Any]

    @classmethod
    def near(cls, collection: Any, text: str) -> Self:
        """The notes that A-MEM will look at."""
        found = collection.query(query_texts=[text], n_results=NEIGHBORS, include=_PARTS)
        return cls(found["ids"][0], *(found[part][0] for part in _PARTS))

    @classmethod
    def of(cls, collection: Any, record: str) -> Self:
        """One note."""
        found = collection.get(ids=[record], include=_PARTS)
        return cls(found["ids"], *(found[part] for part in _PARTS))

    def restore(self, collection: Any) -> None:
        """Put back the notes that are missing, or whose content is another one."""
        if not self.ids:
            return
        try:
            held = collection.get(ids=list(self.ids), include=["metadatas"])
            contents = {
                name: metadata.get("content") for name, metadata in zip(held["ids"], held["metadatas"], strict=True)
            }
            lost = [at for at, name in enumerate(self.ids) if contents.get(name) != self.metadatas[at].get("content")]
            if lost:
                parts = ("ids", "metadatas", "documents", "embeddings")
                collection.upsert(**{part: [getattr(self, part)[at] for at in lost] for part in parts})
        except Exception as error:
            raise BackendError(
                f"A-MEM may have lost notes while it changed them, and they could not be put back ({error}): "
                f"{', '.join(self.ids)}. See which are gone with review or adopt, and load those from an archive"
            ) from error


class HeldFolder:
    """A folder that only this process has open. A process may open it several times: Chroma shares the index there."""

    _guard = threading.Lock()
    _open: dict[Path, tuple[int, int]] = {}  # noqa: RUF012 - shared on purpose: file locks belong to the process

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._held = False
        with self._guard:
            file, times = self._open.get(self._folder, (-1, 0))
            self._open[self._folder] = (file if times else _locked(self._folder), times + 1)
            self._held = True

    def release(self) -> None:
        """Let another process open it. A second call is harmless."""
        with self._guard:
            if self._held:
                self._held = False
                file, times = self._open.pop(self._folder)
                if times > 1:
                    self._open[self._folder] = (file, times - 1)
                else:
                    os.close(file)


def _locked(folder: Path) -> int:
    try:
        file = os.open(folder / "readmit.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise
    except BlockingIOError as error:
        raise BackendError(
            f"path: {folder} is open in another process, and Chroma would not show what that one writes. Close it "
            "there, or give both a Chroma server through AMem.over"
        ) from error
    except OSError as error:
        raise BackendError(f"path: {folder} cannot be locked: {error.strerror}; see that it is yours") from error
    return file
