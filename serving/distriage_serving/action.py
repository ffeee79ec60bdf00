"""The GitHub Action: event -> issue -> configuration -> verdict -> Plan -> carried out, with step summary and outputs."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import httpx

from distriage.classifier import Classifier
from distriage.errors import DistriageError, InputError
from distriage_serving import workflow_commands
from distriage_serving.executor import Execution, execute
from distriage_serving.github_rest import REPOSITORY, Client
from distriage_serving.github_state import read_config, read_issue
from distriage_serving.judging import judge
from distriage_serving.markdown import code
from distriage_serving.plan import make_plan
from distriage_serving.repo_config import CONFIG_PATH, ModeName, RepositoryConfig

MAX_EVENT_BYTES = 32 << 20  # GitHub sends at most 25 MiB
_TRUE, _FALSE = frozenset({"true", "yes", "1"}), frozenset({"", "false", "no", "0"})


@dataclass(frozen=True, slots=True)
class Inputs:
    """The action's inputs as the runner gives them: texts, empty where not set.

    Attributes:
        token: `repo-token`.
        max_wait_s: Longest time to wait for rate limits, in seconds.
    """

    token: str = ""
    repository: str = ""
    event_path: str = ""
    issue_number: str = ""
    configuration_path: str = ""
    mode: str = ""
    dry_run: str = ""
    model: str = ""
    max_wait_s: float = 300.0


def run_action(inputs: Inputs, *, strict: str) -> int:
    """Run the action and return its exit code: 0, and with `strict` 2 for an error that has a name and 1 for one that has none.

    Whatever fails ends in a warning: a bot must not turn the reporter's issue red.
    """
    is_strict = strict.strip().lower() in _TRUE
    try:
        _flag("strict", strict)
        _run(inputs)
    except (DistriageError, httpx.HTTPError, OSError) as error:
        workflow_commands.warning(" ".join(str(error).split()))
        return 2 if is_strict else 0
    except Exception as error:
        # Neither message nor source line: they may hold the report's text, and with it workflow commands.
        place = traceback.extract_tb(error.__traceback__)[-1]
        workflow_commands.warning(f"unexpected {type(error).__name__} at {Path(place.filename).name}:{place.lineno}; please report it")
        return 1 if is_strict else 0
    return 0


def _run(inputs: Inputs) -> None:
    event = _read_event(inputs.event_path)
    repository, number = _target(inputs, event)
    dry_run = _flag("dry-run", inputs.dry_run)
    classifier = Classifier(inputs.model or None)
    taxonomy = classifier.bundle.taxonomy
    with Client(inputs.token, max_wait_s=inputs.max_wait_s) as client:
        config = _config(read_config(client, repository, inputs.configuration_path or CONFIG_PATH, taxonomy), inputs.mode, dry_run=dry_run)
        sender_is_bot = not inputs.issue_number and _table(event, "sender").get("type") == "Bot"
        issue = read_issue(client, repository, number, sender_is_bot=sender_is_bot)
        verdict = judge(classifier, issue.report, config)
        plan = make_plan(verdict, issue.state, config, taxonomy)
        done = Execution()
        failure: DistriageError | None = None
        try:
            execute(plan, client, done)
        except DistriageError as error:  # what was done until then is reported all the same
            failure = error
    for message in done.warnings:
        workflow_commands.warning(message)
    workflow_commands.write_summary(plan.summary + _outcome(done, failure))
    workflow_commands.write_outputs({"labels-added": json.dumps(done.labels_added, ensure_ascii=False), "prediction": verdict.model_dump_json()})
    workflow_commands.notice(f"{len(done.labels_added)} labels added{' (dry run)' if plan.dry_run else ''}; see the step summary")
    if failure is not None:
        raise failure


def _config(config: RepositoryConfig, mode: str, *, dry_run: bool) -> RepositoryConfig:
    """The configuration with the action's own inputs over it; either may ask for a dry run."""
    if mode and mode not in get_args(ModeName):
        raise InputError(f"input mode: {mode!r}; expected one of {', '.join(get_args(ModeName))}")
    return config.model_copy(update={"dry_run": config.dry_run or dry_run, **({"mode": mode} if mode else {})})


def _outcome(done: Execution, failure: DistriageError | None) -> str:
    messages = [*done.warnings, *([str(failure)] if failure is not None else [])]
    return "".join(f"\n**Warning**: {code(message, 400)}\n" for message in messages)


# ---------------------------------------------------------------- inputs


def _read_event(path: str) -> Mapping[str, Any]:
    if not path:
        return {}
    file = Path(path)
    try:
        if file.stat().st_size > MAX_EVENT_BYTES:
            raise InputError(f"GITHUB_EVENT_PATH: {path}: more than {MAX_EVENT_BYTES:,} bytes")
        event = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"GITHUB_EVENT_PATH: {path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"GITHUB_EVENT_PATH: {path} is not valid JSON") from None
    if not isinstance(event, dict):
        raise InputError(f"GITHUB_EVENT_PATH: {path} holds no object")
    return event


def _target(inputs: Inputs, event: Mapping[str, Any]) -> tuple[str, int]:
    repository = inputs.repository or _table(event, "repository").get("full_name") or ""
    if not isinstance(repository, str) or not REPOSITORY.fullmatch(repository):
        raise InputError(f"GITHUB_REPOSITORY: {repository!r}; expected owner/repo")
    number = inputs.issue_number.strip() or _table(event, "issue").get("number")
    if number is None:
        raise InputError("the event holds no issue; run on `issues`, or set the input issue-number")
    if not (str(number).isascii() and str(number).isdigit() and 0 < int(number) < 10**10):
        raise InputError(f"issue-number: {number!r}; expected a number such as 12")
    return repository, int(number)


def _table(event: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def _flag(name: str, text: str) -> bool:
    given = text.strip().lower()
    if given not in _TRUE | _FALSE:
        raise InputError(f"input {name}: {text!r}; expected true or false")
    return given in _TRUE
