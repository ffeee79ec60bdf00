"""The operating system and the launcher that a report names. Pure."""

from __future__ import annotations

import re

from distriage.base.texts import regex
from distriage.facts.projects import projects
from distriage.facts.scanning import Passage, any_of, before_on_line, first_at, matches_at, places, stands_before

_NAMED = regex(
    r"(?:\b|(?<=[^\x00-\x7f]))(?P<v>(?:Ubuntu(?!@|\d{3}|\d(?!\d))|CentOS(?: Linux| Stream)?|Debian(?: GNU/Linux)?"
    r"|Red Hat Enterprise Linux|RHEL|Rocky(?: Linux|(?= (?:[89]|10)\b(?! times)))|Alibaba Cloud Linux"
    r"|SUSE(?: Linux Enterprise Server)?|SLES|Fedora(?: Linux)?|openEuler|(?:Arch|Amazon|Scientific) Linux|Linux Mint"
    r"|Pop!?[ _]?OS|mac ?OS(?: ?X)?|(?-i:OS ?X|osx(?= v?\d))\b:?"
    # "sliding windows" is not a system
    r"|windows subsystem for linux|(?-i:W)indows(?!\s?/\s?(?:linux|mac))"
    r"|(?<=\bon )windows|(?<=[^\x00-\x7f])windows|(?<=[^\x00-\x7f:=]\s)windows"
    r"|windows(?=[ -]?(?:1[01]|[78]|server|system|machine|pc|laptop)\b|\s?[^\x00-\x7f])"
    # "we win 10 games" is not a system
    r"|WSL\d?|(?<=[\s:])(?:win|(?-i:W)in\s|(?<=on )win\s|win\s(?=1[01](?:[,;)\n]|\Z)))(?=1[01]\b))"
    # GCC's release is not one of Ubuntu
    r"(?:[ -]?(?:release |v(?=\d))?(?![\d.]{1,12}-\d{1,2})\d+(?:\.\d+){0,3}(?: LTS| SP\d| \([a-z]{4,10}\))?)?)",
    re.I,
)
_STARTS = (
    *("ubuntu", "centos", "debian", "red hat", "rhel", "rocky", "alibaba cloud", "suse", "sles", "fedora", "openeuler"),
    *("arch linux", "amazon linux", "scientific", "linux mint", "pop", "macos", "mac os", "os x", "osx"),
    *("windows", "wsl", "win1", "win 1"),
)
# TensorFlow's, Keras's and Ray's forms have this example, over which some write; "?platform=ubuntu" is of an address.
_EXAMPLE_BEFORE = regex(r"\((?:e\.g|i\.e)\.?,?\s(?:linux\s)?\Z", re.I)
_EXAMPLE = "ubuntu 16.0"
_UNANSWERED = regex(r"\):[ \t*]{0,9}(?:\n|\Z)")
_IN_AN_ADDRESS = regex(r"[?&]\w{1,20}=\Z|://[^\s()|<>,;\x80-\uffff]{0,100}\Z")
# A user, as `ubuntu@` is, also in the path of a home; a command for such systems; another one, "gLinux (like Debian)"
_NOT_BEFORE = regex(
    r"user(?:name)?[\"']?\s?[:=]\s?[\"']?\Z|home/\Z|` for \Z|(?<!looks )\b(?:like|such as|similar to)\s\Z", re.I
)
_NOT_STATED_CHARS = 110  # at most
_HOST_BEFORE = regex(r"-\d{1,3}-\d{1,3}-\Z")  # VM-48-4-centos
# GCC's "(Ubuntu 11.4.0-1ubuntu1~22.04)" is of the machine that built it
_COMPILER_BEHIND = regex(r" \d[\d.]{2,8}-\d{1,2}(?:ubuntu|\))")
# There it works: another system is the report's.
_WORKS_BEFORE = regex(
    r"(?<!not )(?<!n't )(?<!never )(?<!longer )\b(?:successfully|works?|worked|fine|all right)\b"
    r"(?![^\n.;]{0,100}\b(?:but|not|fails?)\b)[^\n.;]{0,100}\Z|(?:n't|not|never|no) (?:(?:have|see|get) (?:this|it"
    r"|(?:(?:this|the|any) )?(?:issue|problem|error)s?(?: when)?(?: running)?)"
    r"|(?:happen|occur|reproduce|problem|issue)s?\b[^\n.;,]{0,40}) on (?:an? |my |the )?\Z",
    re.I,
)
_WORKS_BEHIND = regex(r"\s?[上下]?(?:运行|训练|跑)?(?:正常|没问题)")
# Or Python's guess; of a container's host
_BUILT_BEFORE = regex(
    r"\b(?:built|compiled) (?:in|into|on|under) \Z|-with-\Z|宿主机(?:系统)?[是为：]?\s?\Z|\bhost (?:is|runs) \Z", re.I
)
_WORKS_CHARS = 110  # at most
# The line of a form; any text after the colon is a system.
_LINE = regex(
    r"(?:What operating system[^\n?]{0,50}\?\n|Operating systems\n{1,2}"
    r"|(?:(?:OS|Operating system)(?:(?: and)? version| Platform and Distribution)?|操作系统(?:版本)?)"
    r"\s?(?:\([^()\n]{0,130}\)\s?)?"
    r"\*{0,2}[:：]\*{0,2})[^\S\n]{0,40}(?P<v>[A-Za-z](?:[\w.+! -]|(?<=GNU)/){1,59})",
    re.I,
)
_LINE_STARTS = (
    "os:",
    "os :",
    "os：",
    "os (",
    "os version",
    "os and version",
    "os platform",
    "operating system",
    "what operating system",
    "操作系统",
)
# Not a command's name, as that of `sw_vers`, nor that of an image or a service.
_SYSTEM = regex(
    r"(?!.*(?:docker|image|container|\bai platform|sagemaker|databricks))"
    r".*(?:\d|linux|mac|win|bsd|unix|android|\bi?os\b|colab)",
    re.I,
)
# The reporter's own machine shows only the notebook.
_ELSEWHERE = regex(r"[^\n]{0,60}\b(?:running|run|ran) (?:in|on) (?:google )?colab\b", re.I)
_NOTHING = frozenset({"n/a", "na", "none", "any", "all", "unknown", "linux", "unix"})
_BEFORE = frozenset({"", "Host", "Host Machine", "My", "Server"})  # of a line's label
_MOST_WORDS = 6  # of a name; more are prose
_V = regex(r" v(?=\d)")
_WINDOWS = regex(r"\AWin ?(?=\d|\Z)", re.I)
_APPLE = regex(r"\A(?:OS ?X|Darwin(?![ -]?\d)|Mac(?= ?\d|\Z))\b:?", re.I)
# "A MAC address" is not a system, and its own system is not the report's.
_A_MAC = regex(r"(?<!\w)(?<!works )(?<!don't have )(?:my|on|an?) (?:m\d )?mac(?:book)?(?: pro| air)?(?!\w|[ -]?addr)")
# An item of the reporter's own list, Python's own words and its banner, `uname -a`.
_KERNEL = regex(
    r"(?:(?<=[,;/] )|(?<=\n)|(?<=\n[-*] )|(?<=[：，、])|(?<=\bon a )|(?<=\bon )(?=linux\n)"
    r"|(?<=\bos is )|(?<=\bthe platform is )|(?<=\bsystem is )|(?<=\benvironment is )"
    r"|(?<=\bserver is )|(?<=\bmy machine is ))"
    r"(?P<v>linux)(?=\s{0,9}[,，.;\n]|\Z| (?:container|machine|server|box)\b| \d\.\d"
    r"|-\d\.\d{1,2}\.\d(?![^\n]{0,60}-with-(?!glibc)))"
    r"|(?<=\()(?P<aside>linux)(?=\))"
    r"|platform(?:\s{0,9}:\s?| {3,30})(?P<platform>linux|darwin-[\d.]{3,12})"
    r"|\] on (?P<banner>linux)\b|(?P<uname>linux) (?:[\w.-]{1,60} )?\d\.\d{1,2}\.\S{1,60} #\d"
)
_KERNEL_STARTS = ("linux", "platform", "] on linux")
_DRIVE = regex(r"(?<=(?<![A-Za-z0-9])[A-Z]):\\{1,2}[A-Za-z][\w .-]{1,40}\\")
_A_MAC_STARTS = ("my m", "on m", "a m", "an m")
_NOT_USED = regex(  # but "USE_TF=NO deepspeed train.py" is a command
    r"(?:(?<!=)\b(?:not?|without|instead of|rather than)(?: (?:launched )?(?:use|using|via|with|by))?"
    r"|n't (?:launched )?(?:use|using|via|with|by)) `?"
    r"(?:(?:torchrun|accelerate launch|deepspeed|srun|mpirun)`?(?:,? or|/) `?)?\Z"
)
_FINE = r"(?:fine|works|worked|ok) (?:under|with|by|using|via|in|through) `?\Z"
_FINE_UNDER = regex(rf"\b{_FINE}")
_NOT_FINE_UNDER = regex(rf"(?:n't|\b(?:not|never|longer|nothing)) (?:\w{{2,8}} )?{_FINE}")
_ITS_WORDS = r"[`)]{0,2}(?: (?!(?:not|never|longer|nothing)\b)(?:[\w-]|\.(?=\w)){1,30}){0,4}?[`),]{0,2} "
_FINE_IN_PART = regex(rf"{_ITS_WORDS}(?:works|runs fine|is fine)\b")
# "Starting torchrun works. Then NCCL times out", if nothing says how else it is started
_GOES_ON = regex(
    rf"(?![^\n.;!]{{0,120}}\b(?:it|everything) ){_ITS_WORDS}(?:works|runs|is fine)(?: fine| well)?[.!;]\s{{1,3}}(?=\w)"
    r"(?!(?s:.){0,200}\b(?:python3?|plain|without|directly|scripts?|notebooks?|jupyter|otherwise|instead|by hand)\b)"
)
_FINE_BEHIND = regex(
    rf"{_ITS_WORDS}(?:it |everything )?"
    r"(?:(?:solves|fixes)\b(?! no)|never fails"
    # not "torchrun works on one node, hangs on two"; another command begins with a backquote
    r"|(?:works(?: fine| well)?|(?:runs|is) fine)\s{0,3}(?:[.!;)\n]|\Z)(?![^\n`]{0,100}\b(?:but|hangs|fails)\b))"
    r"|[^\n.;，。]{0,20}(?:没问题|没有问题|(?<!不)(?<!无法|不能|没有|未能)正常)"
)


