"""The signs of `signs.toml`. Pure except for reading the packaged list."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from distriage.base.validation import Strict


class Kind(Strict):
    """A kind of sign; its fields are those of `signs.toml`."""

    needs: str
    says: str


@cache
def kinds() -> Mapping[str, Kind]:
    """Name -> kind, in the list's order."""
    rows = tomllib.loads(resources.files(__package__).joinpath("signs.toml").read_text(encoding="utf-8"))
    return {name: Kind.read(row) for name, row in rows.items()}
