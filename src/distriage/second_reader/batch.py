"""The OpenAI batch format: requests to a file, answers from one. For backfills and studies, by batch services or any
other reader. Pure.

https://platform.openai.com/docs/guides/batch. A request's `custom_id` is a digest of the question and the reader, so
answers to other questions (another report, another reader) are not mistaken for answers to these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from distriage.base.errors import InputError
from distriage.second_reader.answer import Shares, read_answer
from distriage.second_reader.request import ReaderRequest


def custom_id(request: ReaderRequest, reader: str) -> str:
    """Digest of the question and of the reader's name, 32 hexadecimal digits."""
    asked = json.dumps([reader, request.body["messages"]], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:32]


def batch_line(request: ReaderRequest, reader: str) -> str:
    """One line of a batch file, without the line feed."""
    line = {
        "custom_id": custom_id(request, reader),
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {**request.body, "model": reader},
    }
    return json.dumps(line, ensure_ascii=False)


def read_batch(lines: Iterable[str], place: str) -> dict[str, Any]:
    """Completions by `custom_id`; failed requests are absent.

    Raises:
        InputError: a line is not an answer of a batch.
    """
    completions: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answer = json.loads(line)
            identifier, response = answer["custom_id"], answer["response"]
        except (ValueError, RecursionError, KeyError, TypeError):
            raise InputError(
                f"{place}:{number}: expected an answer of a batch: an object with `custom_id` and `response`"
            ) from None
        if isinstance(identifier, str) and isinstance(response, dict) and response.get("status_code") == 200:
            completions[identifier] = response.get("body")
    return completions


def answer_to(request: ReaderRequest, reader: str, completions: Mapping[str, Any]) -> dict[str, Shares]:
    """A reader's answer to one request in a batch; empty without an offered code."""
    return read_answer(completions.get(custom_id(request, reader)), request.codes)
