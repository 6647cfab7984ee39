"""The types of the handles on a server, from the table of verbs: ``python -m tests.docs.remote_stub [--check]``."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import typing
from importlib import import_module
from typing import TYPE_CHECKING, Any

from readmit.remote import Verb, verbs
from tests.conftest import ROOT
from tests.docs.async_stub import formatted, imports_of_handles, members

if TYPE_CHECKING:
    from collections.abc import Iterator

# Imported by name: what is in these rooms is private.
verb_methods: Any = import_module("readmit.remote.remote_verbs")
LISTINGS, OTHERWISE = verb_methods.LISTINGS, verb_methods.OTHERWISE
STUB = ROOT / "src" / "readmit" / "remote" / "remote_handles.pyi"

HEAD = """# Written by `python -m tests.docs.remote_stub` from the table of verbs. Do not edit.

{imports}

_T = TypeVar("_T")

class RemoteHandle:
    def __init__(self, connection: object, author: Author, place: Mapping[str, str]) -> None: ...

class BatchedResult(Generic[_T]):
    @property
    def value(self) -> _T: ...
"""
ROWS = {verb.name: verb for verb in verbs()}
READINGS = ("explain", "why", "drafts", "replay")
ANSWERED = {"waiting": "tuple[EventEntry, ...]", "Return": "RemoteReturn", "PresentAgent": "RemotePresentAgent"}
"""What a verb answers with, if it is something else than the library's function returns."""
RETURN = """    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> Literal["admitted", "blocked", "reset"]: ...
    @property
    def admitted(self) -> bool: ...
    @property
    def missing(self) -> tuple[str, ...]: ...
    @property
    def items(self) -> tuple[str, ...]: ...
    @property
    def partial(self) -> bool: ...
    @property
    def secret(self) -> str: ...
"""
COME_BACK = (
    "    def come_back(self, *, purpose: str | None = None, checkpoint: str | None = None, id: str | None = None, "
    "progress: Callable[[str], object] | None = None) -> RemoteReturn: ...\n"
)
AGENT = (
    "    identity: Identity\n"
    "    def delivery(self, return_id: str, *, secret: str) -> RemoteDelivery: ...  # at once\n"
    f"{COME_BACK}    def present(self, *, lease: timedelta | float, epoch: int | None = None, "
    "token: int | None = None) -> RemotePresentAgent: ...\n"
    "    def settle(self, obligation: str, *, reason: str = '') -> int: ...\n"
    "    def search(self, query: str | None = None, *, limit: int | None = None) -> SearchAnswer: ...\n"
)
WORKSPACE = """    @property
    def name(self) -> str: ...
    @property
    def admin(self) -> RemoteAdmin: ...
    @property
    def listing(self) -> RemoteListing: ...
    def principal(self, name: str) -> Self: ...  # at once
    def agent(self, principal: str, *, role: str, task: str) -> RemoteAgent: ...  # at once
    def batch(self) -> RemoteBatch: ...  # at once
    def returned(self, return_id: str) -> RemotePastReturn: ...
    def doctor(self, agent: RemoteAgent | None = None) -> Checkup: ...
    def close(self) -> None: ...
"""
PRESENT = """    @property
    def token(self) -> int: ...
    @property
    def until(self) -> datetime: ...
    def renew(self, *, epoch: int | None = None) -> datetime: ...
"""
BLOCKING = {
    "RemoteAdmin": "    @property\n    def policy(self) -> Policy: ...\n",
    "RemoteAgent": (
        "    def subscribe(self, *, report: Callable[[FallenItem], object] | None = None) -> RemoteSubscription: ...\n"
    ),
    "RemoteBatch": "    def __enter__(self) -> Self: ...\n    def __exit__(self, *_: object) -> None: ...\n",
    "RemoteWorkspace": (
        "    @property\n    def epoch(self) -> int: ...\n"
        "    def __enter__(self) -> Self: ...\n    def __exit__(self, *_: object) -> None: ...\n"
    ),
}
AWAITED = {
    "RemoteAdmin": "    async def policy(self) -> Policy: ...\n",
    "RemoteAgent": "    def subscribe(self) -> AsyncRemoteSubscription: ...\n",
    "RemoteBatch": (
        "    async def __aenter__(self) -> Self: ...\n    async def __aexit__(self, *_: object) -> None: ...\n"
    ),
    "RemoteWorkspace": (
        "    async def epoch(self) -> int: ...\n"
        "    async def __aenter__(self) -> Self: ...\n    async def __aexit__(self, *_: object) -> None: ...\n"
    ),
}
AT_ONCE = "  # at once"
"""Marks what asks the server nothing, and is not awaited."""
MADE = r"\b(Remote(?:Admin|Agent|Batch|Delivery|Listing|PastReturn|PresentAgent|Return|Workspace))\b"


