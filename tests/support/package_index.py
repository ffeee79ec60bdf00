"""What tells uv of the package index that pip asks on this machine, and of the way there."""

from __future__ import annotations

import os

_NAMES = {
    "PIP_INDEX_URL": "UV_DEFAULT_INDEX",
    "PIP_CERT": "SSL_CERT_FILE",
    "HTTPS_PROXY": "HTTPS_PROXY",
    "HTTP_PROXY": "HTTP_PROXY",
}
ENVIRONMENT = {_NAMES[name]: value for name, value in os.environ.items() if name in _NAMES}
