"""API keys: `Authorization: Bearer KEY`, RFC 6750. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from pydantic import SecretStr

from distriage_serving.web.problem import ProblemError


class KeyRing:
    """The accepted keys; without any, every request is let in."""

    def __init__(self, keys: Sequence[SecretStr]) -> None:
        # Digests have one length, so a comparison does not even tell how long a key is.
        self._digests = [_digest(key.get_secret_value().encode()) for key in keys]

    @property
    def empty(self) -> bool:
        """Whether no key is asked for."""
        return not self._digests

    def check(self, authorization: str | None) -> None:
        """Refuse a request without a known key.

        Args:
            authorization: The raw header, decoded as Latin-1, if sent.

        Raises:
            ProblemError: 401.
        """
        if self.empty:
            return
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            raise _unauthorized("expected the header `Authorization: Bearer KEY`", "")
        digest = _digest(given.strip().encode("latin-1", "replace"))
        # Every key is compared, each in constant time: the time taken says nothing about which one came close.
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        if True not in matches:
            raise _unauthorized("unknown key", ', error="invalid_token"')


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()


def _unauthorized(detail: str, parameters: str) -> ProblemError:
    return ProblemError(
        401, "unauthorized", detail, headers={"WWW-Authenticate": f'Bearer realm="distriage"{parameters}'}
    )