def stub() -> str:
    blocking = "\n".join(f"class {name}(RemoteHandle):\n{body}{BLOCKING.get(name, '')}" for name, body in _handles())
    awaited = "\n".join(
        f"class {name}(RemoteHandle):\n{_awaited(body)}{AWAITED.get(name, '')}" for name, body in _handles()
    )
    both = "\n".join([HEAD.format(imports=_imports()), blocking, re.sub(MADE, r"Async\1", awaited)])
    both = both.replace("PastReturn(RemoteHandle):", "PastReturn(DecidedReturn):").replace(AT_ONCE, "")
    return formatted(both, STUB)


def _handles() -> Iterator[tuple[str, str]]:
    writing = _lines("Workspace", "workspace")
    reading = "".join(_line(ROWS[name], _functions("Return")[name]) for name in READINGS)
    delivery = _lines("Return", "return")
    yield (
        "RemoteAdmin",
        _lines("Admin", "admin")
        + "".join(_line(ROWS[name], _functions("Admin")[name]) for name in ("waiting", "notices")),
    )
    yield "RemoteAgent", AGENT + _lines("Agent", "agent")
    yield "RemoteBatch", re.sub(r"-> (.*): \.\.\.", r"-> BatchedResult[\1]: ...  # at once", writing)
    yield "RemoteDelivery", delivery
    yield "RemoteListing", "".join(_listed(ROWS[name]) for name in LISTINGS)
    yield "RemotePastReturn", reading
    yield "RemotePresentAgent", PRESENT
    yield "RemoteReturn", RETURN + delivery + reading
    yield "RemoteWorkspace", WORKSPACE + writing


def _awaited(body: str) -> str:
    """The same methods, awaited, those apart that ask nothing."""
    lines = body.splitlines(keepends=True)
    made = [
        line
        if not line.startswith("    def ") or line.endswith(f"{AT_ONCE}\n") or before.strip() == "@property"
        else line.replace("Iterator[", "AsyncIterator[")
        if "-> Iterator[" in line
        else line.replace("    def ", "    async def ", 1)
        for before, line in zip(["", *lines], lines, strict=False)
    ]
    return "".join(made)


def _functions(handle: str) -> dict[str, ast.FunctionDef]:
    return dict(members(handle))


def _lines(handle: str, rows: str) -> str:
    functions = _functions(handle) | {"draft": _functions("Workspace")["record"]}
    return "".join(
        _line(verb, functions[verb.name]) for verb in verbs() if verb.handle == rows and verb.name not in OTHERWISE
    )


def _line(verb: Verb, function: ast.FunctionDef) -> str:
    given = {*verb.given.__struct_fields__, "self", "by", *re.findall(r"{(\w+)}", verb.path)}
    if verb.name == "judge":
        given.add("signal")
    taken = ast.parse(ast.unparse(function)).body[0].args  # type: ignore[attr-defined]  # a function's
    kept = [
        (one, default) for one, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if one.arg in given
    ]
    taken.kwonlyargs, taken.kw_defaults = [one for one, _ in kept], [default for _, default in kept]
    returns = ast.unparse(function.returns) if function.returns is not None else "None"
    return f"    def {verb.name}({ast.unparse(taken)}) -> {ANSWERED.get(verb.name, returns)}: ...\n"


def _listed(verb: Verb) -> str:
    named = [f"{name}: {'int' if name == 'epoch' else 'str'}" for name in re.findall(r"{(\w+)}", verb.path)[1:]]
    fields = [name for name in verb.given.__struct_fields__ if name != "limit"]
    named += ["*"] if fields else []
    named += [f"{name}: {'int | ' if name == 'after' else ''}str | None = None" for name in fields]
    is_paged = "after" in verb.given.__struct_fields__
    answer = f"Iterator[{_named(typing.get_args(verb.result)[0])}]" if is_paged else _named(verb.result)
    return f"    def {verb.name}(self{''.join(f', {one}' for one in named)}) -> {answer}: ...\n"


def _named(kind: Any) -> str:
    if typing.get_origin(kind) is tuple:
        return f"tuple[{_named(typing.get_args(kind)[0])}, ...]"
    return str(kind.__name__)


def _imports() -> str:
    lines = {
        "from collections.abc import AsyncIterator, Callable, Iterator, Mapping",
        "from typing import Any, Generic, Literal, Self, TypeVar",
        "from readmit.presence.subscription import FallenItem",
        "from readmit.remote.remote_subscription import AsyncRemoteSubscription, RemoteSubscription",
        "from readmit.workspace.return_handle import DecidedReturn",
        "from readmit.writing.author import Author",
    }
    return "\n".join([imports_of_handles(), *sorted(lines | _of_the_wire())])


def _of_the_wire() -> set[str]:
    kinds = {ROWS[name].result for name in (*LISTINGS, "waiting", "search")}
    inner = {part for kind in kinds for part in (typing.get_args(kind) or (kind,)) if inspect.isclass(part)}
    return {f"from {kind.__module__} import {kind.__name__}" for kind in inner if kind.__module__ != "builtins"}


def main() -> int:
    text = stub()
    if "--check" in sys.argv:
        if STUB.read_text(encoding="utf-8") == text:
            return 0
        print(f"{STUB.name} differs from the table: run python -m tests.docs.remote_stub", file=sys.stderr)
        return 1
    STUB.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
