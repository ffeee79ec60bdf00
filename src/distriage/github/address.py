"""Where GitHub's two APIs are, and the token for them. Reads the environment."""

from __future__ import annotations

import os
from typing import Final

DEFAULT_API: Final = "https://api.github.com"
_SERVERS_REST: Final = "/api/v3"  # of a GitHub Enterprise Server; its GraphQL lies beside it


def api_address() -> str:
    """Base URL of the REST API: `GITHUB_API_URL`, which GitHub Actions set, else that of github.com."""
    return os.environ.get("GITHUB_API_URL") or DEFAULT_API


def graphql_address(api: str) -> str:
    """URL of the GraphQL API that belongs to a REST API."""
    if api.endswith(_SERVERS_REST):
        return f"{api.removesuffix(_SERVERS_REST)}/api/graphql"
    return f"{api}/graphql"


def token_of_environment() -> str:
    """The token in `GITHUB_TOKEN` or `GH_TOKEN`, or an empty string."""
    return os.environ.get("GITHUB_TOKEN") or os.environ.get("GH_TOKEN") or ""
