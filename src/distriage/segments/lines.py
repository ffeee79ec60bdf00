"""What one line of a report is: log, frame of a traceback, error. Pure.

Long alternations are searched for in the folded line: with `re.I`, `re` takes six times as long for them.
"""

from __future__ import annotations

import re

from distriage.base.texts import folded

_PREFIX = re.compile(
    r"\s*(?:"
    r"\[?\d{4}[-/]\d\d[-/]\d\d[ T_]?[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?(?: [DEPT]P\d+){0,4}\]?:?"  # date and time, SGLang's ranks
    r"|\[?(?:\d\d-\d\d )?\d\d:\d\d:\d\d[.,\d]*\]?"
    r"|\[?(?:\d{1,7} )?[\w./-]{1,100}\.(?:py|cpp|cc|h):\d+(?:(?::\w+)?\]|(?= NCCL ))"  # the logger's own place
    r"|\[?(?:default|rank|local_rank|Rank|RANK)?\s?\d+\]?:"  # torchrun, accelerate
    r"|\[(?:default|rank)?\d+\]:?(?:\[rank\d+\]:)?"
    r"|\([A-Za-z_]+\w{0,40},?(?: rank=\d+)? ?(?:pid|ip)=[^)]{1,80}\)"  # Ray actors, vLLM's workers
    r"|[\w.-]{1,60}:\d{1,7}:\d{1,7} \[\d+\]"  # NCCL's host:pid:tid [device]
    r"|[\w.-]{1,60}: (?=\S)(?=(?:Traceback|File|  ))"  # pdsh's host prefix
    r"|(?:stdout|stderr|ERROR|INFO|WARNING|DEBUG|CRITICAL|FATAL|[EIWF]\d{4})\b[:\s|-]*"
    r"|>>>|\$ |> |E  +|\|\s+"
    r")\s*"
)
_FRAME = re.compile(
    r'\s*(?:File )?"?([^\s",]{1,300}\.(?:py|pyx|cpp|cc|cu|h|cuh|c))"?(?:, line |:)(\d+)(?![\d\]]|:\d|: (?:fatal )?error)(?:, in (\S{1,80}))?'
)
_NATIVE_FRAME = re.compile(r"\s*(?:frame )?#\d+:? ")
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d:\d\d|\[(?:rank)?\d+\]|\(\w+(?: rank=\d+)? pid=|File \"|Traceback"
    r"|[\w.]+(?:Error|Exception)\b|(?:ERROR|INFO|WARNING|DEBUG|WARN|FATAL)\b|frame #|#\d+ |[\w.-]+:\d+:\d+ \[\d+\]"
    r"|\*\*\*|Collecting |Downloading |Requirement |building |gcc |nvcc )"
)
# The end of an exception's name and what follows it; the front is looked at backwards, in `_quotes_exception`.
_RAISED = re.compile(r"(?:error|exception|interrupt|failure|timeout|exit)\s*[:(]")
_REVERSED_NAME = re.compile(r"[\w.]{0,80}[a-z_](?!\w)")
_MAX_NAME_CHARS = 82  # 80, the first letter and what stands before it
_PHRASES = re.compile(
    r"\b(?:cannot import name|undefined symbol|segmentation fault|core dumped|bus error|cuda error|nccl error"
    r"|fatal error|illegal memory access|out of memory|no module named|caught signal|sig(?:segv|kill|abrt|bus|term|fpe)"
    r"|collective operation timeout|undefined reference|cannot open shared object|cannot find -l\w+"
    r"|unrecognized arguments|assert(?:ion)? failed)\b"
)
_FATAL = re.compile(
    r"\b(?:errors?|failed|failure|fatal|abort(?:ed|ing)?|killed|refused|unreachable|timed?[ -]?out|timeout|deadlock"
    r"|hang(?:s|ing)?|stuck|overflow|nan|inf|mismatch|unsupported"
    r"|not (?:supported|found|implemented|available|built|compiled)|invalid|denied|cannot|can't|could not|unable to"
    r"|no such|exit(?:ed)? (?:code|status)|non-zero|unexpected|missing|crash(?:ed|es)?|exception|traceback|broken pipe"
    r"|reset by peer|in use|leak|oom)\b"
    r"|卡住|报错|失败|错误|无法|超时|不支持|显存|溢出|崩溃"
)
_WRAPPER = re.compile(  # errors that only report another one
    r"subprocess\.calledprocesserror|childfailederror|returned non-zero exit status|torch\.distributed\.elastic"
    r"|processexitedexception|error in atexit|during handling of"
)
_RAISES = re.compile(r"\braise(?: |_from\()[A-Za-z_][\w.]{0,80}\(")


def begins_log(line: str) -> bool:
    """Whether a line looks like output of a program, outside a fence too."""
    return _LOG_LINE.match(line) is not None


def frame_of(line: str) -> str | None:
    """Of a frame in a traceback: the last three parts of its path, and the function; None: no frame."""
    match = _FRAME.match(line)
    if match is None:
        return None
    path = "/".join(match.group(1).split("/")[-3:])
    return f"{path} {match.group(3) or ''}".strip()


def is_native_frame(line: str) -> bool:
    """Whether a line is a frame of a native stack (`frame #3: ...`)."""
    return _NATIVE_FRAME.match(line) is not None


def without_prefixes(line: str) -> str:
    """Without times, ranks, hosts, levels and prompts at its beginning."""
    for _ in range(4):
        match = _PREFIX.match(line)
        if match is None:
            break
        line = line[match.end() :]
    return line.strip()


def quotes_exception(line: str) -> bool:
    """Whether a line names an exception with its message (`RuntimeError: ...`)."""
    return _quotes_exception(folded(line))


def _quotes_exception(words: str) -> bool:
    for match in _RAISED.finditer(words):
        end = match.start()
        if _REVERSED_NAME.match(words[max(0, end - _MAX_NAME_CHARS) : end][::-1]):
            return True
    return False


def names_exception(line: str) -> bool:
    """Whether a line quotes an exception, or an error as decisive as one."""
    words = folded(line)
    return _quotes_exception(words) or _PHRASES.search(words) is not None


def names_failure(line: str) -> bool:
    """Whether a line holds a word for a failure, in English or Chinese."""
    return _FATAL.search(folded(line)) is not None


def is_wrapper(line: str) -> bool:
    """Whether an error only says that something below it failed: a launcher's or a sub-process's own."""
    return _WRAPPER.search(folded(line)) is not None


def raises(line: str) -> bool:
    """Whether a line is source code that raises: below a frame it comes before the error, and without its message."""
    return _RAISES.search(line) is not None
