"""A check run on a pull request that edits `.github/distriage.yml`: whether it is valid, and in which lines it is not.
Network I/O.

Needs the permission `checks: write`; an App without it leaves the check out.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from distriage.base.errors import ConfigError, RefusedError
from distriage.base.terminal import counted
from distriage.github.client import Client
from distriage.model.taxonomy import Taxonomy
from distriage_serving.bot.follow_up import Done
from distriage_serving.configuration.file import parse_config
from distriage_serving.configuration.model import CONFIG_PATH
from distriage_serving.configuration.problems import ConfigProblem, RepositoryConfigError
from distriage_serving.github.executor import raise_if_moved
from distriage_serving.github.files import read_change
from distriage_serving.store import CheckArgument, Job

NAME: Final = "distriage configuration"
MAX_ANNOTATIONS: Final = 50  # of one request


def check_pull_request(client: Client, taxonomy: Taxonomy, job: Job) -> Done:
    """Check the configuration at a pull request's last commit, if it changes the file.

    Raises:
        GitHubError: GitHub cannot be reached or refuses.
    """
    repository, commits = job.repository, CheckArgument.model_validate(job.argument)
    head = commits.head
    try:
        text = read_change(client, repository, CONFIG_PATH, commits.base, head)
        if text is None:
            return Done(f"it does not edit {CONFIG_PATH}", nothing_to_do=True)
        parse_config(text, CONFIG_PATH, taxonomy)
    except RepositoryConfigError as error:
        problems = list(error.problems)
    except ConfigError as error:
        problems = [ConfigProblem(CONFIG_PATH, 1, str(error))]
    else:
        problems = []
    try:
        known = client.json(f"/repos/{repository}/commits/{head}/check-runs?check_name={quote(NAME)}&filter=latest")
        if not known.get("total_count"):
            client.write("POST", f"/repos/{repository}/check-runs", _check_run(head, problems), repeatable=True)
    except RefusedError as error:
        raise_if_moved(error)
        if error.status != 403:
            raise
        return Done("the App has no permission `checks: write`", nothing_to_do=True)
    return Done()


def _check_run(head: str, problems: list[ConfigProblem]) -> dict[str, Any]:
    annotations = [
        {
            "path": CONFIG_PATH,
            "start_line": problem.line,
            "end_line": problem.line,
            "annotation_level": "failure",
            "message": problem.message,
        }
        for problem in problems[:MAX_ANNOTATIONS]
    ]
    title = counted(len(problems), "problem") if problems else "Valid"
    summary = f"`{CONFIG_PATH}` is not valid; the lines are marked." if problems else f"`{CONFIG_PATH}` is valid."
    return {
        "name": NAME,
        "head_sha": head,
        "status": "completed",
        "conclusion": "failure" if problems else "success",
        "output": {"title": title, "summary": summary, "annotations": annotations},
    }
