"""Secrets and e-mail addresses out of a text that leaves the machine. Pure.

The text is a prepared one: rules of dashes are cut, the dashes before an option are gone, and the middle of a long
listing or log is missing. Patterns have a fixed prefix or a bounded length, so time is linear in the text. A mask names
the kind of secret.
"""

from __future__ import annotations

import re

_KEY_MARK = r"[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-{0,5}"
_KEY_CHARS = "[A-Za-z0-9+/=]"
_VALUE = r"(?(quote)(?:(?!(?P=quote))[^\n]){4,400}|[^\s\"']{3,399}[^\s\"',;])"  # in quotes it may hold anything
_GAP = r"(?P<gap>\\?[\"']?\s{0,3}[:=]\s{0,3}(?P<quote>\\?[\"'])?)"
_SECRET = r"(?:(?:api|access|secret|wandb)[_-]?key|secret|passwd|password)"

_MASKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "[private key]",
        re.compile(
            rf"-{{0,5}}BEGIN {_KEY_MARK}(?:.{{0,8000}}?END {_KEY_MARK}"
            # Without the end: the lines that look like a key's, whose last one is short.
            rf"|[^\n]{{0,4000}}(?:\n(?:[^\n]{{0,80}}?(?:{_KEY_CHARS}{{20}}|Proc-Type|DEK-Info)[^\n]{{0,400}}"
            rf"|{_KEY_CHARS}{{0,20}}$)){{0,200}})"
            # Without the beginning.
            rf"|(?<!{_KEY_CHARS})(?:{_KEY_CHARS}{{4,400}}\n){{1,8}}-{{0,5}}END {_KEY_MARK}",
            re.S | re.M,
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
            r"(?P<name>\bauthorization)(?P<gap>\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?:basic|digest|token)\s{1,4})"
            r"[^\s\"']{4,2000}",
            re.I,
        ),
    ),
    ("[secret]", re.compile(rf"(?<![A-Za-z0-9])(?P<name>[A-Za-z0-9_]{{0,40}}{_SECRET}){_GAP}{_VALUE}", re.I)),
    (
        "[secret]",
        re.compile(  # but not a special token of a vocabulary, a number, or a call
            r"(?<![A-Za-z0-9])(?P<name>[A-Za-z0-9_]{0,40}(?<!pad_|eos_|bos_|unk_|sep_|cls_|end_)"
            rf"(?<!mask_|next_|stop_|last_)token){_GAP}"
            r"(?![\d.]+[a-z]{0,2}(?:[\s\"',;)]|\Z))[^\s\"',;<>()\[\]{}]{8,400}+(?![(\[])",
            re.I,
        ),
    ),
    (
        "[secret]",
        re.compile(  # an option's value behind a blank
            rf"(?:(?<=--)(?=\w)|(?P<bare>^(?=\w{{1,40}}-)))(?P<name>[\w-]{{0,40}}(?:{_SECRET}|token))"
            r"(?P<gap>[ \t]{1,3}[\"']?)(?!-)[^\s\"'\\]{4,400}(?(bare)(?=[\"']?[ \t]*(?:\\|--|$)))",
            re.I | re.M,
        ),
    ),
    ("[login]", re.compile(r"(?<=://)[^\s/:@]{0,200}:[^\s/@]{1,200}@")),
    ("[e-mail]", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?=[\w-]{1,63}\.)[\w.-]{3,255}(?<![.-])")),
)


def mask(text: str) -> str:
    """Replace credentials, keys and e-mail addresses.

    The name stays (`api_key`), the value goes. Secrets of unknown shape are not found: the documentation says so.
    """
    for word, pattern in _MASKS:
        replacement = rf"\g<name>\g<gap>{word}" if "name" in pattern.groupindex else word
        text = pattern.sub(replacement, text)
    return text
