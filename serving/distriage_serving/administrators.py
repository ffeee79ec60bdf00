"""Administrators by name, each with a token, configured only as its scrypt hash. Pure.

RFC 7914; N = 2**14, r = 8, p = 1: 16 MiB and some 50 ms a guess.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import SecretStr

DEFAULT: Final = "default"  # the name for a login with DISTRIAGE_ADMIN_TOKEN
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,38}")
_ENTRY: Final = re.compile(rf"({NAME.pattern}):([0-9a-f]{{32}}):([0-9a-f]{{64}})")


def stretch(token: str, salt: bytes) -> bytes:
    """scrypt of a token, 32 bytes."""
    return hashlib.scrypt(token.encode("utf-8", "replace"), salt=salt, n=1 << 14, r=8, p=1, dklen=32)


def make_entry(name: str, token: str) -> str:
    """`NAME:SALT:HASH`, as `DISTRIAGE_ADMINS` wants it."""
    salt = secrets.token_bytes(16)
    return f"{name}:{salt.hex()}:{stretch(token, salt).hex()}"


def read_entries(entries: Sequence[str]) -> dict[str, tuple[bytes, bytes]]:
    """Name -> salt and hash.

    Raises:
        ValueError: an entry is not one, or a name comes twice; says which.
    """
    found: dict[str, tuple[bytes, bytes]] = {}
    for number, entry in enumerate(entries, 1):
        match = _ENTRY.fullmatch(entry)
        if match is None or match[1] == DEFAULT or match[1] in found:
            raise ValueError(
                f"entry {number} is not NAME:SALT:HASH with a name of its own; `distriage admins new NAME` makes one"
            )
        found[match[1]] = bytes.fromhex(match[2]), bytes.fromhex(match[3])
    return found


class Administrators:
    """People who may see everything.

    Args:
        shared_token: `DISTRIAGE_ADMIN_TOKEN`, if set.
        salt: Stretches it, random.
    """

    def __init__(self, entries: Sequence[str], shared_token: SecretStr | None, salt: bytes) -> None:
        self._known = read_entries(entries)
        if shared_token is not None:
            self._known[DEFAULT] = salt, stretch(shared_token.get_secret_value(), salt)

    @property
    def credentials(self) -> Mapping[str, str]:
        """Name -> a value that changes with its token."""
        return {name: digest.hex()[:32] for name, (_, digest) in self._known.items()}

    def knows(self, name: str, token: str) -> bool:
        """Whether the token is this administrator's; takes as long for an unknown name."""
        salt, digest = self._known.get(name, (bytes(16), bytes(32)))
        return hmac.compare_digest(stretch(token, salt), digest)
