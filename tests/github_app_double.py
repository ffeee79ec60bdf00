"""The double as a GitHub App meets it: tokens, permissions, check runs, reactions, and the list of what its webhook got."""

from __future__ import annotations

import itertools
import json
import time
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import github_shapes
import jwt
from conftest import Fault, Request, _message
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from github_double import PERSON, GitHubDouble

APP_ID = "4711"
INSTALLATION = 1
TOKEN_LIFETIME_S = 3600


@cache
def app_key() -> rsa.RSAPrivateKey:
    """The App's private key."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def app_key_pem() -> str:
    """The same as GitHub hands it out."""
    return app_key().private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()).decode()


class GitHubAppDouble(GitHubDouble):
    """`GitHubDouble` with an App on it.

    Attributes:
        installations: Ids of those that are there and not suspended.
        tokens: Token of an installation -> when it ends.
        roles: Login -> `role_name` in every repository.
        reactions: Id of a comment -> what the bot reacted with.
        check_runs: Commit -> check runs.
        versions: Commit -> text of `.github/distriage.yml`.
        hook_deliveries: What `GET /app/hook/deliveries` lists, the latest first.
        redelivered: Ids of deliveries that were asked for again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bot = github_shapes.account("distriage[bot]", 99, "Bot")
        self.installations = {INSTALLATION}
        self.tokens: dict[str, float] = {}
        self.roles: dict[str, str] = {"maintainer": "maintain"}
        self.reactions: dict[int, list[str]] = {}
        self.check_runs: dict[str, list[dict[str, Any]]] = {}
        self.versions: dict[str, str] = {}
        self.hook_deliveries: list[dict[str, Any]] = []
        self.redelivered: list[int] = []
        self._numbers = itertools.count(1)

    def payload(self, action: str, reference: str, sender: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """What a webhook sends about an issue."""
        repository = {"full_name": reference.partition("#")[0]}
        return {
            "action": action,
            "issue": self.issues[reference],
            "repository": repository,
            "installation": {"id": INSTALLATION},
            "sender": sender or PERSON,
            "n": next(self._numbers),
            **more,
        }

    def hook_delivery(self, guid: str, status_code: int, age_s: float = 60.0) -> dict[str, Any]:
        """Add an attempt to hand a delivery over."""
        delivered = datetime.fromtimestamp(time.time() - age_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        attempt = github_shapes.hook_delivery(1000 + len(self.hook_deliveries), guid, status_code, delivered)
        self.hook_deliveries.insert(0, attempt)
        return attempt

    # ------------------------------------------------------------ HTTP

    def _is_known(self, request: Request) -> bool:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return self.tokens.get(token, 0.0) > time.time()

    def _reply(self, request: Request, body: bytes) -> Fault:
        parts = urlsplit(request.path)
        steps = [unquote(step) for step in parts.path.split("/")[1:]]
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        data = json.loads(body) if body else None
        if steps[0] == "app":
            return self._reply_to_app(request, steps[1:], query)
        if not self._is_known(request):
            return self.bad_credentials()
        if steps[0] == "repos":
            match [request.method, *steps[3:]]:
                case ["GET", "collaborators", login, "permission"]:
                    return self._permission(login)
                case ["POST", "issues", "comments", number, "reactions"]:
                    self.reactions.setdefault(int(number), []).append(data["content"])
                    return Fault(201, json.dumps(github_shapes.reaction(1, self.bot, data["content"])))
                case ["GET", "commits", commit, "check-runs"]:
                    runs = [run for run in self.check_runs.get(commit, []) if run["name"] == query["check_name"]]
                    shown = [github_shapes.check_run("/".join(steps[1:3]), 1, run) for run in runs]
                    return Fault(200, json.dumps({"total_count": len(runs), "check_runs": shown}))
                case ["POST", "check-runs"]:
                    self.check_runs.setdefault(data["head_sha"], []).append(data)
                    return Fault(201, json.dumps(github_shapes.check_run("/".join(steps[1:3]), 1, data)))
                case ["GET", "contents", *_] if "ref" in query:
                    text = self.versions.get(query["ref"])
                    return self.status(404) if text is None else Fault(200, text)
        return super()._reply(request, body)

    def _reply_to_app(self, request: Request, steps: list[str], query: dict[str, str]) -> Fault:
        try:
            claims = jwt.decode(request.headers.get("authorization", "").removeprefix("Bearer "), app_key().public_key(), algorithms=["RS256"])
        except jwt.InvalidTokenError:
            return Fault(401, _message("A JSON web token could not be decoded", 401))
        if claims["iss"] != APP_ID or claims["exp"] - claims["iat"] > 600:
            return Fault(401, _message("'Expiration time' claim ('exp') is too far in the future", 401))
        match [request.method, *steps]:
            case ["GET"]:
                return Fault(200, json.dumps(github_shapes.app(int(APP_ID), "distriage")))
            case ["POST", "installations", number, "access_tokens"]:
                if int(number) not in self.installations:
                    return self.status(404)
                token, ends = f"ghs_{len(self.tokens):036}", time.time() + TOKEN_LIFETIME_S
                self.tokens[token] = ends
                expires_at = datetime.fromtimestamp(ends, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                return Fault(201, json.dumps({"token": token, "expires_at": expires_at, "permissions": {"issues": "write"}}))
            case ["GET", "hook", "deliveries"]:
                start = int(query.get("cursor", "0"))
                link = f'<{self.url}/app/hook/deliveries?per_page=100&cursor={start + self.page_items}>; rel="next"'
                more = len(self.hook_deliveries) > start + self.page_items
                return Fault(200, json.dumps(self.hook_deliveries[start : start + self.page_items]), {"Link": link} if more else {})
            case ["POST", "hook", "deliveries", number, "attempts"]:
                self.redelivered.append(int(number))
                return Fault(202, "{}")
        return self.status(404)

    def _permission(self, login: str) -> Fault:
        role = self.roles.get(login)
        if role is None:
            return self.status(404)
        legacy = {"maintain": "write", "triage": "read"}.get(role, role)
        return Fault(200, json.dumps({"permission": legacy, "role_name": role, "user": {**github_shapes.account(login), "role_name": role}}))
