"""Contracts with upstream: the calls that an adapter makes must still be possible."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any


def resolve(path: str) -> Any:
    """``package.module:Class.method``."""
    module, _, names = path.partition(":")
    found: Any = import_module(module)
    for name in names.split("."):
        assert hasattr(found, name), f"{path}: upstream no longer has {name!r} in {module}"
        found = getattr(found, name)
    return found


def check_call(path: str, *positional: str, **keywords: object) -> None:
    """Fail, naming the difference, unless upstream takes these arguments, the positional ones under these names."""
    signature = inspect.signature(resolve(path))
    parameters = [name for name in signature.parameters if name != "self"]
    for at, name in enumerate(positional):
        assert at < len(parameters), f"{path}: upstream takes no argument {name!r} any more; it has {signature}"
        assert parameters[at] == name, (
            f"{path}: argument {at + 1} was {name!r}, upstream calls it {parameters[at]!r}; it has {signature}"
        )
    try:
        bound = {"self": None} if "self" in signature.parameters else {}
        signature.bind(**bound, **dict.fromkeys(positional), **keywords)
    except TypeError as error:
        raise AssertionError(f"{path}: {error}; upstream has {signature}") from None
    open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in signature.parameters.values())
    swallowed = [name for name in keywords if name not in signature.parameters]
    assert not (open_ended and swallowed), f"{path}: upstream would ignore {swallowed}; it has {signature}"


def check_version(distribution: str, *, least: tuple[int, ...], below: tuple[int, ...]) -> None:
    """Fail unless the installed release lies in the range that an adapter was written for."""
    from importlib.metadata import version

    installed = version(distribution)
    numbers = tuple(int(part) for part in installed.split(".")[:3] if part.isdigit())
    assert least <= numbers < below, f"{distribution} {installed} is outside the tested range {least} to {below}"
