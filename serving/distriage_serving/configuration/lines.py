"""YAML -> plain data with the line of each value. Pure.

A safe and small part of YAML: one document of mappings, lists and scalars with plain string keys. A scalar is true,
false, null or text, never a number or a date, so a colour `000000`, a label `1e3` and a mapping key `true` stay as
written. Anchors, aliases and tags are refused: an alias can make a few lines as large as memory. Reads events in turn,
so nesting cannot exhaust the stack.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

MAX_BYTES = 1 << 16
MAX_DEPTH = 12

Value = None | bool | str | list["Value"] | dict[str, "Value"]
Path = tuple[str | int, ...]

_PLAIN: Mapping[str, bool | None] = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "null": None,
    "Null": None,
    "NULL": None,
    "~": None,
    "": None,
}
_SWITCHED = frozenset({"comment", "needs-triage"})  # and each key of `labels`: a switch or text
_SWITCHES: Mapping[str, str] = {"yes": "true", "on": "true", "no": "false", "off": "false"}  # in YAML 1.1, not in 1.2


_BARE_GLOB = re.compile(
    r"(?:^|[-\[,:])[ \t]{0,20}(?:\*|\[[^\]]{0,200}\][^,\]\s])"
)  # where YAML wants an alias or a list


class YamlLineError(ValueError):
    """Text that is not this part of YAML.

    Attributes:
        line: Where, counted from 1.
        message: Why, one sentence.
    """

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Document:
    """Data and its lines.

    Attributes:
        lines: Path of keys and indices -> line, counted from 1, of the key (of the item in a list).
        doubtful: Path -> why the value is probably not meant as read.
    """

    value: Value
    lines: Mapping[Path, int]
    doubtful: Mapping[Path, str] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """Line of the value at `path`, or of the nearest that holds it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


@dataclass(slots=True)
class _Open:
    """A mapping or a list being read; `key` awaits its value."""

    path: Path
    value: list[Value] | dict[str, Value]
    key: str | None = field(default=None)


def read_yaml(text: str) -> Document:
    """Read one document; empty text is None.

    Raises:
        YamlLineError: not YAML, more than one document, too large or too deep, or a part of YAML that is refused.
    """
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise YamlLineError(1, f"more than {MAX_BYTES:,} bytes")
    try:
        return _build(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        written = [*text.splitlines(), ""][min(line - 1, len(text.splitlines()))]
        hint = '; quote a pattern, as in "[RFC]*"' if _BARE_GLOB.search(written) else ""
        raise YamlLineError(line, f"not valid YAML: {error.problem or error.context}{hint}") from None
    except yaml.reader.ReaderError as error:
        raise YamlLineError(text.count("\n", 0, error.position) + 1, "not valid YAML: a control character") from None
    except YamlLineError:
        raise
    except (ValueError, OverflowError):  # PyYAML hands a `%YAML` of 5,000 digits to int(), and `\UFFFFFFFF` to chr()
        raise YamlLineError(1, "not valid YAML: a number that is too large") from None


def _build(text: str) -> Document:
    root: list[Value] = []
    lines: dict[Path, int] = {}
    doubtful: dict[Path, str] = {}
    stack: list[_Open] = []
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            stack.pop()
        elif isinstance(event, yaml.DocumentStartEvent) and root:
            raise YamlLineError(line, "a second document; expected one")
        elif isinstance(event, yaml.AliasEvent):
            raise YamlLineError(line, "aliases are not supported; write the value out")
        elif isinstance(event, (yaml.ScalarEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            _refuse_extras(event, line)
            value = _value(event)
            holder = stack[-1] if stack else None
            if holder is not None and isinstance(holder.value, dict) and holder.key is None:
                holder.key = _key(event, holder, line)
                lines[(*holder.path, holder.key)] = line
                continue
            path = _place(holder, value, root)
            lines.setdefault(path, line)
            if path and (doubt := _doubt(event, path)) is not None:
                doubtful[path] = doubt
            if isinstance(value, (dict, list)):
                if len(stack) >= MAX_DEPTH:
                    raise YamlLineError(line, f"nested deeper than {MAX_DEPTH}")
                stack.append(_Open(path, value))
    return Document(root[0] if root else None, lines, doubtful)


def _refuse_extras(event: yaml.NodeEvent, line: int) -> None:
    if event.anchor is not None:
        raise YamlLineError(line, "anchors are not supported; write the value out")
    if getattr(event, "tag", None) is not None:
        raise YamlLineError(line, "tags (`!...`) are not supported")


def _value(event: yaml.Event) -> Value:
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    assert isinstance(event, yaml.ScalarEvent)
    text: str = event.value
    return _PLAIN.get(text, text) if event.style is None else text


def _doubt(event: yaml.Event, path: Path) -> str | None:
    if not isinstance(event, yaml.ScalarEvent) or event.style is not None:
        return None
    if not event.value:
        return "expected a value; what stands behind `#` is a comment unless it is quoted"
    switch = _SWITCHES.get(event.value.lower())
    if switch is None:
        return None
    *_, holder, key = ("", *path)
    else_ = f", else write {switch}" if key in _SWITCHED or (holder == "labels" and isinstance(key, str)) else ""
    return f"`{event.value}` is text here; quote it if it is meant so{else_}"


def _key(event: yaml.Event, holder: _Open, line: int) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise YamlLineError(line, "a key that is a list or a mapping; expected text")
    key: str = event.value
    if key in holder.value:
        raise YamlLineError(line, f"key `{key}` stands twice")
    return key


def _place(holder: _Open | None, value: Value, root: list[Value]) -> Path:
    """Add a value to its holder and return its path."""
    if holder is None:
        root.append(value)
        return ()
    if isinstance(holder.value, list):
        holder.value.append(value)
        return (*holder.path, len(holder.value) - 1)
    assert holder.key is not None
    key, holder.key = holder.key, None
    holder.value[key] = value
    return (*holder.path, key)
