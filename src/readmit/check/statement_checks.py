"""Checks statements against a tree.

A name counts against a statement if it is not in the tree now but in the repository's history: the statement held once.
A name that was never in the tree may be an example, or of another project, and is not checked. What only this project
can have is wrong either way: a link, a target of make, a script of npm, a subcommand or an option of its own program, a
name in its own package, a parameter of its own callable.
"""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING

from readmit.check.check_values import CheckedStatement, CheckFinding, CheckReport, Mention, NameKind, Unchecked
from readmit.check.command_lines import EXTRA, may_be_member
from readmit.check.declared.packages import ProjectPackages
from readmit.check.declared.setting_values import NEVER, settings_checked
from readmit.check.declared.versions import admits, declared, tool
from readmit.check.languages.members import Members
from readmit.check.languages.other_modules import OtherModules
from readmit.check.markdown_statements import headings
from readmit.check.memory_files import MOST_NAMES
from readmit.check.named_commands import ProjectCommands
from readmit.check.named_paths import ProjectPaths
from readmit.check.named_things import file_around, mentions_in
from readmit.check.python import ProjectModules, missing_parameters, with_method
from readmit.check.vouchers import Vouchers
from readmit.check.working_tree import LONGEST_PATH, is_test
from readmit.records.error_types import CheckLimitError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from readmit.check.check_values import CommandAnswer, Voucher
    from readmit.check.memory_files import MemoryFiles
    from readmit.check.working_tree import Departed, WorkTree

_LIKE, _SAME = 0.6, 0.9
"""Least share of letters in common of a name that may be meant, and of one that must be."""
_LONG = 8
"""Fewest letters of a name that is compared with others."""
_FEW = 3
_EVERYWHERE = {"--help", "--version"}
"""Options that libraries add by themselves."""
_TOOLS = ("make", "just", "cargo", "compose", "npm", "python -m", EXTRA)
_WORD = re.compile(r"\w+")


def check_memories(memories: MemoryFiles) -> CheckReport:
    """Check every name in the memory files against the tree."""
    check = _Check(memories.tree)
    outcomes = list(check.run(_bounded(memories, check.packages)).values())
    findings = tuple(one for one in outcomes if isinstance(one, CheckFinding))
    unchecked = tuple(one for one in outcomes if isinstance(one, Unchecked))
    return CheckReport(
        files=tuple(memories.files),
        statements=sum(bool(one.text) for one in memories.statements),
        held=len(outcomes) - len(findings) - len(unchecked),
        findings=findings,
        unchecked=unchecked,
    )


def check_statements(memories: MemoryFiles, unchecked: Collection[str] = ()) -> Iterator[CheckedStatement]:
    """Each statement with the findings against it and the vouchers for it. ``unchecked`` files are read alone."""
    check = _Check(memories.tree)
    outcomes = check.run(one for one in _bounded(memories, check.packages) if one.place.file not in unchecked)
    vouchers = check.vouchers(one for one in outcomes.values() if isinstance(one, Mention))
    for said in memories.statements:
        if not said.text:
            continue
        mentions = (one for span in said.spans for one in mentions_in(span, check.packages))
        names = dict.fromkeys(one for one in mentions if isinstance(one, Mention))
        findings = [out for one in names if isinstance(out := outcomes.get(one), CheckFinding)]
        yield CheckedStatement(
            file=said.file,
            first=said.first,
            last=said.last,
            heading=said.heading,
            text=said.text,
            names=tuple(dict.fromkeys(one.name for one in names)),
            findings=tuple(dict.fromkeys(f"{one.kind} {one.looked_for}: {one.now}" for one in findings)),
            vouchers=tuple(dict.fromkeys(place for one in names for place in vouchers.get(one, ()))),
        )


def _bounded(memories: MemoryFiles, packages: Collection[str]) -> Iterator[Mention | Unchecked]:
    """The names in memory files; refused if there are more than people and agents write."""
    count = 0
    for span in memories.spans:
        for one in mentions_in(span, packages):
            count += 1
            where = f"{one.place.file}, line {one.place.line}"
            if count > MOST_NAMES:
                raise CheckLimitError(f"{where}: more than {MOST_NAMES:,} names; check fewer files at once")
            if isinstance(one, Mention) and len(one.name) > LONGEST_PATH:
                raise CheckLimitError(f"{where}: a name of {len(one.name):,} characters; the most is {LONGEST_PATH:,}")
            yield one


Outcome = CheckFinding | Unchecked | Mention
"""A mention itself says that it holds."""


