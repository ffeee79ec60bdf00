from __future__ import annotations

from typing import Any

import pytest

from distriage.errors import ConfigError, GitHubError, NotFoundError, RateLimitError, TransferredError
from distriage.github import Client
from distriage.references import IssueReference
from distriage.taxonomy import default_taxonomy
from distriage_serving.github.executor import Execution, execute
from distriage_serving.github.files import read_config
from distriage_serving.github.issue import read_issue
from distriage_serving.planning.config_file import parse_config
from distriage_serving.planning.config_problems import RepositoryConfigError
from distriage_serving.planning.names import resolve
from distriage_serving.planning.plan import make_plan
from distriage_serving.planning.types import Plan

from support import faults
from support.faults import Fault, Trouble
from support.github import BOT, PERSON, GitHub
from support.verdicts import make_verdict
from support.waiting import WAIT_S

TAXONOMY = default_taxonomy()
ISSUE = "owner/repo#1"
WANTED = ["stage: training-evaluation", "symptom: runtime-hang"]
CONFIG = "comment: true\n"
VERDICT = make_verdict(missing=("torch",))


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now_s += seconds


@pytest.fixture
def double(github: GitHub) -> GitHub:
    github.open(ISSUE, "A hang", "It hangs.")
    return github


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(double: GitHub, clock: Clock) -> Client:
    return client_of(double, clock)


def client_of(double: GitHub, clock: Clock, timeout_s: float = WAIT_S) -> Client:
    return Client(double.token, double.url, timeout_s=timeout_s, sleep=clock.sleep, now=lambda: clock.now_s)


def planned(client: Client, text: str = CONFIG) -> Plan:
    return make_plan(
        VERDICT,
        read_issue(client, IssueReference("owner/repo", 1)).state,
        resolve(parse_config(text, "distriage.yml", TAXONOMY), TAXONOMY),
    )


def run(client: Client, text: str = CONFIG) -> Execution:
    return execute(planned(client, text), client)


def assert_done_once(double: GitHub) -> None:
    assert sorted(double.labels(ISSUE)) == WANTED
    assert len(double.comments(ISSUE)) == 1


# ---------------------------------------------------------------- reading


def test_the_state_knows_who_set_and_removed_what(double: GitHub, client: Client) -> None:
    double.page_items = 2
    double.label(ISSUE, "theirs", PERSON)
    double.label(ISSUE, "ours", BOT)
    double.label(ISSUE, "gone", BOT)
    double.unlabel(ISSUE, "gone", PERSON)
    double.label(ISSUE, "ghost", None)
    double.unlabel(ISSUE, "ghost", None)
    double.label(ISSUE, "cleaned", PERSON)
    double.unlabel(ISSUE, "cleaned", BOT)
    state = read_issue(client, IssueReference("owner/repo", 1)).state
    assert state.labels == {"theirs", "ours"} and state.labels_by_us == {"ours"}
    assert state.removed == {"gone", "ghost"}
    assert state.repository_labels == {"theirs", "ours", "gone", "ghost", "cleaned"}


def test_a_marker_in_a_person_s_comment_is_not_ours(double: GitHub, client: Client) -> None:
    marker = "<!-- distriage:v1 0123456789abcdef -->\nhello"
    double.comment(ISSUE, marker, PERSON)
    double.comment(ISSUE, f"quoted: {marker}", BOT)
    assert read_issue(client, IssueReference("owner/repo", 1)).state.own_comment is None
    ours = double.comment(ISSUE, marker, BOT)
    own = read_issue(client, IssueReference("owner/repo", 1)).state.own_comment
    assert own is not None and (own.id, own.digest) == (ours["id"], "0123456789abcdef")


@pytest.mark.parametrize(
    ("change", "word"), [("gone", "deleted"), ("absent", "does not exist"), ("moved", "transferred")]
)
def test_issues_that_are_not_there(double: GitHub, client: Client, change: str, word: str) -> None:
    if change == "gone":
        double.gone.add(ISSUE)
    elif change == "absent":
        del double.issues[ISSUE]
    else:
        double.open("owner/other#9", "A hang")
        double.moved[ISSUE] = "owner/other#9"
    with pytest.raises(NotFoundError, match=word):
        read_issue(client, IssueReference("owner/repo", 1))
    assert double.written == []


