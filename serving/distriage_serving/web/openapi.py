"""The OpenAPI document: FastAPI's, with the request body and the errors that it does not know of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from starlette.routing import BaseRoute

import distriage
from distriage_serving.settings import Settings
from distriage_serving.web.problem import MEDIA_TYPE, TITLES, Problem
from distriage_serving.web.routes.classify import REQUEST

DESCRIPTION: Final = """What kind of distributed-training failure is this issue about, and what fixes such failures?

Every error is an `application/problem+json` document (RFC 9457). Each answer carries `X-Request-Id`: yours, if it is 1
to 64 letters, digits, `.`, `_` or `-`, and the request's head can be read.
"""
_REF: Final = "#/components/schemas/{model}"
_WHEN: Final[Mapping[int, str]] = {
    400: "Not HTTP/1.1, or a head that is too large or cannot be read, or a long body in chunks of less than 64 bytes: "
    "send `Content-Length`, or larger chunks.",
    401: "No known API key; only where the server asks for one.",
    408: "The body did not arrive in time.",
    413: "The body is larger than the server allows.",
    415: "The body is not plain application/json.",
    422: "The body does not fit the schema, is blank, or holds too many reports.",
    500: "The server failed; its log has more under the request id.",
    503: "Not now: the model is being loaded or its process ended, the queue is full or too long for this request, "
    "too many requests came at once, or time ran out. See the header Retry-After.",
}
_EVERYWHERE: Final = (400, 408, 413, 500, 503)


def build_openapi(routes: Sequence[BaseRoute], settings: Settings) -> dict[str, Any]:
    """The document for a server with these settings."""
    document = get_openapi(
        title="Distriage",
        version=distriage.__version__,
        description=DESCRIPTION,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        routes=routes,
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    _add_schema(schemas, "ClassifyRequest", REQUEST)
    _add_schema(schemas, "Problem", TypeAdapter(Problem))
    schemas["ClassifyBatch"]["properties"]["reports"]["maxItems"] = settings.max_reports
    schemas["ClassifyBatch"]["properties"]["explain"]["description"] += (
        f" At most {settings.max_explained_reports} reports at a time."
    )
    components["responses"] = {_name(status): _response(status, when) for status, when in _WHEN.items()}
    if settings.api_keys:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            statuses = set(_EVERYWHERE)
            if path.startswith("/v1/"):
                statuses.add(401)
                if settings.api_keys:
                    operation["security"] = [{"key": []}]
            if "requestBody" in operation:
                statuses |= {415, 422}
            operation["responses"].update(
                {str(status): {"$ref": f"#/components/responses/{_name(status)}"} for status in sorted(statuses)}
            )
            for answer in operation["responses"].values():
                if "$ref" not in answer:
                    answer["headers"] = {"X-Request-Id": _REQUEST_ID}
    return document


_REQUEST_ID: Final[dict[str, Any]] = {"description": "The id of the request.", "schema": {"type": "string"}}


def _name(status: int) -> str:
    return TITLES[status].title().replace(" ", "")


def _response(status: int, when: str) -> dict[str, Any]:
    headers: dict[str, Any] = {"X-Request-Id": _REQUEST_ID}
    if status == 503:
        headers["Retry-After"] = {
            "description": "Seconds after which to try again.",
            "schema": {"type": "integer", "minimum": 1},
        }
    if status == 401:
        headers["WWW-Authenticate"] = {"schema": {"type": "string"}}
    return {
        "description": when,
        "headers": headers,
        "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}},
    }


def _add_schema(schemas: dict[str, Any], name: str, adapter: TypeAdapter[Any]) -> None:
    schema = adapter.json_schema(ref_template=_REF)
    schemas.update(schema.pop("$defs", {}))
    schemas[name] = schema
