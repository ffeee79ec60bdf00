"""Secrets and e-mail addresses out of a text that leaves the machine. Pure.

Patterns have a fixed prefix or a bounded length, so that time is linear in the text. A mask says what was there.
"""

from __future__ import annotations

import re

_MASKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "[private key]",
        re.compile(
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,8000}?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)", re.S
        ),
    ),
    ("[token]", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,255}|\bgithub_pat_[A-Za-z0-9_]{20,255}")),
    (
        "[token]",
        re.compile(r"\bhf_[A-Za-z0-9]{20,100}|\bglpat-[A-Za-z0-9_-]{15,100}|\bxox[abposr]-[A-Za-z0-9-]{10,200}"),
    ),
    ("[token]", re.compile(r"\bsk-[A-Za-z0-9_-]{16,250}|\bnvapi-[A-Za-z0-9_-]{20,100}|\bAIza[A-Za-z0-9_-]{30,60}")),
    (
        "[token]",
        re.compile(
            r"\bA(?:KIA|SIA)[A-Z0-9]{16}\b|\bey[A-Za-z0-9_-]{15,500}\.ey[A-Za-z0-9_-]{15,2000}\.[A-Za-z0-9_-]{10,1000}"
        ),
    ),
    ("[token]", re.compile(r"\bBearer\s{1,4}[A-Za-z0-9._~+/=-]{12,2000}", re.I)),
    (
        "[secret]",
        re.compile(
            r"(?<![A-Za-z0-9])(?P<name>[A-Za-z0-9_]{0,40}(?:api[_-]?key|secret|passwd|password|access[_-]?token|auth[_-]?token|wandb[_-]?key))"
            r"(?P<gap>[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?P<value>[^\s\"',;]{4,400})",
            re.I,
        ),
    ),
    ("[login]", re.compile(r"(?<=://)[^\s/:@]{1,200}:[^\s/@]{1,200}@")),
    ("[e-mail]", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?=[\w-]{1,63}\.)[\w.-]{3,255}(?<![.-])")),
)


def mask(text: str) -> str:
    """Replace credentials, keys and e-mail addresses.

    A name such as `api_key` stays, its value goes. What has no known shape is not found: the documentation says so.
    """
    for word, pattern in _MASKS:
        replacement = rf"\g<name>\g<gap>{word}" if "name" in pattern.groupindex else word
        text = pattern.sub(replacement, text)
    return text
