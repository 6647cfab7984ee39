"""Reports as they are written: whole, escaped, without foreign resources, the same twice, of whatever runs."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bench.data import SMOKE
from tests.bench.reported import manbench, plan, stale, written

from readmit.errors import RecordError
from readmit.models import StageUsage
from readmit_bench.episodes import Finding, View
from readmit_bench.reports.canvas import LARGEST, SMALLEST, STEP, canvas, sizes
from readmit_bench.reports.figures import _plane
from readmit_bench.reports.harmless_text import in_markdown
from readmit_bench.reports.pages import CHANGED, GONE, write_report
from readmit_bench.reports.provenance import shown_model
from readmit_bench.reports.run_scores import score_run
from readmit_bench.results import RESULTS, read_results
from readmit_bench.study_runs import RunOrder, run

pytest.importorskip("jinja2", reason="reports need readmit-bench's dependencies")
pytest.importorskip("matplotlib", reason="figures need readmit-bench's dependencies")

if TYPE_CHECKING:
    from pathlib import Path

YES, NO = (True, True, True), (False, False, False)
SPENT = (StageUsage(stage="answer", calls=1, input=90, output=10),)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "smoke"
    run(RunOrder(study="smoke"), folder)
    return folder


@pytest.fixture(scope="module")
def report(smoke: Path) -> Path:
    """The first page of one report that several tests look at."""
    return write_report([smoke], smoke.parent / "report", episodes=4)


class Checked(HTMLParser):
    """What a page refers to, and what it leaves open."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.open: list[str] = []
        self.bare: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.links |= {value for name in ("src", "href") if (value := found.get(name))}
        self.ids |= {found["id"] or ""} if "id" in found else set()
        if tag == "img" and not found.get("alt"):
            self.bare.append(str(found))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"


def checked(page: Path) -> Checked:
    parser = Checked()
    parser.feed(page.read_text())
    return parser


def test_one_command_writes_everything(report: Path) -> None:
    html, markdown = report.read_text(), report.with_suffix(".md").read_text()
    for text in (html, markdown):
        assert "Smoke data written for this project" in text
        assert "published, tab:manbench-formal" in text, "beside our figures"
        assert "published, tab:qwen-memora" in text, "in the appendix"
        assert "No answers were asked for" in text
        assert "readmit-lexical" in text
        assert "Run: smoke on smoke, digest bb0d1232" in text
    figures = {path.name for path in (report.parent / "smoke").iterdir() if path.is_file()}
    assert {"plane-memora.png", "plane-memora.svg", "plane-stale.svg", "plane-manbench.svg"} <= figures
    pages = list((report.parent / "smoke" / "episodes").iterdir())
    assert len(pages) == 4


def test_pages_are_well_formed_and_refer_to_what_exists(report: Path) -> None:
    for one in (report, *(report.parent / "smoke" / "episodes").iterdir()):
        found = checked(one)
        assert found.open == []
        assert found.bare == [], "every figure says in words what it shows"
        for link in found.links:
            path, _, anchor = link.partition("#")
            assert not path or (one.parent / path).exists(), link
            assert path or anchor in found.ids, link


def test_the_same_results_give_the_same_bytes(smoke: Path, report: Path, tmp_path: Path) -> None:
    one, two = report.parent, tmp_path / "again"
    write_report([smoke], two, episodes=4)
    files = [path.relative_to(one) for path in one.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in files)


def test_every_figure_of_the_paper(tmp_path: Path) -> None:
    methods = ("Static", "trace-paper", "trace-without-ii")
    blocks = ("early", "middle", "late")
    spent = View(method="m", rows=("s1.t1",))
    lines = [
        stale(m, b, n, YES if n else NO, view=spent, usage=SPENT) for m in methods for b in blocks for n in range(3)
    ]
    bars = written(tmp_path / "bars", plan("ablations", *methods), lines)
    scales = [
        manbench("Static", b, n, valid=True, invalid=False, correct=True, agents=agents)
        for agents in (4, 8) for b in ("old-valid", "old-stale") for n in range(2)
    ]  # fmt: skip
    lines_of_scales = written(tmp_path / "lines", plan("scale", "Static", agents=(4, 8)), scales)
    page = write_report([bars, lines_of_scales], tmp_path / "report")
    found = {path.name for path in (tmp_path / "report").rglob("*.svg")}
    assert found == {"plane-stale.svg", "cost-stale.svg", "ablations.svg", "plane-manbench.svg", "scale.svg"}
    assert {path.with_suffix(".png").name for path in (tmp_path / "report").rglob("*.svg")} == {
        path.name for path in (tmp_path / "report").rglob("*.png")
    }
    assert "Hatched: published (tab:stale-core-ablation)" in page.read_text()


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=24))
@settings(max_examples=60, deadline=None)
def test_a_mark_that_lies_on_another_is_smaller(points: list[tuple[float, float]]) -> None:
    drawn = sizes(points)
    for place, later in enumerate(points):
        below = [size for size, point in zip(drawn[:place], points[:place], strict=True) if point == later]
        assert all(drawn[place] < size or drawn[place] == SMALLEST for size in below)


