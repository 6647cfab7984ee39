"""Model prices: a table that the user supplies, as JSON or TOML.

``{"currency": "USD", "models": {"openai/NAME": {"input": 0.25, "output": 2.0}}}``: for a million tokens each. A model
is looked up as it is named on the command line, then by its role. ``currency`` is only shown.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Annotated

import msgspec

from readmit.errors import RecordError
from readmit.lab import explained

if TYPE_CHECKING:
    from pathlib import Path

MILLION = 1_000_000

Amount = Annotated[float, msgspec.Meta(ge=0)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Price of a million prompt tokens and of a million answer tokens."""

    input: Amount
    output: Amount

    def of(self, sent: float, got: float) -> float:
        """What so many tokens cost."""
        return (self.input * sent + self.output * got) / MILLION


class Prices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A price table."""

    models: dict[str, Price]
    currency: str = ""

    def of(self, spec: str, role: str) -> Price | None:
        """A model's price: under its own name, or under that of its role."""
        return self.models.get(spec) or self.models.get(role)


def read_prices(path: Path) -> Prices:
    """The table of a file; an error names the field that is wrong."""
    decode = msgspec.toml.decode if path.suffix == ".toml" else msgspec.json.decode
    try:
        data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror}); name a JSON or TOML file of prices") from None
    try:
        return decode(data, type=Prices)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise RecordError(
            f"{path}: {explained(error, data)}; a model has a price for a million tokens of input and output"
        ) from None
