"""A repository's labels -> a first `.github/distriage.yml`: the likely meaning of each of them. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from distriage.model.taxonomy import Taxonomy
from distriage_serving.configuration.model import MAX_NAME_CHARS

LEAST_ISSUES: Final = 10  # with a label, before the model's answers on them count
LEAST_SHARE: Final = 0.6  # of these, with the same answer of the model
LEAST_LIFT: Final = 2.0  # as often as of all issues
MAX_UNUSED: Final = 60


@dataclass(frozen=True, slots=True)
class TheirLabel:
    """A label as the repository has it."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """The model's answers on past issues.

    Attributes:
        overall: (axis, label) -> issues of which it is the likeliest answer.
        by_label: Case-folded name of their label -> the same among the issues that have it.
        carried: Case-folded name -> issues that have it.
    """

    issues: int
    overall: Counter[tuple[str, str]]
    by_label: Mapping[str, Counter[tuple[str, str]]]
    carried: Counter[str]


@dataclass(frozen=True, slots=True)
class Match:
    """A possible meaning of one of their labels; `why` is the evidence, one line."""

    label: TheirLabel
    axis: str
    ours: str
    strength: float
    why: str


def draft(repository: str, labels: Sequence[TheirLabel], taxonomy: Taxonomy, said: Observed | None = None) -> str:
    """The configuration, YAML with the evidence in comments; valid for any label names.

    Args:
        said: The model's answers on issues with these labels; without them, names and descriptions alone decide.
    """
    usable = [label for label in labels if _is_name(label.name)]
    found = [match for label in usable if (match := best_match(label, taxonomy, said)) is not None]
    chosen: dict[tuple[str, str], list[Match]] = {}
    for match in sorted(found, key=lambda item: -item.strength):
        chosen.setdefault((match.axis, match.ours), []).append(match)
    used = {matches[0].label.name for matches in chosen.values()}
    lines = [
        f"# Drafted by `distriage config init` from the {len(labels)} labels of {_line(repository)}. Read it, then",
        "# commit it as .github/distriage.yml; `distriage config check FILE` checks it, `distriage backtest` tries it.",
        "only-listed: true  # of the labels of the axes, sets only those that are named here",
        "create-labels: false",
        "suggestions: perhaps  # suggests doubtful labels on GitHub, for you to approve or dismiss",
    ]
    axes = [axis for axis in taxonomy.axes if any(key[0] == axis for key in chosen)]
    lines += ["axes:"] if axes else ["axes: {}  # none of the labels seems to stand for one of ours"]
    for axis in axes:
        lines += [f"  {axis}:", "    labels:"]
        for (of, ours), matches in chosen.items():
            if of == axis:
                first, *others = matches
                lines.append(f"      # {first.why}")
                lines += [f"      # also possible, {other.why}" for other in others]
                lines.append(f"      {ours}: {json.dumps(first.label.name, ensure_ascii=False)}")
    rest = [label.name for label in labels if label.name not in used]
    if rest:
        lines += ["# Labels that stand for none of ours, or not for one alone; `distriage learn` learns such labels:"]
        lines += [f"#   {_quoted(name)}" for name in rest[:MAX_UNUSED]]
        lines += [f"#   and {len(rest) - MAX_UNUSED} more"] if len(rest) > MAX_UNUSED else []
    return "\n".join(lines) + "\n"


def best_match(label: TheirLabel, taxonomy: Taxonomy, said: Observed | None) -> Match | None:
    """A label's likely meaning: by its name, unless the model's answers on its issues speak against that; else by these
    answers, else by its description.
    """
    seen = _by_issues(label, said) if said is not None else None
    if _words(label.name).startswith(" not "):  # "not a bug" is an outcome
        return seen
    named = _by_words(label, label.name, taxonomy, 2.0, "the name says so")
    if named is not None and (said is None or not _contradicts(said, named, seen)):
        return Match(label, named.axis, named.ours, named.strength, f"{named.why}{_support(named, said)}")
    if seen is not None:
        return seen
    return _by_words(label, label.description, taxonomy, 1.0, f"its description says {_quoted(label.description)}")


def _words(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.casefold()))} "


def _by_words(label: TheirLabel, text: str, taxonomy: Taxonomy, strength: float, why: str) -> Match | None:
    words = _words(text)
    best: tuple[int, str, str] | None = None
    for axis in taxonomy.axes.values():
        for ours in (label for label in axis.labels if label.retired is None):
            own = () if ours.id in {"true", "false", "other"} else (ours.id,)
            for alias in (*own, *ours.aliases):
                form = _words(alias)
                if len(form) > 2 and form in words and (best is None or len(form) > best[0]):
                    best = (len(form), axis.id, ours.id)
    if best is None:
        return None
    length, axis_id, label_id = best
    # A name that is just the word is surer than one with other words or marks.
    share = length / max(1, len(words)) + 0.1 * (text.casefold() == words.strip())
    return Match(label, axis_id, label_id, strength + share, f"{_quoted(label.name)}: {why}")


def _by_issues(label: TheirLabel, said: Observed) -> Match | None:
    name = label.name.casefold()
    carried = said.carried[name]
    if carried < LEAST_ISSUES:
        return None
    for (axis, ours), count in said.by_label.get(name, Counter()).most_common():
        share, usual = count / carried, said.overall[axis, ours] / max(1, said.issues)
        if share >= LEAST_SHARE and share >= LEAST_LIFT * usual:
            why = f"{_quoted(label.name)}: the model says {ours} of {count} of the {carried} issues that have it"
            return Match(label, axis, ours, 1 + share, f"{why}, and of {usual:.0%} of all")
    return None


def _contradicts(said: Observed, named: Match, seen: Match | None) -> bool:
    """Whether the model says something else of a label's issues, or never what its name says."""
    if seen is not None:
        return (seen.axis, seen.ours) != (named.axis, named.ours)
    name = named.label.name.casefold()
    return said.carried[name] >= LEAST_ISSUES and not said.by_label[name][named.axis, named.ours]


def _support(match: Match, said: Observed | None) -> str:
    if said is None or not said.carried[match.label.name.casefold()]:
        return ""
    name = match.label.name.casefold()
    count = said.by_label.get(name, Counter())[match.axis, match.ours]
    return f"; the model agrees on {count} of the {said.carried[name]} issues that have it"


def _is_name(name: str) -> bool:
    return bool(name) and len(name) <= MAX_NAME_CHARS and name.isprintable() and name == name.strip()


def _line(text: str) -> str:
    """Foreign text on one short line, which cannot end a comment early."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:120]


def _quoted(text: str) -> str:
    return json.dumps(_line(text), ensure_ascii=False)


def observe(answers: Iterator[tuple[Sequence[str], Sequence[tuple[str, str]]]]) -> Observed:
    """Count.

    Args:
        answers: One an issue: its labels, and the likeliest label of each axis that applies to it.
    """
    issues, overall, carried = 0, Counter[tuple[str, str]](), Counter[str]()
    by_label: dict[str, Counter[tuple[str, str]]] = {}
    for labels, likeliest in answers:
        issues += 1
        overall.update(likeliest)
        for name in {label.casefold() for label in labels}:
            carried[name] += 1
            by_label.setdefault(name, Counter()).update(likeliest)
    return Observed(issues, overall, by_label, carried)
