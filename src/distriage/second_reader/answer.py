"""An endpoint's answer -> a share for each label, or nothing. Pure.

Only offered codes of an answer are shown or kept. Any other content counts as no answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

Shares = Mapping[str | None, float]  # label -> share, sum 1; None is "none of these"

LEAST_LOGPROB = -1000.0  # anything lower is a share of 0, or not the logarithm of a probability
_FENCED = re.compile(r"\A```(?:json)?\n(.{1,2000}?)\n?```\Z", re.S)


def read_answer(completion: object, codes: Mapping[str, Mapping[str, str | None]]) -> dict[str, Shares]:
    """Read a chat completion.

    Args:
        completion: The JSON document of the answer, of any shape.
        codes: The offered codes, as in `ReaderRequest`.

    Returns:
        Axis -> shares; by the log-probabilities of the code's token if the endpoint gives them, else all on the chosen
        label. Axes answered without an offered code are absent.
    """
    try:
        choice = completion["choices"][0]  # type: ignore[index]
        content = choice["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return {}
    chosen = _chosen(content, codes)
    tokens = _tokens(choice)
    return {axis: _shares(axis, code, codes[axis], content, tokens) for axis, code in chosen.items()}


def why_none(completion: object, limit: int) -> str:
    """Why an answer lacks an offered code, in our words; a reasoning model is the commonest reason.

    Args:
        limit: Of the answer, in tokens.
    """
    choice: Mapping[str, Any] = {}
    with suppress(KeyError, IndexError, TypeError):
        choice = completion["choices"][0]  # type: ignore[index]
    message = choice.get("message") if isinstance(choice, dict) else None
    said = message if isinstance(message, dict) else {}
    if isinstance(completion, dict) and completion.get("error"):
        return "the second reader answered with an error"
    if message is not None and choice.get("finish_reason") == "length":
        return f"the second reader's answer was cut off after {limit} tokens; switch the model's thinking off"
    if said.get("refusal"):
        return "the second reader declined to answer"
    content = said.get("content")
    text = content.strip() if isinstance(content, str) else ""
    if text.startswith("<think>") or (not text and said.get("reasoning_content")):
        return "the second reader thinks before it answers; switch the model's thinking off"
    return "the second reader gave none of the offered answers"


def _chosen(content: object, codes: Mapping[str, Mapping[str, str | None]]) -> dict[str, str]:
    if not isinstance(content, str):
        return {}
    fenced = _FENCED.match(content.strip())
    try:
        document = json.loads(fenced.group(1) if fenced else content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {
        axis: code for axis, code in document.items() if axis in codes and isinstance(code, str) and code in codes[axis]
    }


def _tokens(choice: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tokens if isinstance(tokens, list) and all(isinstance(token, dict) for token in tokens) else []


def _shares(
    axis: str, code: str, options: Mapping[str, str | None], content: str, tokens: Sequence[Mapping[str, Any]]
) -> Shares:
    certain: Shares = {options[code]: 1.0}
    place = re.search(rf'"{re.escape(axis)}"\s{{0,8}}:\s{{0,8}}"', content)
    if place is None:
        return certain
    position = 0
    for token in tokens:
        text = token.get("token")
        if not isinstance(text, str):
            return certain
        position += len(text)
        if position > place.end():
            weighed = _weighed(token.get("top_logprobs"), options)
            return weighed if options[code] in weighed else certain  # else they are those of another token
    return certain


def _weighed(alternatives: object, options: Mapping[str, str | None]) -> dict[str | None, float]:
    """Shares of the codes among the alternatives of one token, quotation marks and spaces apart."""
    weights: dict[str | None, float] = {}
    for item in alternatives if isinstance(alternatives, list) else ():
        if not isinstance(item, dict) or not isinstance(item.get("token"), str):
            continue
        code, logprob = item["token"].strip(' "'), item.get("logprob")
        if not isinstance(logprob, int | float) or isinstance(logprob, bool):
            continue
        if code in options and LEAST_LOGPROB < logprob <= 0:
            weights[options[code]] = weights.get(options[code], 0.0) + math.exp(logprob)
    total = sum(weights.values())
    return {label: weight / total for label, weight in weights.items()} if total > 0 else {}


def mean_shares(answers: Sequence[Mapping[str, Shares]]) -> dict[str, Shares]:
    """The mean of several answers to one question; of the axes that all of them hold."""
    result: dict[str, Shares] = {}
    for axis in answers[0] if answers else ():
        if not all(axis in answer for answer in answers):
            continue
        given = [answer[axis] for answer in answers]
        labels = dict.fromkeys(label for shares in given for label in shares)
        result[axis] = {label: sum(shares.get(label, 0.0) for shares in given) / len(given) for label in labels}
    return result