class _Check:
    """One check of some mentions. Each git command serves all of them."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self._places = ProjectPaths(tree)
        self._modules = ProjectModules(tree)
        self._other_modules = OtherModules(tree)
        self._commands = ProjectCommands(tree, self._modules)
        self._declared = declared(tree)
        self._packages = ProjectPackages(tree)

    def run(self, mentions: Iterable[Mention | Unchecked]) -> dict[Mention | Unchecked, Outcome]:
        """The outcome of each distinct mention, in order."""
        declared_ = self._declared
        everything = [
            one
            for one in dict.fromkeys(mentions)
            if not (isinstance(one, Mention) and one.kind is NameKind.VERSION and one.more.islower())
            or tool(one.more) in declared_
        ]
        decided: dict[Mention | Unchecked, Outcome] = {one: one for one in everything}
        asked = [one for one in everything if isinstance(one, Mention)]
        for kinds, decide in (
            ({NameKind.PATH, NameKind.LINK}, self._paths),
            ({NameKind.ANCHOR}, self._anchors),
            ({NameKind.SYMBOL, NameKind.OPTION}, self._symbols),
            ({NameKind.MODULE}, self._imports),
            ({NameKind.COMMAND}, self._runs),
            ({NameKind.PARAMETER}, self._parameters),
            ({NameKind.SETTING}, self._settings),
            ({NameKind.VERSION}, self._versions),
            ({NameKind.PACKAGE}, self._named_packages),
        ):
            chosen = [one for one in asked if one.kind in kinds]
            decided.update(zip(chosen, decide(chosen), strict=True))
        return decided

    @property
    def packages(self) -> Collection[str]:
        """The packages that words may name."""
        return self._packages.known

    def vouchers(self, held: Iterable[Mention]) -> dict[Mention, tuple[Voucher, ...]]:
        """The places of the tree that vouch for names that hold."""
        return Vouchers(self._tree, self._places, self._modules, self._packages).of(held)

    def _paths(self, mentions: list[Mention]) -> Iterator[Outcome]:
        absent = [one for one in mentions if not self._places.found(one)]
        ignored = self._tree.ignored({path for one in absent for path in self._places.places(one)})
        missing = set(absent)
        for one in mentions:
            if one not in missing:
                yield one
            elif one.name.startswith(("/", "~")):
                yield Unchecked(one.place, one.name, "outside of the tree")
            elif ignored.intersection(self._places.places(one)):
                yield Unchecked(one.place, one.name, "git ignores it: made by a build, or private")
            elif now := self._places.whereabouts(one):
                yield CheckFinding(one.place, one.kind, one.name, now)
            elif self._modules.is_own(one.name) and self._modules.file(one.name) is not None:
                yield one
            elif lacks := self._modules.lacks(one.name) if may_be_member(one.name) else "":
                # A module of a package looks like a file with an ending.
                yield CheckFinding(one.place, NameKind.SYMBOL, one.name, lacks)
            else:
                yield Unchecked(one.place, one.name, NEVER)

    def _anchors(self, mentions: list[Mention]) -> Iterator[Outcome]:
        texts = {file: self._tree.text(file) for file in {one.more for one in mentions}}
        known = {file: headings(text) for file, text in texts.items() if text is not None}
        for one in mentions:
            said = f"{one.more}#{one.name}"
            if one.more not in known:
                # A file that is not there is a finding of its own.
                yield Unchecked(one.place, said, f"{one.more} cannot be read")
            elif one.name in known[one.more]:
                yield one
            else:
                yield CheckFinding(one.place, one.kind, said, f"{one.more} has no such heading")

    def _symbols(self, mentions: list[Mention]) -> Iterator[Outcome]:
        present = self._tree.words if mentions else frozenset()
        removed = self._tree.removed({part for one in mentions for part in _spellings(one)} - present)
        members = Members(self._tree, [pair for one in mentions if (pair := _pair(one)) and pair[0] in present])
        for one in mentions:
            parts = _parts(one)
            absent = [part for part in parts if not self._is_present(one, part, present)]
            past = next((part for whole in absent for part in _variants(whole) if part in removed), "")
            if self._modules.is_own(one.name) and self._modules.file(one.name) is not None:
                yield one
            elif past:
                yield CheckFinding(one.place, one.kind, one.name, f"no code holds {past}: {removed[past]}")
            elif missing := self._lacks(one.name, present):
                yield CheckFinding(one.place, one.kind, one.name, missing)
            elif (pair := _pair(one)) and members.lacks(*pair):
                near = _nearest(pair[1], members.of(pair[0]), _LIKE)
                yield CheckFinding(one.place, one.kind, one.name, f"{pair[0]} has no {pair[1]}{near}")
            elif len(parts) == 2 and f"{one.name}(" in one.place.statement and self._is_strange(*parts):  # noqa: PLR2004 - a variable and its member
                yield CheckFinding(one.place, one.kind, one.name, f"no code has a member {parts[1]}")
            elif parts[-1] in absent:
                yield self._never(one, parts[-1])
            elif one.kind is NameKind.SYMBOL and one.more and not self._is_in(one.more, parts[-1]):
                yield self._not_in(one.more, one, parts[-1])
            else:
                yield one

    def _is_present(self, one: Mention, part: str, present: Collection[str]) -> bool:
        """Whether code has a name. An option of an own program stands in code of that program's language."""
        if one.kind is NameKind.OPTION and one.more in self._commands.programs and part not in _EVERYWHERE:
            present = self._commands.words_of(one.more)
        return part in present or _bare(part) in present

    def _lacks(self, dotted: str, present: Collection[str]) -> str:
        """The missing part of a name that begins with an own module or package; empty if nothing is."""
        if self._modules.is_own(dotted):
            return self._modules.lacks(dotted, present)
        return self._other_modules.lacks(dotted)

    def _is_strange(self, variable: str, member: str) -> bool:
        """Whether no code has a member of this name, although the code has such a variable."""
        is_module = variable in sys.stdlib_module_names or tool(variable) in self._declared
        if is_module or not variable[:1].islower() or self._modules.file(variable) is not None:
            return False
        in_tests = self._tree.members.get(member)
        if in_tests is False or variable not in self._tree.variables or self._tree.says(f"{variable}.{member}"):
            return False
        # A test that uses a member nobody here defines may use that of a library.
        owners = with_method(self._tree, member)
        return bool(owners) == (in_tests is True) and all(map(is_test, owners))

    def _never(self, one: Mention, part: str) -> Outcome:
        """A name that never was here: an own program's option, or nearly a name of the code, is wrong."""
        if one.kind is NameKind.OPTION and one.more in self._commands.programs and part not in _EVERYWHERE:
            near = _nearest(part, (word for word in self._tree.words if word.startswith("--")), _LIKE)
            return CheckFinding(one.place, one.kind, one.name, f"there is no such option{near}")
        if one.kind is NameKind.SYMBOL and (file := file_around(part, one.place)) and self._tree.has(file):
            return self._not_in(file, one, part)
        # Another project's names seldom differ from ours by one letter.
        is_alone = len(part) >= _LONG and one.name == part and one.kind is NameKind.SYMBOL
        others = self._tree.words - sys.stdlib_module_names if is_alone and part not in sys.stdlib_module_names else ()
        if near := _nearest(part, others, _SAME):
            return CheckFinding(one.place, one.kind, one.name, f"there is no such name{near}")
        return Unchecked(one.place, one.name, NEVER)

    def _is_in(self, file: str, part: str) -> bool:
        """Whether a file holds a word, or cannot be read: that it is gone is a finding of its own."""
        return not self._tree.has(file) or part in _WORD.findall(self._tree.text(file) or part)

    def _not_in(self, file: str, one: Mention, part: str) -> Outcome:
        near = _nearest(part, _WORD.findall(self._tree.text(file) or ""), _LIKE)
        return CheckFinding(one.place, one.kind, one.name, f"{file} has no {part}{near}")

    def _parameters(self, mentions: list[Mention]) -> Iterator[Outcome]:
        wanted = {one: (_callable(one.more), one.name) for one in mentions}
        answers = missing_parameters(self._tree, list(wanted.values())) if wanted else {}
        for one, pair in wanted.items():
            said = f"{one.more}({one.name}=…)"
            if pair not in answers:
                yield Unchecked(one.place, said, "its parameters are not known")
            else:
                yield (
                    CheckFinding(one.place, one.kind, said, f"{pair[0]} takes no {one.name}") if answers[pair] else one
                )

    def _settings(self, mentions: list[Mention]) -> Iterator[Outcome]:
        return settings_checked(self._tree, mentions)

    def _named_packages(self, mentions: list[Mention]) -> Iterator[Outcome]:
        return self._packages.outcomes(mentions)

    def _imports(self, mentions: list[Mention]) -> Iterator[Outcome]:
        for one in mentions:
            said = f"from {one.name} import {one.more}" if one.more else f"import {one.name}"
            if not one.name.replace(".", "").isidentifier():
                answer = self._other_modules.answer(one.name, one.more)
                yield _outcome(one, f"{one.name} {one.more}".strip(), answer)
            elif not self._modules.is_own(one.name):
                yield Unchecked(one.place, said, "a module outside of the tree")
            elif self._modules.file(one.name) is None:
                yield CheckFinding(one.place, one.kind, said, f"there is no module {one.name}")
            elif not one.more or (has := self._modules.defines(one.name, one.more)):
                yield one
            elif has is False or one.more not in self._tree.words:
                yield CheckFinding(one.place, one.kind, said, f"{self._modules.file(one.name)} has no {one.more}")
            else:
                yield Unchecked(one.place, said, "only running the module would show it")

    def _runs(self, mentions: list[Mention]) -> Iterator[Outcome]:
        own = [one for one in mentions if one.name in self._commands.programs and not one.more.startswith(_TOOLS)]
        words = {word for one in own for word in one.more.split()}
        present = self._tree.words if words else frozenset()
        removed = self._tree.removed(words - present)
        for one in mentions:
            if one in own:
                yield self._own_command(one, present, removed)
                continue
            yield _outcome(one, _said(one), self._commands.answer(one.name, one.more))

    def _own_command(self, one: Mention, present: Collection[str], removed: Mapping[str, Departed]) -> Outcome:
        """A subcommand of the project's own program."""
        known, first = self._commands.subcommands(one.name), one.more.partition(" ")[0]
        if missing := known.lacking(one.more):
            past = f": {removed[missing]}" if missing in removed and missing not in present else ""
            said = f"{one.name} {one.more if missing != first else first}"
            now = f"there is no such command{past}{_nearest(missing, known.names, _LIKE)}"
            return CheckFinding(one.place, one.kind, said, now)
        if first in present or first.replace("-", "_") in present or len(known.names) > 1:
            return one
        said = f"{one.name} {first}"
        if first in removed:
            return CheckFinding(one.place, one.kind, said, f"no code holds {first}: {removed[first]}")
        return Unchecked(one.place, said, NEVER)

    def _versions(self, mentions: list[Mention]) -> Iterator[Outcome]:
        for one in mentions:
            specs = self._declared.get(tool(one.more), [])
            answers = [admits(spec, one.name) for spec, _ in specs]
            if not specs or None in answers:
                yield Unchecked(one.place, f"{one.more} {one.name}", "no file declares a version of it")
            elif any(answers):
                yield one
            else:
                spec, file = specs[0]
                yield CheckFinding(one.place, one.kind, f"{one.more} {one.name}", f"{file} declares {spec}")


