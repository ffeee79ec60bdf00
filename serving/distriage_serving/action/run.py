"""The GitHub Action: event -> issue -> configuration -> verdict -> Plan -> carried out.

Writes the step summary and the outputs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import httpx

from distriage.base.errors import BundleError, ConfigError, DistriageError, GitHubError, InputError
from distriage.base.terminal import counted
from distriage.base.types import Mode
from distriage.classifier import Classifier
from distriage.github.client import Client
from distriage.github.forms import form_lines
from distriage.github.releases import kept_releases
from distriage.own.labels import OwnLabels
from distriage.past.answer import github_ids, likely_duplicates
from distriage.past.file import load_index
from distriage.past.index import PastIndex
from distriage.signs.table import read_table
from distriage_serving.action import workflow_commands
from distriage_serving.action.event import read_event, table, target
from distriage_serving.action.files import read_ahead
from distriage_serving.configuration.file import load_config
from distriage_serving.configuration.model import CONFIG_PATH, MISNAMED, RepositoryConfig
from distriage_serving.configuration.names import resolve
from distriage_serving.github.execution import Execution
from distriage_serving.github.executor import execute
from distriage_serving.github.fields import read_fields
from distriage_serving.github.files import FoundConfig, find_config, is_there
from distriage_serving.github.issue import ReadIssue, read_issue, under_new_names
from distriage_serving.github.suggestions import OFF, as_suggested, list_suggestions
from distriage_serving.judging.judge import Look, look, required
from distriage_serving.logs import without_message
from distriage_serving.planning.markdown import code
from distriage_serving.planning.owners import owners_of
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.signs import needs_releases, with_signs
from distriage_serving.planning.summary import summary_of
from distriage_serving.planning.types import Change, ChangeKind

if TYPE_CHECKING:
    from distriage.second_reader.reader import SecondReader

_Extra = TypeVar("_Extra")
_WORDS: Final[Mapping[ChangeKind, tuple[str, str]]] = {
    "label": ("label", "added"),
    "off": ("label", "taken off"),
    "type": ("issue type", "set"),
    "field": ("issue field", "set"),
    "suggestion": ("suggestion", "made"),
    "comment": ("comment", "written"),
}
_TRUE, _FALSE = frozenset({"true", "yes", "1"}), frozenset({"", "false", "no", "0"})


@dataclass(frozen=True, slots=True)
class Inputs:
    """The action's inputs as the runner gives them; empty texts if unset.

    Attributes:
        token: `repo-token`.
        login: Its account, if the runner knows it. Otherwise GitHub is asked; if that is refused, every bot's work
            counts as this one's.
        own_labels: A folder from `distriage learn`.
        past_issues: A file from `distriage past index`.
        releases: A file from `distriage releases update`.
        config: A configuration to try in a dry run, instead of the repository's.
        second_reader: Base URL of an endpoint to ask in doubt.
        max_wait_s: Longest time to wait for rate limits, in seconds.
    """

    token: str = ""
    login: str = ""
    repository: str = ""
    event_path: str = ""
    issue_number: str = ""
    configuration_path: str = ""
    config: Path | None = None
    mode: str = ""
    dry_run: str = ""
    model: str = ""
    own_labels: str = ""
    past_issues: str = ""
    releases: str = ""
    second_reader: str = ""
    reader_model: str = ""
    reader_calibration: str = ""
    max_wait_s: float = 300.0


def run_action(inputs: Inputs, *, strict: str) -> int:
    """Run the action and return its exit code.

    The code is 0: failures and refusals by GitHub end in a warning, since a bot must not turn the reporter's issue red.
    With `strict` they end in an error: 2 for an error of ours, 1 for any other.
    """
    is_strict = strict.strip().lower() in _TRUE
    say = workflow_commands.error if is_strict else workflow_commands.warning
    warnings: list[str] = []
    exit_code = 0
    try:
        _flag("strict", strict)
        _run(inputs, warnings)
    except (DistriageError, httpx.HTTPError, OSError) as error:
        warnings.append(" ".join(str(error).split()))
    except Exception as error:
        # Neither message nor source line: they may hold the report's text, and with it workflow commands.
        exit_code = 1
        warnings.append(f"unexpected {without_message(error)}; please report it")
    for message in warnings:
        say(message)
    return (exit_code or 2) if is_strict and warnings else 0


def _run(inputs: Inputs, warnings: list[str]) -> None:
    """Run, and collect warnings.

    Args:
        warnings: Filled with GitHub's refusals and unusable inputs, one sentence each.
    """
    event = read_event(inputs.event_path)
    reference = target(inputs.repository, inputs.issue_number, event)
    dry_run = _flag("dry-run", inputs.dry_run)
    if inputs.config is not None and not dry_run:
        raise InputError("--config tries a configuration in a dry run; expected --dry-run true")
    classifier = Classifier(inputs.model or None)
    past = _extra(lambda: _past(inputs.past_issues, classifier), warnings) if inputs.past_issues else None
    there = _extra(lambda: read_table(Path(inputs.releases)).releases, warnings) if inputs.releases else None
    taxonomy = classifier.bundle.taxonomy
    if not inputs.token:
        raise InputError("GITHUB_TOKEN is not set; expected the input `repo-token` with issues: write")
    client = Client(inputs.token, max_wait_s=inputs.max_wait_s, login=inputs.login or None)
    if inputs.own_labels:
        classifier.own = _extra(lambda: _own(inputs, classifier, client, reference.repository), warnings)
    path = inputs.configuration_path or CONFIG_PATH
    if (refused := read_ahead(client, reference.repository, path)) is not None:
        workflow_commands.notice(f"{refused}; its files are read one by one")
    if inputs.config is not None:
        found = FoundConfig(load_config(inputs.config, taxonomy), (str(inputs.config),))
    else:
        found = find_config(client, reference.repository, path, taxonomy)
        if f"{reference.repository}/{path}" not in found.places and is_there(client, reference.repository, MISNAMED):
            warnings.append(f"{reference.repository}: {MISNAMED} is not read; expected the name {CONFIG_PATH}")
    config = _config(found.config, inputs.mode, dry_run=dry_run)
    sender_is_bot = not inputs.issue_number.strip() and table(event, "sender").get("type") == "Bot"
    issue = read_issue(client, reference, sender_is_bot=sender_is_bot)
    issue = replace(issue, report=replace(issue.report, forms=form_lines(client, reference.repository)))
    seen = _look(classifier, issue, config, inputs, warnings)
    verdict = seen.verdict
    names = resolve(config, taxonomy, issue.labels_there)
    issue = under_new_names(issue, names.renamed)
    if there is None and needs_releases(names):
        there = {reference.repository.lower(): kept_releases(client, reference.repository)}
    releases = (there or {}).get(reference.repository.lower(), ())
    if past is not None:
        same = likely_duplicates(past, replace(seen.past, releases=releases))
        verdict = verdict.model_copy(update={"duplicates": same})
        issue = replace(issue, state=replace(issue.state, github_ids=github_ids(past, same)))
    verdict = with_signs(verdict, issue.report, names, releases, issue.created_at)
    state = replace(issue.state, shared_account=True)  # with all workflows, or with whose token it is
    if any(axis.field is not None for axis in names.labelled()):
        state = replace(state, known_fields=read_fields(client, reference.repository))
    plan = make_plan(verdict, state, names)
    done = Execution()
    if plan.suggestions and plan.writes:  # nothing is remembered from run to run
        listed = list_suggestions(client, reference)
        if listed is None:
            done.no_suggestions = OFF
            names = resolve(config.model_copy(update={"suggestions": "off"}), taxonomy, issue.labels_there)
        else:
            state = replace(state, suggested=as_suggested(listed, issue.label_ids, names))
        plan = make_plan(verdict, state, names)
    failure: DistriageError | None = None
    try:
        execute(plan, client, done)
    except DistriageError as error:  # work done before it is reported all the same
        failure = error
    warnings += done.warnings
    outcome = _outcome([*warnings, *([str(failure)] if failure is not None else [])])
    if done.no_suggestions is not None:
        outcome = f"\n{done.no_suggestions}.\n{outcome}"
        workflow_commands.notice(done.no_suggestions)
    owners = owners_of(verdict, {*state.labels, *plan.labels}, config.owners, issue.created_at)
    workflow_commands.write_summary(summary_of(plan, verdict, state, taxonomy, found.places, tuple(owners)) + outcome)
    workflow_commands.write_outputs(
        {"labels-added": json.dumps(done.labels_added, ensure_ascii=False), "prediction": verdict.model_dump_json()}
    )
    changed = _in_words(plan.changes if plan.dry_run else done.changes)
    would = "would be done (dry run)" if plan.dry_run else "done"
    workflow_commands.notice(f"{would}: {changed}; see the step summary")
    if failure is not None:
        raise failure


def _extra(read: Callable[[], _Extra], warnings: list[str]) -> _Extra | None:
    """An extra input's reader; None, with a warning, if unusable: the axes are labelled all the same."""
    try:
        return read()
    except (BundleError, ConfigError, GitHubError, InputError) as error:
        warnings.append(f"{error}; the axes are labelled without it")
        return None