def test_configuration_of_organization_and_repository(double: GitHub, client: Client) -> None:
    assert read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY).mode == "balanced"
    double.files["owner/.github/.github/distriage.yml"] = "mode: precise\ndry-run: true\n"
    assert read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY).dry_run
    double.files["owner/repo/.github/distriage.yml"] = "dry-run: false\n"
    config = read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY)
    assert (config.mode, config.dry_run) == ("precise", False)
    double.files["owner/.github/.github/distriage.yml"] = "\nmod: x\n"
    with pytest.raises(RepositoryConfigError, match=r"owner/\.github/\.github/distriage\.yml:2: unknown key `mod`"):
        read_config(client, "owner/repo", ".github/distriage.yml", TAXONOMY)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.yml", "a/../../b", "a\nb", " "])
def test_a_path_outside_of_the_repository_is_refused(double: GitHub, client: Client, path: str) -> None:
    with pytest.raises(ConfigError, match="inside the repository"):
        read_config(client, "owner/repo", path, TAXONOMY)
    assert double.requests == []


def test_a_named_configuration_must_exist(client: Client) -> None:
    with pytest.raises(ConfigError, match="not on the default branch"):
        read_config(client, "owner/repo", "other.yml", TAXONOMY)


# ---------------------------------------------------------------- writing


def test_labels_are_created_added_and_the_comment_written(double: GitHub, client: Client) -> None:
    done = run(client)
    assert (done.labels_created, done.labels_added, done.comment, done.warnings) == (WANTED, WANTED, "written", [])
    assert_done_once(double)
    assert [write.method for write in double.written] == ["POST"] * 4


def test_a_second_run_writes_nothing(double: GitHub, client: Client) -> None:
    run(client)
    before = len(double.written)
    run(client)
    assert len(double.written) == before
    assert_done_once(double)


def test_carrying_out_the_same_plan_twice_is_carrying_it_out_once(double: GitHub, client: Client) -> None:
    plan = planned(client, "")
    execute(plan, client)
    again = execute(plan, client)
    assert again.labels_created == [] and again.warnings == []
    assert sorted(double.labels(ISSUE)) == WANTED


def test_the_comment_is_edited_later(double: GitHub, client: Client) -> None:
    run(client)
    done = run(client, "comment: Other words.\n")
    assert done.comment == "edited"
    assert_done_once(double)
    assert double.comments(ISSUE)[0].endswith("Other words.")


def test_people_s_labels_stay(double: GitHub, client: Client) -> None:
    double.label(ISSUE, "symptom: native-crash", PERSON)
    double.label(ISSUE, "bug", PERSON)
    double.label(ISSUE, WANTED[0], BOT)
    double.unlabel(ISSUE, WANTED[0], PERSON)
    run(client)
    assert sorted(double.labels(ISSUE)) == ["bug", "symptom: native-crash"]


def test_a_dry_run_makes_no_write(double: GitHub, client: Client) -> None:
    plan = planned(client, CONFIG + "dry-run: true\nneeds-triage: true\n")
    asked = len(double.requests)
    done = execute(plan, client)
    assert plan.labels and plan.comment is not None
    assert (len(double.requests), double.written, done) == (asked, [], Execution())


TROUBLES: dict[str, Trouble] = {
    "500": Trouble("", faults.server_error()),
    "502 after success": Trouble("", faults.server_error(502), after=True),
    "reset": Trouble("", reset=True),
    "reset after success": Trouble("", after=True, reset=True),
    "slow": Trouble("", slow_s=0.3),
    "secondary limit": Trouble("", faults.secondary_limit(7, 403)),
    "secondary limit without a time": Trouble("", faults.secondary_limit(None, 429)),
    "primary limit": Trouble("", faults.rate_limit(1_000_050)),
}


@pytest.mark.parametrize(
    "request_",
    ["POST .*repo/labels$", "POST .*1/labels$", "POST .*comments$", "GET .*timeline", "GET .*issues/1$", "GET .*user"],
)
@pytest.mark.parametrize("name", TROUBLES)
def test_after_trouble_everything_is_done_exactly_once(double: GitHub, clock: Clock, name: str, request_: str) -> None:
    trouble = TROUBLES[name]
    client = client_of(double, clock, **({"timeout_s": 0.2} if trouble.slow_s else {}))
    double.troubles.append(Trouble(request_, trouble.fault, trouble.after, trouble.reset, trouble.slow_s, times=2))
    done = run(client)
    assert done.warnings == []
    assert done.labels_added == WANTED
    assert_done_once(double)


