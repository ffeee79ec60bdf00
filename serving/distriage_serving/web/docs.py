"""/docs: the OpenAPI document as one page, without scripts and without anything from elsewhere. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any, Final

from markupsafe import Markup, escape

from distriage.base.pages import LOOK, page_environment

_STYLE: Final = f"""{LOOK}
main {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
h2 {{ margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem }}
a {{ color: var(--accent) }}
code, pre {{ font-family: var(--mono); font-size: .9em }}
pre {{ background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem; overflow: auto }}
summary {{ cursor: pointer; padding: .3rem 0 }}
table {{ border-collapse: collapse }}
td, th {{ text-align: left; padding: .2rem 1.5rem .2rem 0; vertical-align: top; overflow-wrap: anywhere }}
"""
# https://www.w3.org/TR/CSP3/: nothing is allowed but this very style sheet
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SERVER: Final = "http://server"  # in the page, in place of the address that it was asked for at
_EXAMPLE: Final = '{"title": "NCCL timeout in all_reduce", "body": "Training hangs after 1200 steps on 2 nodes."}'


def docs_page(document: dict[str, Any]) -> str:
    """The page, HTML.

    Args:
        document: An OpenAPI document whose parts are those of `openapi.py`.
    """
    template = page_environment("distriage_serving.web").get_template("docs.html")
    return template.render(
        info=document["info"],
        style=Markup(_STYLE),
        code=_code,
        has_keys="securitySchemes" in document["components"],
        operations=[
            _operation(document, path, method, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ],
        schemas=[
            (name, json.dumps(schema, indent=2, ensure_ascii=False))
            for name, schema in sorted(document["components"]["schemas"].items())
        ],
    )


def _code(text: str) -> Markup:
    """Text with passages between backticks as code."""
    parts = map(escape, text.split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if odd % 2 else part for odd, part in enumerate(parts)
    )


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    answers = []
    for status, answer in operation["responses"].items():
        full = document["components"]["responses"][answer["$ref"].rpartition("/")[2]] if "$ref" in answer else answer
        answers.append((status, full["description"], ", ".join(full.get("content", {}))))
    call = f"curl {SERVER}{path}"
    if "security" in operation:
        call += ' -H "Authorization: Bearer $KEY"'
    if "requestBody" in operation:
        call += f" -H 'Content-Type: application/json' -d '{_EXAMPLE}'"
    return {
        "id": operation["operationId"],
        "path": path,
        "method": method.upper(),
        "summary": operation["summary"],
        "description": operation["description"],
        "call": call,
        "answers": answers,
    }
