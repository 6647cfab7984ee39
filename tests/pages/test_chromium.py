"""The pages in a real browser: nothing runs or is fetched, nothing is cut off, and everything can be read."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from readmit.pages import item_page, return_page, slot_page
from readmit.scenario.document import shipped
from readmit.scenario.play import played
from tests.pages import stories

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
DARK = "--blink-settings=preferredColorScheme=0"
PHONE = 360
TEXT, GRAPHIC = 4.5, 3.0
"""Least contrast of WCAG 2.2, level AA, for ordinary text and for what a drawing is understood by."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")]

# Put into a copy of a page: what a browser makes of it, as JSON in place of the page.
MEASURE = r"""
const parse = text => text.match(/[\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return Math.round(100 * (x + 0.05) / (y + 0.05)) / 100; };
const behind = node => {
  for (let at = node; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color.length === 3 || color[3] > 0) return color;
  }
};
const root = getComputedStyle(document.documentElement);
const named = name => { const probe = document.createElement("i"); probe.style.color = `var(${name})`;
  document.body.append(probe); const found = parse(getComputedStyle(probe).color); probe.remove(); return found; };
const pale = [];
for (const node of document.body.querySelectorAll("*")) {
  const own = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
  if (!own || node.closest("title, script, style") || !node.getClientRects().length) continue;
  const drawn = node.namespaceURI.endsWith("svg");
  const color = parse(drawn ? getComputedStyle(node).fill : getComputedStyle(node).color);
  const grounds = drawn ? [named("--page"), named("--card")] : [behind(node)];
  const worst = Math.min(...grounds.map(ground => contrast(color, ground)));
  pale.push([worst, node.textContent.trim().slice(0, 40)]);
}
pale.sort((a, b) => a[0] - b[0]);
const out = [...document.body.querySelectorAll("*")].filter(node => {
  const box = node.getBoundingClientRect(); return box.width && (box.right > innerWidth + 0.5 || box.left < -0.5); });
const measured = {
  width: innerWidth, across: document.documentElement.scrollWidth, background: parse(root.backgroundColor),
  outside: out.map(node => `${node.tagName}: ${node.textContent.slice(0, 40)}`).slice(0, 5), palest: pale[0],
  graphics: ["--edge", "--bar", "--out", "--fit"].map(name => contrast(named(name), named("--page"))),
};
parent.postMessage([name, measured], "*");
"""
# A window is never narrower than 500 pixels, a frame is as narrow as it is asked to be.
FRAME = '<iframe src="{name}.html" width="{width}" height="800" style="border: 0"></iframe>'
HEARD = """<!DOCTYPE html><pre></pre><script>
const heard = {};
onmessage = ({data}) => {
  heard[data[0]] = data[1]; document.querySelector("pre").textContent = JSON.stringify(heard); };
</script>"""


@cache
def pages() -> dict[str, str]:
    """The pages that are looked at."""
    with played(shipped("travel"), ":memory:") as done:
        travel = {f"travel-{one.outcome.kind}": return_page(done.workspace, one.outcome.id) for one in done.returns}
    returns = {
        story.__name__: return_page(story().team) for story in (stories.chained, stories.partial, stories.hostile)
    }
    hotel = stories.hotel().team
    return travel | returns | {"slot": slot_page(hotel, "hotel"), "item": item_page(hotel, "h0")}


def browse(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent / 'profile'}"]
    return subprocess.run([*words, *options, page.as_uri()], capture_output=True, text=True, timeout=600, check=True)


def framed(folder: Path, html: Mapping[str, str], before: str = "", width: int = 800) -> Path:
    """Several pages in one, so that the browser starts once."""
    for name, text in html.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    whole = folder / "frames.html"
    frames = "".join(FRAME.format(name=name, width=width) for name in html)
    whole.write_text(f"{before or '<!DOCTYPE html>'}{frames}", encoding="utf-8")
    return whole


def measured(folder: Path, width: int, *options: str) -> dict[str, Any]:
    """Copies of the pages with a script in each. A page itself allows none, so that rule is taken out of the copies."""
    copies = {}
    for name, html in pages().items():
        without = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
        assert without != html
        script = f"<script>const name = {json.dumps(name)};{MEASURE}</script></body>"
        copies[name] = without.replace("</body>", script)
    whole = framed(folder, copies, HEARD, width)
    dumped = browse(whole, *options, "--virtual-time-budget=5000", "--dump-dom").stdout
    found = re.search(r"<pre>(.+)</pre>", dumped, re.DOTALL)
    assert found, dumped[-2000:]
    answers = dict(json.loads(unescape(found.group(1))))
    assert answers.keys() == pages().keys()
    return answers


def test_a_phone_shows_the_whole_width(tmp_path: Path) -> None:
    found = measured(tmp_path, PHONE)
    assert {one["width"] for one in found.values()} == {PHONE}
    assert {name: one["across"] for name, one in found.items() if one["across"] > PHONE} == {}
    assert {name: one["outside"] for name, one in found.items() if one["outside"]} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(scheme: str, tmp_path: Path) -> None:
    found = measured(tmp_path, 1000, *([DARK] if scheme == "dark" else []))
    shades = [max(one["background"][:3]) for one in found.values()]
    assert (max(shades) < 40) if scheme == "dark" else (min(shades) > 240), "the scheme was not applied"
    assert {name: one["palest"] for name, one in found.items() if one["palest"][0] < TEXT} == {}
    assert {name: one["graphics"] for name, one in found.items() if min(one["graphics"]) < GRAPHIC} == {}


def test_the_browser_has_nothing_to_complain_about(tmp_path: Path) -> None:
    """A script, style or fetch that the page's rule blocks would be a line on the console."""
    done = browse(framed(tmp_path, pages()), "--enable-logging=stderr", "--v=0", "--dump-dom")
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []


def test_an_injected_script_or_style_would_be_blocked_and_heard(tmp_path: Path) -> None:
    page = pages()["partial"]
    attacks = {
        "script": page.replace("<main>", "<main><script>document.title='owned'</script>"),
        "style": page.replace("<main>", "<main><style>*{color:red}</style>"),
        "handler": page.replace("<body>", "<body onload=alert(1)>"),
    }
    for name, html in attacks.items():
        assert html != page
        done = browse(framed(tmp_path, {name: html}), "--enable-logging=stderr", "--v=0", "--dump-dom")
        assert "Content Security Policy" in done.stderr, name


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_paper_shows_what_the_screen_folds_away(tmp_path: Path) -> None:
    page, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    html = return_page(stories.many(130).team)
    assert '<details class="group"><summary>Not needed' in html, "a long list is closed at first"
    page.write_text(html, encoding="utf-8")
    browse(page, f"--print-to-pdf={paper}")
    text = subprocess.run(["pdftotext", paper, "-"], capture_output=True, text=True, check=True).stdout
    assert "Statement 1 about" in text
    assert "Statement 125 about" in text
