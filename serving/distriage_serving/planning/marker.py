"""The hidden first line of a comment of ours, used to find it again. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

Kind = Literal["v1", "answer", "duplicate", "ask"]
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_MARKER: Final = re.compile(r"\A<!-- distriage:(?P<kind>v1|answer|duplicate|ask) (?P<digest>[0-9a-f]{16}) -->")


@dataclass(frozen=True, slots=True)
class Marker:
    """Identifies a comment of ours and its text.

    Attributes:
        kind: `v1`: about the report; `answer`: to a command; `duplicate`: names the original issue;
            `ask`: a question to the author.
        digest: That of the text below the marker.
    """

    kind: Kind
    digest: str

    @classmethod
    def of(cls, text: str, kind: Kind = "v1") -> Marker:
        """The marker of a text. A browser sends other line ends, and blanks at the end may be lost on the way."""
        text = text.replace("\r\n", "\n").strip()
        return cls(kind, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16])

    @classmethod
    def read(cls, body: str) -> Marker | None:
        """The marker at the beginning of a comment, if any."""
        found = _MARKER.match(body)
        if found is None:
            return None
        return cls(next(kind for kind in _KINDS if kind == found["kind"]), found["digest"])

    def is_of(self, body: str) -> bool:
        """Whether a comment with this marker has our text, unedited."""
        return Marker.of(body.partition("\n")[2], self.kind) == self

    def write(self, text: str) -> str:
        """A comment's body."""
        return f"<!-- distriage:{self.kind} {self.digest} -->\n{text}"
