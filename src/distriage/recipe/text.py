"""Report -> model input. Pure: no I/O, no state; the same code in training and in serving.

The encoder sees a few hundred tokens, while a report may hold megabytes of log. The recipe therefore reads a report's
segments (`distriage.segments`), and

1. drops listings of the environment, lines of forms, notices of healthy runs and a launcher's teardown;
2. puts Chinese words of the field into English (`chinese.py`) and normalizes: addresses, long hashes and mark-up go
   (`normalize.py`);
3. folds logs: lines that many ranks write collapse, a traceback keeps its last frames (`folding.py`);
4. puts the error that all others follow from right behind the title, then further ones, before all else, so that
   truncation takes the least useful end.

A change that alters any output needs a new `RECIPE_VERSION`: a bundle records the version that it is read with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from distriage.base.texts import packaged_table, regex
from distriage.base.types import FormLines
from distriage.recipe.chinese import in_english
from distriage.recipe.features import all_features
from distriage.recipe.folding import DIGITS, fold, fold_log
from distriage.recipe.normalize import normalize, normalize_lines
from distriage.segments import Kind, Line, Role, Segments, split
from distriage.segments.roles import ends_of_processes, names_failure, quotes_exception

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RECIPE_VERSION = 7

MAX_TITLE_CHARS = 300
MAX_TEXT_CHARS = 24_000  # of `text` and `filed`: beyond every encoder's window, enough for the sparse features
END_CHARS = 8_000  # of them, the last ones of a longer body: a job's log says at its end why it failed
MAX_ERROR_CHARS = 600
MAX_ERROR_LINE_CHARS = 240
MAX_ERROR_LINES = 8
MAX_CODE_LINES = 25  # of one block: examples are long, and the failure is in the log
LOG_EDGE_LINES = 4  # kept at each end of a log beside its error lines
_IMPORT = regex(r"(?:import|from) [\w.]+")
_LOGS = frozenset({Kind.LOG, Kind.TRACEBACK})
_PROSE = frozenset({Kind.PROSE, Kind.FORM})
_SILENT = frozenset({Role.TEARDOWN, Role.NOTICE})
_MARKS = "#>*-+ \t"
_WORD = regex(r"[a-z][a-z0-9_]*")  # as `field.toml` has them


@dataclass(frozen=True)  # without slots, for cached properties
class ModelInput:
    """A report's text for the model.

    Attributes:
        title: Cleaned title, one line.
        errors: Decisive error lines, beginning with the cause of the others.
        prose: The rest of the cleaned body, folded.
        filed: Title and body nearly as filed, the middle of a long body cut out: without listings of the environment
            and additions of launchers, collectors and forms. The sparse features read it beside the cleaned parts.
        field_words: From `field_words`, of all that was filed but listings, which any project's form may ask for.
    """

    title: str
    errors: tuple[str, ...]
    prose: str
    filed: str = ""
    field_words: tuple[int, int] = field(default=(0, 0), compare=False)

    @property
    def text(self) -> str:
        """Everything as one string, the most decisive part first."""
        parts = (self.title, "\n".join(self.errors), self.prose)
        return "\n".join(part for part in parts if part)[:MAX_TEXT_CHARS]

    @cached_property
    def features(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Its hashed n-grams and how often each occurs; see `all_features`."""
        import numpy as np  # slow to import, and nobody who only reads needs it

        ids, counts = all_features(self)
        return np.asarray(ids, np.int32), np.asarray(counts, np.float32)


class _Read(NamedTuple):
    """A line that is kept, normalized."""

    segment: int
    kind: Kind
    text: str
    line: Line


def prepare(title: str, body: str, forms: FormLines | None = None) -> ModelInput:
    """Turn a filed report into the model's input, with `model_input`; `forms` as in `split`."""
    return model_input(split(title, body, forms))


def model_input(report: Segments) -> ModelInput:
    """Turn a report's segments into the model's input.

    Returns:
        The cleaned parts. Never raises; time is linear in the input, `ModelInput.text` at most `MAX_TEXT_CHARS`
        characters.
    """
    title = " ".join(normalize(in_english(report.title[: MAX_TITLE_CHARS * 4])).split())[:MAX_TITLE_CHARS]
    kept = _kept(report)
    prose: list[str] = []
    for is_log, run in groupby(_lines(kept), key=itemgetter(0)):
        lines = list(run)
        if is_log:
            prose += _edges(fold_log((read.text, read.line.role) for _, read in lines))
        else:
            prose += fold(read.text for _, read in lines)
    errors = _error_lines(report, kept)
    shown = set(errors)
    once = (line[MAX_ERROR_LINE_CHARS:] if line[:MAX_ERROR_LINE_CHARS] in shown else line for line in prose)
    rest = "\n".join(line for line in once if line)
    said = [line.text for one in report.all if one.kind is not Kind.LISTING for line in one.lines]
    return ModelInput(
        title, errors, rest[:MAX_TEXT_CHARS], _filed(report), field_words("\n".join([report.title, *said]))
    )


