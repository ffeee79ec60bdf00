"""Report -> model input. Pure: no I/O, no state; the same code in training and in serving.

The encoder sees a few hundred tokens, while a report may hold megabytes of log. The recipe therefore

1. puts Chinese words of the field into English (`chinese.py`) and normalizes: HTML comments, tags, badges, control
   characters, long hashes and addresses go (`normalize.py`);
2. sorts lines into prose, code, log, environment and template, and drops the last two (`lines.py`, `boilerplate.py`;
   `distriage.facts` reads what they state);
3. folds logs: repeated lines, ranks and timestamps collapse, a traceback keeps its last frames (`folding.py`);
4. puts the decisive error lines right behind the title, before the prose, so that truncation takes the least useful end.

A change that alters any output needs a new `RECIPE_VERSION`: a bundle records the version that it is read with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from distriage.recipe.chinese import in_english
from distriage.recipe.features import all_features
from distriage.recipe.folding import fold
from distriage.recipe.normalize import normalize
from distriage.segments.boilerplate import is_environment_line, is_notice, is_template_line
from distriage.segments.lines import begins_log, frame_of, is_wrapper, names_exception, names_failure, raises

RECIPE_VERSION = 6

MAX_TITLE_CHARS = 300
MAX_TEXT_CHARS = 24_000  # of `text` and `filed`: beyond every encoder's window, enough for the sparse features
END_CHARS = 8_000  # of them, the last ones of a longer body: a job's log says at its end why it failed
MAX_ERROR_CHARS = 600
MAX_ERROR_LINE_CHARS = 240
MAX_ERROR_LINES = 8
MAX_CODE_LINES = 25  # of one fenced block: examples are long, and what fails is in the log
LOG_EDGE_LINES = 4  # of each end of a log are kept beside its error lines
_IMPORT = re.compile(r"(?:import|from) [\w.]+")
_FENCE = re.compile(r"(`{3,})[^`]*|(~{3,})[^~^]*")  # not code between back-ticks, nor Python's marker below a frame


@dataclass(frozen=True)  # without slots, for what is cached
class ModelInput:
    """What the model reads of a report.

    Attributes:
        title: Cleaned title, one line.
        errors: Decisive error lines, in the order of the report.
        prose: The rest of the cleaned body, folded.
        filed: Title and body as filed, the middle of a long body cut out. The sparse features read it beside the cleaned
            parts, since template and environment tell apart what a product is used for.
    """

    title: str
    errors: tuple[str, ...]
    prose: str
    filed: str = ""

    @property
    def text(self) -> str:
        """Everything as one string, the most decisive part first."""
        parts = (self.title, "\n".join(self.errors), self.prose)
        return "\n".join(part for part in parts if part)[:MAX_TEXT_CHARS]

    @cached_property
    def features(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Its hashed n-grams and how often each occurs; see `all_features`."""
        ids, counts = all_features(self)
        return np.asarray(ids, np.int32), np.asarray(counts, np.float32)


def prepare(title: str, body: str) -> ModelInput:
    """Turn a report as filed into what the model reads.

    Args:
        title: The title as filed; may be empty.
        body: The body as filed, Markdown; may be empty.

    Returns:
        The cleaned parts. Never raises; time is linear in the input, `ModelInput.text` at most `MAX_TEXT_CHARS`
        characters.
    """
    filed = f"{title[:MAX_TITLE_CHARS]}\n{_both_ends(body, MAX_TEXT_CHARS - MAX_TITLE_CHARS - 1)}"
    title, body = in_english(title[: MAX_TITLE_CHARS * 4]), in_english(body)
    title = " ".join(normalize(title).split())[:MAX_TITLE_CHARS]
    prose: list[str] = []
    log: list[str] = []
    for is_log, run in groupby(_sorted_lines(normalize(body).split("\n")), key=itemgetter(0)):
        folded = fold(line for _, line in run if line)
        if is_log:
            log += folded
            prose += _edges(folded)
        else:
            prose += folded
    errors = _error_lines(log) or _error_lines(prose)
    shown = set(errors)
    once = (line[MAX_ERROR_LINE_CHARS:] if line[:MAX_ERROR_LINE_CHARS] in shown else line for line in prose)
    rest = "\n".join(line for line in once if line)
    return ModelInput(title=title, errors=errors, prose=rest[:MAX_TEXT_CHARS], filed=filed)


def _both_ends(text: str, most: int) -> str:
    """At most so many characters of a text: its beginning, and its last `END_CHARS`."""
    return text if len(text) <= most else f"{text[: most - END_CHARS - 1]}\n{text[-END_CHARS:]}"


def _sorted_lines(lines: Iterable[str]) -> Iterator[tuple[bool, str]]:
    """The lines that are neither blank nor template nor environment, and whether each belongs to a log.

    A line of code beyond `MAX_CODE_LINES` is empty: it says nothing, but it ends a log.
    """
    fence = ""  # what the next one must begin with to close it (CommonMark)
    code_lines = 0
    in_log = False
    for line in lines:
        stripped = line.strip()
        if fence and stripped.startswith(fence) and not stripped.strip(fence[0]):
            fence = ""
            continue
        if not fence and (opened := _FENCE.fullmatch(stripped)):
            fence = opened[1] or opened[2]
            code_lines = 0
            continue
        fenced = bool(fence)
        if not stripped or is_environment_line(stripped) or is_notice(stripped):
            continue
        if not fenced and is_template_line(stripped):
            continue
        in_log = begins_log(line) or (fenced and (in_log or names_exception(line) or frame_of(line) is not None))
        if in_log:
            yield True, line
            continue
        code_lines += fenced
        yield False, "" if fenced and _says_nothing(stripped, code_lines) else line.lstrip("#>*-+ \t").rstrip("*: ")


def _says_nothing(code: str, count: int) -> bool:
    """Whether the so many-th line of code in a block needs no reader."""
    return count > MAX_CODE_LINES or _IMPORT.match(code) is not None or not any(map(str.isalnum, code))


def _edges(folded: Sequence[str]) -> Sequence[str]:
    if len(folded) <= 2 * LOG_EDGE_LINES:
        return folded
    return [*folded[:LOG_EDGE_LINES], *folded[-LOG_EDGE_LINES:]]


def _error_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """The most decisive lines, in order; wrappers' own errors (launcher, sub-process) only where nothing else is there."""
    scored: list[tuple[int, int, str]] = []
    for position, line in enumerate(lines):
        if raises(line):
            continue
        if names_exception(line):
            score = 1 if is_wrapper(line) else 3
        elif names_failure(line):
            score = 1
        else:
            continue
        scored.append((-score, position, line))
    chosen: dict[str, int] = {}
    used = 0
    for _, position, line in sorted(scored):
        line = line[:MAX_ERROR_LINE_CHARS]
        if line in chosen or len(chosen) == MAX_ERROR_LINES or used + len(line) > MAX_ERROR_CHARS:
            continue
        chosen[line] = position
        used += len(line)
    return tuple(sorted(chosen, key=chosen.__getitem__))
