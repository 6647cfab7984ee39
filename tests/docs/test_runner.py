"""The runner itself: it must fail for a page that is wrong, or it proves nothing about those that pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.docs.blocks import DocumentationError
from tests.docs.runner import run

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Good:
    page: str
    ran: int = 1


GOOD = {
    "python runs": Good("```python\nassert 1 + 1 == 2\n```\n"),
    "python blocks share names": Good("```python\na = 1\n```\n\ntext\n\n```python\nassert a == 1\n```\n", ran=2),
    "python output": Good("```python\nprint('one two')\n```\n\n<!-- output -->\n```text\none ...\n```\n"),
    "console output": Good("```console\n$ echo hello\nhello\n$ echo unchecked\n```\n"),
    "console ellipsis lines": Good("```console\n$ seq 5\n1\n...\n5\n```\n"),
    "console continuation": Good("```console\n$ echo a \\\n> b\na b\n```\n"),
    "console status is shown": Good("```console\n$ (exit 3)\n$ echo $?\n3\n```\n"),
    "console files persist": Good("```console\n$ echo x > f\n```\n\n```console\n$ cat f\nx\n```\n", ran=2),
    "python sees the console's files": Good(
        "```console\n$ echo x > f\n```\n\n"
        "```python\nimport pathlib\nassert pathlib.Path('f').read_text() == 'x\\n'\n```\n",
        ran=2,
    ),
    "console has the interpreter": Good("```console\n$ python -c 'import readmit'\n```\n"),
    "json": Good('```json\n{"a": 1}\n```\n'),
    "exempt": Good("<!-- not run: needs a network -->\n```console\n$ false\n```\n", ran=0),
    "shown only": Good("```text\nanything\n```\n", ran=0),
}

BAD = {
    "python raises": "```python\n1 / 0\n```\n",
    "python output differs": "```python\nprint(1)\n```\n\n<!-- output -->\n```text\n2\n```\n",
    "output of nothing": "<!-- output -->\n```text\n2\n```\n",
    "output of an exempt block": (
        "<!-- not run: x -->\n```python\nprint(1)\n```\n\n<!-- output -->\n```text\n1\n```\n"
    ),
    "console fails": "```console\n$ false\n```\n",
    "console fails before the last": "```console\n$ false\n$ true\n```\n",
    "console output differs": "```console\n$ echo hello\ngoodbye\n```\n",
    "console output is longer": "```console\n$ seq 3\n1\n2\n```\n",
    "console stops early": "```console\n$ exit 0\n$ echo after\n```\n",
    "console without a prompt": "```console\necho hello\n```\n",
    "json does not parse": "```json\n{a: 1}\n```\n",
    "toml does not parse": "```toml\na =\n```\n",
    "unknown language": "```brainfuck\n+\n```\n",
    "no language": "```\nx\n```\n",
    "exempt without a reason": "<!-- not run: -->\n```console\n$ false\n```\n",
    "exemption is not right above": "<!-- not run: x -->\n\ntext\n\n```console\n$ false\n```\n",
    "exemption covers one block": "<!-- not run: x -->\n```console\n$ false\n```\n\n```console\n$ false\n```\n",
    "indented code": "text\n\n    code\n",
    "nested in a list": "- point\n\n  ```python\n  1 / 0\n  ```\n",
}


@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD.keys())
def test_accepts(case: Good, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(case.page)
    assert run(page, tmp_path) == case.ran


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_refuses(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(DocumentationError):
        run(page, tmp_path)
