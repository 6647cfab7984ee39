"""Boxes, arrows and words as one SVG file that follows the reader's light or dark scheme."""

from __future__ import annotations

from html import escape

STYLE = """
  svg { --ink: #1f2328; --paper: #ffffff; --line: #6e7781; --fill: #f3f5f7; --blue: #0550ae; --green: #116329;
        --red: #a40e26; font: 14px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6edf3; --paper: #0d1117; --line: #8b949e; --fill: #1c2128; --blue: #79c0ff; --green: #7ee787;
          --red: #ffa198; }
  }
  .paper { fill: var(--paper); }
  rect.box { fill: var(--fill); stroke: var(--line); }
  rect.blue { stroke: var(--blue); stroke-width: 2; }
  rect.green { stroke: var(--green); stroke-width: 2; }
  rect.red { stroke: var(--red); stroke-width: 2; stroke-dasharray: 5 3; }
  text { fill: var(--ink); }
  text.bold { font-weight: 600; }
  text.small { font-size: 12px; }
  text.blue { fill: var(--blue); } text.green { fill: var(--green); } text.red { fill: var(--red); }
  path.line { stroke: var(--line); stroke-width: 1.5; fill: none; }
  path.blue { stroke: var(--blue); } path.green { stroke: var(--green); }
  path.red { stroke: var(--red); stroke-dasharray: 5 3; }
  path.curve { opacity: 0.45; }
  path.head { fill: var(--line); }
  @keyframes appear { from { opacity: 0; } to { opacity: 1; } }
  @media (prefers-reduced-motion: reduce) { text { animation: none !important; } }
  text.struck { text-decoration: line-through; }
  text.code { font: 13px ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; white-space: pre; }
"""
LINE = 18


class Picture:
    """A drawing of a given size. Its title and description are read out where it cannot be seen."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self._width, self._height = width, height
        self._words = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
        self._parts: list[str] = []

    def text(self, x: float, y: float, words: str, look: str = "", anchor: str = "middle", after: float = 0) -> None:  # noqa: PLR0917
        """Words at a place. Those that come ``after`` some seconds appear then."""
        later = f' style="animation: appear 0.2s {after:g}s both"' if after else ""
        place = f'class="{look}" x="{x:g}" y="{y:g}" text-anchor="{anchor}"{later}'
        self._parts.append(f"<text {place}>{escape(words, quote=False)}</text>")

    def box(self, x: float, y: float, width: float, height: float, lines: list[str], look: str = "") -> None:  # noqa: PLR0917
        """A box with centered lines, the first of them bold."""
        self._parts.append(f'<rect class="box {look}" x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="6"/>')
        top = y + height / 2 - LINE * (len(lines) - 1) / 2 + 5
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + LINE * number, line, "bold" if number == 0 else "small")

    def arrow(self, *points: tuple[float, float], look: str = "", head: bool = True) -> None:
        """A line through the points, with a head at the last one."""
        way = " L ".join(f"{x:g} {y:g}" for x, y in points)
        end = ' marker-end="url(#head)"' if head else ""
        self._parts.append(f'<path class="line {look}" d="M {way}"{end}/>')

    def curve(self, x1: float, y1: float, x2: float, y2: float, weight: int) -> None:
        """A downward curve, wider the more it stands for: three widths, so that most changes leave the file alone."""
        bend, width = (y2 - y1) / 2, 0.75 if weight < 8 else 1.75 if weight < 25 else 3
        self._parts.append(
            f'<path class="line curve" d="M {x1:g} {y1:g} C {x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}" '
            f'style="stroke-width: {width}"/>'
        )

    def svg(self) -> str:
        inside = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self._width} {self._height}" '
            f'width="{self._width}" height="{self._height}" role="img">\n{self._words}\n<style>{STYLE}</style>\n'
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto-start-reverse"><path class="head" d="M 0 0 L 8 4 L 0 8 z"/></marker></defs>\n'
            f'<rect class="paper" width="{self._width}" height="{self._height}"/>\n{inside}\n</svg>\n'
        )
