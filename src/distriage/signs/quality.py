"""What a report lacks before a maintainer can act on it; `signs.toml` says each in a sentence. Pure.

For maintainers only. Nothing is guessed about who or what wrote a report. Each sign needs plain words or the plain
absence of something; a sign that is not set says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from distriage.base.texts import folded, shortened
from distriage.facts.scanning import any_of
from distriage.facts.situation import ATTACHMENT
from distriage.reading.report import ReadReport
from distriage.segments import Kind, Role
from distriage.segments.roles import quotes_exception

_FEW_WORDS = 4  # beside a form's own
_FEW_LINES = 5  # of a listing that a person typed
# What a form puts into a field for the reporter to replace.
_PLACEHOLDERS = ("your output of `python collect_env.py` here", "paste environment output here")
# Words of whatever somebody else could run, and of places where it may be.
_RUNNABLE = (
    *(".py", ".sh", ".ipynb", ".yaml", ".yml", ".json", ".md", "python ", "python3 ", "torchrun", "docker", "pip "),
    *("conda ", "curl ", "ray start", "mpirun", "srun", "serve", "accelerate launch", "kubectl", "helm ", "cmake"),
    *("http://", "https://", "script", "example", "tutorial", "notebook", "test", "steps", "reproduc", "snippet"),
    *("code", "command", "benchmark", "recipe", "branch", "commit", "launch", "build", "install", "import "),
    *("脚本", "代码", "复现", "命令", "示例", "启动", "安装", "编译"),
)
_RUNNABLE_MARKS = re.compile(r"--\w|\w\([^)\n]{0,200}\)|[{};]\s|\w=[\w\"'\[(]|::|\w_\w+_\w")
_PICTURE = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\n]{1,500}\)|<img\b[^>\n]{0,500}>")
# Words for a message, and for failures that tell themselves or leave none.
_MESSAGE = ("error", "exception", "traceback", "crash", "fail", "报错", "错误", "失败")
_NO_MESSAGE = re.compile(
    r"(?<!\w)oom(?!\w)|out of memory|segfault|segmentation|exit ?code|signal|core dump|(?<!\w)nan(?!\w)|illegal|killed"
    r"|sig(?:segv|bus|kill|abrt|term)|hang|hung|stuck|deadlock|freez|stall|slow|time[ds]?[ -]?out|silent|leak|wrong"
    r"|incorrect|accura|diverge|return(?:s|ed)? (?:code|-?\d)|n[o'’]t? error|without (?:an? |any )?(?:error|message)"
    r"|test[s ]|(?<!\w)ci(?!\w)|卡|显存|超时|慢|精度"
)
_ATTACHED = re.compile(ATTACHMENT)
_NAMED_ERROR = re.compile(r"\b[A-Z]\w{0,60}(?:Error|Exception|Fault)\b|\b[A-Z][A-Z_]{8,60}\b|\berrno\b|\b[45]\d\d\b")
_QUOTED = re.compile(
    r"[\"“'‘`][^\"”'’`\n]{3,300} [^\"”'’`\n]{2,300}[\"”'’`]|: [^\n]{0,200}(?:error|fail|not |invalid|cannot)"
)
_DRAWN = re.compile(
    r"\b(?:loss|curves?|plots?|charts?|graphs?|diagram|grafana|dashboard|tensorboard|wandb|profil\w{0,6}|timeline|nsight"
    r"|utili[sz]ation|throughput|latency|memory|nvidia-smi|htop|architecture|benchmark\w{0,4}|perfetto)\b|曲线|显存|占用"
)
_ARCHIVES = (".zip", ".tar.gz", ".tgz", ".rar", ".7z", "drive.google.com/", "pan.baidu.com/", "1drv.ms/", "mega.nz/")
_ARCHIVE = re.compile(
    rf"\[(?P<name>[^\]\n]{{1,120}}\.(?:zip|tar\.gz|tgz|rar|7z))\]\(https://{ATTACHMENT}"
    r"|https?://(?:drive\.google\.com|pan\.baidu\.com|1drv\.ms|mega\.nz)/\S{1,200}",
    re.I,
)
_ARCHIVED_ELSE = re.compile(r"logs?(?![a-z])|trace|dump|profil|env|output|stack|core|report|screen|nsys|cache", re.I)
_REPRODUCES = re.compile(
    r"reproduc|(?<!\w)(?:minimal|sample|example|demo|project|source|script|test)|code|复现|代码|脚本"
)
_BEFORE_CHARS = 120  # of a link
_SHARE = (
    "share",
    "disclos",
    "under nda",
    "under an nda",
    "proprietary",
    "closed source",
    "closed-source",
    "不能公开",
    "无法提供",
)
_PRIVATE = re.compile(
    r"(?:can(?:no|['’])?t|cannot|can not|unable to|not able to|not allowed to|not permitted to|not at liberty to"
    r"|couldn['’]t|may not) (?:\w{1,20} ){0,2}(?:share|disclose) (?:(?!with\b|between\b|across\b|among\b)\w{1,20} ){0,4}?"
    r"(?:code|scripts?|models?|weights|checkpoints?|data|datasets?|repro\w{0,9}|project)\b"
    r"|(?:my|our|a|the) (?:proprietary|closed[- ]source) (?:\w{1,20} )?(?:models?|code(?:base)?|datasets?|data)\b"
    r"|under (?:an )?nda\b"
)
_STAND_IN = ("toy ", "dummy", "synthetic", "random", "public ", "minimal", "instead", "simplified")
_SEVERAL_WORDS = ("two", "three", "four", "several", "multiple", "issue", "problem", "bug", "问题")
_SEVERAL_TITLE = re.compile(r"\b(?:two|three|four|several|multiple) (?:\w{1,20} )?(?:issues|bugs|problems)\b")
_SEVERAL = re.compile(
    r"\n\W{0,6}(?:issue|problem|bug|问题)\s{0,2}(?:#\s?)?(?:2|two|二)(?!\.\d|\w)"
    r"|\b(?:found|have|has|had|see|seeing|encountered|hit|noticed|are|facing|met|were|be) (?:\w{1,20} )?"
    r"(?:two|three|four|several|multiple) (?:separate |different |distinct |unrelated |other |independent )?"
    r"(?:issues|bugs|problems)\b(?! (?:that|which|posted|similar|related|with the same|about|open|in the tracker|on github))"
)


def quality_of(read: ReadReport) -> Iterator[str]:
    """The names of what a report about a bug lacks."""
    if _is_empty(read):
        yield "empty-form"
        return  # the rest follows from it
    if _keeps_placeholder(read):
        yield "placeholder-left"
    own = _own(read)
    if _is_pictured(read, own):
        yield "error-in-picture"
    code = bool(read.segments.of(Kind.SOURCE, Kind.COMMAND))
    if not code and _is_private(own):
        yield "reproduction-private"
    elif not code and _is_archived(read):
        yield "reproduction-in-archive"
    elif not code and _is_not_runnable(read):
        yield "no-reproduction"
    if _SEVERAL_TITLE.search(folded(read.report.title)) or (any_of(_SEVERAL_WORDS, own) and _SEVERAL.search(own)):
        yield "several-problems"


def _is_empty(read: ReadReport) -> bool:
    segments = read.segments
    if segments.is_unfilled_form:
        return True
    words = sum(len(line.text.split()) for one in segments.all if one.kind is not Kind.TITLE for line in one.lines)
    return bool(segments.answers) and words <= _FEW_WORDS and not _PICTURE.search(read.report.body)


def _keeps_placeholder(read: ReadReport) -> bool:
    listed = sum(len(segment.lines) for segment in read.segments.of(Kind.LISTING))
    return listed < _FEW_LINES and any_of(_PLACEHOLDERS, folded(read.report.body))


def _is_pictured(read: ReadReport, own: str) -> bool:
    """Whether the error that the reporter speaks of is shown as a picture only."""
    body = read.report.body
    if _PICTURE.search(body) is None or not any_of(_MESSAGE, own) or _NO_MESSAGE.search(own) or _DRAWN.search(own):
        return False
    if _ATTACHED.search(body) or any_of(_ARCHIVES, body) or read.situation.explained:
        return False
    segments = read.segments
    if segments.of(Kind.TRACEBACK) or sum(len(segment.lines) for segment in segments.of(Kind.LOG)) > 1:
        return False
    if any(line.role is not Role.NONE for segment in segments.all for line in segment.lines):
        return False
    said = "\n".join(one.text for one in segments.of(Kind.TITLE, Kind.PROSE, Kind.FORM, Kind.LOG))
    return not (_NAMED_ERROR.search(said) or _QUOTED.search(said) or quotes_exception(said))


def _is_private(own: str) -> bool:
    return any_of(_SHARE, own) and _PRIVATE.search(own) is not None and not any_of(_STAND_IN, own)


def _is_archived(read: ReadReport) -> bool:
    body = shortened(read.report.body)
    if not any_of(_ARCHIVES, body.lower()):
        return False
    return any(
        not _ARCHIVED_ELSE.search(found["name"] or "")
        and _REPRODUCES.search(body[max(0, found.start() - _BEFORE_CHARS) : found.end()].lower())
        for found in _ARCHIVE.finditer(body)
    )


def _is_not_runnable(read: ReadReport) -> bool:
    if read.segments.of(Kind.CONFIGURATION, Kind.TRACEBACK) or read.situation.explained:
        return False
    everything = f"{read.report.title}\n{shortened(read.report.body)}"
    return not any_of(_RUNNABLE, folded(everything)) and not _RUNNABLE_MARKS.search(everything)


def _own(read: ReadReport) -> str:
    """The reporter's own words, folded."""
    return folded("\n".join(one.text for one in read.segments.of(Kind.TITLE, Kind.PROSE, Kind.FORM)))
