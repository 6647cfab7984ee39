"""Places of the tree that vouch for the names of a statement: while they are there, the names hold.

A voucher is a path, or words in a file. What stands at several places has none: it would fall with the first of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from readmit.check.check_values import NameKind, Voucher
from readmit.check.command_lines import EXTRA
from readmit.check.declared.setting_values import plain_value
from readmit.check.declared.versions import admits, declared, tool
from readmit.check.markdown_statements import headings
from readmit.check.named_commands import MAKEFILES
from readmit.check.working_tree import is_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from readmit.check.check_values import Mention
    from readmit.check.declared.packages import ProjectPackages
    from readmit.check.named_paths import ProjectPaths
    from readmit.check.python import ProjectModules
    from readmit.check.working_tree import WorkTree

_DECLARED = re.compile(
    r"\b(?:def|class|function\*?|fn|struct|enum|trait|union|interface|type|mod|macro_rules!|const|let|var|static)"
    r"\s+(?:mut\s+)?([^\W\d]\w*)"
    r"|\bfunc\s+(?:\([^)\n]{0,200}\)\s*)?([^\W\d]\w*)"
    r"|^([A-Z_][A-Z0-9_]*)(?=\s*(?::[^=\n]{1,80})?=)",
    re.MULTILINE,
)
_LONGEST = 300
"""Most characters of the words that vouch for a name."""


class Vouchers:
    """The vouchers of names that hold in one tree."""

    def __init__(self, tree: WorkTree, paths: ProjectPaths, modules: ProjectModules, packages: ProjectPackages) -> None:
        self._tree = tree
        self._paths = paths
        self._modules = modules
        self._packages = packages

    def of(self, held: Iterable[Mention]) -> dict[Mention, tuple[Voucher, ...]]:
        """The vouchers of each name; none where no single place vouches for it."""
        names = list(held)
        symbols = [one.name for one in names if one.kind is NameKind.SYMBOL]
        places = self._declared({part for name in symbols for part in name.split(".")}, self._tree.files_of_code())
        ways: dict[NameKind, Callable[[Mention], Iterator[Voucher]]] = {
            NameKind.PATH: self._path,
            NameKind.LINK: self._path,
            NameKind.ANCHOR: self._anchor,
            NameKind.SYMBOL: lambda one: self._symbol(one, places),
            NameKind.MODULE: self._module,
            NameKind.COMMAND: self._command,
            NameKind.SETTING: self._setting,
            NameKind.VERSION: self._version,
            NameKind.OPTION: self._option,
            NameKind.PACKAGE: self._package,
        }
        return {one: tuple(ways[one.kind](one)) if one.kind in ways else () for one in names}

    def _symbol(self, one: Mention, places: Mapping[str, Voucher]) -> Iterator[Voucher]:
        parts = one.name.split(".")
        # A sentence that says in which file a name is rests on that file, wherever else the name may be.
        here = self._declared(set(parts), (one.more,)) if one.more else {}
        yield from (found for part in parts if (found := here.get(part) or places.get(part)))

    def _path(self, one: Mention) -> Iterator[Voucher]:
        if path := self._paths.found(one):
            yield Voucher(path)

    def _anchor(self, one: Mention) -> Iterator[Voucher]:
        if words := headings(self._tree.text(one.more) or "").get(one.name):
            yield from self._words(one.more, re.escape(words))

    def _module(self, one: Mention) -> Iterator[Voucher]:
        path = self._modules.file(one.name)
        if path is not None:
            yield Voucher(path)
            if one.more:
                yield from self._words(path, rf"\b(?:def|class)\s+{one.more}\b|^{one.more}\b(?=\s*[:=])")

    def _command(self, one: Mention) -> Iterator[Voucher]:
        name = re.escape(one.name)
        if one.more == "make":
            files = (path for file in MAKEFILES for path in self._tree.names.get(file, ()))
            yield from self._only(files, rf"^{name}\s*:")
        elif one.more == "npm":
            yield from self._only(self._tree.names.get("package.json", ()), rf'"{name}"\s*:')
        elif one.more == "python -m":
            yield from self._module(one)
        elif one.more.startswith(EXTRA):
            yield from self._only(self._tree.names.get("pyproject.toml", ()), rf"^{name}\s*=")
        else:
            yield from self._subcommand(one.more.partition(" ")[0])

    def _subcommand(self, word: str) -> Iterator[Voucher]:
        """The text or the function that declares a subcommand of an own program."""
        spelled = re.escape(word)
        pattern = rf"[\"']{spelled}[\"']|\bdef {spelled.replace(re.escape('-'), '_')}(?:_command|_cmd|_group)?\b"
        code = [path for path in self._tree.paths if path.endswith(".py") and not is_test(path)]
        yield from self._only(code, pattern)

    def _option(self, one: Mention) -> Iterator[Voucher]:
        """The text that declares an option, with its dashes or as a library is given it."""
        code = [path for path in self._tree.files_of_code() if not is_test(path)]
        yield from self._only(code, rf"[\"'`](?:{re.escape(one.name)}|{re.escape(one.name[2:])})(?=[\"'`= ])")

    def _package(self, one: Mention) -> Iterator[Voucher]:
        yield from self._only(self._packages.files, rf"(?i)(?<![\w-]){re.escape(one.name)}(?![\w-])")

    def _setting(self, one: Mention) -> Iterator[Voucher]:
        values = self._tree.settings({one.name}).get(one.name, ())
        for value, path in [pair for pair in values if plain_value(pair[0]) == plain_value(one.more)][:1]:
            yield from self._words(path, rf"{re.escape(one.name)}[\"']?[^=:\n]*[=:][^\n]*?{re.escape(value)}")
        if not values:  # a port, which may have any name
            yield from self._only(self._tree.files_of_code(), rf"(?<![\w.]){re.escape(one.more)}(?![\w.])")

    def _version(self, one: Mention) -> Iterator[Voucher]:
        specs = declared(self._tree).get(tool(one.more), ())
        for spec, path in [pair for pair in specs if admits(pair[0], one.name)][:1]:
            yield from self._words(path, rf"^.*{re.escape(spec)}.*$")

    def _only(self, paths: Iterable[str], pattern: str) -> Iterator[Voucher]:
        """The one file in which a pattern matches."""
        found = [one for path in paths for one in self._words(path, pattern)]
        if len(found) == 1:
            yield found[0]

    def _words(self, path: str, pattern: str) -> Iterator[Voucher]:
        found = re.search(pattern, self._tree.text(path) or "", re.MULTILINE)
        words = found[0].strip().rstrip(",") if found else ""
        if 0 < len(words) <= _LONGEST:
            yield Voucher(path, words)

    def _declared(self, names: set[str], files: Iterable[str]) -> dict[str, Voucher]:
        """The declaration of each name that one file declares, and no second one; tests apart."""
        found: dict[str, dict[str, str]] = {}
        for path in files if names else ():
            if is_test(path):
                continue
            for match in _DECLARED.finditer(self._tree.text(path) or ""):
                name = match[1] or match[2] or match[3]
                if name in names:
                    found.setdefault(name, {}).setdefault(path, match[0])
        return {name: Voucher(*at.popitem()) for name, at in found.items() if len(at) == 1}
