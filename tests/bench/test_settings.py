"""The paper's parameters by name: changed by name, and refused where no run could mean the value."""

from __future__ import annotations

import msgspec
import pytest

from readmit.errors import RecordError
from readmit_bench.settings import GEMINI, Settings, overridden
from readmit_bench.studies import staffed, study_named


def test_changes_are_taken_by_name() -> None:
    changes = ["stale.retrieved_union=20", "memora.departures=0.25, 0.5", "manbench.active_agents=8", "stale.early=0,3"]
    changed = overridden(Settings(), changes)
    assert changed.stale.retrieved_union == 20
    assert changed.stale.early == (0, 3)
    assert changed.memora.departures == (0.25, 0.5)
    assert changed.manbench.active_agents == 8
    assert changed.manbench.final_tokens == Settings().manbench.final_tokens
    assert overridden(changed, ["stale.retrieved_union=30", "stale.retrieved_union=11"]).stale.retrieved_union == 11
    assert overridden(Settings(), []) == Settings()


def test_two_changes_that_only_fit_together_are_taken_together() -> None:
    changed = overridden(Settings(), ["memora.facts_initial=20", "memora.facts_at_most=24"])
    assert (changed.memora.budget.union, changed.memora.budget.at_most) == (20, 24)


REFUSED = {
    "nothing": ("", "names begin with one of memora"),
    "unknown benchmark": ("bigbench.items=3", "bigbench.items: no such setting; names begin with one of memora"),
    "unknown name": ("stale.union=3", "stale.union: no such setting; use one of stale.early"),
    "no value": ("stale.scan_tokens", "stale.scan_tokens: has no value; write stale.scan_tokens=512"),
    "a word": ("stale.scan_tokens=many", "stale.scan_tokens: 'many' is not a whole number; write"),
    "half a token": ("stale.scan_tokens=1.5", "'1.5' is not a whole number"),
    "negative": ("stale.scan_tokens=-1", "stale.scan_tokens: -1 cannot be: expected `int` >= 1"),
    "zero": ("manbench.active_agents=0", "manbench.active_agents: 0 cannot be"),
    "a share above one": ("memora.selector_confidence=1.5", "memora.selector_confidence: 1.5 cannot be"),
    "not a number": ("manbench.verifier_confidence=nan", "manbench.verifier_confidence: nan cannot be"),
    "departing at the end": ("memora.departures=0.5,1", "memora.departures: 0.5,1.0 cannot be"),
    "departing twice": ("memora.departures=0.5,0.5", "memora.departures: a departure is named twice"),
    "an unknown period": ("memora.periods=daily", "memora.periods: daily cannot be"),
    "a period twice": ("memora.periods=weekly,weekly", "memora.periods: a period is named twice"),
    "one bound": ("stale.early=3", "stale.early: 3 cannot be: expected `array` of length 2"),
    "backwards": ("stale.early=3,1", "stale.early: 3,1 must run forward"),
    "overlapping strata": ("stale.early=0,5", "stale.middle: 5,9 must run forward"),
    "more facts than fit": ("memora.facts_initial=20", "memora.facts_initial: 20 is above facts_at_most"),
    "a union below its parts": ("stale.retrieved_union=3", "retrieved_per_query: 10 is above retrieved_union, 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_run_could_mean_is_refused_with_the_field_and_the_fix(name: str) -> None:
    change, message = REFUSED[name]
    with pytest.raises(RecordError) as told:
        overridden(Settings(), [change])
    assert message in str(told.value)


def test_presets_are_the_papers_actors() -> None:
    assert overridden(Settings(), ["qwen"]) == overridden(Settings(), ["deepseek"]) == Settings()
    changed = overridden(Settings(), ["manbench.final_tokens=300", "gemini"])
    assert changed.manbench == msgspec.structs.replace(GEMINI, final_tokens=300)
    assert changed.stale == Settings().stale
    with pytest.raises(RecordError, match=r"llama: no such setting.* name a preset: qwen, deepseek, gemini"):
        overridden(Settings(), ["llama"])
    with pytest.raises(RecordError, match="gemini and qwen are two presets; name one"):
        overridden(Settings(), ["gemini", "qwen"])


def test_settings_go_through_json() -> None:
    changed = overridden(Settings(), ["gemini", "stale.late=10,12", "memora.selector_confidence=0.5"])
    assert msgspec.json.decode(msgspec.json.encode(changed), type=Settings) == changed


def test_the_settings_say_how_many_agents_are_active_unless_the_study_varies_that() -> None:
    eight = overridden(Settings(), ["manbench.active_agents=8"])
    assert staffed(study_named("manbench"), eight).agents == (8,)
    assert staffed(study_named("manbench"), Settings()).agents == (4,)
    assert staffed(study_named("scale"), Settings()).agents == (4, 8, 16, 32)
    with pytest.raises(RecordError, match=r"manbench.active_agents: scale runs with 4, 8, 16, 32 of them; leave"):
        staffed(study_named("scale"), eight)