def test_a_mark_with_room_around_it_is_whole() -> None:
    assert sizes([(50.0, 50.0), (50.1, 49.9), (90.0, 10.0)]) == [LARGEST, LARGEST - STEP, LARGEST]


def test_points_stand_where_they_are_with_their_intervals(tmp_path: Path) -> None:
    """Two methods that score alike have the same place in the figure, and bars as long as their intervals."""
    lines = [stale(m, "early", n, YES if n % 2 else NO) for m in ("Static", "MemTX") for n in range(8)]
    planned = plan("stale", "Static", "MemTX")
    (scored,) = score_run(planned, lines)
    figure, (axes,) = canvas(4, 4)
    _plane(axes, "early", scored.lines, [])
    marks = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.get_lines()]
    assert marks == [(50.0, 50.0)] * 2
    bounds = scored.lines[0].bounds("via")
    assert bounds is not None
    spans = [path.get_extents() for bar in axes.collections for path in bar.get_paths()]
    assert (bounds.low, bounds.high) in {(span.x0, span.x1) for span in spans}
    figure.savefig(tmp_path / "plane.png")


EVIL = (
    "<script>alert('x')</script>| **bold** [a](http://x.example) \n| row\n\n# head \u202egnirts\x1b[31m\u200b &amp; $x$"
)


def test_what_models_and_data_say_is_text(smoke: Path, tmp_path: Path) -> None:
    shutil.copytree(smoke, tmp_path / "smoke")
    finding = Finding(row=EVIL, observation=EVIL, signals=(EVIL,), answer="invalidates", row_quote=EVIL, note=EVIL)
    view = View(
        method="m", rows=(EVIL,), excerpts={EVIL: EVIL}, memories=(EVIL,), left_out={EVIL: (EVIL,)}, missing=(EVIL,),
        findings=(finding,), blocked=True,
    )  # fmt: skip
    lines = [
        msgspec.structs.replace(result, case=EVIL, failure=EVIL, answers=(EVIL,), judgment=EVIL, view=view)
        for result in read_results(smoke)
    ]
    (tmp_path / "smoke" / RESULTS).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    page = write_report([tmp_path / "smoke"], tmp_path / "report", episodes=2)
    pages = [page, *(tmp_path / "report" / "smoke" / "episodes").iterdir()]
    assert len(pages) == 3
    for one in pages:
        text = one.read_text()
        assert "<script" not in text
        assert "&lt;script&gt;" in text
        assert not re.search("[\x00-\x08\x0b-\x1f\u200b\u202a-\u202e]", text)
        assert r"\u{202e}gnirts" in text, "what was hidden is shown"
        assert checked(one).open == []
        assert not any(link.startswith(("http", "//", "javascript", "data:")) for link in checked(one).links)
    markdown = page.with_suffix(".md").read_text()
    failing = [line for line in markdown.splitlines() if "alert(" in line]
    assert failing
    assert "<script" not in markdown
    assert {line[0] for line in failing} == {"|", "-"}
    for line in failing:
        links = re.findall(r"(?<!\\)\]\(([^)]*)\)", line)
        assert all(re.fullmatch(r"smoke/episodes/[0-9a-f]{16}\.html", link) for link in links), "no link is made of it"
        if line.startswith("|"):
            assert len(re.split(r"(?<!\\)\|", line)) == 6, "text cannot end its cell"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", r"a\|b"),
        ("line\nbreak", "line break"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("# head", r"\# head"),
        ("1. one", r"1\. one"),
        ("- one", r"\- one"),
        ("-5.00 [-6.1, +2.0]", r"-5.00 \[-6.1, +2.0\]"),
        ("52.10", "52.10"),
        ("*a* _b_ `c` [d] ~e~ $f$", r"\*a\* \_b\_ \`c\` \[d\] \~e\~ \$f\$"),
        ("\\|", r"\\\|"),
        ("plain words, 50 %.", "plain words, 50 %."),
    ],
)
def test_markdown_shows_text_literally(text: str, shown: str) -> None:
    assert in_markdown(text) == shown


