"""Whether classes and types of a tree have members, whichever language declares them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readmit.check.languages.grammars import grammar_of
from readmit.check.languages.own_types import OwnTypes
from readmit.check.python import is_imported, missing_attributes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from readmit.check.working_tree import WorkTree


class Members:
    """The members of the classes and types that some pairs of names begin with."""

    def __init__(self, tree: WorkTree, pairs: list[tuple[str, str]]) -> None:
        self._tree = tree
        self._types = OwnTypes(tree)
        self._missing = missing_attributes(tree, pairs)
        owners = {owner for owner, _ in pairs}
        others = [path for path in tree.files_of_code() if owners and not grammar_of(path)]
        self._python = _declared(tree, [path for path in others if path.endswith(".py")], owners)
        self._elsewhere = _declared(tree, [path for path in others if not path.endswith(".py")], owners)

    def lacks(self, owner: str, member: str) -> bool:
        """Whether every declaration of a type lacks a member. One that cannot be read may have it."""
        in_python, in_others = (owner, member) in self._missing, self._types.lacks(owner, member)
        if owner in self._elsewhere or not (in_python or in_others):
            return False
        if not in_python:
            return owner not in self._python
        return not is_imported(self._tree, owner) and (in_others or not self._types.declares(owner))

    def of(self, owner: str) -> Collection[str]:
        return self._types.members(owner)


def _declared(tree: WorkTree, paths: Iterable[str], owners: Collection[str]) -> set[str]:
    """Owners that some files declare."""
    pattern = re.compile(
        rf"\b(?:class|struct|enum|interface|trait|protocol|object|record|type)\s+({'|'.join(sorted(owners))})\b"
    )
    return {name for path in paths for name in pattern.findall(tree.text(path) or "")}
