"""The page of a coding agent's project, from the values of its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from readmit.pages import layout
from readmit.pages.layout import PageSection, badge, folded
from readmit.pages.markup import Markup, element, together
from readmit.pages.page_values import Heading
from readmit.text.english import counted
from readmit.text.escapes import format_moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from readmit.pages.project_values import FallenLine, ProjectReport, SessionLine, WaitingLine

_WAITS = {
    "draft": "A draft that nobody has confirmed.",
    "settlement": "An agent says that a duty is done; nobody has settled it.",
    "dispute": "These contradict each other; none of them is acted on.",
    "limit": "It is beyond a limit of the policy.",
}


def project_html(report: ProjectReport) -> str:
    """A project as a page of its own."""
    heading = Heading(
        workspace=report.task,
        title=report.checkout.rpartition("/")[2] or report.checkout,
        facts=(
            ("Checkout", report.checkout),
            ("Remembered", counted(len(report.remembered), "statement")),
            ("No longer holds", counted(len(report.fell), "statement")),
            ("Elsewhere", f"{counted(report.elsewhere, 'statement')} of other checkouts or packages"),
        ),
        made=report.made,
    )
    waits = counted(len(report.waits), "thing")
    verb = "waits" if len(report.waits) == 1 else "wait"
    opening = element("p", f"{waits} {verb} for a person.", class_="verdict fit" if report.waits else "verdict in")
    return layout.document(heading, opening, list(_sections(report)))


def _sections(report: ProjectReport) -> Iterator[PageSection]:
    if report.waits:
        yield PageSection("waits", "Waits for you", together(map(_waiting, report.waits)))
    yield PageSection("fell", "What no longer holds", _list("statement", list(map(_fallen, report.fell))))
    whose: dict[str, list[Markup]] = {}
    for one in report.remembered:
        whose.setdefault(one.by, []).append(_said(one.text, one.where))
    groups = (folded(f"From {by} ({len(cards)})", len(cards), together(cards)) for by, cards in whose.items())
    yield PageSection("remembered", "What is remembered", together(groups) if whose else element("p", "Nothing."))
    yield PageSection("sessions", "Sessions", _sessions(report.sessions))


def _list(what: str, cards: list[Markup]) -> Markup:
    return folded(counted(len(cards), what), len(cards), together(cards)) if cards else element("p", "Nothing.")


def _waiting(one: WaitingLine) -> Markup:
    texts = (element("blockquote", text, dir="auto") for text in one.texts)
    return element(
        "article",
        element("header", element("h3", element("code", one.id)), badge(one.kind, "fit")),
        element("p", f"{_WAITS[one.kind]} By {one.by}."),
        *texts,
    )


def _fallen(one: FallenLine) -> Markup:
    """Old and new side by side, and why."""
    sides = [_side("It said", one.text), *([_side("It says now", one.instead)] if one.instead else [])]
    when = f", {format_moment(one.at)}" if one.at is not None else ""
    return element(
        "article",
        element("header", element("h3", one.where or one.by), badge(one.state, "out")),
        element("figure", *sides, class_="quotes"),
        element("p", f"{one.why} Epoch {one.epoch}{when}."),
    )


def _side(label: str, text: str) -> Markup:
    return element("div", element("p", label, class_="label"), element("blockquote", text, dir="auto"))


def _said(text: str, where: str) -> Markup:
    return element("article", element("p", text, class_="text", dir="auto"), element("p", where, class_="quiet"))


def _sessions(sessions: tuple[SessionLine, ...]) -> Markup:
    if not sessions:
        return element("p", "No session has been handed anything yet.")
    rows = (
        (one.name, format_moment(one.at), "left" if one.left else "here", str(one.handed), str(one.withdrawn))
        for one in sessions
    )
    head = ("Session", "Last", "Now", "Handed over", "Withdrawn")
    return layout.html_table("Sessions, the newest first", head, rows)