def test_markdown_is_tidy(report: Path) -> None:
    text = report.with_suffix(".md").read_text()
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    assert "\n\n\n" not in text
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("| ") and set(lines[number + 1]) <= set("|-: ") and lines[number + 1]:
            assert lines[number - 1] == "", "a table begins after an empty line"
            assert line.count("|") == lines[number + 1].count("|") == lines[number + 2].count("|")


def test_an_episode_page_tells_the_whole_story(tmp_path: Path) -> None:
    run(RunOrder(study="stale", data=SMOKE / "stale", methods=("Static", "Reset")), tmp_path / "out")
    first, *rest = read_results(tmp_path / "out")
    finding = Finding(
        row="s1.t1", observation="9/user/after", signals=("embedding", "same_slot"), answer="invalidates",
        confidence="0.9", confirmed=True, row_quote="an old quote", observation_quote="a new quote", note="a premise",
    )  # fmt: skip
    view = View(
        method="Static", rows=(), blocked=True, missing=("t0.place",), left_out={"s1.t1": ("premise_changed",)},
        findings=(finding, msgspec.structs.replace(finding, answer="", confirmed=False, row="s2.t1")),
    )  # fmt: skip
    judged = msgspec.structs.replace(first, view=view, answers=("The harbor.",), judgment="It says so.")
    lines = [judged, *rest]
    (tmp_path / "out" / RESULTS).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    write_report([tmp_path / "out"], tmp_path / "report")
    text = (tmp_path / "report" / "out" / "episodes" / f"{first.episode}.html").read_text()
    for said in (
        "Refused for want of coverage. Missing: t0.place. The agent was handed nothing.",
        "The view is empty: the method hands over nothing.",
        "A premise it depends on no longer holds",
        "<q>an old quote</q>", "<q>a new quote</q>", "embedding, same_slot", "1 confirmed", "1 not confirmed",
        "proposed, not judged", "The harbor.", "It says so.", "Before the departure", "In its absence",
        "The agent departs after session",
    ):  # fmt: skip
        assert said in text, said


def test_a_report_of_an_incomplete_run_says_what_is_missing(smoke: Path, tmp_path: Path) -> None:
    shutil.copytree(smoke, tmp_path / "smoke")
    kept = [result for result in read_results(smoke) if result.benchmark == "stale"][:8]
    (tmp_path / "smoke" / RESULTS).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in kept))
    text = write_report([tmp_path / "smoke"], tmp_path / "report").read_text()
    assert "The run is not complete: 8 of 108 planned lines" in text
    assert "8 of 108 lines, 0 failed" in text


@pytest.mark.parametrize(("what", "said"), [("gone", GONE), ("changed", CHANGED)])
def test_a_report_without_its_data(tmp_path: Path, what: str, said: str) -> None:
    data = tmp_path / "data"
    shutil.copytree(SMOKE / "stale", data)
    run(RunOrder(study="stale", data=data, methods=("Static",)), tmp_path / "out")
    if what == "gone":
        shutil.rmtree(data)
    else:
        file = data / "smoke.json"
        file.write_text(file.read_text().replace("chapel", "stable"))
    page = write_report([tmp_path / "out"], tmp_path / "report")
    assert said.split(":", maxsplit=1)[0] in page.read_text()
    pages = list((tmp_path / "report" / "out" / "episodes").iterdir())
    assert len(pages) == 3
    assert all("not at hand" in one.read_text() for one in pages)


def test_several_runs_one_of_them_named_twice(tmp_path: Path) -> None:
    one = written(tmp_path / "smoke", plan("stale", "m"), [stale("m", "early", 0, YES)])
    line = manbench("m", "old-valid", 0, valid=True, invalid=False)
    other = written(tmp_path / "other" / "smoke", plan("manbench", "m"), [line])
    page = write_report([one, other, one / ".." / "smoke"], tmp_path / "report")
    text = page.read_text()
    assert text.count("<h2 id=") == 2 + 3, "two runs, then metrics, published tables and discrepancies"
    assert "smoke: study stale" in text
    assert "smoke (2): study manbench" in text
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"report.md", "report.html", "smoke", "smoke-2"}


def test_a_report_where_the_runs_lie_leaves_them_alone(tmp_path: Path) -> None:
    one = written(tmp_path / "out", plan("stale", "m"), [stale("m", "early", 0, YES)])
    before = sorted(path.name for path in one.iterdir())
    text = write_report([one], tmp_path).read_text()
    assert sorted(path.name for path in one.iterdir()) == before
    assert (tmp_path / "out-2" / "plane-stale.svg").exists()
    assert "out: study stale" in text


