"""Takes credentials out of texts before they are stored: a line on which one is found is left out whole.

The patterns of services are those of detect-secrets. Its plugins are asked for matches only: they are never asked to
verify a match, which would send it to the service. Beyond them stand newer tokens, assignments without quotes, and
random-looking words, which unlike in source code are rarely quoted in the output of a command. Digests, ids and images
look random too, so words in their forms are let through. ``docs/guide/agents.md`` says what was measured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from detect_secrets.plugins.base import BasePlugin

LEFT_OUT = "[a line that may hold a secret was left out]"
_CHUNK, _OVERLAP = 2_000, 400
_LONGEST_WORD, _HEAD = 400, 60
# A public address is no secret, and the entropy of quoted words is judged with that of all others.
_UNUSED = {"IPPublicDetector", "Base64HighEntropyString", "HexHighEntropyString"}
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|-----BEGIN PGP PRIVATE KEY BLOCK|PuTTY-User-Key-File")
_KEY_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY|Private-MAC:")
_KNOWN = re.compile(
    r"""
      \bgithub_pat_\w{22,} | \bgh[opsur]_\w{30,} | \bglpat-[\w-]{18,}
    | \bsk-(?:ant-|proj-|or-|svcacct-)?[\w-]{20,} | \bxai-\w{30,} | \bhf_[A-Za-z0-9]{28,} | \br8_\w{30,}
    | \bAIza[\w-]{30,} | \bya29\.[\w-]{20,} | \b1//0[\w-]{30,} | \bGOCSPX-[\w-]{20,}
    | \bxox[abeoprs]-[\w-]{10,}
    | hooks\.slack\.com/services/T\w+/B\w+/\w+ | discord(?:app)?\.com/api/webhooks/\d+/[\w-]+
    | \bdop_v1_[0-9a-f]{40,} | \bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{30,} | \bnpm_[A-Za-z0-9]{30,} | \bpypi-AgE\w{20,}
    | \bAGE-SECRET-KEY-1[A-Z0-9]{30,} | \bhvs\.[\w-]{20,} | \bATATT3[\w-]{30,} | \blin_api_\w{30,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b | \b(?:sk|rk)_(?:live|test)_\w{16,} | \brk_[0-9a-f]{12}_\w{16,} | \bwhsec_\w{20,}
    | (?i:authorization["']?\s*[:=]\s*["']?\w+\s+[\w.+/=~-]{8,}) | (?i:\bbearer\s+[\w.+/=~-]{20,})
    | (?i:\b(?:set-)?cookie:\s*\S+=[^;\s]{16,})
    | \b[a-z][a-z0-9+.-]*://[^\s/:@'"]*:(?![$<{*%])[^\s/@'"]{3,}@[\w\[] | \beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*
    | (?:^|\s)(?:--?(?:password|passwd|token|api-key|secret)[= ]\s*)(?![$<{*])[^\s'"]{6,}
    | (?:^|\s)-u\s+[\w.-]+:(?![$<{])\S{6,}
    """,
    re.VERBOSE,
)
_ASSIGNED = re.compile(
    r"""(?ix) (?: pass(?:word|wd|phrase)? | pwd | secret | token | credentials? | (?:api|auth|access|account|private|
    encryption|signing|service|client|master|session|license)[_-]?key ) \w{0,20} ['"\]]{0,2}
    \s{0,3} (?: [:=]=? | =>| \s is \s ) \s{0,3} ['"`]? ([^\s'"`,;&|)]{6,})"""
)
_PLACEHOLDER = re.compile(
    r"""(?ix) ^(?: [<$%{*\[(] | (?:your|my|some|example|change|replace|insert|dummy|fake|test|xxx|todo|none|null|true|
    false|required|optional|undefined|env|os\.|process\.|self\.|config|settings|getenv|secrets?\.|str\b|string|bytes) )
    | \( | ^\.{2,} | ^([x*.\-_])\1+$ | \.\.\.$ | …"""
)
_RUN = re.compile(r"[A-Za-z0-9+/=_\-]+")
_SHORTEST_WORD = 20
_HARMLESS = re.compile(
    r"""(?x) ^(?: [0-9a-fA-F]+ | [0-9_-]+ | [0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12} | toolu_\w+ | call_\w+
    | sha(?:1|256|384|512)-[\w+/=]+ | h1[\w+/=]+ | AAAA[BC]3Nza[\w+/=]+ )$"""
)
_DIGEST_BEFORE = re.compile(
    r"(?i)(?:sha(?:1|224|256|384|512)|md5|integrity|etag|h1|digest|checksum|hash|commit|base64,)\W{0,4}$"
)
_SHORTEST_PIECE = 16
_LONG_WORD = 32
_LEAST_ENTROPY, _LEAST_ENTROPY_SHORT = 4.2, 3.7
_CHANGES = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|\d[A-Za-z]|[A-Za-z]\d")
_LEAST_CHANGES = 0.2
"""Least changes of case, or between letters and digits, for each character of a random word."""


@dataclass(frozen=True)
class FilteredText:
    """A text without the lines that may hold a secret."""

    text: str
    left_out: int
    """How many lines were left out."""


def without_secrets(text: str) -> FilteredText:
    """The text with every line left out on which a secret is found, and every private key as a whole."""
    kept: list[str] = []
    left_out, in_key = 0, False
    for line in text.split("\n"):
        begins, ends = _KEY_BEGINS.search(line), _KEY_ENDS.search(line)
        if in_key or begins or _finds_secret(line):
            left_out += 1
            if kept[-1:] != [LEFT_OUT]:
                kept.append(LEFT_OUT)
            in_key = (in_key or begins is not None) and ends is None
        else:
            kept.append(line)
    return FilteredText("\n".join(kept), left_out)


def holds_secret(text: str) -> bool:
    """Whether a secret is found anywhere in a text."""
    return any(_KEY_BEGINS.search(line) or _finds_secret(line) for line in text.split("\n"))


def _finds_secret(line: str) -> bool:
    # No credential is a word that long; an image or an archive is. Of such a word the beginning is searched.
    words = _RUN.sub(lambda run: run[0] if len(run[0]) <= _LONGEST_WORD else " ", line)
    if any(_random_word(part) for part in _parts(words)):
        return True
    heads = _RUN.sub(lambda run: run[0] if len(run[0]) <= _LONGEST_WORD else run[0][:_HEAD], line)
    return any(_KNOWN.search(part) or _assigned(part) or any(_by_plugins(part)) for part in _parts(heads))


def _parts(line: str) -> Iterator[str]:
    """The line in overlapping parts, because some patterns take time that grows with the square of a length."""
    for start in range(0, max(1, len(line)), _CHUNK - _OVERLAP):
        yield line[start : start + _CHUNK]


def _by_plugins(text: str) -> Iterator[str]:
    from detect_secrets.filters.heuristic import is_indirect_reference

    for plugin in _plugins():
        for found in plugin.analyze_string(text):
            if type(plugin).__name__ != "KeywordDetector" or (_is_value(found) and not is_indirect_reference(text)):
                yield found


@cache
def _plugins() -> tuple[BasePlugin, ...]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    kinds: Iterable[type[BasePlugin]] = get_mapping_from_secret_type_to_class().values()
    return tuple(kind() for kind in kinds if kind.__name__ not in _UNUSED)


def _assigned(text: str) -> bool:
    return any(_is_value(found[1]) for found in _ASSIGNED.finditer(text))


def _is_value(value: str) -> bool:
    """Whether what a name like "password" is set to looks like one: no placeholder, reference or plain word."""
    if _PLACEHOLDER.search(value) or " " in value:
        return False
    kinds = sum(1 for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w.:/-]") if re.search(kind, value))
    return kinds > 1 and not re.fullmatch(r"[A-Za-z_]+(?:[.:/][\w.:/-]*)?", value)


def _random_word(text: str) -> bool:
    return any(
        len(run[0]) >= _SHORTEST_WORD
        and not _HARMLESS.match(run[0])
        and not _DIGEST_BEFORE.search(text[max(0, run.start() - 20) : run.start()])
        and _looks_random(run[0])
        for run in _RUN.finditer(text)
    )


def _looks_random(word: str) -> bool:
    """Whether a word has letters of both cases and digits in an order that no name or path has."""
    longest = max(re.split(r"[/_=-]", word), key=len)
    if len(longest) < _SHORTEST_PIECE or not all(re.search(kind, word) for kind in (r"\d", r"[a-z]", r"[A-Z]")):
        return False
    if len(_CHANGES.findall(longest)) < _LEAST_CHANGES * len(longest):
        return False
    # A short word has fewer different characters, however random it is.
    least = _LEAST_ENTROPY if len(word) >= _LONG_WORD else _LEAST_ENTROPY_SHORT
    return bool(_entropy().calculate_shannon_entropy(word) >= least)


@cache
def _entropy():  # type: ignore[no-untyped-def]  # noqa: ANN202 - of a package that is imported here only
    from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString

    return Base64HighEntropyString()
