"""The one shape of every error over HTTP: problem details, RFC 9457, `application/problem+json`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from distriage.base.terminal import counted

MEDIA_TYPE: Final = "application/problem+json"
MAX_ERRORS: Final = 20  # of an invalid request are named
MAX_POINTER_CHARS: Final = 200

# RFC 9110 names; those of `http.HTTPStatus` change between versions of Python.
TITLES: Final[Mapping[int, str]] = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

Code = Literal[
    "bad-request",
    "unauthorized",
    "forbidden",
    "not-found",
    "method-not-allowed",
    "head-timeout",
    "body-timeout",
    "conflict",
    "content-too-large",
    "unsupported-media-type",
    "invalid-request",
    "internal-error",
    "not-ready",
    "queue-full",
    "too-many-requests-at-once",
    "timeout",
    "shutting-down",
]

_STATUS_CODES: Final[Mapping[int, Code]] = {
    400: "bad-request",
    404: "not-found",
    405: "method-not-allowed",
    413: "content-too-large",
}


class InvalidPart(BaseModel):
    """One thing that is wrong with a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pointer: str = Field(description="A JSON Pointer (RFC 6901) into the body, as a fragment; `#` is the whole of it.")
    detail: str = Field(description="What is wrong there; never the value found.")


class Problem(BaseModel):
    """The body of every error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["about:blank"] = Field(
        default="about:blank", description="The status says it all; `code` tells cases of one status apart."
    )
    title: str = Field(description="The status in words.")
    status: int = Field(ge=400, le=599)
    code: Code = Field(description="For programs; never changes.")
    detail: str = Field(description="For people.")
    request_id: str = Field(description="The same as the header X-Request-Id; stands in the server's log.")
    errors: list[InvalidPart] | None = Field(
        default=None, description=f"Only with 422: what is wrong, the first {MAX_ERRORS}."
    )


class ProblemError(Exception):
    """Ends a request with a problem.

    Attributes:
        errors: The single faults of a request that is not valid.
    """

    def __init__(
        self,
        status: int,
        code: Code,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[InvalidPart] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})
        self.errors = errors

    def response(self, request_id: str) -> Response:
        """The answer to send."""
        problem = Problem(
            title=TITLES[self.status],
            status=self.status,
            code=self.code,
            detail=self.detail,
            request_id=request_id,
            errors=None if self.errors is None else list(self.errors),
        )
        return Response(problem.model_dump_json(exclude_none=True), self.status, self.headers, MEDIA_TYPE)


def unavailable(code: Code, detail: str, retry_after_s: int) -> ProblemError:
    """A 503 that says when to come back."""
    return ProblemError(503, code, detail, headers={"Retry-After": str(retry_after_s)})


def invalid(detail: str, *place: str | int) -> ProblemError:
    """A 422 for one fault.

    Args:
        place: Keys of the body that lead to it; none: it is the whole of it.
    """
    return ProblemError(422, "invalid-request", detail, errors=[InvalidPart(pointer=pointer(place), detail=detail)])


def of_status(status: int, headers: Mapping[str, str] | None) -> ProblemError:
    """The problem for an error that the web framework raised; a 500 if unknown."""
    code = _STATUS_CODES.get(status)
    if code is None:
        return ProblemError(500, "internal-error", "the server failed; its log has more under the request id")
    details = {
        "not-found": "no such path; /docs lists those of the API",
        "method-not-allowed": "this path knows other methods; see the header Allow",
    }
    return ProblemError(status, code, details.get(code, "the request cannot be read"), headers=headers)


def of_validation(error: ValidationError) -> ProblemError:
    """The problem for a body that does not fit its model, a tagged union."""
    faults = error.errors(include_input=False, include_context=False, include_url=False)
    # The first step is the union's tag, which is not in the body.
    parts = [InvalidPart(pointer=pointer(fault["loc"][1:]), detail=fault["msg"]) for fault in faults[:MAX_ERRORS]]
    return ProblemError(
        422,
        "invalid-request",
        f"the body does not fit the schema in /openapi.json: {counted(len(faults), 'fault')}",
        errors=parts,
    )


def pointer(steps: Sequence[str | int]) -> str:
    """A JSON Pointer as a fragment, cut at an overlong key of the body."""
    return ("#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps))[:MAX_POINTER_CHARS]
