"""Versions that a statement names, against those that the project declares, at its root or else below it.

A version holds if the declared range admits it: "Python 3.9" does not under ``requires-python = ">=3.11"``. Ranges are
those of Python packages and of npm, as far as they compare numbers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from readmit.check.working_tree import as_table, as_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from readmit.check.working_tree import WorkTree

Version = tuple[int, ...]
_PART = re.compile(r"(===?|~=|!=|<=|>=|\^|~|<|>|=)?\s*v?(\d+(?:\.\d+)*)(\.\*|\.x)?")
_REQUIREMENT = re.compile(r"^\s*([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*(?:@|\(?([^;#)]*))")
_GO = re.compile(r"^(?:require)?[ \t]+\S*?([\w.-]+?)(?:/v\d+)?\s+v(\d+(?:\.\d+)*)", re.MULTILINE)
_CONTAINERS = re.compile(r"(?:[\w.-]*\.)?(?:Dockerfile|Containerfile)(?:\.[\w-]+)?|(?:docker-)?compose[\w.-]*\.ya?ml")
_IMAGE = re.compile(
    r"^[ \t]*(?:FROM|image:)[ \t]+(?:--\S+[ \t]+)?[\"']?(?:[\w.-]+/)*([\w-]+):v?(\d+(?:\.\d+)*)", re.MULTILINE
)
_MANIFEST = re.compile(
    r"pyproject\.toml|package\.json|go\.mod|Cargo\.toml|requirements[\w.-]*\.(?:txt|in)|\.(?:python|node)-version|\.nvmrc"
    r"|rust-toolchain(?:\.toml)?"
)
_ASIDE = {
    "node_modules", "vendor", "third_party", "test", "tests", "testdata", "fixtures", "example", "examples", "sample",
    "samples", "demo", "demos", "template", "templates", "bench", "benchmarks",
}  # fmt: skip
"""Folders whose projects are not this one."""
_LONGEST_NUMBER = 20
_TOOLS = {"cpython": "python", "node.js": "node", "nodejs": "node", "golang": "go", "postgresql": "postgres"}


def declared(tree: WorkTree) -> dict[str, list[tuple[str, str]]]:
    """Tool or package → the ranges that the project declares, each with its file.

    What the root declares holds everywhere. What it does not, a folder may: then any of those ranges may be meant.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for is_below in (False, True):
        known = frozenset(found)
        for file, name, spec in _specs(tree, manifests(tree, is_below=is_below)):
            if spec.strip() and (named := tool(name)) not in known:
                found.setdefault(named, []).append((spec.strip(), file))
        if not is_below:
            for file, name, spec in _images(tree):
                found.setdefault(tool(name), []).append((spec, file))
    return found


def manifests(tree: WorkTree, *, is_below: bool) -> list[str]:
    """The files that declare versions and packages, at the root or below it; those of tests and examples apart."""
    return sorted(
        path
        for path in tree.paths
        if ("/" in path) == is_below
        and _MANIFEST.fullmatch(path.rpartition("/")[2])
        and _ASIDE.isdisjoint(path.split("/")[:-1])
    )


def tool(name: str) -> str:
    """A tool's name as files declare it."""
    low = name.lower().replace("_", "-")
    return _TOOLS.get(low, low)


def admits(spec: str, version: str) -> bool | None:
    """Whether a range admits some release of a version; none if it cannot be read."""
    parts = _PART.findall(spec)
    if not parts or re.search(r"\|\||[a-z]{3}", spec.replace("x", "")):
        return None
    if max(map(len, re.findall(r"\d+", f"{spec} {version}"))) > _LONGEST_NUMBER:
        return None
    wanted = _numbers(version)
    return all(_meets(sign or "=", _numbers(bound), wanted) for sign, bound, _ in parts)


