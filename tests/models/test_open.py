from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from readmit.errors import ModelError
from readmit.models import Batch, OpenAICompatible, open_model

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Case:
    spec: str
    says: str


WRONG = {
    "no kind": Case("gpt-5", "openai:"),
    "unknown kind": Case("llama:x", "gguf:"),
    "empty": Case("", "openai:"),
    "no name": Case("openai:", "name something"),
    "unknown option": Case("openai:m?base=1", "base_url"),
    "not a number": Case("openai:m?deadline=soon", "deadline"),
    "too small": Case("openai:m?base_url=http://localhost:1/v1&deadline=0", "deadline"),
    "twice": Case("openai:m?retries=1&retries=2", "twice"),
    "no value": Case("openai:m?retries", "name=value"),
    "a key in the line": Case("openai:m?api_key=sk-secret", "key_env"),
    "no key": Case("openai:m?key_env=HOUSE_KEY", "HOUSE_KEY"),
    "no model for a batch": Case("batch:somewhere", "model"),
    "a wrong limit": Case("batch:somewhere?model=m&limit=tokens", "limit"),
    "no such file": Case("gguf:/nowhere/model.gguf", "/nowhere/model.gguf"),
    "no recorded answers": Case("recorded:/nowhere", "/nowhere"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if case.spec.startswith("gguf:") and importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed")
    with pytest.raises(ModelError) as raised:
        open_model(case.spec)
    assert case.says in str(raised.value)
    assert "sk-secret" not in str(raised.value)


def test_names_may_hold_colons_and_slashes() -> None:
    model = open_model("openai:org/llama3:8b?base_url=http://localhost:11434/v1&temperature=null&concurrency=2")
    assert isinstance(model, OpenAICompatible)
    assert model.name == "org/llama3:8b"
    assert model._dialect.temperature is None
    model.close()


def test_a_batch_with_all_its_options(tmp_path: Path) -> None:
    model = open_model(f"batch:{tmp_path}?model=strong&shared=true&temperature=0&limit=max_tokens")
    assert isinstance(model, Batch)
    assert (model.name, model.directory) == ("strong", tmp_path)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed", exc_type=ImportError)
    path = tmp_path / "x.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(ModelError, match="not a GGUF file"):
        open_model(f"gguf:{path}")


@pytest.mark.parametrize(
    ("package", "spec", "command"),
    [
        ("openai", "openai:m?base_url=http://localhost:1/v1", "pip install 'readmit[models]'"),
        ("xllamacpp", "gguf:model.gguf", "pip install 'readmit[gguf]'"),
    ],
)
def test_a_missing_package_names_the_command(
    package: str, spec: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("readmit.plugins.find_spec", lambda name, *rest: None if name == package else find(name, *rest))
    with pytest.raises(ModelError) as raised:
        open_model(spec)
    assert str(raised.value) == f"{package} is not installed; run: {command}"


def test_opening_loads_no_heavy_library() -> None:
    code = (
        "import sys; from readmit.models.model_lines import open_model; "
        "open_model('openai:m?base_url=http://localhost:1/v1'); open_model('batch:x?model=m'); "
        "print(sorted({'openai', 'httpx2', 'xllamacpp', 'numpy', 'filelock'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
