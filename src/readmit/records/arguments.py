"""Refuses calls that do not fit their signature, with the argument and the fix.

Python's own ``TypeError`` names neither the nearest right keyword nor, in every version, the misspelt one.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from readmit.records.error_types import RecordError

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
        elif isinstance(method, classmethod):
            setattr(verbs, name, classmethod(explained_call(method.__func__)))
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


def bound(call: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """The arguments of a call of a method by their names, its own object first. Refused as ``explained_call`` does."""
    try:
        return inspect.signature(call).bind(*args, **kwargs).arguments
    except TypeError:
        raise RecordError(_misfit(call, args, kwargs)) from None


def check_fields(verb: Callable[..., object], fields: Mapping[str, object], known: type) -> None:
    """Refuse a field that is neither among the known ones nor an argument of the verb."""
    for field in fields:
        if field not in known.__annotations__:
            raise RecordError(unknown(verb.__name__, field, {**known.__annotations__, **_parameters(verb)}))


def near_name(given: str, known: Iterable[str]) -> str:
    """The nearest of some names, in whatever case; empty if none is near."""
    # Imported here: only who errs needs it.
    from difflib import get_close_matches

    spelled = {name.casefold(): name for name in sorted(known)}
    found = get_close_matches(given.casefold(), spelled, n=1)
    return spelled[found[0]] if found else ""


def unknown(what: str, given: str, known: Iterable[str]) -> str:
    """The message about an unknown name."""
    names = sorted(known)
    if near := near_name(given, names):
        return f"{given}: {what} has no such field; did you mean {near}?"
    return f"{given}: {what} has no such field" + (f"; it has {', '.join(names)}" if names else "")


def _parameters(call: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """The arguments of a call that have a name."""
    every = inspect.signature(call).parameters.values()
    return {one.name: one for one in every if one.name not in {"self", "cls"} and one.kind is not one.VAR_KEYWORD}


def _misfit(call: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    name = call.__name__
    parameters = _parameters(call)
    takes_more = any(one.kind is one.VAR_KEYWORD for one in inspect.signature(call).parameters.values())
    strangers = [given for given in kwargs if given not in parameters]
    if strangers and not takes_more:
        return unknown(name, strangers[0], parameters)
    by_place = [one for one in parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [one.name for one in by_place[: len(args) - 1]]
    for one in parameters.values():
        if one.default is one.empty and one.name not in {*kwargs, *named}:
            if near := near_name(one.name, strangers):
                return unknown(name, near, [one.name])
            return f"{one.name}: {name} needs it; add {one.name}=…"
    twice = [one for one in named if one in kwargs]
    if twice:
        return f"{twice[0]}: given twice to {name}, by its place and by its name; give it once"
    return f"{name}: too many values without a name; name those after {', '.join(one.name for one in by_place)}"