def _outcome(one: Mention, said: str, answer: CommandAnswer) -> Outcome:
    if answer.outcome == "unknown":
        return Unchecked(one.place, said, answer.now)
    return one if answer.outcome == "holds" else CheckFinding(one.place, one.kind, said, answer.now)


def _pair(one: Mention) -> tuple[str, str] | None:
    """A class or type, and its member."""
    parts = one.name.split(".")
    return (parts[-2], parts[-1]) if len(parts) > 1 and parts[-2][:1].isupper() else None


def _variants(part: str) -> list[str]:
    """The ways in which code may write an option: as a text, or as the name of a parameter."""
    return [part, part.lstrip("-"), _bare(part)] if part.startswith("--") else [part]


def _spellings(one: Mention) -> list[str]:
    return [spelled for part in _parts(one) for spelled in _variants(part)]


def _parts(one: Mention) -> list[str]:
    return [one.name] if one.kind is NameKind.OPTION else one.name.split(".")


def _said(one: Mention) -> str:
    """A command as it was written."""
    if one.more.startswith(EXTRA):
        return f"{one.more.removeprefix(EXTRA)}[{one.name}]"
    how = "npm run" if one.more.startswith("npm") else one.more if one.more.startswith(_TOOLS) else ""
    how = how.replace("cargo --", "cargo … --")
    return f"{how} {one.name}" if how else f"{one.name} {one.more.partition(' ')[0]}"


def _nearest(name: str, known: Iterable[str], least: float) -> str:
    """The known name that is nearest to one that is not there, as the end of a sentence; empty if none is near."""
    like = [one for one in known if abs(len(one) - len(name)) <= _FEW and one[:1] == name[:1] and one != name]
    found = get_close_matches(name, like, 1, least)
    return f"; the nearest is {found[0]}" if found else ""


def _callable(name: str) -> str:
    """The last part of a dotted name, with the class before it."""
    owner, _, last = name.rpartition(".")
    of = owner.rpartition(".")[2]
    return f"{of}.{last}" if of[:1].isupper() else last


def _bare(name: str) -> str:
    """An option as a parameter of a program may be called."""
    return name.lstrip("-").replace("-", "_")