def test_a_run_in_an_oddly_named_directory(tmp_path: Path) -> None:
    odd = written(tmp_path / "a b#c?<d>", plan("stale", "m"), [stale("m", "early", 0, YES)])
    page = write_report([odd], tmp_path / "report")
    assert (tmp_path / "report" / "a-b-c-d" / "plane-stale.svg").exists()
    assert "a b#c?&lt;d&gt;: study stale" in page.read_text()


def test_failures_are_grouped_by_what_they_say(tmp_path: Path) -> None:
    lines = [stale("m", "early", n, NO, failure="ModelError: " + ("x" * 900 if n else "once")) for n in range(5)]
    text = write_report([written(tmp_path / "out", plan("stale", "m"), lines)], tmp_path / "report").with_suffix(".md")
    rows = [line for line in text.read_text().splitlines() if "ModelError" in line]
    assert [row.rsplit("|", 2)[1].strip() for row in rows] == ["4", "1"]
    assert all(len(row) < 500 for row in rows)


def test_pages_are_of_every_block_and_of_what_failed(tmp_path: Path) -> None:
    lines = [stale("m", b, n, YES, failure="lost" if n == 9 else "") for b in ("early", "late") for n in range(10)]
    folder = written(tmp_path / "out", plan("stale", "m"), lines)
    page = write_report([folder], tmp_path / "report", episodes=4)
    names = {path.stem for path in (tmp_path / "report" / "out" / "episodes").iterdir()}
    assert names == {"early-9", "late-9", "early-0", "late-0"}
    assert "4 of 20 episodes have a page" in page.read_text()


def test_episodes_that_count_nowhere_get_pages_last(tmp_path: Path) -> None:
    lines = [manbench("m", "old-valid", n, valid=True, invalid=False, eligible=n > 6) for n in range(9)]
    lines[8] = msgspec.structs.replace(
        lines[8], candidates={"departure-answer": "the first", "challenger": "the other"}
    )
    write_report([written(tmp_path / "out", plan("manbench", "m"), lines)], tmp_path / "report", episodes=2)
    pages = {path.stem: path.read_text() for path in (tmp_path / "report" / "out" / "episodes").iterdir()}
    assert set(pages) == {"old-valid-7", "old-valid-8"}
    assert "the other" in pages["old-valid-8"]


@pytest.mark.parametrize("name", ["../../escape", "a/b", "", "x" * 300])
def test_an_episode_cannot_name_a_file_elsewhere(tmp_path: Path, name: str) -> None:
    line = msgspec.structs.replace(stale("m", "early", 0, YES), episode=name)
    write_report([written(tmp_path / "out", plan("stale", "m"), [line])], tmp_path / "report")
    (page,) = (tmp_path / "report" / "out" / "episodes").iterdir()
    assert re.fullmatch(r"[0-9a-f]{16}\.html", page.name)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("openai/name", "openai/name"),
        ("batch:/some/where/requests?model=by-file", "batch:by-file"),
        ("gguf:/some/where/small.gguf", "gguf:small.gguf"),
        ("openai:name?base_url=http://user:secret@host/v1", "openai:name"),
    ],
)
def test_a_report_tells_models_and_no_places(spec: str, shown: str) -> None:
    assert shown_model(spec) == shown


def test_settings_that_are_not_the_papers_are_reported(tmp_path: Path) -> None:
    planned = plan(
        "stale", "m", max_tokens=64, settings=("stale.retrieved_union=20",), limit=2, cases={"stale/early": 2},
        models={"actor": "openai/a", "judge": "openai/b"},
    )  # fmt: skip
    folder = written(tmp_path / "out", planned, [stale("m", "early", n, YES) for n in range(2)])
    text = write_report([folder], tmp_path / "report").read_text()
    for said in (
        "Every answer was cut at 64 tokens", "stale.retrieved_union=20", "--limit 2", "stale/early 2 (paper: 64)",
        "The judge is openai/b; the paper&#39;s is gpt-5.6-terra", "actor openai/a, judge openai/b",
    ):  # fmt: skip
        assert said in text, said


def test_what_is_no_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"holds no run\.json"):
        write_report([tmp_path], tmp_path / "report")
    assert not (tmp_path / "report").exists(), "nothing is begun for a wrong directory"
    with pytest.raises(RecordError, match="name at least one directory"):
        write_report([], tmp_path / "report")
    with pytest.raises(RecordError, match="holds no result yet"):
        write_report([written(tmp_path / "empty", plan("stale", "m"), [])], tmp_path / "report")
    file = tmp_path / "file"
    file.write_text("")
    folder = written(tmp_path / "out", plan("stale", "m"), [stale("m", "early", 0, YES)])
    with pytest.raises(RecordError, match="is a file"):
        write_report([folder], file)
