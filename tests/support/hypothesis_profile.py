"""How hypothesis draws examples here."""

from __future__ import annotations

import gzip
import json
import unicodedata

from hypothesis import HealthCheck, settings

from support.checkout import REPOSITORY

IN_UTF8 = [[0, 0xD7FF], [0xE000, 0x10FFFF]]  # all but the surrogates
KNOWN = REPOSITORY / ".hypothesis" / "unicode_data" / unicodedata.unidata_version / "codec-v2-utf-8.json.gz"


def load() -> None:
    """The same examples in each run, and no clock."""
    settings.register_profile(
        "distriage", derandomize=True, deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("distriage")
    if not KNOWN.exists():  # in a new checkout it would encode 1.1 million characters, for 4.5 s of CPU
        KNOWN.parent.mkdir(parents=True, exist_ok=True)
        KNOWN.write_bytes(gzip.compress(json.dumps([IN_UTF8, []]).encode()))
