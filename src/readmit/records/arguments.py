"""Refuses calls that do not fit their signature, with the argument and the fix.

Python's own ``TypeError`` names neither the nearest right keyword nor, in every version, the misspelt one.
"""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from readmit.records.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


def explained(verbs: C) -> C:
    """A class whose public methods refuse a call that does not fit with a ``RecordError``."""
    for name, method in list(vars(verbs).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(verbs, name, explained_call(method))
    return verbs


def explained_call(call: Callable[P, R]) -> Callable[P, R]:
    """Wraps a method so that a call that does not fit raises ``RecordError``. Costs nothing when it fits."""

    @wraps(call)
    def fitting(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except TypeError as error:
            # If the traceback ends here, the call itself did not fit.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            raise RecordError(_misfit(call, args, kwargs)) from None

    return fitting


def unknown(what: str, given: str, known: Iterable[str]) -> str:
    """The message about an unknown name."""
    names = sorted(known)
    near = get_close_matches(given, names, n=1)
    return f"{given}: {what} takes no such argument; " + (
        f"did you mean {near[0]}?" if near else f"it takes {', '.join(names)}"
    )


def _misfit(call: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    name = call.__name__
    every = {one.name: one for one in inspect.signature(call).parameters.values() if one.name != "self"}
    parameters = {field: one for field, one in every.items() if one.kind is not one.VAR_KEYWORD}
    for given in kwargs:
        if given not in parameters and len(every) == len(parameters):
            return unknown(name, given, parameters)
    by_place = [one for one in parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [one.name for one in by_place[: len(args) - 1]]
    for one in parameters.values():
        if one.default is one.empty and one.name not in {*kwargs, *named}:
            return f"{one.name}: {name} needs it; add {one.name}=…"
    twice = [one for one in named if one in kwargs]
    if twice:
        return f"{twice[0]}: given twice to {name}, by its place and by its name; give it once"
    return f"{name}: too many values without a name; name those after {', '.join(one.name for one in by_place)}"
