"""Report -> model input. Pure: no I/O, no state; the same code in training and in serving.

The encoder sees a few hundred tokens, while a report may hold megabytes of log. The recipe therefore

1. normalizes: HTML comments, tags, badges, control characters, long hashes and addresses go;
2. sorts lines into prose, code, log, environment and template, and drops the last two (the facts in them are
   read by `environment.py`);
3. folds logs: repeated lines, ranks and timestamps collapse, a traceback keeps its last frames;
4. puts the decisive error lines right behind the title, before the prose, so that truncation takes the least useful end.

A change that alters any output needs a new `RECIPE_VERSION`: a bundle records the version that it was trained with.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from distriage.boilerplate import is_environment_line, is_template_line

RECIPE_VERSION = 2

MAX_INPUT_CHARS = 200_000  # GitHub stores at most 65,536 characters of a body; the rest of a larger text is cut out of its middle
MAX_LINE_CHARS = 400
MAX_TITLE_CHARS = 300
MAX_TEXT_CHARS = 24_000  # of `ModelInput.text` and of `filed`; beyond every encoder's window, enough for the sparse features
MAX_ERROR_CHARS = 600
MAX_ERROR_LINES = 8
MAX_MARKS = 30  # combining marks in a row
MAX_CODE_LINES = 25  # of one fenced block: examples are long, and what fails is in the log


@dataclass(frozen=True, slots=True)
class ModelInput:
    """What the model reads of a report.

    Attributes:
        title: Cleaned title, one line.
        errors: Decisive error lines, in the order of the report.
        prose: The rest of the cleaned body, folded.
        filed: Title and body as filed, cut to length: the sparse features read it beside the cleaned parts, since template and environment
            tell apart what a product is used for.
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


