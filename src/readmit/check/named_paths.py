"""Paths that a statement names: where they are in the tree, or what became of them."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from readmit.check.check_values import NameKind

if TYPE_CHECKING:
    from readmit.check.check_values import Mention
    from readmit.check.working_tree import WorkTree

_TO_COME = re.compile(
    r"\b(?:creat\w+|add(?:s|ed|ing)?|new|writ\w+|generat\w+|outputs?|produc\w+|sav\w+|cop(?:y|ies)|e\.g\.|such as"
    r"|for example|like|imagine|suppose|if)\b",
    re.IGNORECASE,
)
"""Words of a sentence whose file need not be there yet."""
_CODE = re.compile(r"\.(?:py|[cm]?[jt]sx?|go|rs|sql|sh)$")


class ProjectPaths:
    """Files and folders of a tree, by the ways in which people write them."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree

    def places(self, one: Mention) -> list[str]:
        """The places that a path may mean: from the root, and from the file that names it."""
        name = one.name.removeprefix("@").rstrip("/")
        if one.kind is NameKind.LINK:
            return [name]
        near = posixpath.normpath(posixpath.join(posixpath.dirname(one.place.file), name))
        return [place for place in dict.fromkeys((posixpath.normpath(name), near)) if not place.startswith(("..", "/"))]

    def found(self, one: Mention) -> str:
        """The path from the root of what a statement names; empty if it is not there."""
        places = self.places(one)
        if there := next((place for place in places if self._tree.has(place)), ""):
            return there
        if one.kind is NameKind.LINK or not places:
            return ""
        # People leave out where a file is.
        end = f"/{places[0]}"
        known = self._tree.names.get(places[0].rpartition("/")[2], ())
        return next((path for path in (*known, *self._tree.folders) if path.endswith(end)), "")

    def whereabouts(self, one: Mention) -> str:
        """When a missing path was deleted or renamed; empty if it never existed."""
        left, places = self._tree.left, self.places(one)
        for place in places:
            inside = f"{place}/"
            end = f"/{place}"
            for path, past in left.items():
                if path == place or (one.kind is not NameKind.LINK and path.endswith(end)):
                    return f"{past}{'' if past.to else self._namesake(place)}"
                if path.startswith(inside) or (one.kind is not NameKind.LINK and f"/{inside}" in path):
                    return f"a folder whose last file was {past}"
        if one.kind is NameKind.LINK:
            return f"there is no such file{self._namesake(places[0])}"
        if places and self._is_own(places[0]) and not _TO_COME.search(one.place.statement):
            return f"there is no such file{self._namesake(places[0])}"
        return ""

    def _is_own(self, place: str) -> bool:
        """Whether a path that never existed belongs to this tree: its folder does, or it is code below one of them."""
        if posixpath.dirname(place) in self._tree.folders:
            return True
        return place.partition("/")[0] in self._tree.folders and _CODE.search(place) is not None

    def _namesake(self, place: str) -> str:
        known = self._tree.names.get(place.rpartition("/")[2], [])
        return f"; of the same name: {', '.join(known[:3])}" if known else ""