def _look(
    classifier: Classifier, issue: ReadIssue, config: RepositoryConfig, inputs: Inputs, warnings: list[str]
) -> Look:
    """Look with both readers if a second one is set; if that one fails, the first verdict, and a warning."""
    bundle = classifier.bundle
    reader = _extra(lambda: _reader(inputs, bundle.manifest.name), warnings) if inputs.second_reader else None
    first = look(classifier, issue.report, config, issue.created_at, () if reader is None else reader.axes)
    if reader is None or first.question is None:
        return first
    both = reader.put(first.verdict, first.question, bundle.taxonomy, partial(required, config))
    if both.second_reading is not None and both.second_reading.note is not None:
        warnings.append(both.second_reading.note)
    return replace(first, verdict=both)


def _own(inputs: Inputs, classifier: Classifier, client: Client, repository: str) -> OwnLabels:
    own = OwnLabels(Path(inputs.own_labels), classifier.bundle)
    own.use_for(repository, client)
    return own


def _reader(inputs: Inputs, model: str) -> SecondReader:
    from distriage.second_reader.reader import reader_from_options

    file = Path(inputs.reader_calibration) if inputs.reader_calibration else None
    return reader_from_options(inputs.second_reader, inputs.reader_model, file, model)


def _past(file: str, classifier: Classifier) -> PastIndex:
    index = load_index(Path(file))
    model = classifier.bundle.manifest.name
    if index.model != model:
        raise InputError(f"input past-issues: {file}: made with the model {index.model}; expected {model}")
    return index


def _config(config: RepositoryConfig, mode: str, *, dry_run: bool) -> RepositoryConfig:
    """The configuration with the action's own inputs over it; either may ask for a dry run."""
    if mode and mode not in list(Mode):
        raise InputError(f"input mode: {mode!r}; expected one of {', '.join(Mode)}")
    return config.model_copy(update={"dry_run": config.dry_run or dry_run, **({"mode": Mode(mode)} if mode else {})})


def _in_words(changes: Collection[Change]) -> str:
    """The number of changes of each kind, in our own words."""
    kinds = Counter(change.kind for change in changes)
    return ", ".join(f"{counted(kinds[kind], what)} {how}" for kind, (what, how) in _WORDS.items() if kinds[kind]) or (
        "nothing"
    )


def _outcome(messages: Iterable[str]) -> str:
    return "".join(f"\n**Warning**: {code(message, 400)}\n" for message in messages)


def _flag(name: str, text: str) -> bool:
    given = text.strip().lower()
    if given not in _TRUE | _FALSE:
        raise InputError(f"input {name}: {text!r}; expected true or false")
    return given in _TRUE
