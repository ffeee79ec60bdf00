"""The lines of a block, sorted: the kind and role of each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from distriage.base.texts import regex
from distriage.segments.forms import Forms
from distriage.segments.listings import is_entry, is_listed
from distriage.segments.prefixes import bare_lines, without_logger
from distriage.segments.roles import Vocabulary, ends_traceback, frame_of, is_native_frame, stands_in, vocabulary
from distriage.segments.types import Kind, Line, Role

_LOOKED_AT = 20  # number of lines that decide a block's kind
_MOST_BETWEEN = 2  # lines between two of a listing are of it, too
_MARKDOWN_HEADING = regex(r"#{1,6}\s+(.{1,200}?)[\s:#*]*$|\*\*([^*]{1,80})\*\*:?\s*$")
_LOG_LINE = regex(
    r"\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d\d:\d\d:\d\d|\[(?:rank)?\d+\]|File \"|Traceback"
    r"|[\w.]+(?:Error|Exception)\b|(?:ERROR|INFO|WARNING|DEBUG|WARN|FATAL)\b|frame #|#\d+ |[EWIF]\d{4} "
    # pip's and compilers' lines; "gcc 11.4.0, nvcc 12.1" and "Downloading the model fails" are the reporter's
    r"|\*\*\*|terminate called|Collecting [\w.\[\]-]+(?:$| ?[<>=~!(])"
    r"|Downloading (?:\S*\.(?:whl|tar)|https?:|[^:]{0,60}: +\d+%)"
    r"|Requirement already|building '|gcc (?:-|\S*/)|nvcc (?:-|\S*/|fatal|warning|error))"
)
_COMMAND = regex(
    r"[`\s]*(?:[$%] )?(?:sudo |nohup |time )?(?:export )?(?:[A-Z][A-Z0-9_]{1,60}=\S{0,300} +){0,20}(?:torchrun\b|python[\d.]{0,5} +(?:-\w+ +){0,3}[\w./-]"
    r"|deepspeed +(?:-|\S+\.py)|accelerate launch|(?:\S{0,100}/)?mpi(?:run|exec)(?:\.hydra)? +-|srun +-|sbatch\b|ray +(?:start|job|up)\b|vllm +serve"
    r"|docker +(?:run|pull)|(?:uv )?pip3? +install|horovodrun +-|llamafactory-cli +|swift +(?:sft|pt|rlhf|infer)|megatron +(?:sft|pt|rlhf)"
    r"|colossalai run|(?:ba|z)?sh +\S+\.sh|\./\S{1,200} +-|ucx_\w+ +-|git +(?:clone|checkout)|\$ )|export +[A-Z]\w{1,60}="
)
_SENTENCE = regex(r"`[^`]*`.|(?: [A-Za-z]{2,12}){4}|[a-z][.!?]$")
_SETTING = regex(r"(?:- )?[\"']?[A-Za-z_][\w-]{0,60}[\"']?\s?[:=]\s?(?:$|[^=\s].{0,300}$)|[\[\]{}(),\s]+$|- \S{1,100}$")
_CODE = regex(
    r"(?:import|from|def|class|for|if|with|return|while|try|except|else|async|await|@\w|#include|print\()|.{0,200}[\w\])]\(.{0,300}\)\s?[,;:{]?$|\w[\w.]{0,60} = "
)
_SHELL = frozenset({"bash", "sh", "shell", "console", "zsh", "cmd", "powershell", "shell-session"})
_SETTINGS = frozenset({"yaml", "yml", "json", "toml", "ini", "jsonc", "json5"})
_SOURCES = frozenset(
    {"python", "py", "python3", "cpp", "c++", "c", "cuda", "cu", "diff", "rust", "go", "java", "cmake", "dockerfile"}
)
_LOGS = frozenset({"log", "logs", "text", "txt", "traceback", "pytb", "pycon", "output", "error"})
_NO_WORDS = frozenset("-=*_#~.+|><: \t")
_RULE = regex(r"\s*={10,}\s*$")
_JOINED = ("During handling of the above exception", "The above exception was the direct cause")
_FRAME = regex(r'\s*File "[^"\n]{1,400}", line \d')
_BEGIN = "(most recent call last"


def _begins_traceback(line: str) -> bool:
    return _BEGIN in line or ('File "' in line and _FRAME.match(line) is not None)


@dataclass(slots=True)
class _Traceback:
    """One that is being read; `lines` grows."""

    lines: list[Line] = field(default_factory=list)
    after_frame: bool = False
    raised: bool = False  # its exception was read; its message may go on

    def set_roles(self, role: Role) -> None:
        self.lines[:] = [line._replace(role=role) for line in self.lines]


class Reader:
    """Sorts the blocks of a report, one after the other.

    Attributes:
        read_so_far: Kind, heading and lines of each segment.
        answers: Heading of a form's field -> the lines below it.
        in_form: A line of a form was seen.
    """

    def __init__(self, forms: Forms, text: str) -> None:
        self.read_so_far: list[tuple[Kind, str, list[Line]]] = []
        self.answers: dict[str, list[str]] = {}
        self.in_form = False
        self._forms, self._text = forms, text
        self._heading = ""
        self._in_field = False
        self._pending: list[tuple[str, Line]] = []  # headings without a line below yet
        self._warned = False
        self._box = 0  # rules of torchrun's box that are still to come
        self._found: list[tuple[Kind, str, list[Line]]] = []  # of the block that is being read
        self._open: dict[str, _Traceback] = {}

    @cached_property
    def _words(self) -> Vocabulary:
        return vocabulary().of(self._text)

    def read(self, lines: Sequence[str], first: int, word: str | None) -> None:
        """Sort a block.

        Args:
            word: After its fence; None outside of fences.
        """
        self._found, self._open, self._box = [], {}, 0
        bare = bare_lines(lines)
        default = Kind.PROSE if word is None else self._kind_of(word, [text.strip() for _, text, _ in bare])
        in_log = default is Kind.LOG
        for place, text, process in bare:
            stripped = text.strip()
            if not stripped:
                self._blank_line(process)
                continue
            number = first + place
            line = without_logger(text)
            if (
                not line
                or line.isspace()
                or (default is Kind.PROSE and _NO_WORDS.issuperset(stripped) and not self._box)
            ):
                continue
            if (self._open or _begins_traceback(line)) and self._takes(line, number, process):
                in_log = word is not None
            elif is_listed(stripped) or (text[0].isspace() and self._below_listing(number, stripped)):
                self._add(Kind.LISTING, Line(stripped, number, process))
            elif word is None and self._is_of_form(stripped):
                pass
            elif self._is_command(stripped, number, fenced=word is not None):
                self._add(Kind.COMMAND, Line(stripped.strip("`"), number, process))
            elif in_log or process or self._begins_log(text, line, default):
                in_log = word is not None
                self._add_log(line, number, process)
            elif word is None:
                self._add_prose(stripped, number)
            elif stands_in(self._words.notices, line):
                self._add_log(line, number, process)
            elif len(stripped) < 5 or not _NO_WORDS.issuperset(stripped):
                self._add(default, Line(text.rstrip(), number, process))
        self._end(fenced=word is not None)

    def _kind_of(self, word: str, lines: Sequence[str]) -> Kind:
        """The content of a fenced block, by its word or by most of its lines."""
        word = word.split()[0] if word.split() else ""
        if word in _SETTINGS:
            return Kind.CONFIGURATION
        if word in _SOURCES:
            return Kind.SOURCE
        lines = [line for line in lines if line][:_LOOKED_AT]
        if word in _SHELL:
            return Kind.LOG if any(map(_COMMAND.match, lines)) else Kind.COMMAND
        if not lines or word in _LOGS or any(map(self._words.is_error, lines)):
            return Kind.LOG
        if sum(_SETTING.match(line) is not None for line in lines) > 0.6 * len(lines) and len(lines) > 1:
            return Kind.CONFIGURATION
        if sum(_CODE.match(line) is not None for line in lines) > 0.4 * len(lines):
            return Kind.SOURCE
        return Kind.LOG

    # ---------------------------------------------------------------- logs

    def _below_listing(self, number: int, stripped: str) -> bool:
        """Whether an indented line continues the entry of a listing right above it."""
        if not self._found or self._found[-1][0] is not Kind.LISTING:
            return False
        return self._found[-1][2][-1].number == number - 1 and not self._words.is_error(stripped)

    def _is_command(self, stripped: str, number: int, *, fenced: bool) -> bool:
        """Whether a line starts a program, or continues the line above, which ends in a backslash."""
        if self._found and self._found[-1][0] is Kind.COMMAND:
            above = self._found[-1][2][-1]
            if above.number == number - 1 and above.text.endswith("\\"):
                return True
        if _COMMAND.match(stripped) is None:
            return False
        return fenced or (len(stripped) < 1000 and _SENTENCE.search(stripped) is None and stripped.count("`") in (0, 2))

    def _begins_log(self, text: str, line: str, default: Kind) -> bool:
        if default in (Kind.SOURCE, Kind.CONFIGURATION):
            return _LOG_LINE.match(text) is not None and not text.startswith("#")
        if _LOG_LINE.match(text) is not None:
            return True
        return default is not Kind.PROSE and (frame_of(line) is not None or self._words.is_error(line))

    def _add_log(self, line: str, number: int, process: str) -> None:
        role = self._role(line)
        if self._warned and line[:1].isspace() and role is Role.NONE:
            role = Role.NOTICE  # the source of a warning
        self._warned = "Warning: " in line
        if not _NO_WORDS.issuperset(line):
            self._add(Kind.LOG, Line(line.strip(), number, process, role))

    def _role(self, line: str) -> Role:
        if self._box:
            self._box -= _RULE.match(line) is not None
            return Role.TEARDOWN
        if frame_of(line) is not None or is_native_frame(line):
            return Role.FRAME
        if line.startswith("W") and "*******" in line:
            return Role.NOTICE
        role = self._words.role(line)
        if role is Role.TEARDOWN and "ChildFailedError" in line:
            self._box = 2
        return role

    def _takes(self, line: str, number: int, process: str) -> bool:
        """Whether a line belongs to the traceback that its process writes, or begins one."""
        trace = self._open.get(process)
        if trace is not None:
            if self._goes_on(trace, line, number, process):
                return True
            del self._open[process]
        if not _begins_traceback(line):
            return False
        self._box = 0
        trace = _Traceback([Line(line.rstrip(), number, process, Role.FRAME)], after_frame=_BEGIN not in line)
        self._open[process] = trace
        self._add(Kind.TRACEBACK, trace.lines[0])
        self._found[-1] = (Kind.TRACEBACK, self._heading, trace.lines)
        return True

    def _goes_on(self, trace: _Traceback, line: str, number: int, process: str) -> bool:
        indented = line[:1].isspace()
        role = Role.NONE
        if trace.raised:
            if not indented and "input_value=" not in line and not line.startswith(_JOINED):
                return False
            role = Role.INITIATING if "input_value=" in line else Role.NONE
        elif (frame := frame_of(line)) is not None or indented or line in ("...", "…"):
            trace.after_frame, role = frame is not None, Role.FRAME
        elif ends_traceback(line) and not (trace.after_frame and not self._words.is_error(line) and "(" in line):
            trace.raised = True
            role = self._role(line)
            if role is Role.NONE:
                role = Role.INITIATING
            if stands_in(self._words.wrappers, line):
                role = Role.TEARDOWN
                trace.set_roles(role)
        elif trace.after_frame and not stands_in((*self._words.teardown, *self._words.notices), line):
            trace.after_frame, role = False, Role.FRAME  # source that lost its indentation
        else:
            return False
        text = line.rstrip() if role is Role.FRAME else line.strip()
        trace.lines.append(Line(text, number, process, role))
        return True

    def _blank_line(self, process: str) -> None:
        trace = self._open.get(process)
        if trace is not None and trace.raised:
            del self._open[process]

    # ---------------------------------------------------------------- forms and prose

    def _is_of_form(self, stripped: str) -> bool:
        heading = self._forms.read(stripped)
        if heading is None:
            return False
        self.in_form = True
        if heading:
            self._heading, self._in_field = heading, True
            self.answers.setdefault(heading, [])
        return True

    def _add_prose(self, stripped: str, number: int) -> None:
        if stripped[0] in "#*" and (found := _MARKDOWN_HEADING.match(stripped)):
            self._heading, self._in_field = found[1] or found[2], False
            self._pending.append((self._heading, Line(stripped, number)))
            return
        self._add(Kind.FORM if self._in_field else Kind.PROSE, Line(stripped, number))

    # ---------------------------------------------------------------- the block

    def _add(self, kind: Kind, line: Line) -> None:
        if kind is not Kind.LISTING and line.role is not Role.NOTICE:
            self._found += ((Kind.PROSE, heading, [above]) for heading, above in self._pending)
        self._pending.clear()
        last = self._found[-1] if self._found and kind is not Kind.TRACEBACK else None
        if last and last[0] is kind and last[1] == self._heading:
            last[2].append(line)
        else:
            self._found.append((kind, self._heading, [line]))

    def _end(self, *, fenced: bool) -> None:
        """Keep the block's lines; those between two of a listing belong to it, too."""
        found = self._found
        for i in range(1, len(found) - 1):
            kind, heading, lines = found[i]
            if (
                found[i - 1][0] is found[i + 1][0] is Kind.LISTING
                and kind in (Kind.PROSE, Kind.FORM, Kind.SOURCE, Kind.CONFIGURATION, Kind.LOG)
                and len(lines) <= _MOST_BETWEEN
                and len(found[i - 1][2]) + len(found[i + 1][2]) > len(lines)
                and all((fenced or is_entry(line.text)) and line.role is not Role.INITIATING for line in lines)
            ):
                found[i] = (Kind.LISTING, heading, lines)
        self.read_so_far += found
        for _, heading, lines in found:
            if self._in_field and heading in self.answers:
                self.answers[heading] += (line.text for line in lines)