def test_a_patch_whose_answer_is_lost_is_sent_again(double: GitHub, client: Client) -> None:
    run(client)
    double.troubles.append(Trouble("PATCH", faults.server_error(502), after=True, times=2))
    assert run(client, "comment: Other words.\n").comment == "edited"
    assert_done_once(double)


def test_the_wait_is_the_one_that_github_asks_for(double: GitHub, client: Client, clock: Clock) -> None:
    double.troubles.append(Trouble("POST .*1/labels$", faults.secondary_limit(7, 403)))
    run(client)
    assert [7 <= wait <= 7.5 for wait in clock.waits] == [True]


def test_unstated_waits_are_a_minute_and_grow(double: GitHub, client: Client, clock: Clock) -> None:
    double.troubles.append(Trouble("POST .*1/labels$", faults.secondary_limit(None), times=2))
    run(client)
    assert [round(wait / 60) for wait in clock.waits] == [1, 2]


def test_a_limit_that_ends_too_late_is_an_error_and_the_rest_can_be_done_later(double: GitHub, client: Client) -> None:
    double.troubles.append(Trouble("POST .*comments$", faults.rate_limit(1_003_600)))
    done = Execution()
    with pytest.raises(RateLimitError):
        execute(planned(client), client, done)
    assert done.labels_added == WANTED
    assert run(client).comment == "written"
    assert_done_once(double)


def test_github_that_fails_for_good_is_an_error(double: GitHub, client: Client, clock: Clock) -> None:
    plan = planned(client)
    double.troubles.append(Trouble("POST", faults.server_error(), times=99))
    with pytest.raises(GitHubError, match="GitHub fails"):
        execute(plan, client)
    assert len(clock.waits) == 4 and clock.waits == sorted(clock.waits)


REFUSALS: dict[str, Fault] = {
    "404": faults.status(404),
    "410": faults.status(410),
    "403 locked": faults.locked(),
    "403 permission": faults.integration(),
    "401": faults.bad_credentials(),
    "422": faults.status(422),
}
WRITES = [("POST .*repo/labels$", "comment"), ("POST .*1/labels$", "comment"), ("POST .*comments$", "labels")]


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize(("request_", "rest"), WRITES)
def test_a_refusal_is_a_warning_and_the_rest_goes_on(
    double: GitHub, client: Client, clock: Clock, name: str, request_: str, rest: str
) -> None:
    double.troubles.append(Trouble(request_, REFUSALS[name], times=99))
    done = run(client)
    assert done.warnings and clock.waits == []
    done_rest: dict[str, Any] = {"comment": done.comment == "written", "labels": sorted(double.labels(ISSUE)) == WANTED}
    assert done_rest[rest]


@pytest.mark.parametrize("request_", [request for request, _ in WRITES])
@pytest.mark.parametrize("status", [301, 307])
def test_what_moved_while_it_was_written_to_is_said_to_have_moved(
    double: GitHub, client: Client, request_: str, status: int
) -> None:
    double.troubles.append(Trouble(request_, Fault(status, "{}", {"Location": "/elsewhere"}), times=99))
    with pytest.raises(TransferredError, match="moved to another place"):
        run(client)


def test_a_label_that_somebody_created_meanwhile_is_fine(double: GitHub, client: Client) -> None:
    plan = planned(client)
    double.define("owner/repo", *WANTED)
    done = execute(plan, client)
    assert (done.labels_created, done.labels_added, done.warnings) == ([], WANTED, [])


def test_an_issue_deleted_or_locked_after_the_plan_was_made(double: GitHub, client: Client) -> None:
    plan = planned(client)
    double.issues[ISSUE]["locked"] = True
    done = execute(plan, client)
    assert done.labels_added == WANTED and len(done.warnings) == 1 and "locked" in done.warnings[0]
    double.gone.add(ISSUE)
    assert len(execute(plan, client).warnings) == 2


def test_a_token_that_cannot_be_sent_is_refused_unseen() -> None:
    with pytest.raises(GitHubError) as caught:
        Client("sécret")
    assert "cret" not in str(caught.value)
