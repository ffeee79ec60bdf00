"""What follows from what is known of a report: differential diagnosis, checks, questions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from distriage.answer.findings import Findings
from distriage.answer.verdict import SimilarIssue
from distriage.base.types import AxisScores, IssueReport, Mode, Prediction
from distriage.classifier import Classifier
from distriage.model.bundle import Bundle
from distriage.model.taxonomy import default_taxonomy
from distriage.reading.report import read

from support.cut import set_cut
from support.reports import make_report


@pytest.fixture(autouse=True)
def _all_lines_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    set_cut(monkeypatch, 0.0)


@pytest.fixture(scope="module")
def bundle(shipped_classifier: Classifier) -> Bundle:
    return shipped_classifier.bundle


def scores_of(axis: str, **likely: float) -> AxisScores:
    labels = default_taxonomy().axes[axis].label_ids
    named = {name.replace("_", "-"): p for name, p in likely.items()}
    rest = (1 - sum(named.values())) / (len(labels) - len(named))
    return AxisScores(axis, {label: named.get(label, rest) for label in labels})


def hang(cause: float, **changes: Any) -> Prediction:
    scores = {
        axis: AxisScores(axis, {label: 1 / len(known.label_ids) for label in known.label_ids})
        for axis, known in default_taxonomy().axes.items()
    }
    scores["kind"] = scores_of("kind", bug=0.95)
    scores["symptom"] = scores_of("symptom", runtime_hang=0.97)
    scores["cause"] = scores_of(
        "cause", rank_desynchronization=cause, network_misconfiguration=0.2, user_code_error=0.1
    )
    return Prediction("shipped", scores, **changes)


def test_where_no_cause_is_sure_the_three_likeliest_come_with_their_checks(bundle: Bundle) -> None:
    report = IssueReport(
        "It hangs",
        "Training of train.py waits at step 9 until the timeout, on two nodes with 8 H100, NCCL 2.27, torch 2.8.",
    )
    verdict = Findings(bundle, read(report), hang(0.4)).verdict(Mode.PRECISE)
    assert verdict.axes["cause"].outcome != "apply" and verdict.differential is not None
    causes = verdict.differential.causes
    assert [item.label for item in causes] == [item.label for item in verdict.axes["cause"].top]
    assert [item.probability for item in causes] == [item.probability for item in verdict.axes["cause"].top]
    assert "torchfrtrace" in (causes[0].check or "")
    assert (causes[1].check, causes[2].check) == (None, None), "so unlikely a cause is not worth a check"
    assert verdict.checks == [], "one check is enough"


def test_a_cause_of_next_to_no_probability_is_not_named(bundle: Bundle) -> None:
    likely = scores_of("cause", rank_desynchronization=0.6, network_misconfiguration=0.3801, user_code_error=0.0199)
    few = Prediction("shipped", {**hang(0.4).scores, "cause": likely})
    differential = Findings(bundle, read(make_report()), few).verdict(Mode.PRECISE).differential
    assert differential is not None
    assert [item.label for item in differential.causes] == ["rank-desynchronization", "network-misconfiguration"]


@pytest.mark.parametrize("changes", [{"in_domain": False, "domain_probability": 0.0}, {}])
def test_a_sure_cause_and_a_foreign_report_need_no_differential(bundle: Bundle, changes: dict[str, Any]) -> None:
    prediction = hang(0.4, **changes)
    mode = Mode.PRECISE if changes else Mode.BEST  # in which each cause is sure
    assert Findings(bundle, read(make_report()), prediction).verdict(mode).differential is None


def test_a_report_that_says_too_little_or_may_be_foreign_has_no_differential(bundle: Bundle) -> None:
    thin = read(make_report("It hangs", "Please help."))
    assert Findings(bundle, thin, hang(0.4)).verdict(Mode.PRECISE).differential is None
    perhaps = hang(0.4, surely_in_domain=False)
    assert Findings(bundle, read(make_report()), perhaps).verdict(Mode.PRECISE).differential is None


def test_a_question_has_no_differential(bundle: Bundle) -> None:
    prediction = hang(0.4)
    asked = Prediction("shipped", {**prediction.scores, "kind": scores_of("kind", question=0.9)})
    assert Findings(bundle, read(make_report()), asked).verdict(Mode.PRECISE).differential is None


def test_bugs_and_what_mended_them_are_named_under_bugs_alone(bundle: Bundle) -> None:
    known = [
        SimilarIssue(
            id="own/ring#1", url="", title="The ring waits", labels={"symptom": "runtime-hang"}, similarity=0.9
        )
    ]
    for likely, named in (("bug", 1), ("question", 0), ("feature", 0), ("other", 0)):
        prediction = Prediction("shipped", {**hang(0.4).scores, "kind": scores_of("kind", **{likely: 0.95})})
        similar = Findings(bundle, read(make_report()), prediction, similar=known).verdict().similar
        assert similar is not None and len(similar) == named, likely


@pytest.mark.parametrize(("distributed", "ranks"), [({"false": 0.99}, False), ({"true": 0.99}, True), ({}, True)])
def test_checks_are_those_of_one_process_where_the_model_is_sure_of_one(
    bundle: Bundle, distributed: dict[str, float], ranks: bool
) -> None:
    scores = {**hang(0.4).scores, "distributed": scores_of("distributed", **distributed)}
    report = IssueReport("It hangs", "train.py waits after a thousand steps, with torch 2.9 on 8 H100.")
    checks = Findings(bundle, read(report), Prediction("shipped", scores)).verdict().checks
    assert ("every rank" in checks[0]) is ranks and "`py-spy dump" in checks[0]


def test_who_has_not_shown_the_error_is_asked_for_it_and_told_nothing(bundle: Bundle) -> None:
    crash = Prediction("shipped", {**hang(0.4).scores, "symptom": scores_of("symptom", native_crash=0.97)})
    body = "On two nodes with 8 H100 each, our own image, an illegal memory access ends it, as every day of this year."
    verdict = Findings(
        bundle, read(IssueReport("It crashes", body.replace("an illegal memory access", "it"))), crash
    ).verdict()
    assert verdict.missing[0].fact == "error" and verdict.checks == []
    assert verdict.differential is not None and {cause.check for cause in verdict.differential.causes} == {None}
    shown = Findings(
        bundle, read(IssueReport("It crashes", f"{body}\nCUDA error: an illegal memory access")), crash
    ).verdict()
    assert "error" not in {one.fact for one in shown.missing} and shown.checks


def test_what_a_tracker_makes_certain_is_not_left_to_the_model(bundle: Bundle) -> None:
    scores = {**hang(0.4).scores, "distributed": scores_of("distributed", false=0.99)}
    foreign = Prediction("shipped", scores, domain_probability=0.1, in_domain=False, surely_in_domain=False)
    for tracker, several, in_domain in (("NVIDIA/nccl#1", "true", True), ("acme/web#1", "false", False)):
        report = IssueReport(
            "It waits", "After a thousand steps the two of them wait for each other for ever.", tracker
        )
        verdict = Findings(bundle, read(report), foreign).verdict()
        said = verdict.axes["distributed"]
        assert (said.label, said.outcome == "apply", verdict.in_domain) == (several, in_domain, in_domain)
        assert ("whatever is filed with NCCL" in said.reason) is in_domain


@pytest.mark.parametrize(
    ("cause", "path", "given"),
    [
        ({"incorrect_logic": 0.9}, "/usr/lib/python3/site-packages/torch/nn.py", True),
        ({"packaging_defect": 0.9}, "/usr/lib/python3/site-packages/torch/nn.py", True),
        ({"user_code_error": 0.6, "data_defect": 0.3}, "/usr/lib/python3/site-packages/torch/nn.py", False),
        ({"incorrect_logic": 0.9}, "/home/me/train.py", False),
    ],
)
def test_a_patch_of_the_framework_is_not_given_on_a_mistake_of_the_user(
    bundle: Bundle, cause: dict[str, float], path: str, given: bool
) -> None:
    likely = {"cause": scores_of("cause", **cause), "fix": scores_of("fix", framework_patch=0.99)}
    body = f'```\nTraceback (most recent call last):\n  File "{path}", line 3, in f\n    g()\nKeyError: 1\n```'
    prediction = Prediction("shipped", {**hang(0.4).scores, **likely})
    fix = Findings(bundle, read(IssueReport("It fails at once", body)), prediction).verdict().axes["fix"]
    assert (fix.label, fix.outcome == "apply") == ("framework-patch", given)


@pytest.mark.parametrize(("added", "given"), [("", False), ("Segmentation fault (core dumped)", True)])
def test_a_crash_in_words_is_no_native_one(bundle: Bundle, added: str, given: bool) -> None:
    crash = Prediction("shipped", {**hang(0.4).scores, "symptom": scores_of("symptom", native_crash=0.97)})
    body = f"Training crashes at step 2 on two nodes with eight cards each, in our own image, every time.\n{added}"
    said = Findings(bundle, read(IssueReport("It crashes", body)), crash).verdict().axes["symptom"]
    assert (said.label, said.outcome == "apply") == ("native-crash", given)


@pytest.mark.parametrize("title", ["Drop our patch once vLLM is bumped", "The released wheel contains malware"])
def test_of_a_chore_and_a_notice_nothing_is_asked_and_nothing_told(bundle: Bundle, title: str) -> None:
    body = "It can be taken out again as soon as the new release is out, which is to be next week, they say."
    verdict = Findings(bundle, read(IssueReport(title, body)), hang(0.9)).verdict(Mode.BEST)
    assert (verdict.missing, verdict.checks, verdict.differential) == ([], [], None)
    assert {axis: said.silence for axis, said in verdict.axes.items() if said.silence} == dict.fromkeys(
        ("stage", "symptom", "cause", "fix"), "no-failure"
    )


@pytest.mark.parametrize(
    "line",
    [
        "ERROR 01-09 03:11:18 engine.py:366] ValueError: No room for a cache block",
        "csrc/aio/common/utils.h:16:10: fatal error: libaio.h: No such file or directory",
        "node-1:412:412 [1] misc/shmutils.cc:72 NCCL WARN Call to posix_fallocate failed : No space left on device",
    ],
)
def test_an_error_behind_the_place_of_a_log_or_a_compiler_is_not_asked_for(bundle: Bundle, line: str) -> None:
    prediction = hang(0.4)
    crash = Prediction("shipped", {**prediction.scores, "symptom": scores_of("symptom", launch_failure=0.97)})
    body = "Two nodes with 8 H100 each, our own image, started by the scheduler as every day.\n```\n{}\n```"
    known, silent = read(IssueReport("It fails at once", body.format(line))), read(IssueReport("It fails", body))
    assert "error" not in {item.fact for item in Findings(bundle, known, crash).verdict().missing}
    assert Findings(bundle, silent, crash).verdict().missing[0].fact == "error"
    named = read(IssueReport("It fails with TypeError: 'float' object is not callable", body))
    assert "error" not in {item.fact for item in Findings(bundle, named, crash).verdict().missing}


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("I am attaching the full logs of both nodes.", True),
        ("Logs are attached.", True),
        ("I can add more (both attached: nccl.log, stack.log).", True),
        ("E       AttributeError: 'A' object has no attribute 'b'", True),
        ("It stops with\n\n`Both types of the data must be equal to use it`", True),
        ("I get this error:\n\n```\nstep 1 of 8\nCould not run nms with arguments of XLA\n```", True),
        ("I get an error\n\n```\nINFO 06-01 10:00:01 worker.py:12] Loading\nCould not run nms with XLA\n```", True),
        ("I get an error\n\n```\nINFO 06-01 10:00:01 worker.py:12] Loading\n[INFO] The server is up\n```", False),
        ("```\nERROR: This container was built for a newer driver.\n```", True),
        ("The error prior to the successful tests is attached.", True),
        ('```\n  File "/a/b.py", line 3, in f\nThe size of a must match b\n```', True),  # nameless
        ("[run.txt](https://github.com/user-attachments/files/12/run.txt)", True),
        ("I can't say why, logs attached.", True),
        ("It does not start (logs are attached).", True),
        ("https://github.com/acme/trainer/files/12/run.txt", True),
        ("A debugger is attached to the first of them.", False),
        ("I attached a debugger and output stops.", False),
        ("With strace attached it works.", False),
        ("I have no log attached, since there is no output.", False),
        ("No log attached, sorry.", False),
        ("no logs are attached", False),
        ("I have not attached the log.", False),
        ("<!-- Please have the logs attached -->", False),
        ("See https://github.com/acme/trainer/pull/5/files/3 for it.", False),
        ("See https://github.com/acme/trainer/blob/main/files/run.py for it.", False),
    ],
)
def test_a_log_that_is_attached_is_not_asked_for(bundle: Bundle, line: str, given: bool) -> None:
    crash = Prediction("shipped", {**hang(0.4).scores, "symptom": scores_of("symptom", launch_failure=0.97)})
    body = f"{line}\nTwo nodes with 8 H100 each, our own image, started by the scheduler as every day of this year."
    missing = {item.fact for item in Findings(bundle, read(IssueReport("It fails", body)), crash).verdict().missing}
    assert ("error" not in missing) == given


def test_lines_that_end_in_carriage_returns_alone_are_read(bundle: Bundle) -> None:
    crash = Prediction("shipped", {**hang(0.4).scores, "symptom": scores_of("symptom", launch_failure=0.97)})
    body = "Two nodes, our own image, as every day.\rI get an error\r```\rINFO 06-01 10:00:01 worker.py:12] Up\r```"
    assert Findings(bundle, read(IssueReport("It fails", body)), crash).verdict().axes["symptom"].label


@pytest.mark.parametrize(
    "line",
    ["2. If your question is about hang, did you read this doc? n/a", "If we cannot run your script, we close it."],
)
def test_a_line_of_a_form_is_no_error(bundle: Bundle, line: str) -> None:
    crash = Prediction("shipped", {**hang(0.4).scores, "symptom": scores_of("symptom", launch_failure=0.97)})
    body = f"{line}\nTwo nodes with 8 H100 each, our own image, started by the scheduler as every day of this year."
    assert Findings(bundle, read(IssueReport("It fails", body)), crash).verdict().missing[0].fact == "error"


def test_checks_differential_and_questions_fit_what_the_job_ran_on(bundle: Bundle) -> None:
    body = "RuntimeError: HIP error: illegal address, on 2 nodes of MI300X with ROCm 6.2, DeepSpeed 0.14.2."
    crash = {**hang(0.4).scores, "symptom": scores_of("symptom", native_crash=0.97)}
    likely = {**crash, "cause": scores_of("cause", hardware_limitation=0.5, concurrency_defect=0.2)}
    verdict = Findings(bundle, read(IssueReport("It dies", body)), Prediction("shipped", likely)).verdict()
    assert "`AMD_SERIALIZE_KERNEL=3`" in verdict.checks[0]
    assert verdict.differential is not None
    shown = [*verdict.checks, *(cause.check or "" for cause in verdict.differential.causes)]
    assert not any("CUDA" in text or "Xid" in text for text in [*shown, *(item.question for item in verdict.missing)])


def test_a_hang_is_asked_for_its_stacks_unless_they_are_there(bundle: Bundle) -> None:
    body = "Training hangs after a thousand steps on two nodes with eight H100 each, in our own image, every time."
    known = read(IssueReport("It hangs", body))
    first = Findings(bundle, known, hang(0.4)).verdict().missing[0]
    assert first.fact == "error" and "py-spy" in first.question
    frames = "It waits in:\n#6  0x00007f917fca2370 in cuMemFree_v2 () from libcuda.so.1"
    for added in ("py-spy dump: all ranks in all_reduce", "RuntimeError: collective operation timeout", frames):
        shown = Findings(bundle, read(IssueReport("It hangs", f"{body}\n{added}")), hang(0.4)).verdict()
        assert "error" not in {item.fact for item in shown.missing}


OWN = """
name = "own"
version = "1"
[axis.cause]
[[cause]]
id = "dust"
definition = "The fan is full of it."
[[cause]]
id = "age"
definition = "It is old."
"""


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("Two nodes with 8 H100, torch 2.8. It waits at step 9 until the timeout.", "suggest"),
        ("Two nodes with 8 H100, torch 2.8. After three hours rank 3 is gone.", "suggest"),
        ("Two nodes with 8 H100, torch 2.8. It waits in `init_process_group`.", "apply"),
        ("Two nodes with 8 H100, torch 2.8. After two days of debugging: no rank sees another.", "apply"),
        ("Two nodes with 8 H100, torch 2.8. The launcher gives up after 2 hours.", "apply"),
        ("Two nodes with 8 H100, torch 2.8. It waits after step 2 of the tutorial.", "apply"),
    ],
)
def test_a_job_that_has_run_for_a_while_is_not_being_set_up(bundle: Bundle, body: str, outcome: str) -> None:
    known = hang(0.4)
    known = replace(known, scores={**known.scores, "stage": scores_of("stage", communication_setup=0.97)})
    assert Findings(bundle, read(IssueReport("It hangs", body)), known).verdict().axes["stage"].outcome == outcome


def test_a_solved_report_gets_neither_questions_nor_checks(bundle: Bundle) -> None:
    said = "`torchrun train.py` on 8 H100 with NCCL and torch 2.8: two ranks wait at the end of each epoch. "
    for more, is_solved in (("", False), ("Turns out our own sampler gives rank 3 a batch less, closing this.", True)):
        verdict = Findings(bundle, read(IssueReport("It hangs", said + more)), hang(0.9)).verdict()
        assert (not verdict.missing, not verdict.checks) == (is_solved, is_solved)


@pytest.mark.parametrize(
    ("id_", "body", "outcome"),
    [
        ("vllm-project/vllm#1", "DP=8 on 8 H100, after ten hours there are too many open files.", "suggest"),
        ("vllm-project/vllm#1", "Training by RL with 8 H100, after ten hours there are too many open files.", "apply"),
        ("deepspeedai/DeepSpeed#1", "ZeRO-3 on 8 H100, after ten hours there are too many open files.", "apply"),
    ],
)
def test_a_server_that_trains_nothing_does_not_fail_in_training(
    bundle: Bundle, id_: str, body: str, outcome: str
) -> None:
    known = hang(0.4)
    known = replace(known, scores={**known.scores, "stage": scores_of("stage", training_evaluation=0.97)})
    report = read(IssueReport("Sockets are left", body, id_))
    assert Findings(bundle, report, known).verdict().axes["stage"].outcome == outcome
