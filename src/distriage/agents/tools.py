"""The tools; `tools.json` describes their arguments and answers. Runs the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from distriage.agents.protocol import Tool
from distriage.base.errors import InputError
from distriage.base.references import parse_reference
from distriage.base.terminal import printable
from distriage.base.texts import packaged
from distriage.base.types import IssueReport

if TYPE_CHECKING:
    from distriage.answer.findings import Findings
    from distriage.answer.verdict import Verdict
    from distriage.classifier import Classifier
    from distriage.past.index import Match, PastIndex
    from distriage.past.issue import PastIssue

MAX_TITLE_CHARS = 160
MAX_FACT_CHARS = 60
MAX_FACTS = 30
Result = Mapping[str, Any]
_Load = Callable[[], "Classifier"]


def instructions() -> str:
    """For the agent: how to read the answers."""
    return str(_described()["instructions"])


def make_tools(classifier: _Load, past: Callable[[], PastIndex | None]) -> Sequence[Tool]:
    """The tools of one model.

    Args:
        classifier: Gives the loaded model.
        past: Gives the index of the repository's past issues, made with that model, if there is one.
    """
    data, calls = _described(), _Calls(classifier, past)
    return [
        Tool(_schemas(tool, data["arguments"], data["definitions"]), getattr(calls, tool["name"]))
        for tool in data["tools"]
    ]


def _described() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(packaged(__package__, "tools.json"))
    return data


def _schemas(tool: Mapping[str, Any], arguments: Mapping[str, Any], definitions: Mapping[str, Any]) -> Result:
    output = tool["outputSchema"]
    used = {name: definitions[name] for name in definitions if f"#/$defs/{name}" in json.dumps(output)}
    return {
        "name": tool["name"],
        "title": tool["title"],
        "description": tool["description"],
        "inputSchema": {
            "type": "object",
            "properties": {name: arguments[name] for name in tool["takes"]},
            "required": [name for name in ("title",) if name in tool["takes"]],
            "additionalProperties": False,
        },
        "outputSchema": {**output, **({"$defs": used} if used else {})},
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    }


class _Calls:
    """Each public method is a tool of that name."""

    def __init__(self, classifier: _Load, past: Callable[[], PastIndex | None]) -> None:
        self._classifier, self._past = classifier, past

    def classify(self, title: str, body: str = "", issue: str = "", mode: str = "balanced") -> Result:
        findings = self._examine(title, body, issue)
        verdict = findings.verdict(mode)
        facts = list(verdict.environment.items())[:MAX_FACTS]
        past = self._past()
        return {
            "axes": _axes(verdict),
            **({"note": verdict.why_silent} if verdict.why_silent else {}),
            "checks": verdict.checks,
            **({"likely_causes": [one.label for one in verdict.differential.causes]} if verdict.differential else {}),
            "known_problems": _problems(verdict),
            "missing": _missing(verdict),
            **({"duplicates": _duplicates(past, findings)} if past is not None else {}),
            "untrusted": {
                "title": cut(verdict.title, MAX_TITLE_CHARS),
                "environment": {
                    name: cut(value, MAX_FACT_CHARS) if isinstance(value, str) else value for name, value in facts
                },
            },
            "model": verdict.model,
        }

    def similar_issues(self, title: str, body: str = "", issue: str = "", top: int = 5) -> Result:
        findings = self._examine(title, body, issue, similar=True)
        known = [
            {
                "id": one.id,
                **({"url": one.url} if one.url else {}),
                "similarity": one.similarity,
                "labels": dict(one.labels),
                **({"note": one.note} if one.note else {}),
                **({"untrusted_title": cut(one.title, MAX_TITLE_CHARS)} if one.title else {}),
            }
            for one in (findings.similar or ())[:top]
        ]
        past = self._past()
        if past is None:
            return {"known": known}
        from distriage.past.build import query_of

        return {"known": known, "past": [_match(one) for one in past.find(query_of(findings), top)]}

    def known_problems(self, title: str, body: str = "", issue: str = "") -> Result:
        return {"known_problems": _problems(self._examine(title, body, issue).verdict())}

    def missing_facts(self, title: str, body: str = "", issue: str = "") -> Result:
        return {"missing": _missing(self._examine(title, body, issue).verdict())}

    def taxonomy(self, axis: str = "", label: str = "") -> Result:
        from distriage.answer.playbooks import playbook_of

        loaded = self._classifier().bundle.taxonomy
        if label and not axis:
            raise InputError("label: given without `axis`; expected both")
        if not axis:
            every = {one.id: {"question": one.question, "labels": list(one.label_ids)} for one in loaded.axes.values()}
            return {"version": loaded.version, "axes": every}
        one = loaded.axis(axis)
        shown = [one.label(label)] if label else [found for found in one.labels if found.id in one.label_ids]
        definitions = {found.id: found.definition for found in shown}
        book = playbook_of(loaded, axis, label) if label else None
        return {
            "version": loaded.version,
            "axes": {one.id: {"question": one.question, "definitions": definitions}},
            **({} if book is None else {"playbook": {name: _plain(getattr(book, name)) for name in _PLAYBOOK}}),
        }

    def _examine(self, title: str, body: str, issue: str, *, similar: bool = False) -> Findings:
        try:
            identifier = str(parse_reference(issue)) if issue.strip() else ""
        except InputError as error:
            raise InputError(f"issue: {error} on GitHub; or leave it out") from None
        return self._classifier().examine(IssueReport(title, body, identifier), similar=similar)


_PLAYBOOK = ("looks", "confirm", "unlike", "fixes", "ask")


def cut(text: str, limit: int) -> str:
    """A stranger's text on one line, without control or reordering characters, cut to `limit` characters."""
    shown = " ".join(printable(text[: 8 * limit]).split())
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


