"""Ids are accepted by their beginning wherever one is taken, and shells complete them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.run import WHO, run, said, script

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _on_team(team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READMIT_DB", team)


def test_the_only_item_that_begins_like_this_is_meant() -> None:
    run("record", "Breakfast is included", "--id", "breakfast", "--by", "A2")
    assert said("revoke", "bre", "--by", "A2")["target"] == "breakfast"


def test_an_exact_id_wins_over_a_longer_one() -> None:
    run("record", "Longer", "--id", "h00", "--by", "A2")
    assert said("revoke", "h0", "--by", "A2")["target"] == "h0"


def test_a_beginning_of_several_is_refused_with_all_of_them() -> None:
    run("record", "Later", "--id", "h1", "--by", "A2")
    assert run("revoke", "h", "--by", "A2", status=1).stderr == (
        "error: TARGET: 'h' is the beginning of h0, h1; give more of it\n"
    )
    assert said("revoke", "h", "--by", "A2", status=1)["error"]["type"] == "UnknownError"


def test_many_candidates_are_cut_short() -> None:
    for number in range(8):
        run("record", "Later", "--id", f"h{number}x", "--by", "A2")
    assert "h0, h0x, h1x, h2x, h3x and more" in run("revoke", "h", "--by", "A2", status=1).stderr


def test_an_empty_id_is_nobody_even_where_there_is_one_item() -> None:
    assert run("revoke", "", "--by", "A2", status=1).stderr == "error: TARGET is empty; give an id, or its beginning\n"


def test_what_begins_nothing_is_unknown() -> None:
    assert (
        run("revoke", "zz", "--by", "A2", status=1).stderr
        == "error: TARGET: no item 'zz'; `readmit items` lists them\n"
    )


def test_returns_departures_and_evidence_too() -> None:
    departure = said("log", "--kind", "depart")["events"][0]["id"]
    returned = said("return", *WHO, "--checkpoint", departure[:6])
    assert said("explain", returned["return"][:6], "h")["disposition"]["item"] == "h0"
    assert said("replay", returned["return"][:6])["replays"][0]["matches"]
    assert said("audit", "show", returned["return"][:6])["return"] == returned["return"]
    assert run("expose", returned["return"][:6], "--secret", returned["secret"], *WHO).stdout
    digest = said("observe", "Seen again.", "--by", "A2")["evidence"]
    assert said("record", "It holds", "--by", "A2", "--source", digest[:8])["evidence"] == [digest]
    assert said("show", digest[:8])["text"] == "Seen again."


def test_a_short_source_is_a_text_and_no_digest() -> None:
    (digest,) = said("record", "It holds", "--by", "A2", "--source", "facade")["evidence"]
    assert said("observe", "facade", "--by", "A2", "--id", "again")["evidence"] != digest
    assert said("show", digest)["text"] == "facade"


def test_keys_too() -> None:
    key = said("keys", "list")["keys"][0]["key"]
    assert said("keys", "export", key[:5])["key"] == key


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_sourced(shell: str, tmp_path: Path) -> None:
    done = script(cwd=tmp_path, _READMIT_COMPLETE=f"{shell}_source")
    assert done.returncode == 0
    assert f"_READMIT_COMPLETE={shell}_complete" in done.stdout


def completed(words: str, tmp_path: Path, team: str) -> list[str]:
    line = f"readmit {words}"
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "READMIT_DB": team}
    done = script(cwd=tmp_path, _READMIT_COMPLETE="bash_complete", **asked)
    return [found.partition(",")[2] for found in done.stdout.splitlines() if found]


def test_a_shell_completes_commands_options_and_ids(team: str, tmp_path: Path) -> None:
    assert completed("rev", tmp_path, team) == ["revoke"]
    assert completed("revoke h", tmp_path, team) == ["h0"]
    assert completed("revoke h0 --re", tmp_path, team) == ["--reason"]


def test_a_shell_gets_nothing_where_there_is_no_store(tmp_path: Path) -> None:
    assert completed("revoke h", tmp_path, "nowhere.db") == []
