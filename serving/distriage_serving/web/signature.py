"""Whether a delivery was signed with our secret. Pure. https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

from distriage_serving.web.problem import ProblemError

HEADER: Final = "x-hub-signature-256"
_FORM: Final = re.compile(r"sha256=([0-9a-f]{64})")


class Signature:
    """The signature that a request claims, and that of its body so far."""

    def __init__(self, secret: bytes, header: str | None) -> None:
        """Read the header.

        Raises:
            ProblemError: missing or malformed (401): no byte of the body need be read.
        """
        claimed = _FORM.fullmatch(header or "")
        if claimed is None:
            raise _unsigned()
        self._claimed = claimed[1]
        self._hash = hmac.new(secret, digestmod=hashlib.sha256)

    def update(self, chunk: bytes) -> None:
        """Take in the next part of the body."""
        self._hash.update(chunk)

    def check(self) -> None:
        """Compare, after the last part.

        Raises:
            ProblemError: the body was not signed with the secret (401).
        """
        if not hmac.compare_digest(self._hash.hexdigest(), self._claimed):
            raise _unsigned()


def _unsigned() -> ProblemError:
    detail = "expected the header X-Hub-Signature-256 with a signature of this body with the webhook's secret"
    return ProblemError(401, "unauthorized", detail, headers={"WWW-Authenticate": "X-Hub-Signature-256"})
