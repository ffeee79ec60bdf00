"""Requests to the tests' own servers: past any proxy, and without TLS, whose certificates take longer to read."""

from __future__ import annotations

from functools import partial

import httpx

Client = partial(httpx.Client, trust_env=False, verify=False)
get = partial(httpx.get, trust_env=False, verify=False)
post = partial(httpx.post, trust_env=False, verify=False)
request = partial(httpx.request, trust_env=False, verify=False)
