"""A real model through the real server: every stage gets a typed result or a failure. The content is not checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit import Verdict
from readmit.lab import Plan, Verifier
from readmit.models import Failure, Gguf, Metered, Opinion, TokenLedger
from readmit.models.stages.extract import Extraction
from readmit.models.stages.link import Linking
from readmit.records.canonical import checked
from tests.models.stages.said import STAGES, case

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]
pytest.importorskip("xllamacpp", reason="xllamacpp is not installed: pip install 'readmit[gguf]'", exc_type=ImportError)

KINDS: dict[str, type] = {
    "verify": Verdict,
    "scan": tuple,
    "link": Linking,
    "premises": tuple,
    "implied": tuple,
    "extract": Extraction,
    "plan": Plan,
    "answer": Opinion,
}


@pytest.fixture(scope="module")
def model(local_model: Path) -> Iterator[Gguf]:
    # Left to itself, it writes each text until it is cut off.
    with Gguf(local_model, context=4_096, deadline=600, text_chars=40, list_items=2, compact=True) as opened:
        yield opened


@pytest.mark.parametrize("name", STAGES)
def test_every_stage_gets_a_typed_result_or_a_failure(name: str, model: Gguf) -> None:
    ledger = TokenLedger()
    result = STAGES[name].run(Metered(model, ledger))
    print(name, result)
    assert isinstance(result, (KINDS[name.partition(",")[0]], Failure))
    assert ledger.total().calls >= 1
    assert [stage.stage for stage in ledger.stages()] == [name.partition(",")[0]]


def test_a_verdict_of_a_real_model_is_a_record(model: Gguf) -> None:
    results = Verifier(model=model).verify([case(), case(item_at=None)])
    verdicts = [checked(result, what="verdict") for result in results if isinstance(result, Verdict)]
    assert verdicts, "constrained output keeps even this model in form"
    assert {verdict.model for verdict in verdicts} == {model.name}