def system_of(passage: Passage, *, is_remote: bool = False) -> tuple[str, int] | None:
    """The system in a form's line, else the first one named, with its number if stated anywhere; and its place.

    Args:
        is_remote: Whether the job cannot run on a Mac, so that "my MacBook" is only where it is submitted from.
    """
    stated = _of_a_line(passage.text, passage.words)
    if stated and stated[0].lower() not in _NOTHING:
        return stated
    return _in_prose(passage.text, passage.words, is_remote) or stated


def windows_of_paths(passage: Passage) -> tuple[str, int] | None:
    """Windows, if a path such as C:\\Users begins with a drive; and its place."""
    path = first_at(_DRIVE, passage.text, places((":\\",), passage.words))
    return ("Windows", path.start()) if path else None


def _of_a_line(text: str, words: str) -> tuple[str, int] | None:
    linux = None
    for match in matches_at(_LINE, text, places(_LINE_STARTS, words)):
        if before_on_line(text, match.start()) not in _BEFORE:
            continue
        value = match["v"].rstrip(" -.")
        if len(value.split()) <= _MOST_WORDS and value.lower() not in _NOTHING - {"linux"}:
            end = text.find("\n", match.end())
            named = _NAMED.search(text, match.start("v"), end if end >= 0 else len(text))
            named = None if named and _NOT_BEFORE.search(text, match.start("v"), named.start()) else named
            if _ELSEWHERE.match(text, match.start("v")) or (named is None and not _SYSTEM.match(value)):
                continue
            found = _written(named["v"] if named else value), match.start()
            if value.lower() != "linux":
                return found
            linux = linux or found  # another line may say more
    return linux


