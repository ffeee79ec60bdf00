"""HTTP clients with the environment's proxies and certificates, and the connections to GitHub. Network I/O."""

from __future__ import annotations

import atexit
import os
import ssl
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpx

from distriage.base.errors import ConfigError, GitHubError

KEEP_CONNECTION_S: Final = 30.0
_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
_VARIABLES: Final = (*_PROXIES, *map(str.lower, _PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR")


def open_client(whose: str, **options: Any) -> httpx.Client:
    """A client of httpx.

    Args:
        whose: Start of an error's message.

    Raises:
        ConfigError: the proxy or the certificates that the environment names cannot be used.
    """
    try:
        trusted = _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        return httpx.Client(verify=trusted, **options)
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:  # its message may show a password
        names = ", ".join(name for name in _VARIABLES if os.environ.get(name))
        raise ConfigError(
            f"{whose}: {names} of the environment cannot be used ({type(error).__name__}); expected proxies such as "
            "http://proxy.example:3128 (SOCKS needs `pip install socksio`) and certificates that are there"
        ) from None


@cache
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The certificates named by the two variables, or certifi's: read once, which takes a tenth of a second."""
    return httpx.create_ssl_context()


@cache
def connections() -> httpx.Client:
    """The process's one pool of connections to GitHub; safe to use from several threads.

    Reading the certificates takes longer than most requests, and a kept connection saves the handshake. No cookie is
    kept: a pool serves several installations.

    Raises:
        GitHubError: the proxy or the certificates that the environment names cannot be used.
    """
    try:
        pool = open_client(
            "GitHub cannot be reached",
            limits=httpx.Limits(keepalive_expiry=KEEP_CONNECTION_S),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )
    except ConfigError as error:
        raise GitHubError(str(error)) from None
    atexit.register(pool.close)
    return pool
