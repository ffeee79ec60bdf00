"""Column types with the same answer on SQLite and PostgreSQL for any text of users. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

from sqlalchemy import BigInteger, Dialect, Integer, Text, TypeDecorator
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from distriage.answer.verdict import Verdict

BIG_INTEGER: Final = BigInteger().with_variant(
    Integer(), "sqlite"
)  # SQLite's INTEGER has 64 bits, and only it can be a row id
_NOT_STORABLE: Final = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """A text in the form that comes back from the database."""
    return _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


class PlainText(TypeDecorator[str]):
    """Text. NUL, which PostgreSQL refuses, and lone surrogates, which UTF-8 cannot encode, become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return value if value is None else storable(value)


class InLowerCase(FunctionElement[str]):
    """A text with its ASCII letters in lower case. PostgreSQL does all of Unicode otherwise, in twice the time."""

    type = PlainText()
    inherit_cache = True

    @classmethod
    def of(cls, text: str) -> str:
        """The same of a value."""
        return storable(text).encode().lower().decode()


@compiles(InLowerCase)
def _in_lower_case(element: InLowerCase, compiler: SQLCompiler, **options: Any) -> str:
    return f"lower({compiler.process(element.clauses, **options)})"


@compiles(InLowerCase, "postgresql")
def _in_lower_case_there(element: InLowerCase, compiler: SQLCompiler, **options: Any) -> str:
    return f'lower({compiler.process(element.clauses, **options)} COLLATE "C")'


class RepositoryName(PlainText):
    """`owner/name` in lower case, as GitHub compares it; in searches too."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value if value is None else super().process_bind_param(value.lower(), dialect)


class JsonText(TypeDecorator[Any]):
    """A JSON value as ASCII text, so that every string comes back unchanged."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:  # noqa: ARG002
        return json.dumps(value, allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        return None if value is None else json.loads(value)


class VerdictText(TypeDecorator[Verdict]):
    """A `distriage.answer.verdict.Verdict` as JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Verdict | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else json.dumps(value.model_dump())

    def process_result_value(self, value: str | None, dialect: Dialect) -> Verdict | None:  # noqa: ARG002
        return None if value is None else Verdict.model_validate(json.loads(value))


def report_digest(title: str, body: str) -> str:
    """SHA-256 of title and body, 64 hexadecimal digits; the same before and after they are stored."""
    return hashlib.sha256(storable(f"{title}\n{body}").encode()).hexdigest()