def _plain(value: str | Sequence[str]) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _axes(verdict: Verdict) -> Result:
    found: dict[str, Result] = {}
    for axis, said in verdict.axes.items():
        if said.outcome == "not-applicable":
            found[axis] = {"outcome": str(said.outcome)}
            continue
        family = {"family": said.family} if said.family is not None else {}
        found[axis] = {
            "outcome": str(said.outcome),
            "label": said.label,
            "probability": round(said.probability, 2),
            **family,
        }
    return found


def _problems(verdict: Verdict) -> list[Result]:
    return [{"problem": one.problem, "remedy": one.remedy, "source": one.source} for one in verdict.known_problems]


def _missing(verdict: Verdict) -> list[Result]:
    return [{"fact": one.fact, "question": one.question} for one in verdict.missing]


def _duplicates(past: PastIndex, findings: Findings) -> list[Result]:
    from distriage.past.answer import likely_duplicates
    from distriage.past.build import query_of

    return [
        {
            **_issue(one.id, one.url, one.state, one.title, one.closed_by),
            "same_probability": one.probability,
            "likely_duplicate": True,
            **({"fixed_in": one.fixed_in} if one.fixed_in else {}),
            **({"possible_regression": True} if one.possible_regression else {}),
        }
        for one in likely_duplicates(past, query_of(findings))
    ]


def _match(match: Match) -> Result:
    from distriage.past.same import is_spoken_of

    issue: PastIssue = match.issue
    return {
        **_issue(issue.id, issue.url, issue.state, issue.title, issue.closed_by),
        "similarity": round(match.similarity, 4),
        "same_probability": None if match.same is None else round(match.same, 4),
        "likely_duplicate": is_spoken_of(match.same),
    }


def _issue(id_: str, url: str, state: str, title: str, closed_by: str) -> Result:
    return {
        "id": id_,
        **({"url": url} if url else {}),
        "state": state,
        "untrusted_title": cut(title, MAX_TITLE_CHARS),
        **({"untrusted_closed_by": cut(closed_by, MAX_TITLE_CHARS)} if closed_by else {}),
    }
