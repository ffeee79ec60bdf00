"""GET /docs: the OpenAPI document as a plain page. Without scripts and without anything from another host, so it works offline. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import Any, Final

_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
h2{margin-top:2.5rem;border-top:1px solid #ccc;padding-top:1rem}code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:#f4f4f4;padding:.8rem;overflow:auto}table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1.5rem .2rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre{background:#262626}a{color:#8ab4f8}}
"""
# https://www.w3.org/TR/CSP3/: nothing is allowed but this very style sheet
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
SECURITY_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def docs_page(document: dict[str, Any]) -> str:
    """The page, HTML.

    Args:
        document: An OpenAPI document whose parts are those of `openapi.py`.
    """
    info = document["info"]
    operations = [(path, method, operation) for path, methods in document["paths"].items() for method, operation in methods.items()]
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(info["title"])}</title>',
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(info['title'])} {escape(info['version'])}</h1>",
        *(f"<p>{escape(paragraph)}</p>" for paragraph in info["description"].split("\n\n")),
        '<p>For machines: <a href="openapi.json">openapi.json</a>, OpenAPI 3.1.</p><ul>',
        *(
            f'<li><a href="#{escape(operation["operationId"])}"><code>{method.upper()} {escape(path)}</code></a> {escape(operation["summary"])}</li>'
            for path, method, operation in operations
        ),
        "</ul>",
        *(_operation(document, path, method, operation) for path, method, operation in operations),
        "<h2>Schemas</h2>",
        *(
            f'<h3 id="schema-{escape(name)}">{escape(name)}</h3><pre>{escape(json.dumps(schema, indent=2, ensure_ascii=False))}</pre>'
            for name, schema in sorted(document["components"]["schemas"].items())
        ),
        "</main></body></html>",
    ]
    return "\n".join(parts)


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> str:
    rows = []
    for status, answer in operation["responses"].items():
        full = document["components"]["responses"][answer["$ref"].rpartition("/")[2]] if "$ref" in answer else answer
        kinds = ", ".join(full.get("content", {}))
        rows.append(f"<tr><td>{escape(status)}</td><td>{escape(full['description'])}</td><td><code>{escape(kinds)}</code></td></tr>")
    call = f"curl http://127.0.0.1:8000{path}"
    if "requestBody" in operation:
        call += """ -H 'Content-Type: application/json' -d '{"title": "NCCL timeout in all_reduce", "body": "Training hangs after 1200 steps on 2 nodes."}'"""
    return (
        f'<h2 id="{escape(operation["operationId"])}"><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation["description"])}</p>'
        f"<pre>{escape(call)}</pre>"
        f"<table><tr><th>Status</th><th>When</th><th>Body</th></tr>{''.join(rows)}</table>"
    )
