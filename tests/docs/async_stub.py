"""The types of the async handles, written from the blocking ones: ``python -m tests.docs.async_stub [--check]``."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from readmit.workspace import admin, agent, return_handle, verbs, workspace

# Imported by name: its types are in the stub, which says nothing of how it is made.
async_workspace: Any = import_module("readmit.workspace.async_workspace")
STUB = Path(async_workspace.__file__).with_suffix(".pyi")
HANDLES = {"Workspace": "AsyncWorkspace", "Agent": "AsyncAgent", "Return": "AsyncReturn", "Delivery": "AsyncDelivery"}
HANDLES |= {"PresentAgent": "AsyncPresentAgent", "Admin": "AsyncAdmin"}
SOURCES = (workspace, verbs, agent, return_handle, admin)

HEAD = """# Written by `python -m tests.docs.async_stub` from the blocking handles. Do not edit.

{imports}

_Twin = TypeVar("_Twin")
_T = TypeVar("_T")
_P = ParamSpec("_P")

class OnThread(Generic[_Twin]):
    async def run(self, call: Callable[Concatenate[_Twin, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T: ...

class Opening:
    def __await__(self) -> Generator[Any, None, AsyncWorkspace]: ...
    async def __aenter__(self) -> AsyncWorkspace: ...
    async def __aexit__(self, *_: object) -> None: ...

class AsyncSubscription:
    def __aiter__(self) -> AsyncIterator[FallenItem]: ...
    async def wait(self) -> tuple[FallenItem, ...]: ...
    def close(self) -> None: ...
"""
OWN = {
    "AsyncWorkspace": (
        "    async def close(self) -> None: ...\n"
        "    async def __aenter__(self) -> Self: ...\n"
        "    async def __aexit__(self, *_: object) -> None: ...\n"
        "    def batch(self) -> AbstractAsyncContextManager[None]: ...\n"
    ),
    "AsyncAgent": (
        "    @property\n    def identity(self) -> Identity: ...\n"
        "    def subscribe(self, *, every: float = ...) -> AsyncSubscription: ...\n"
    ),
    "AsyncPresentAgent": "    @property\n    def workspace(self) -> AsyncWorkspace: ...\n",
}
DONE = {"close", "batch", "subscribe", "identity", "workspace"}


def stub() -> str:
    classes = []
    for blocking, made in HANDLES.items():
        twin = getattr(async_workspace, made)
        bases = f"DecidedReturn, OnThread[{blocking}]" if blocking == "Return" else f"OnThread[{blocking}]"
        lines = [f"class {made}({bases}):", OWN.get(made, "").rstrip("\n")]
        lines += [
            _line(blocking, name, function)
            for name, function in members(blocking)
            if name not in DONE and name not in async_workspace.LEFT_OUT and _is_made(twin, name)
        ]
        classes.append("\n".join(line for line in lines if line))
    text = HEAD.format(imports=imports_of_handles()) + "\n" + "\n\n".join(classes) + "\n"
    return formatted(text, STUB)


def _is_made(twin: type, name: str) -> bool:
    return name == "open" or (hasattr(twin, name) and not hasattr(return_handle.DecidedReturn, name))


def members(blocking: str) -> list[tuple[str, ast.FunctionDef]]:
    """Public members of a blocking class and its bases in this room, as they are written."""
    found: dict[str, ast.FunctionDef] = {}
    homes = {"Workspace": ("Workspace", "Verbs"), "Return": ("Return", "Delivery")}.get(blocking, (blocking,))
    for module in SOURCES:
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ClassDef) and node.name in homes:
                for one in node.body:
                    if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
                        found.setdefault(one.name, one)
    return list(found.items())


def _line(blocking: str, name: str, function: ast.FunctionDef) -> str:
    given = ast.unparse(function.args)
    returns = ast.unparse(function.returns) if function.returns is not None else "None"
    if name == "open":
        return f"    @staticmethod\n    def open({given.removeprefix('cls, ')}) -> Opening: ..."
    is_property = any(ast.unparse(one) == "property" for one in function.decorator_list)
    returns = HANDLES.get(returns, returns)
    if name in async_workspace.AT_ONCE[getattr(async_workspace, blocking)]:
        return f"    {'@property' if is_property else ''}\n    def {name}({given}) -> {returns}: ...".replace(
            "    \n", ""
        )
    given = given.replace("agent: Agent", "agent: AsyncAgent")
    return f"    async def {name}({given}) -> {returns}: ..."


def imports_of_handles() -> str:
    """The imports of the blocking modules, for type checking and at run time alike."""
    lines = {
        "from collections.abc import AsyncIterator, Callable, Generator",
        "from contextlib import AbstractAsyncContextManager",
        "from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar",
        "from readmit.workspace.agent import Agent, PresentAgent",
        "from readmit.workspace.return_handle import DecidedReturn, Delivery, Return",
        "from readmit.workspace.admin import Admin",
        "from readmit.workspace.workspace import Workspace",
    }
    for module in SOURCES:
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                lines |= {f"from {node.module} import {ast.unparse(one)}" for one in node.names}
    lines.add(f"from {workspace.__name__} import DEFAULT_NAME")
    return "\n".join(sorted(lines))


def formatted(text: str, file: Path) -> str:
    ruff = [str(Path(sys.executable).with_name("ruff"))]
    kept = subprocess.run(
        [*ruff, "check", "-q", "--fix", "--select", "I,F401,F811,PYI011", "--stdin-filename", str(file), "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    return subprocess.run(
        [*ruff, "format", "-q", "--stdin-filename", str(file), "-"],
        input=kept,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def main() -> int:
    text = stub()
    if "--check" in sys.argv:
        if STUB.read_text(encoding="utf-8") == text:
            return 0
        print(f"{STUB.name} differs from the handles: run python -m tests.docs.async_stub", file=sys.stderr)
        return 1
    STUB.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
