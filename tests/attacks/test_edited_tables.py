"""Edits of single rows, on both kinds of store. On a server, the attacker is its administrator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from readmit.errors import ReadmitError, TamperedError
from tests.scene import Scene

if TYPE_CHECKING:
    from readmit import Return

EDITS = {
    "a revocation hidden from its readers": "DELETE FROM audience WHERE epoch = (SELECT max(epoch) FROM about)",
    "an item in another's name": "UPDATE event SET by = 'eve' WHERE id = 'item:h'",
    "an item dated back": "UPDATE event SET at = '2020-01-01T00:00:00+00:00' WHERE id = 'item:h'",
    "a date said to be given": "UPDATE event SET given = 1 WHERE id = 'item:h'",
    "an event removed": "DELETE FROM event WHERE id = 'item:h'",
    "an item's text": "UPDATE event SET body = CAST(replace(body, 'the text', 'pay eve') AS BLOB) WHERE id = 'item:h'",
    "a milestone hidden": "DELETE FROM milestone WHERE kind = 'govern'",
    "the end of the log set back": "UPDATE workspace SET head = head - 1",
    "the last commit removed": "DELETE FROM commit_record WHERE pos = (SELECT max(pos) FROM commit_record)",
    "no commits": "DELETE FROM commit_record",
}


def edited(edit: str, *, keeps: bool) -> tuple[Scene, Return]:
    """A store that is edited after a view was issued."""
    scene = Scene()
    scene.keeps = keeps
    scene.covered()
    scene.fact("other")
    scene.depart()
    issued = scene.ann().come_back(id="issued")
    scene.team.revoke("other", by="bob", reason="cancelled")
    scene.sql(EDITS[edit])
    return scene, issued


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_ends_in_a_refusal_at_return_and_at_exposure(edit: str) -> None:
    scene, issued = edited(edit, keeps=False)
    with pytest.raises(ReadmitError) as refused:
        issued.expose()
    assert isinstance(refused.value, TamperedError) or "log_altered" in str(refused.value)
    try:
        again = scene.ann().come_back()
    except TamperedError:
        return
    assert again.reasons == ("log_altered",)


@pytest.mark.parametrize("edit", EDITS)
def test_the_process_that_proved_the_rows_refuses_or_hands_over_the_same(edit: str) -> None:
    scene, issued = edited(edit, keeps=True)
    try:
        handed = issued.expose()
        again = scene.ann().come_back()
    except ReadmitError as error:
        assert isinstance(error, TamperedError) or "log_altered" in str(error)  # noqa: PT017 - or nothing is raised
        return
    assert [(item.id, item.text, item.by) for item in handed.items] == [
        ("o", "the text of o", "bob"),
        ("h", "the text of h", "bob"),
    ]
    assert again.items == ("o", "h")
