"""Whether classes and types of a tree have members, whichever language declares them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readmit.check.languages.grammars import grammar_of
from readmit.check.languages.own_types import OwnTypes
from readmit.check.python import missing_attributes

if TYPE_CHECKING:
    from collections.abc import Collection

    from readmit.check.working_tree import WorkTree


class Members:
    """The members of the classes and types that some pairs of names begin with."""

    def __init__(self, tree: WorkTree, pairs: list[tuple[str, str]]) -> None:
        self._types = OwnTypes(tree)
        self._missing = missing_attributes(tree, pairs)
        self._elsewhere = _declared_elsewhere(tree, {owner for owner, _ in pairs})

    def lacks(self, owner: str, member: str) -> bool:
        """Whether every declaration of a type lacks a member. One that cannot be read may have it."""
        in_python, in_others = (owner, member) in self._missing, self._types.lacks(owner, member)
        if in_python and in_others:
            return True
        if in_python:
            return not self._types.declares(owner)
        return in_others and owner not in self._elsewhere

    def of(self, owner: str) -> Collection[str]:
        return self._types.members(owner)


def _declared_elsewhere(tree: WorkTree, owners: Collection[str]) -> set[str]:
    """Owners that a file declares which no grammar reads."""
    if not owners:
        return set()
    pattern = re.compile(
        rf"\b(?:class|struct|enum|interface|trait|protocol|object|record|type)\s+({'|'.join(owners)})\b"
    )
    texts = (tree.text(path) or "" for path in tree.files_of_code() if not grammar_of(path))
    return {name for text in texts for name in pattern.findall(text)}