def _meets(sign: str, bound: Version, wanted: Version) -> bool:
    """Whether some release of ``wanted`` (4.2 is 4.2.0, 4.2.1 …) is on the right side of a bound."""
    size = min(len(bound), len(wanted))
    cut, asked = bound[:size], wanted[:size]
    match sign:
        case "=" | "==" | "===":
            return cut == asked
        case ">=":
            return asked >= cut
        case ">":
            return asked > cut or (asked == cut and len(wanted) < len(bound))
        case "<=":
            return asked <= cut
        case "<":
            return asked < cut or (asked == cut and len(wanted) < len(bound) and any(bound[size:]))
        case "~=":
            return asked >= cut and asked[: len(bound) - 1] == bound[: min(len(bound) - 1, size)]
        case "^":
            kept = next((place + 1 for place, part in enumerate(bound) if part), len(bound))
            return asked >= cut and asked[:kept] == bound[: min(kept, size)]
        case "~":
            return asked >= cut and asked[:2] == bound[: min(2, size)]
    return True


def _numbers(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def _specs(tree: WorkTree, files: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """File, name and range of every dependency that some manifests declare."""
    for file in files:
        text, name = tree.text(file), file.rpartition("/")[2]
        if text is None:
            continue
        if name == "pyproject.toml":
            yield from ((file, *one) for one in _pyproject(tree.table(file)))
        elif name == "package.json":
            yield from ((file, *one) for one in _package(tree.table(file)))
        elif name.startswith("requirements"):
            yield from ((file, *one) for one in _requirements(text.splitlines()))
        elif name in {".python-version", ".nvmrc", ".node-version"}:
            yield file, "python" if "python" in name else "node", text.strip().lstrip("v").partition("\n")[0]
        elif name == "go.mod":
            yield from ((file, "go", f">={version}") for version in re.findall(r"^go (\d[\d.]*)", text, re.MULTILINE))
            # A module's version is the one that is built with.
            yield from ((file, module, version) for module, version in _GO.findall(text))
        elif name == "Cargo.toml":
            yield from ((file, *one) for one in _cargo(tree.table(file)))
        else:
            channel = as_table(tree.table(file).get("toolchain")).get("channel") if "." in name else text.strip()
            yield file, "rust", str(channel) if re.match(r"\d", str(channel)) else ""


def _images(tree: WorkTree) -> Iterator[tuple[str, str, str]]:
    """The images that containers are made of."""
    for path in sorted(tree.paths):
        if _CONTAINERS.fullmatch(path.rpartition("/")[2]):
            yield from ((path, name, version) for name, version in _IMAGE.findall(tree.text(path) or ""))


def _cargo(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Dependencies of a crate. A bare number admits what a caret does."""
    for table in (data, as_table(data.get("workspace"))):
        package = as_table(table.get("package"))
        if isinstance(package.get("rust-version"), str):
            yield "rust", f">={package['rust-version']}"
        for kind in ("dependencies", "dev-dependencies"):
            for name, spec in as_table(table.get(kind)).items():
                version = spec if isinstance(spec, str) else str(as_table(spec).get("version", ""))
                yield name, f"^{version}" if re.match(r"\d", version) else version


def _pyproject(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    project = as_table(data.get("project"))
    if isinstance(project.get("requires-python"), str):
        yield "python", project["requires-python"]
    groups = (as_table(project.get("optional-dependencies")), as_table(data.get("dependency-groups")))
    listed = as_texts(project.get("dependencies"))
    listed += [one for group in groups for named in group.values() for one in as_texts(named)]
    yield from _requirements(listed)
    for name, spec in as_table(as_table(as_table(data.get("tool")).get("poetry")).get("dependencies")).items():
        yield name, spec if isinstance(spec, str) else str(as_table(spec).get("version", ""))


def _package(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(data.get("packageManager"), str) and "@" in data["packageManager"]:
        name, _, version = data["packageManager"].partition("@")
        yield name, version.partition("+")[0]
    for group in ("engines", "dependencies", "devDependencies", "peerDependencies"):
        yield from ((name, spec) for name, spec in as_table(data.get(group)).items() if isinstance(spec, str))


def _requirements(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if not line.strip().startswith(("#", "-")) and (found := _REQUIREMENT.match(line)):
            yield found[1], found[2] or ""