_CONTROL = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\[(?:\d{1,2};){0,3}\d{1,2}m")  # pasted logs often lost the escape character
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_IMAGE = re.compile(r"!\[([^\]\n]{0,200})\]\([^)\n]{0,2000}\)")
_LINK = re.compile(r"\[([^\]\n]{1,300})\]\(([^)\n]{0,2000})\)")
_TAG = re.compile(
    r"</?(?:details|summary|img|br|p|b|i|em|strong|code|pre|div|span|sub|sup|a|h[1-6]|table|tr|td|th|tbody|thead|ul|ol|li|kbd|hr|picture|source|center|font)\b[^<>\n]{0,1000}/?>",
    re.I,
)
_URL = re.compile(r"\b(?:https?|ftp|git)://[^\s)>\]\"'`]{1,2000}")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{5,64}\b")
_HASH = re.compile(r"\b(?=[0-9a-fA-F-]{0,80}\d)(?:[0-9a-fA-F]{12,80}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\b")
_BLOB = re.compile(r"[A-Za-z0-9+/=_]{120,}")
_RULE = re.compile(r"([-=*_#~.+|])\1{4,}")
_SPACES = re.compile(r"[ \t]{2,}")
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def normalize(text: str) -> str:
    """Characters and mark-up only: comments, tags, badges, addresses, control characters out; lines shortened.

    Idempotent, never raises, linear in the length of the input; the result has at most `MAX_INPUT_CHARS` characters.
    """
    text = _cut(text).encode("utf-8", "ignore").decode("utf-8")  # lone surrogates
    text = _cut(_compose(text))  # some characters are threefold after it
    for _ in range(4):
        before = text
        text = _normalize_once(text)
        if text == before:
            return text
    # Text made so that each pass uncovers new mark-up. Without its special characters one pass settles it.
    return _normalize_once(re.sub(r"[<>\[\]()!\\/:\x1b+=_~*#|.-]", " ", text))


def _cut(text: str) -> str:
    if len(text) <= MAX_INPUT_CHARS:
        return text
    return text[: MAX_INPUT_CHARS * 2 // 3] + "\n" + text[-MAX_INPUT_CHARS // 4 :]  # the middle of a long log matters least


def _compose(text: str) -> str:
    """NFC. Composing takes time quadratic in the length of a run of combining marks, so longer ones than any language has are cut (UAX #15, Stream-Safe)."""
    if text.isascii():
        return text
    kept = []
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MAX_MARKS:
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def _normalize_once(text: str) -> str:
    text = _compose(text)  # what the last pass removed may have stood before a combining mark
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _ANSI.sub("", text)
    text = _CONTROL.sub(" ", text)
    text = _COMMENT.sub(" ", text)
    text = _IMAGE.sub(" ", text)
    text = _LINK.sub(r"\1 ", text)
    text = _TAG.sub(" ", text)
    text = _URL.sub(_shorten_url, text)
    text = _ADDRESS.sub("0x", text)
    text = _HASH.sub(" ", text)
    text = _BLOB.sub(" ", text)
    text = _RULE.sub(r"\1\1\1", text)
    text = _SPACES.sub(" ", text)
    text = "\n".join(_shorten_line(line.rstrip()) for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", text).strip()


def _shorten_url(match: re.Match[str]) -> str:
    # The last path segment can name a file or a repository; the host and the query say nothing about the failure.
    segments = [part for part in re.split(r"[/?#]", match.group())[3:] if part]
    return segments[-1][:60] if segments else " "


def _shorten_line(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    return line[: MAX_LINE_CHARS - 120].rstrip() + " " + line[-100:].lstrip()


_PREFIXES = re.compile(
    r"^\s*(?:"
    r"\[?\d{4}[-/]\d\d[-/]\d\d[ T_]?[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?\]?:?"  # date and time
    r"|\[?(?:\d\d-\d\d )?\d\d:\d\d:\d\d[.,\d]*\]?"
    r"|\[[\w.-]{1,60}\.(?:py|cpp|cc):\d+(?::\w+)?\]"  # the logger's own place
    r"|\[?(?:default|rank|local_rank|Rank|RANK)?\s?\d+\]?:"  # torchrun, accelerate
    r"|\[(?:default|rank)?\d+\]:?(?:\[rank\d+\]:)?"
    r"|\([A-Za-z_]+\w{0,40},? ?(?:pid|ip)=[^)]{1,80}\)"  # Ray actors
    r"|[\w.-]{1,60}:\d{1,7}:\d{1,7} \[\d+\]"  # NCCL's host:pid:tid [device]
    r"|[\w.-]{1,60}: (?=\S)(?=(?:Traceback|File|  ))"  # pdsh's host prefix
    r"|(?:stdout|stderr|ERROR|INFO|WARNING|DEBUG|CRITICAL|FATAL|[EIWF]\d{4})\b[:\s|-]*"
    r"|>>>|\$ |> |E  +|\|\s+"
    r")\s*"
)
_FRAME = re.compile(r'^\s*(?:File )?"?([^\s",]{1,300}\.(?:py|pyx|cpp|cc|cu|h|cuh|c))"?(?:, line |:)(\d+)(?:, in (\S{1,80}))?')
_NATIVE_FRAME = re.compile(r"^\s*(?:frame )?#\d+:? ")
_DIGITS = re.compile(r"\d+")

_EXCEPTION = re.compile(
    r"\b(?:[A-Za-z_][\w.]{0,80}(?:Error|Exception|Interrupt|Failure|Timeout|Exit))\b\s*[:(]"
    r"|\bcannot import name\b|\bundefined symbol\b|\bSegmentation fault\b|\bcore dumped\b|\bBus error\b"
    r"|\bCUDA error\b|\bNCCL error\b|\bfatal error\b|\billegal memory access\b|\bout of memory\b|\bNo module named\b"
    r"|\bCaught signal\b|\bSIG(?:SEGV|KILL|ABRT|BUS|TERM|FPE)\b|\bCollective operation timeout\b|\bundefined reference\b"
    r"|\bcannot open shared object\b|\bcannot find -l\w+|\bunrecognized arguments\b|\bassert(?:ion)? failed\b",
    re.I,
)
_FATAL = re.compile(
    r"\b(?:errors?|failed|failure|fatal|abort(?:ed|ing)?|killed|refused|unreachable|timed?[ -]?out|timeout|deadlock|hang(?:s|ing)?|stuck|"
    r"overflow|nan|inf|mismatch|unsupported|not (?:supported|found|implemented|available|built|compiled)|invalid|denied|cannot|can't|could not|"
    r"unable to|no such|exit(?:ed)? (?:code|status)|non-zero|unexpected|missing|crash(?:ed|es)?|exception|traceback|broken pipe|reset by peer|"
    r"in use|leak|oom|卡住|报错|失败|错误|无法|超时|不支持|显存|溢出)\b"
    r"|卡住|报错|失败|错误|无法|超时|不支持|显存|溢出|崩溃",
    re.I,
)
_LOG_LINE = re.compile(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d:\d\d|\[(?:rank)?\d+\]|\(\w+ pid=|File \"|Traceback|[\w.]+(?:Error|Exception)\b|"
    r"(?:ERROR|INFO|WARNING|DEBUG|WARN|FATAL)\b|frame #|#\d+ |[\w.-]+:\d+:\d+ \[\d+\]|\*\*\*|Collecting |Downloading |Requirement |building |gcc |nvcc )"
)
_ROOT_CAUSE_LAST = re.compile(
    r"subprocess\.CalledProcessError|ChildFailedError|returned non-zero exit status|torch\.distributed\.elastic|ProcessExitedException|Error in atexit|During handling of",
    re.I,
)


def _strip_prefixes(line: str) -> str:
    for _ in range(4):
        shorter = _PREFIXES.sub("", line, count=1)
        if shorter == line:
            break
        line = shorter
    return line.strip()


def _fold(lines: list[str], *, keep_frames: int = 3) -> list[str]:
    """Fold a log: each line once (numbers and ranks apart), of each traceback the last `keep_frames` frames."""
    folded: list[str] = []
    frames: list[str] = []
    seen: set[str] = set()
    after_frame = False
    for raw in lines:
        frame = _FRAME.match(_strip_prefixes(raw))
        if frame:
            path = "/".join(frame.group(1).split("/")[-3:])
            frames.append(f"{path} {frame.group(3) or ''}".strip())
            after_frame = True
            continue
        line = _strip_prefixes(raw)
        if after_frame and frames and raw[:1].isspace() and len(frames[-1]) < 160 and not _EXCEPTION.search(line):
            frames[-1] += " " + line  # the source line under a frame says what was called
            after_frame = False
            continue
        after_frame = False
        if not line or line.startswith("Traceback (most recent") or _NATIVE_FRAME.match(line) or set(line) <= set("^~ "):
            continue
        key = _DIGITS.sub("0", line)
        if key in seen:
            frames.clear()
            continue
        seen.add(key)
        for kept in frames[-keep_frames:]:
            if kept not in seen:
                seen.add(kept)
                folded.append(kept)
        frames.clear()
        folded.append(line)
    folded.extend(frame for frame in frames[-keep_frames:] if frame not in seen)
    return folded


def _error_lines(lines: list[str]) -> tuple[str, ...]:
    """The most decisive lines, in order; wrappers' own errors (launcher, subprocess) only where nothing else is there."""
    scored: list[tuple[int, int, str]] = []
    for position, line in enumerate(lines):
        if _EXCEPTION.search(line):
            score = 1 if _ROOT_CAUSE_LAST.search(line) else 3
        elif _FATAL.search(line):
            score = 1
        else:
            continue
        scored.append((-score, position, line))
    chosen: list[tuple[int, str]] = []
    used = 0
    for _, position, line in sorted(scored):
        line = line[:240]
        if len(chosen) == MAX_ERROR_LINES or used + len(line) > MAX_ERROR_CHARS:
            continue
        chosen.append((position, line))
        used += len(line)
    return tuple(line for _, line in sorted(chosen))


def prepare(title: str, body: str) -> ModelInput:
    """Turn a report as filed into what the model reads.

    Args:
        title: The title as filed; may be empty.
        body: The body as filed, Markdown; may be empty.

    Returns:
        The cleaned parts. Never raises; time is linear in the input, `ModelInput.text` at most `MAX_TEXT_CHARS` characters.
    """
    filed = f"{title[:MAX_TITLE_CHARS]}\n{body[:MAX_TEXT_CHARS]}"[:MAX_TEXT_CHARS]
    title = " ".join(normalize(title[: MAX_TITLE_CHARS * 4]).split())[:MAX_TITLE_CHARS]
    prose: list[str] = []
    log: list[str] = []
    run: list[str] = []  # consecutive lines of one kind, folded together

    def close(is_log: bool) -> None:
        if run:
            folded = _fold(run)
            (log if is_log else prose).extend(folded)
            if is_log:
                prose.extend(folded[:4] + folded[-4:] if len(folded) > 8 else folded)
            run.clear()

    fenced = False
    fence_lines = 0
    run_is_log = False
    for line in normalize(body).split("\n"):
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            fenced = not fenced
            fence_lines = 0
            continue
        if not stripped or is_environment_line(stripped) or (not fenced and is_template_line(stripped)):
            continue
        is_log = bool(_LOG_LINE.match(line)) or (fenced and bool(_EXCEPTION.search(line) or _FRAME.match(line))) or (run_is_log and fenced)
        if is_log != run_is_log:
            close(run_is_log)
            run_is_log = is_log
        if fenced and not is_log:
            fence_lines += 1
            if fence_lines > MAX_CODE_LINES:
                continue
        run.append(line if is_log else line.lstrip("#>*-+ \t").rstrip("*: ") or line)
    close(run_is_log)
    errors = _error_lines(log) or _error_lines(prose)
    shown = set(errors)
    rest = "\n".join(line for line in prose if line not in shown)
    return ModelInput(title=title, errors=errors, prose=rest[:MAX_TEXT_CHARS], filed=filed)
