"""Entries of environment listings; the table is `listings.toml`. Pure.

They state versions, and say nothing about the failure.
"""

from __future__ import annotations

import re
from functools import cache

from distriage.base.texts import packaged_table, regex

MAX_VALUE_CHARS = 160  # a longer one is prose
MAX_ENTRY_CHARS = 500
MAX_NAME_CHARS = 100
_SEPARATOR = regex(r"[:=：|.](?:(?<!\.)|\.{2,})")  # one of the signs, or three points
_BRACKETS = regex(r"\s*\([^()]*\)|\s+(?:version(?:\(s\)|s)?|info)\??$|\?$", re.I)
_SHAPES = regex(
    # nvidia-smi, its topology
    r"\|.*(?:MiB|\bOff\b|\bDefault\b|Persistence-M|GPU-Util|Driver Version).*\|?$|\+[-=+]{3,}\+?$|\|[-=+ ]{3,}\|$"
    r"|GPU \d+: |(?:GPU|NIC|mlx5_)\d+\s+(?:X|NV\d+|SYS|PHB|PIX|PXB|NODE|GPU\d)\b|X\s+= Self|(?:SYS|NODE|PHB|PXB|PIX|NV#)\s+= "
    r"|GPU\d+\s+CPU Affinity|GPU [\d,]+ Compute Capability: |NUMA node\d+ CPU\(s\):|NIC\d+: "
    # ds_report
    r"|[\w-]+ \.+ \[(?:YES|NO|OKAY)\](?: \.+ \[(?:YES|NO|OKAY)\])?$|[\w-]+ +\[(?:YES|NO|OKAY)\] \.+ \[(?:YES|NO|OKAY)\]$"
    # pip, uv and conda
    r"|(?:[-*•] )?[A-Za-z][\w.-]{1,60}==[\d.]+\S*$"
    r"|[A-Za-z][\w.-]{0,60}\s+\d+(?:\.\d+){1,4}(?:[\w.+-]*\w)?(?:\s+(?:pypi_0|py\d\S*|h\w{6,}_\d|\S+)\s+(?:pypi|conda-forge|defaults|pytorch))?$"
    r"|[A-Za-z][\w.-]{1,60} @ (?:file|git\+https)://|-{3,} +-{3,}(?: +-{3,})*$"
    # Lightning, cuDNN
    r"|/\S*/libcudnn\S*(?: <--.{0,40})?$"
    r"|[-*•\s]*(?:[A-Za-z][\w.-]{1,40}: v?\d+\.\d+\.\d+\S*|available: (?:True|False)|64bit|ELF|version: #?\d.{0,80})$",
    re.I,
)
_DOTTED = regex(r"[\w ()/.-]{1,60} \.{4,} (?!\[FAIL)")  # of ds_report, too
_ENDS = (")", "?", "version", "versions", "info")
_AROUND_NAMES = "-*•|# \t"
_FAILING = regex(
    r"error|fail|not supported|not found\b(?!\.?$)|mismatch|incompatib|crash|cannot|too old"
    r"|\b(?:hangs?|hanging|hung|stuck|freez(?:es?|ing)|frozen|deadlocks?|killed|segfaults?|timed out|out of memory)\b",
    re.I,
)
_ASSIGNMENT = regex(
    r"[-*•\s|`]*(?:model\s*="
    r"|\w+\s*=(?!=)\s*(?:[\[({]|[A-Za-z_][\w.]*[\[(]|[A-Za-z_]\w*\.[A-Za-z_]|(?!\d+\.\d).*[,(\[{]$))",
    re.I,
)


@cache
def _table() -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    rows = packaged_table(__package__, "listings.toml")
    return frozenset(rows["names"]), tuple(rows["beginnings_of_names"]), tuple(rows["lines"])


def is_listed(line: str) -> bool:
    """Whether a stripped line is an entry of an environment listing.

    Not a line whose value reports a failure (`CUDA: version mismatch, 11.8 against 12.1`), nor an assignment in code
    (`model = deepspeed.initialize(model)`).
    """
    names, beginnings, lines = _table()
    if line.startswith(lines):
        return True
    if len(line) > MAX_ENTRY_CHARS:
        return False
    if _SHAPES.match(line) or ("...." in line and _DOTTED.match(line)):
        return True
    entry = _entry(line)
    if entry is None or len(entry[1]) > MAX_VALUE_CHARS:
        return False
    name = entry[0]
    if name not in names:
        if name.endswith(_ENDS):
            name = _BRACKETS.sub("", _BRACKETS.sub("", name)).strip()
        if name not in names and not name.startswith(beginnings):
            return False
    return not _FAILING.search(entry[1]) and not _ASSIGNMENT.match(line)


def _entry(line: str) -> tuple[str, str] | None:
    """The name of an entry, in lower case and without marks around it, and its value; None for other lines."""
    found = _SEPARATOR.search(line, 0, MAX_NAME_CHARS)
    if found is None:
        return None
    name = line[: found.start()].rstrip().replace("`", "").strip(_AROUND_NAMES)
    return (name.lower(), line[found.end() :].lstrip()) if name[:1].isalpha() else None


def is_entry(line: str) -> bool:
    """Whether a line has the form of an entry, with any name, and reports no failure."""
    entry = _entry(line)
    return entry is not None and not _FAILING.search(entry[1]) and not _ASSIGNMENT.match(line)
