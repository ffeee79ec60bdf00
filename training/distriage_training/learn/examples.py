"""Past issues -> examples: the issues and labels fit for learning. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from distriage.base.errors import InputError
from distriage.base.types import IssueReport
from distriage.github.listed import ListedIssue
from distriage.reading.report import check_report

LEAST_ISSUES = 100
RECENT_SHARE = 0.2  # of the issues, the newest: a label that none of them has is out of use
LEAST_RECENT = 2
LEAST_SILENT = 100  # labelled issues in a row without a label,
SILENT_S = 30 * 86_400  # over such a time that it is not just waiting to be given,
SILENT_CHANCE = 0.01  # and by chance less often than this: it is out of use
MOST_SHARE = 0.95  # of the issues: a label on nearly all says nothing

# An issue's outcome, not its report: unknowable when the issue is filed.
_AFTERWARDS = re.compile(
    r"""\b(stale | unstale | inactive | rotten | duplicates? | won\s?t\s?fix | invalid | keep\s?open | backlog | fixed
        | resolved | released | closed | resolution | lifecycle | untriaged | triaged? | autoclosed?
        | needs? \s ((more | author) \s)? (info\w* | feedback | repro\w* | details | response | investigation | triage)
        | more \s info\w* | info\w* \s needed | await\w* | waiting | (un\s?able | not | cannot | can\s?t) \s (to \s)?
          reproduc\w* | not \s a \s bug | works \s as \s intended | no \s activity)\b""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """A person's requests.

    Attributes:
        least: Minimum number of issues of a label.
        include: Labels to learn even if their names state an outcome, or nobody gave them lately.
    """

    least: int = 20
    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Issues:
    """The issues fit for learning, by date.

    Attributes:
        by_bots, unreadable, unjudged: How many were left out.
    """

    kept: tuple[ListedIssue, ...]
    by_bots: int
    unreadable: int
    unjudged: int


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels to learn, the commonest first, and why others are left out."""

    names: tuple[str, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Use:
    """How often a label is given.

    Attributes:
        count, recent: Issues that have it, in all and among the newest.
        issues: All there are.
        until: Labelled issues up to the last one that has it.
        silent, silent_s: Labelled issues after that one, and the seconds from it to the newest issue.
    """

    count: int
    recent: int
    issues: int
    until: int
    silent: int
    silent_s: float


def is_afterwards(label: str) -> bool:
    """Whether a label's name states an outcome of the issue."""
    return _AFTERWARDS.search(" ".join(re.findall(r"[^\W_]+", label.casefold()))) is not None


def usable(issues: Sequence[ListedIssue], reviewed: Collection[int] = ()) -> Issues:
    """The readable issues that people wrote and judged.

    An open issue without a label is not judged yet, so it counts against no label.

    Args:
        reviewed: Numbers of the issues that people judged in the queue, whatever their labels.

    Raises:
        InputError: too few to learn and to measure.
    """
    people = [issue for issue in issues if not issue.by_bot]
    readable = sorted(filter(_readable, people), key=lambda issue: (issue.created_at, issue.number))
    kept = [issue for issue in readable if issue.labels or not issue.is_open or issue.number in reviewed]
    unjudged = len(readable) - len(kept)
    if len(kept) < LEAST_ISSUES:
        raise InputError(
            f"{len(kept)} issues of people can be read"
            + (f" and are judged, {unjudged} are open and have no label" if unjudged else "")
            + f"; expected at least {LEAST_ISSUES} to learn and to measure"
        )
    return Issues(tuple(kept), len(issues) - len(people), len(people) - len(readable), unjudged)


def choose(issues: Sequence[ListedIssue], wishes: Wishes) -> Labels:
    """Choose labels.

    Args:
        issues: By date.

    Raises:
        InputError: no label can be learned.
    """
    include, exclude = ({name.casefold() for name in names} for names in (wishes.include, wishes.exclude))
    counts = Counter(label for issue in issues for label in set(issue.labels))
    recent = Counter(label for issue in issues[newest(len(issues)) :] for label in set(issue.labels))
    labelled = [issue for issue in issues if issue.labels]
    last = {label: place for place, issue in enumerate(labelled) for label in issue.labels}
    names, left_out = [], {}
    for label, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        until = last[label] + 1
        silent_s = issues[-1].created_at - labelled[last[label]].created_at
        use = Use(count, recent[label], len(issues), until, len(labelled) - until, silent_s)
        why = _why_not(label, use, wishes.least, forced=label.casefold() in include)
        if label.casefold() in exclude:
            why = "left out by --exclude"
        if why is None:
            names.append(label)
        else:
            left_out[label] = why
    if not names:
        why = "; ".join(f"{label}: {reason}" for label, reason in list(left_out.items())[:3])
        raise InputError(
            f"none of the labels of {len(issues)} issues can be learned: "
            f"expected one that is in use, on at least {wishes.least} of them (--least lowers it)"
            + (f"; the commonest are left out: {why}" if why else "")
        )
    return Labels(tuple(names), left_out)


def check_wishes(issues: Sequence[ListedIssue], wishes: Wishes) -> None:
    """Refuse a label that no issue has.

    Raises:
        InputError: there is one in `include` or `exclude`.
    """
    known = {label.casefold() for issue in issues for label in issue.labels}
    for option, names in (("--include", wishes.include), ("--exclude", wishes.exclude)):
        for name in sorted(names):
            if name.casefold() not in known:
                raise InputError(f"{option} {name!r}: no issue has this label")


def newest(issues: int) -> int:
    """Where the newest `RECENT_SHARE` of `issues` issues begin."""
    return issues - int(RECENT_SHARE * issues)


def _readable(issue: ListedIssue) -> bool:
    try:
        check_report(IssueReport(issue.title, issue.body))
    except InputError:
        return False
    return True


def _why_not(label: str, use: Use, least: int, *, forced: bool) -> str | None:
    if use.count < least:
        return f"on {use.count} issues; {least} are needed"
    if use.count > MOST_SHARE * use.issues:
        return f"on {use.count} of {use.issues} issues: it tells none apart"
    if is_afterwards(label) and not forced:
        return "says what became of an issue, which its report cannot tell (--include learns it)"
    if use.recent < LEAST_RECENT and not forced:
        newer = use.issues - newest(use.issues)
        return f"out of use: on {use.recent} of the newest {newer} issues (--include learns it)"
    share = use.count / use.until
    by_chance = (1 - share) ** use.silent
    if use.silent >= LEAST_SILENT and use.silent_s >= SILENT_S and by_chance < SILENT_CHANCE and not forced:
        return (
            f"out of use: on none of the newest {use.silent} labelled issues, where its share before lets expect "
            f"{share * use.silent:.0f} (--include learns it)"
        )
    return None
