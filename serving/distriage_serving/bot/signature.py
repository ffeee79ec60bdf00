"""Was a delivery signed with our secret? Pure. https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries"""

from __future__ import annotations

import hashlib
import hmac


def is_signed(secret: bytes, body: bytes, header: str | None) -> bool:
    """Whether `X-Hub-Signature-256` is that of the body as it came.

    Args:
        header: As it came, decoded as Latin-1; None: there is none.
    """
    expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    # As bytes: comparing texts raises on other characters than ASCII.
    return hmac.compare_digest(expected.encode(), (header or "").encode("latin-1", "replace"))
