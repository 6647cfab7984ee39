"""Which modules one call of a verb crosses, traced in a fresh small workspace.

``python -m tests.house.walk`` prints every walk: its modules in the order in which they are entered.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import readmit
from readmit import Policy, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

CORE = Path(readmit.__file__).parent
VERBS = ("observe", "record", "depart", "come_back", "expose")
PURE = ("records", "rules")
"""Rooms that a walk is not counted in: values, and the paper from top to bottom."""
WATCHING = "telemetry"
"""The room that a walk leaves out: what it records changes no result."""
INLINE = {"<module>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>"}


@dataclass
class Walk:
    """One call of a verb: the modules it enters, in order, and how often it goes from one to another."""

    verb: str
    modules: dict[str, list[str]] = field(default_factory=dict)
    """Each module once, with the functions that are called there, in the order of the first call."""
    changes: int = 0
    last: str = ""

    def enter(self, module: str, function: str) -> None:
        functions = self.modules.setdefault(module, [])
        if function not in functions:
            functions.append(function)
        self.changes += module != self.last
        self.last = module

    @property
    def counted(self) -> list[str]:
        """The modules outside the rooms of values and rules."""
        return self.outside(*PURE)

    @property
    def above_the_log(self) -> list[str]:
        """Those of them that ask the log for something, or say what to write."""
        return self.outside(*PURE, "log", "trust")

    def outside(self, *rooms: str) -> list[str]:
        return [name for name in self.modules if name.split(".")[1] not in rooms]


def module_of(code: CodeType) -> str | None:
    """The module of ours that a function is in, or nothing."""
    path = Path(code.co_filename)
    if code.co_name in INLINE or not path.is_relative_to(CORE):
        return None
    return ".".join(["readmit", *path.relative_to(CORE).with_suffix("").parts]).removesuffix(".__init__")


@contextmanager
def traced(verb: str) -> Iterator[Walk]:
    """The walk of what is called meanwhile, on this thread."""
    walk = Walk(verb)

    def called(frame: Any, event: str, _: Any) -> None:
        if event == "call" and (module := module_of(frame.f_code)) is not None and module.split(".")[1] != WATCHING:
            walk.enter(module, frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield walk
    finally:
        sys.setprofile(before)


@cache
def walks() -> dict[str, Walk]:
    """One walk for each verb. The first round only imports and fills what a process keeps."""
    _day()
    return _day()


def _day() -> dict[str, Walk]:
    """A planner leaves, a hotel is rebooked, and the planner returns: every verb once, traced."""
    found: dict[str, Walk] = {}

    def step(verb: str, call: Callable[[], Any]) -> Any:
        with traced(verb) as found[verb]:
            return call()

    with Workspace.open(":memory:", policy=Policy(evidence={"overseers": ("boss",)})) as trip:
        planner = trip.agent("ann", role="planner", task="trip")
        source = trip.observe("Sunrise confirms two nights.", by="bob")
        trip.oblige("Prepare the hotel details", required=["hotel"], by="bob", sources=[source])
        trip.record("Sunrise is booked", slot="hotel", by="bob", sources=[source])
        step("depart", planner.depart)
        news = step("observe", lambda: trip.observe("Riverside confirms two nights.", by="bob"))
        step("record", lambda: trip.record("Riverside is booked", slot="hotel", by="bob", sources=[news]))
        returned = step("come_back", planner.come_back)
        assert returned.admitted, "the walk of a return is that of one that is admitted"
        step("expose", returned.expose)
    return {verb: found[verb] for verb in VERBS}


def main() -> None:
    for verb, walk in walks().items():
        print(
            f"{verb}: {len(walk.counted)} modules outside {' and '.join(PURE)}, {len(walk.modules)} in all, "
            f"{walk.changes} changes of module"
        )
        for module, functions in walk.modules.items():
            print(f"  {module}  {', '.join(functions)}")


if __name__ == "__main__":
    main()
