"""A report, read once: the model's input and the stated facts. Pure.

Every answer about a report (scores, verdict, evidence lines, similar issues) takes this value, so a report is checked,
cleaned and searched for facts once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from distriage.base.errors import InputError
from distriage.base.references import repository_of
from distriage.base.texts import regex
from distriage.base.types import Detail, IssueReport, Unlearned
from distriage.facts.environment import EnvironmentFacts, facts_of
from distriage.facts.projects import Project, projects
from distriage.facts.situation import Situation, situation_of
from distriage.reading.purpose import explains, is_solved, tells_no_failure
from distriage.recipe.features import WORD
from distriage.recipe.text import ModelInput, model_input
from distriage.segments import Kind, Segments, split
from distriage.segments.roles import quotes_exception

MAX_REPORT_BYTES = 1 << 20  # GitHub's own limit is 65,536 characters of body
# Fewer different words than this, and no exception, say too little to know a cause from. Of the 780 bugs among the
# restated validation reports, none is so thin.
MIN_CONTENT_WORDS = 12
_ANY_WORD = regex(WORD.pattern + r"|[^\W\d_a-z\u0131\u017f\u3400-\u9fff]{2,}")  # with those of every other script
# Letters neither Latin nor Chinese: the model has learned no word of them. Of 32,894 reports 35 have any in their own
# words; English ones that quote a text to translate reach 28 %.
_UNLEARNED = regex(r"[^\W\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff\u3400-\u9fff]")
_LETTER = regex(r"[^\W\d_]")
_UNLEARNED_SHARE = 1 / 3
_FUNCTION_WORDS = frozenset(
    (
        *("a", "an", "the", "and", "or", "but", "if"),
        *("is", "are", "was", "were", "be", "been"),
        *("it", "its", "this", "that", "these", "those", "there", "here"),
        *("i", "we", "you", "he", "she", "they", "my", "our", "your", "me", "us"),
        *("to", "of", "in", "on", "at", "for", "from", "with", "by", "as", "so"),
        *("not", "no", "do", "does", "did", "have", "has", "had", "can", "could", "will", "would"),
        *("what", "which", "when", "how", "why"),
        *("please", "help", "thanks", "thank", "hi", "hello", "any", "some"),
    )
)
# "Not working on multi gpu. It doesn't work when I use 2 gpus": nobody knows what happens.
_NOTHING_SAID = frozenset(
    (
        *("work", "works", "working", "worked", "doesn", "don", "isn", "won", "fail", "fails", "failed", "failing"),
        *("broken", "problem", "problems", "issue", "issues", "bug", "bugs", "error", "errors", "trouble", "wrong"),
        *("try", "tried", "trying", "use", "using", "run", "running", "train", "training", "start", "idea", "ideas"),
        *("multi", "multiple", "several", "two", "single", "one", "gpu", "gpus", "node", "nodes", "card", "cards"),
        *("machine", "machines", "distributed", "parallel", "data", "model", "need", "solve", "fix"),
    )
)


@dataclass(frozen=True)  # without slots, for cached properties
class ReadReport:
    """A report read by `read`.

    Attributes:
        segments: Its parts, line by line.
    """

    report: IssueReport
    segments: Segments
    input: ModelInput
    facts: EnvironmentFacts

    @property
    def is_thin(self) -> bool:
        """Whether it says too little to tell a cause."""
        return self.detail < Detail.ENOUGH

    @cached_property
    def detail(self) -> Detail:
        """How much it says."""
        content: set[str] = set()
        for match in _ANY_WORD.finditer(self.input.text.lower()):
            if match.group() not in _FUNCTION_WORDS:
                content.add(match.group())
                if len(content) == MIN_CONTENT_WORDS:
                    break
        words = {word for word in content if len(word) > 1 and not word.isdecimal()}
        says_nothing = words <= _NOTHING_SAID | projects().names.keys() and self.input.text.isascii()
        if self.segments.is_unfilled_form:
            return Detail.NOTHING if says_nothing else Detail.LITTLE
        if self.segments.first_error is not None or any(map(quotes_exception, self.input.errors)):
            return Detail.ENOUGH
        if says_nothing:
            return Detail.NOTHING
        return Detail.LITTLE if len(content) < MIN_CONTENT_WORDS else Detail.ENOUGH

    @cached_property
    def unlearned(self) -> Unlearned:
        """How much of it is in a script that the model has not learned."""
        own = "\n".join(one.text for one in self.segments.of(Kind.TITLE, Kind.PROSE, Kind.FORM))
        unlearned = 0 if own.isascii() else len(_UNLEARNED.findall(own))
        if unlearned == 0 or unlearned < _UNLEARNED_SHARE * len(_LETTER.findall(own)):
            return Unlearned.LITTLE
        has_error = self.segments.first_error is not None or bool(self.input.errors)
        return Unlearned.WORDS if has_error else Unlearned.ALL

    @property
    def tracker(self) -> str:
        """The repository that it was filed in, in lower case, from `owner/repo#12`; empty if unknown."""
        return repository_of(self.report.id) or ""

    @property
    def project(self) -> Project | None:
        """The project in whose tracker it was filed, if known."""
        return projects().tracker_of(self.report.id).project

    @property
    def product(self) -> str | None:
        """The product in whose tracker it was filed, if named."""
        return projects().tracker_of(self.report.id).product

    @property
    def product_version(self) -> str:
        """The one version that it states of the product in whose tracker it was filed, or empty."""
        facts = self.facts
        is_of_product = facts.framework is not None and projects().product_of(facts.framework) == self.product
        known = is_of_product and "framework_version" not in facts.ambiguous
        return facts.framework_version or "" if known else ""

    @cached_property
    def tells_no_failure(self) -> bool:
        """Whether it is a chore, news, a notice about security, or a picture without a word."""
        return tells_no_failure(self.segments)

    @cached_property
    def is_solved(self) -> bool:
        """Whether the reporter has found what the failure was, or what cures it."""
        return is_solved(self.segments)

    @cached_property
    def situation(self) -> Situation:
        """Where the job ran: platform, devices, processes."""
        body = self.report.body
        situation = situation_of(self.facts, self.segments, self.report.title, body, self.input.text)
        return replace(situation, explained=explains(self.segments))


def read(report: IssueReport) -> ReadReport:
    """Read a report.

    Raises:
        InputError: it is empty or larger than `MAX_REPORT_BYTES`.
    """
    check_report(report)
    return read_unchecked(report)


def read_unchecked(report: IssueReport) -> ReadReport:
    """Read a report of any size, if only by Distriage."""
    segments = split(report.title, report.body, report.forms)
    return ReadReport(report, segments, model_input(segments), facts_of(segments, report.id))


def check_report(report: IssueReport) -> None:
    """Refuse a report that cannot be classified.

    Raises:
        InputError: nothing to read, or too large.
    """
    name = report.id or "report"
    if not report.title.strip() and not report.body.strip():
        raise InputError(f"{name}: empty; expected a title or a body")
    size = len(report.title.encode("utf-8", "ignore")) + len(report.body.encode("utf-8", "ignore"))
    if size > MAX_REPORT_BYTES:
        raise InputError(
            f"{name}: {size:,} bytes; at most {MAX_REPORT_BYTES:,} are read (GitHub itself stores 65,536 characters)"
        )
