"""The Model Context Protocol as far as a server of tools needs it: JSON-RPC, a message a line.

The official SDK takes a second to import, twice the time from start to the first answer; its client drives this server
in tests/library/test_agents.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import distriage
from distriage.base.errors import DistriageError, InputError
from distriage.base.terminal import printable

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # of the protocol, newest first
MAX_MESSAGE_BYTES = 8 << 20  # a report of the largest size, each character escaped
MAX_ERROR_CHARS = 500
_ENDS = 400  # bytes at either end of a message that is too long to be read
_ID = rb'"id"\s{0,8}:\s{0,8}("[ !#-\[\]-~]{1,200}"|-?(?:0|[1-9][0-9]{0,17}))\s{0,8}'
# No bracket between it and the message's own: the id of nothing inside.
_FIRST_ID = re.compile(rb"\s{0,8}\{[^][{}]{0,400}?" + _ID + rb"[,}]")
_LAST_ID = re.compile(_ID + rb"(?:,[^][{}]{0,400})?\}\s{0,8}\Z")
_UNREADABLE, _INVALID, _NO_METHOD, _BAD_PARAMS = -32700, -32600, -32601, -32602  # JSON-RPC's codes


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        described: Name, description and schemas, as `tools/list` gives them.
        call: Checked arguments -> result, as `outputSchema` describes it.
    """

    described: Mapping[str, Any]
    call: Callable[..., Mapping[str, Any]]


_Response = Mapping[str, Any]


class _RefusedError(Exception):
    """A request that is answered by an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def serve(tools: Sequence[Tool], instructions: str, incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer messages in order until the input ends."""
    server = _Server({tool.described["name"]: tool for tool in tools}, instructions)
    while line := incoming.readline(MAX_MESSAGE_BYTES + 1):
        whole, start = len(line) <= MAX_MESSAGE_BYTES, line[:_ENDS]
        while not line.endswith(b"\n") and (rest := incoming.readline(MAX_MESSAGE_BYTES)):
            line = line[-_ENDS:] + rest  # the end of a message that is too long
        if whole:
            answer = server.answer(line)
        else:
            answer = _error(_id_of(start, line[-_ENDS:]), _INVALID, f"more than {MAX_MESSAGE_BYTES:,} bytes")
        if answer is not None:
            outgoing.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
            outgoing.flush()


@dataclass(frozen=True, slots=True)
class _Server:
    tools: Mapping[str, Tool]
    instructions: str

    def answer(self, line: bytes) -> _Response | list[_Response] | None:
        """The response to a message, or to a batch of 2025-03-26; None to notifications and blank lines."""
        if not line.strip():
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, _UNREADABLE, "not JSON; expected a JSON-RPC request a line")
        if isinstance(message, list) and message:
            return [answer for one in message if (answer := self._one(one)) is not None] or None
        return self._one(message)

    def _one(self, message: object) -> _Response | None:
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            is_response = isinstance(message, dict) and ("result" in message or "error" in message)
            return None if is_response else _error(None, _INVALID, "not a request; expected `method`")
        if (number := message.get("id")) is None:
            return None
        params = message.get("params", {})
        try:
            if not isinstance(params, dict):
                raise _RefusedError(_BAD_PARAMS, f"`params` is {type(params).__name__}; expected an object")
            return {"jsonrpc": "2.0", "id": number, "result": self._result(message["method"], params)}
        except _RefusedError as refused:
            return _error(number, refused.code, str(refused))

    def _result(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "distriage", "version": distriage.__version__},
                "instructions": self.instructions,
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [tool.described for tool in self.tools.values()]}
        if method == "tools/call":
            return self._called(params)
        raise _RefusedError(_NO_METHOD, f"no method {_shown(method)}; this server has tools only")

    def _called(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        name, arguments = params.get("name"), params.get("arguments") or {}
        tool = self.tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise _RefusedError(_BAD_PARAMS, f"no tool {_shown(name)}; expected one of {', '.join(self.tools)}")
        try:
            found = tool.call(**checked_arguments(arguments, tool.described["inputSchema"]))
        except DistriageError as error:  # for the agent, who can call again
            return {"content": [{"type": "text", "text": _shown(str(error))}], "isError": True}
        return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found, "isError": False}


def checked_arguments(arguments: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that fit a schema of strings, integers and words to choose from; null counts as left out.

    Raises:
        InputError: one is unknown, missing or of another type or range.
    """
    if not isinstance(arguments, dict):
        raise InputError(f"arguments: {type(arguments).__name__}; expected an object")
    known, given = schema["properties"], {name: value for name, value in arguments.items() if value is not None}
    if unknown := [name for name in arguments if name not in known]:
        raise InputError(f"{_shown(unknown[0])}: not an argument; expected {', '.join(known)}")
    for name in schema.get("required", ()):
        if name not in given:
            raise InputError(f"{name}: missing; expected {known[name]['description']}")
    for name, value in given.items():
        about = known[name]
        if about["type"] == "string":
            fits = isinstance(value, str) and value in about.get("enum", (value,))
        else:
            if isinstance(value, float) and value.is_integer():
                given[name] = value = int(value)
            fits = type(value) is int and about["minimum"] <= value <= about["maximum"]
        if not fits:
            shown = type(value).__name__ if isinstance(value, list | dict) else json.dumps(value, ensure_ascii=False)
            raise InputError(f"{name}: {_shown(shown)}; expected {about['description']}")
    return given


def _id_of(start: bytes, end: bytes) -> object:
    """The id of a message, whose sender waits for it; it stands before or behind the parameters."""
    found = _FIRST_ID.match(start) or _LAST_ID.search(end)
    return json.loads(found[1]) if found is not None else None


def _error(number: object, code: int, message: str) -> _Response:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": _shown(message)}}


def _shown(value: object) -> str:
    text = printable(value if isinstance(value, str) else repr(value)[: 2 * MAX_ERROR_CHARS])
    return text if len(text) <= MAX_ERROR_CHARS else text[: MAX_ERROR_CHARS - 1] + "…"