def _in_prose(text: str, words: str, is_remote: bool) -> tuple[str, int] | None:
    first = built = None
    for match in matches_at(_NAMED, text, places(_STARTS, words)):
        start = match.start()
        name = match["v"]
        before = text[max(0, start - _NOT_STATED_CHARS) : start]
        if _IN_AN_ADDRESS.search(before) or _NOT_BEFORE.search(before) or _ELSEWHERE.match(text, match.end()):
            continue
        if _works(text, start, match.end()) or _HOST_BEFORE.search(before):
            continue
        if _BUILT_BEFORE.search(before) or _COMPILER_BEHIND.match(text, match.end()):
            built = built or (_written(name), start)
            continue
        example = name.lower().startswith(_EXAMPLE) or _UNANSWERED.match(text, match.end())
        if example and _EXAMPLE_BEFORE.search(before):
            continue
        if first is None:
            first = match
        if (name[-1].isdigit() or name.endswith(("LTS", ")"))) and name[:5].casefold() == first["v"][:5].casefold():
            return _written(name), start
    if first is not None:
        return _written(first["v"]), first.start()
    if not is_remote and (mac := first_at(_A_MAC, words, places(_A_MAC_STARTS, words))):
        return "macOS", mac.start()
    for kernel in matches_at(_KERNEL, words, places(_KERNEL_STARTS, words)):
        if not _works(words, kernel.start(), kernel.end()):
            return kernel[kernel.lastgroup or 0].replace("-", " ").capitalize(), kernel.start()
    return built


