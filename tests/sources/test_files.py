from __future__ import annotations

import cProfile
import os
import pstats
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from readmit import LookRules
from readmit.errors import GoneError, ProbeError, RecordError
from readmit.sources import File, FileProbe, Finding, Looker
from tests.sources.conftest import PATIENT, limits_of, settled

if TYPE_CHECKING:
    from pathlib import Path

    from readmit.sources import ProbeResult

TEXT = "".join(f"line {number}\n" for number in range(1, 31))


def look(looker: Looker, probe: FileProbe) -> ProbeResult:
    [result] = looker.look([probe])
    return result


def placed(result: ProbeResult) -> FileProbe:
    assert isinstance(result.probe, FileProbe)
    return result.probe


def test_a_whole_file_is_captured_and_seen_unchanged(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text(TEXT)
    text, probe = looker.capture(File("a.txt"))
    assert text == TEXT
    assert probe == FileProbe(digest=sha256(TEXT.encode()).hexdigest(), path="a.txt")
    assert looker.look([probe]) == [(Finding.UNCHANGED, probe, "", "")]


def test_a_file_that_changed_is_shown_with_its_new_text_and_a_probe_that_fits_it(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text(TEXT)
    _, probe = looker.capture(File("a.txt"))
    (root / "a.txt").write_text("new\n")
    assert isinstance(probe, FileProbe)
    found = look(looker, probe)
    assert (found.outcome, found.text) == (Finding.CHANGED, "new\n")
    assert look(looker, placed(found)).outcome is Finding.UNCHANGED


def test_a_quote_that_moved_is_found_at_its_new_lines(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text(TEXT)
    text, probe = looker.capture(File("a.txt", lines="10-12"))
    assert text == "line 10\nline 11\nline 12"
    (root / "a.txt").write_text("one more\nand another\n" + TEXT)
    assert isinstance(probe, FileProbe)
    found = look(looker, probe)
    assert found.outcome is Finding.MOVED
    assert (placed(found).first, placed(found).last, placed(found).digest) == (12, 14, probe.digest)
    assert look(looker, placed(found)).outcome is Finding.UNCHANGED


def test_of_several_equal_quotes_the_nearest_is_taken(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text("x\n" * 5 + "wanted\n" + "x\n" * 20)
    _, probe = looker.capture(File("a.txt", lines="6"))
    (root / "a.txt").write_text("wanted\n" + "x\n" * 6 + "wanted\n" + "x\n" * 10 + "wanted\n")
    assert isinstance(probe, FileProbe)
    assert placed(look(looker, probe)).first == 8


def test_an_edited_quote_is_found_between_its_old_neighbors(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text(TEXT)
    _, probe = looker.capture(File("a.txt", lines="10-12"))
    edited = TEXT.replace("line 11\n", "line eleven\nand a half\n")
    (root / "a.txt").write_text("inserted\n" * 7 + edited)
    assert isinstance(probe, FileProbe)
    found = look(looker, probe)
    assert (found.outcome, found.text) == (Finding.CHANGED, "line 10\nline eleven\nand a half\nline 12")
    assert (placed(found).first, placed(found).last) == (17, 20)
    assert look(looker, placed(found)).outcome is Finding.UNCHANGED


EDITED = {
    "the line below is still there": ("port=80\nhost=a\n", "1", "port=443\nhost=a\n", "port=443", (1, 1)),
    "the line above is still there": ("host=a\nport=80\nuser=b\n", "2", "host=a\nport=443\n", "port=443", (2, 2)),
    "the line below is, further down": ("a\nb\nc\n", "2", "x\ny\nB\nc\n", "B", (3, 3)),
    "it stood at the end": ("a\nb\n", "2", "x\na\nB\nC\n", "B\nC", (3, 4)),
    "blank lines surround it": ("a\n\nb\n\nc\n", "3", "a\n\n\nB\n\nc\n", "B", (4, 4)),
    "its neighbors are gone too": (TEXT, "10-12", TEXT.replace("line", "row"), TEXT.replace("line", "row"), (0, 0)),
    "its neighbors stand at several places": ("a\nb\na\n", "2", "a\nB\na\nC\na\n", "a\nB\na\nC\na\n", (0, 0)),
    "its neighbors changed places": ("a\nb\nc\n", "2", "c\nB\na\n", "c\nB\na\n", (0, 0)),
    "the file has other lines": (TEXT, "10-12", "nothing alike\n", "nothing alike\n", (0, 0)),
    "it was the whole file": ("a\nb\n", "1-2", "c\n", "c\n", (0, 0)),
}


@pytest.mark.parametrize("case", EDITED)
def test_the_new_text_of_an_edited_quote_if(case: str, root: Path, looker: Looker) -> None:
    """The lines in its place, and the whole file rather than the wrong lines."""
    before, lines, after, text, place = EDITED[case]
    (root / "a.txt").write_text(before)
    _, probe = looker.capture(File("a.txt", lines=lines))
    (root / "a.txt").write_text(after)
    [found] = looker.look([probe])
    assert (found.outcome, found.text, (placed(found).first, placed(found).last)) == (Finding.CHANGED, text, place)
    assert look(looker, placed(found)).outcome is Finding.UNCHANGED


def test_a_quote_that_moved_and_was_edited_then_is_followed_through_both(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text("port=80\nhost=a\n")
    _, probe = looker.capture(File("a.txt", lines="1"))
    (root / "a.txt").write_text("# new\nport=80\nhost=a\n")
    [moved] = looker.look([probe])
    assert (moved.outcome, placed(moved).first) == (Finding.MOVED, 2)
    (root / "a.txt").write_text("port=443\nhost=a\n")
    assert [found.text for found in looker.look([moved.probe])] == ["port=443"]


GONE = {
    "the lines were removed": (TEXT.replace("line 10\nline 11\nline 12\n", ""), "its lines were removed"),
    "the file is empty": ("", "it is empty"),
}


@pytest.mark.parametrize("case", GONE)
def test_a_quote_is_gone_if(case: str, root: Path, looker: Looker) -> None:
    now, why = GONE[case]
    (root / "a.txt").write_text(TEXT)
    _, probe = looker.capture(File("a.txt", lines="10-12"))
    (root / "a.txt").write_text(now)
    assert looker.look([probe]) == [(Finding.GONE, probe, "", why)]


def test_a_file_that_was_deleted_is_gone_and_so_is_one_whose_directory_was(root: Path, looker: Looker) -> None:
    (root / "b").mkdir()
    (root / "b" / "c.txt").write_text(TEXT)
    _, probe = looker.capture(File("b/c.txt"))
    (root / "b" / "c.txt").unlink()
    assert [found.why for found in looker.look([probe])] == ["there is no c.txt"]
    (root / "b").rmdir()
    assert looker.look([probe]) == [(Finding.GONE, probe, "", "there is no b")]


@pytest.mark.parametrize("data", [b"\xff\xfe", b"SQLite format 3\0", b"", b" \n", b"x" * 200_001])
def test_a_file_without_a_text_that_evidence_can_hold_is_gone(data: bytes, root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text(TEXT)
    _, probe = looker.capture(File("a.txt"))
    (root / "a.txt").write_bytes(data)
    assert [found.outcome for found in looker.look([probe])] == [Finding.GONE]


def test_a_missing_root_is_a_failed_look_and_no_deleted_file(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text(TEXT)
    _, probe = looker.capture(File("a.txt"))
    root.rename(root.with_name("unmounted"))
    assert [found.outcome for found in looker.look([probe])] == [Finding.UNSEEN]


SOURCE = """import os

class Cart:
    @property
    def total(self):
        return 1

    def other(self):
        return 2

LIMIT = 3
"""


def test_a_symbol_is_followed_wherever_it_stands_and_compared_by_its_source(root: Path, looker: Looker) -> None:
    (root / "a.py").write_text(SOURCE)
    text, probe = looker.capture(File("a.py", symbol="Cart.total"))
    assert text == "    @property\n    def total(self):\n        return 1"
    (root / "a.py").write_text(SOURCE.replace("import os\n", "import os\nimport sys\n").replace("return 2", "return 4"))
    assert [found.outcome for found in looker.look([probe])] == [Finding.UNCHANGED]
    (root / "a.py").write_text(SOURCE.replace("return 1", "return 5"))
    [changed] = looker.look([probe])
    assert (changed.outcome, changed.text.endswith("return 5")) == (Finding.CHANGED, True)
    (root / "a.py").write_text(SOURCE.replace("total", "sum"))
    assert looker.look([probe]) == [(Finding.GONE, probe, "", "it does not define Cart.total")]
    (root / "a.py").write_text("def broken(:")
    assert [found.outcome for found in looker.look([probe])] == [Finding.UNSEEN]


def test_a_second_definition_of_a_symbol_is_a_change_of_it(root: Path, looker: Looker) -> None:
    (root / "a.py").write_text(SOURCE)
    _, probe = looker.capture(File("a.py", symbol="LIMIT"))
    (root / "a.py").write_text(SOURCE + "if True:\n    LIMIT = 9\n")
    assert [found.text for found in looker.look([probe])] == ["LIMIT = 3\n    LIMIT = 9"]


WORDS = {
    "elsewhere in the file": ("x = 1\n\n\nasync def total(self, tax):\n    return 2\n", Finding.UNCHANGED),
    "with other white space": ("def   total():\n    return 1\n", Finding.UNCHANGED),
    "over two lines": ("def\ntotal():\n    return 1\n", Finding.UNCHANGED),
    "within a longer word": ("def totals():\n    return 1\n", Finding.GONE),
    "with a word between": ("def the total():\n", Finding.GONE),
    "nowhere": ("def sum():\n    return 1\n", Finding.GONE),
    "in no file": (None, Finding.GONE),
}


@pytest.mark.parametrize(("text", "found"), WORDS.values(), ids=WORDS)
def test_words_of_a_file_stand(text: str | None, found: Finding, root: Path, looker: Looker) -> None:
    (root / "cart.py").write_text("def total():\n    return 1\n")
    captured = looker.capture(File("cart.py", quote="def total"))
    assert captured.text == "def total"
    (root / "cart.py").unlink()
    if text is not None:
        (root / "cart.py").write_text(text)
    assert looker.look([captured.probe])[0].outcome is found


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_only_the_presence_of_a_place_counts(kind: str, root: Path, looker: Looker) -> None:
    (root / "there").mkdir() if kind == "folder" else (root / "there").write_text("one")
    probe = looker.capture(File("there", exists=True)).probe
    (root / "there").rmdir() if kind == "folder" else (root / "there").unlink()
    assert looker.look([probe])[0].outcome is Finding.GONE
    (root / "there").symlink_to("nowhere") if kind == "link" else (root / "there").write_bytes(b"\0two")
    assert looker.look([probe])[0].outcome is Finding.UNCHANGED


def test_words_and_presence_are_refused_together_and_where_they_are_not(root: Path, looker: Looker) -> None:
    (root / "cart.py").write_text("def total(): ...\n")
    with pytest.raises(RecordError, match="one of lines, a symbol, a quote and exists"):
        looker.capture(File("cart.py", quote="def total", exists=True))
    with pytest.raises(GoneError, match="does not say"):
        looker.capture(File("cart.py", quote="def sum"))
    with pytest.raises(GoneError, match="there is no"):
        looker.capture(File("nowhere.py", exists=True))
    with pytest.raises(ProbeError, match="secret"):
        looker.capture(File(".env", exists=True))


def test_an_unchanged_file_is_not_read_again_once_its_version_is_known(
    root: Path, looker: Looker, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_text(TEXT)
    _, probe = looker.capture(File("a.txt", lines="3-4"))
    settled(root / "a.txt")
    looker.look([probe])
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("read again"))
    assert [found.outcome for found in looker.look([probe])] == [Finding.UNCHANGED]


def test_ten_times_the_files_are_ten_times_the_work(root: Path) -> None:
    def calls(count: int) -> int:
        looker = Looker(limits_of(roots=(str(root),), **PATIENT))
        probes = [looker.capture(File(f"{number}.txt")).probe for number in range(count)]
        with cProfile.Profile() as profile:
            looker.look(probes)
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    for number in range(500):
        (root / f"{number}.txt").write_text("kept")
    assert calls(500) < 11 * calls(50)


def test_a_change_that_keeps_size_and_modification_time_is_seen(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text("old\n")
    os.utime(root / "a.txt", (1_000_000_000, 1_000_000_000))
    _, probe = looker.capture(File("a.txt"))
    settled(root / "a.txt")
    assert [found.outcome for found in looker.look([probe])] == [Finding.UNCHANGED]
    (root / "a.txt").write_text("new\n")
    os.utime(root / "a.txt", (1_000_000_000, 1_000_000_000))
    assert [found.text for found in looker.look([probe])] == ["new\n"]


def test_the_version_of_a_file_that_just_changed_is_not_trusted(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text("old\n")
    _, probe = looker.capture(File("a.txt"))
    assert [found.outcome for found in looker.look([probe])] == [Finding.UNCHANGED]
    assert isinstance(probe, FileProbe)
    assert looker._unchanged.get(probe) is None


def test_an_absolute_path_below_the_first_root_is_kept_relative_to_it(root: Path, looker: Looker) -> None:
    (root / "a.txt").write_text(TEXT)
    assert looker.capture(File(str(root / "a.txt"))) == looker.capture(File("a.txt"))


def test_a_second_root_is_reached_by_absolute_paths(root: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.txt").write_text(TEXT)
    both = Looker(LookRules(roots=(str(root), str(second))))
    _, probe = both.capture(File(str(second / "a.txt")))
    assert [found.outcome for found in both.look([probe])] == [Finding.UNCHANGED]
    with pytest.raises(GoneError, match=r"there is no a\.txt"):
        both.capture(File("a.txt"))


REFUSED = {
    "lines beyond the file": ({"lines": "30-31"}, ProbeError, "lines: a.txt has 30 lines"),
    "lines that are no range": ({"lines": "ten"}, RecordError, "lines: 'ten'"),
    "lines from zero": ({"lines": "0-3"}, RecordError, "lines: '0-3'"),
    "lines backwards": ({"lines": "5-3"}, RecordError, "lines: '5-3'"),
    "lines and a symbol": ({"lines": "1", "symbol": "f"}, RecordError, "symbol: give either"),
    "a symbol of a text file": ({"symbol": "f"}, ProbeError, "symbol: a.txt is not a Python file"),
    "a lifetime before now": ({"lifetime": -1}, RecordError, "lifetime"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_capturing_is_refused_for(case: str, root: Path, looker: Looker) -> None:
    arguments, error, message = REFUSED[case]
    (root / "a.txt").write_text(TEXT)
    with pytest.raises(error, match=f"^{message}"):
        looker.capture(File("a.txt", **arguments))  # type: ignore[arg-type]


def test_by_default_no_file_may_be_read(root: Path) -> None:
    (root / "a.txt").write_text(TEXT)
    with pytest.raises(ProbeError, match=r"^roots: no directory may be read"):
        Looker().capture(File(str(root / "a.txt")))