def _kept(report: Segments) -> list[_Read]:
    """The lines that say something, normalized together: a call a line would take several times as long."""
    lines = [
        (number, segment.kind, line)
        for number, segment in enumerate(report.all)
        if segment.kind not in (Kind.TITLE, Kind.LISTING)
        for line in segment.lines
        if line.role not in _SILENT
    ]
    texts = normalize_lines(in_english("\n".join(line.text for *_, line in lines))).split("\n")
    return [
        _Read(number, kind, text, line)
        for (number, kind, line), text in zip(lines, map(_own_words, lines, texts), strict=bool(lines))
        if text
    ]


def _own_words(line: tuple[int, Kind, Line], text: str) -> str:
    """A line; if prose, without Markdown around it."""
    return text.strip().lstrip(_MARKS).rstrip("*: ") if line[1] in _PROSE else text


def _lines(kept: Iterable[_Read]) -> Iterator[tuple[bool, _Read]]:
    """The lines below the errors, and whether each is of a log; of code the first ones."""
    for _, segment in groupby(kept, key=itemgetter(0)):
        count = 0
        for read in segment:
            if read.kind in _LOGS:
                yield True, read
                continue
            text = read.text.strip()
            if read.kind not in _PROSE:
                count += 1
                if count > MAX_CODE_LINES or _IMPORT.match(text):
                    continue
            if any(map(str.isalnum, text)):
                yield False, read if text == read.text else read._replace(text=text)


def _edges(folded: Sequence[str]) -> Sequence[str]:
    if len(folded) <= 2 * LOG_EDGE_LINES:
        return folded
    return [*folded[:LOG_EDGE_LINES], *folded[-LOG_EDGE_LINES:]]


def _error_lines(report: Segments, kept: Sequence[_Read]) -> tuple[str, ...]:
    """The most decisive lines: the first error and those after it; else consequences of unseen errors."""
    errors = [read for read in kept if read.line.role is Role.INITIATING]
    errors.sort(key=lambda read: read.line is not report.first_error)
    texts = [read.text for read in errors or (read for read in kept if read.line.role is Role.CASCADE)]
    if not texts:
        texts = [normalize(line.text) for line in ends_of_processes(report)]
        texts += (
            read.text
            for read in kept
            if read.kind in _LOGS and read.line.role is Role.NONE and names_failure(read.text)
        )
    if not texts:
        texts = [read.text for read in kept if read.kind in _PROSE and quotes_exception(read.text)]
    chosen: dict[str, str] = {}
    used = 0
    for text in texts:
        line = text.strip()[:MAX_ERROR_LINE_CHARS]
        key = DIGITS.sub("0", line)
        if key not in chosen and len(chosen) < MAX_ERROR_LINES and used + len(line) <= MAX_ERROR_CHARS:
            chosen[key] = line
            used += len(line)
    return tuple(chosen.values())


def _filed(report: Segments) -> str:
    """Title and body, nearly as filed."""
    parts = [report.title[:MAX_TITLE_CHARS]]
    heading = ""
    for segment in report.all:
        if segment.kind in (Kind.TITLE, Kind.LISTING):
            continue
        lines = [line.text for line in segment.lines if line.role not in _SILENT]
        if lines and segment.heading != heading:
            heading = segment.heading
            parts.append(heading)
        parts += lines
    text = "\n".join(parts)
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[: MAX_TEXT_CHARS - END_CHARS - 1]}\n{text[-END_CHARS:]}"


class _Names:
    """Whole words, beginnings of words, and words of languages that put no space between them."""

    def __init__(self, names: list[str]) -> None:
        self._whole = frozenset(names)
        self._beginnings = tuple(name[:-1] for name in names if name.endswith("*"))
        self._unspaced = [name for name in names if not name.isascii()]

    def among(self, words: set[str], text: str) -> int:
        begun = {word for word in words if word.startswith(self._beginnings)}
        return len(words & self._whole | begun) + sum(name in text for name in self._unspaced)


def field_words(text: str) -> tuple[int, int]:
    """How many different words of the field a text has: those that mean nothing else, and all (`field.toml`)."""
    certain, shared = _vocabulary()
    words = set(_WORD.findall(text.lower()))
    found = certain.among(words, text)
    return found, found + shared.among(words, text)


@cache
def _vocabulary() -> tuple[_Names, _Names]:
    table = packaged_table(__package__, "field.toml")
    return _Names(table["certain"]), _Names(table["shared"])
