"""Log checkpoints: the format's example, and texts that look like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readmit.errors import SealError
from readmit.trust.notes import LogCheckpoint, open_note, sign

from .issued_view import SIGNER
from .test_notes import KEY, NAME

EXAMPLE = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
ROOT = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


def test_the_example_of_the_format_reads_and_writes() -> None:
    head = LogCheckpoint.from_text(EXAMPLE)
    assert (head.origin, head.size, head.extensions) == ("example.com/behind-the-sofa", 20_852_163, ())
    assert head.root.hex().startswith("0ac5186a")
    assert head.text == EXAMPLE


def test_extension_lines_are_kept() -> None:
    head = LogCheckpoint(NAME, 0, bytes(32), ("epoch 7", "more"))
    assert head.text == f"{NAME}\n0\n{ROOT}\nepoch 7\nmore\n"
    assert LogCheckpoint.from_text(head.text) == head


def test_a_signed_checkpoint_opens() -> None:
    head = LogCheckpoint(NAME, 3, bytes(range(32)))
    assert LogCheckpoint.from_text(open_note(sign(head.text, NAME, SIGNER), [KEY]).text) == head


@pytest.mark.parametrize(
    "text",
    {
        "nothing": "",
        "two lines": "a\n0\n",
        "no newline at the end": f"a\n0\n{ROOT}",
        "an empty origin": f"\n0\n{ROOT}\n",
        "a leading zero": f"a\n01\n{ROOT}\n",
        "a sign": f"a\n+1\n{ROOT}\n",
        "a digit of another script": f"a\n\u0661\n{ROOT}\n",
        "an underscore": f"a\n1_0\n{ROOT}\n",
        "a size beyond 63 bits": f"a\n{2**63}\n{ROOT}\n",
        "an empty root": "a\n1\n\n",
        "a short root": "a\n1\nAAAA\n",
        "a loose root": f"a\n1\n{ROOT[:-2]}B=\n",
        "an empty extension": f"a\n1\n{ROOT}\n\nx\n",
        "an empty last line": f"a\n1\n{ROOT}\n\n",
        "a control character": f"a\x00\n1\n{ROOT}\n",
    }.values(),
)
def test_a_text_that_is_nearly_a_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(SealError):
        LogCheckpoint.from_text(text)


LINES = st.lists(st.one_of(st.sampled_from(["a", "0", "12", ROOT, ""]), st.text(max_size=8)), max_size=6)


@given(text=st.one_of(st.text(), LINES.map("\n".join), LINES.map(lambda lines: "".join(f"{line}\n" for line in lines))))
def test_what_reads_as_a_checkpoint_is_exactly_its_text(text: str) -> None:
    try:
        head = LogCheckpoint.from_text(text)
    except SealError:
        return
    assert head.text == text


@pytest.mark.parametrize(
    "head", [{"size": -1}, {"size": 2**63}, {"root": b""}, {"origin": "a\nb"}, {"extensions": ("",)}]
)
def test_no_checkpoint_holds_an_impossible_value(head: dict[str, object]) -> None:
    with pytest.raises(SealError, match="checkpoint: "):
        LogCheckpoint(**({"origin": "a", "size": 1, "root": bytes(32)} | head))  # type: ignore[arg-type]
