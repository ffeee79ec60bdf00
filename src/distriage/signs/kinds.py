"""The signs of `signs.toml`, and one of them in a verdict. Pure except for reading the packaged list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from distriage.base.intervals import Share
from distriage.base.texts import packaged_table
from distriage.base.validation import Strict, field, read_entry


class Sign(Strict):
    """Something by which maintainers sort reports, beside the model's axes."""

    name: str = field(description="A name of `signs.toml`, such as `regression`.")
    says: str = field(description="One sentence, for maintainers.")
    line: int | None = field(ge=0, description="Of the body, from 1; 0: the title; null: no one line says it.")


class Kind(Strict):
    """A kind of sign; its fields are those of `signs.toml`."""

    says: str
    right: int
    of: int

    @property
    def precision(self) -> float:
        """The share of judged reports with the sign on which it is right."""
        return Share(self.right, self.of).value or 0.0


@cache
def kinds() -> Mapping[str, Kind]:
    """Name -> kind, in the list's order."""
    rows = packaged_table(__package__, "signs.toml")
    return {name: read_entry(Kind, row, f"signs.toml: {name}") for name, row in rows.items()}


def in_order(signs: Iterable[Sign | None]) -> list[Sign]:
    """Signs as the list orders them, each once."""
    found = {sign.name: sign for sign in signs if sign is not None}
    return [found[name] for name in kinds() if name in found]