def _works(text: str, start: int, end: int) -> bool:
    """Whether the system named between two places is said to work."""
    return bool(_WORKS_BEFORE.search(text, max(0, start - _WORKS_CHARS), start) or _WORKS_BEHIND.match(text, end))


def _written(name: str) -> str:
    name = _WINDOWS.sub("Windows ", _APPLE.sub("macOS", " ".join(_V.sub(" ", name).split()))).rstrip()
    if name.lower().startswith("windows subsystem"):
        return "WSL"
    return name.capitalize() if name.startswith(("ubuntu", "debian", "windows", "fedora")) else name


def launcher_of(text: Passage) -> tuple[str, int] | None:
    """The launcher that a text names, and its place: one never said to work before one that works in part. A single
    one counts too if its start works and the text goes on.
    """
    known = projects()
    if not any_of(known.starts_of_launchers, text.words):
        return None
    in_part = None
    named: dict[str, list[re.Match[str]]] = {}
    for name, launcher in known.launchers.items():
        found = matches_at(launcher.expression, text.text, places(launcher.starts, text.words))
        meant = [one for one in found if not stands_before(_NOT_USED, text.words, one.start())]
        failing = [one for one in meant if not _works_with(text.words, one)]
        if meant and failing == meant and not any(_FINE_IN_PART.match(text.words, one.end()) for one in meant):
            return name, failing[0].start()
        if failing:
            in_part = in_part or (name, failing[0].start())
        if meant:
            named[name] = meant
    if in_part is None and len(named) == 1:
        [(name, meant)] = named.items()
        return next(((name, one.start()) for one in meant if _GOES_ON.match(text.words, one.end())), None)
    return in_part


def _works_with(words: str, launcher: re.Match[str]) -> bool:
    """Whether it is said to work with the launcher named there."""
    place = launcher.start()
    if stands_before(_FINE_UNDER, words, place):
        return not stands_before(_NOT_FINE_UNDER, words, place)
    return _FINE_BEHIND.match(words, launcher.end()) is not None
