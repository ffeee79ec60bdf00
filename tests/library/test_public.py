"""What `import distriage` gives: names, the same answer as the command line, help."""

from __future__ import annotations

import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import distriage
from distriage.reading.report import read

from support.checkout import REPOSITORY
from support.command_line import Command

pytestmark = pytest.mark.usefixtures("kept_graphs")

TITLE = "Training hangs at step 3"
BODY = "All 8 ranks wait in all_reduce.\n\n```\nWatchdog caught collective operation timeout: WorkNCCL\n```\n"


def test_the_public_names_are_these_and_no_others() -> None:
    """A name may be added; taking one away breaks whoever imports it."""
    assert sorted(distriage.__all__) == [
        "AxisVerdict",
        "BundleError",
        "Classifier",
        "DistriageError",
        "InputError",
        "IssueReport",
        "Mode",
        "Outcome",
        "Verdict",
        "__version__",
        "classify",
    ]
    assert dir(distriage) == sorted(distriage.__all__)
    assert all(getattr(distriage, name) is not None for name in distriage.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'clasify'"):
        _ = distriage.clasify


def test_the_import_alone_loads_nothing_heavy() -> None:
    code = "import distriage, sys; print(*(set(sys.modules) & {'numpy', 'onnxruntime', 'pydantic', 'tokenizers'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("mode", list(distriage.Mode))
def test_the_answer_is_that_of_the_command_line(command: Command, tmp_path: Path, mode: distriage.Mode) -> None:
    file = tmp_path / "report.md"
    file.write_text(BODY, encoding="utf-8")
    printed = command("classify", file, "--title", TITLE, "--json", "--mode", mode)

    verdict = distriage.classify(TITLE, BODY, mode=mode.value)

    assert distriage.Verdict.model_validate_json(printed.out).model_copy(update={"id": ""}) == verdict
    assert verdict == distriage.Classifier().classify(distriage.IssueReport(TITLE, BODY), mode)


def test_evidence_and_similar_issues_come_where_they_are_asked_for() -> None:
    plain = distriage.classify(TITLE, BODY)
    full = distriage.classify(TITLE, BODY, explain=True, similar=True)
    assert plain.similar is None and plain.axes["symptom"].evidence is None
    assert full.similar and full.axes["symptom"].evidence


def test_what_cannot_be_classified_ends_in_one_line() -> None:
    with pytest.raises(distriage.InputError, match=r"^report: empty; expected a title or a body$"):
        distriage.classify("", " ")
    with pytest.raises(distriage.InputError, match=r"^mode 'sure': expected one of best, balanced, precise$"):
        distriage.classify(TITLE, BODY, mode="sure")
    with pytest.raises(distriage.InputError, match=r"^report: `title` is NoneType; expected a string$"):
        distriage.classify(None, BODY)  # type: ignore[arg-type]


def test_a_report_may_have_no_body() -> None:
    assert distriage.classify(TITLE, None) == distriage.classify(TITLE)
    assert distriage.IssueReport(TITLE, None) == distriage.IssueReport(TITLE, "")  # type: ignore[arg-type]


def test_help_says_what_to_give_and_what_comes_back() -> None:
    shown = pydoc.plain(pydoc.render_doc(distriage.classify))
    assert shown.startswith("Python Library Documentation: function classify in module distriage")
    assert all(part in shown for part in ("Args:", "Returns:", "Raises:", "mode:", "outcome"))
    # Python 3.13 gives each parameter of a long signature a line of its own.
    assert re.search(r"classify\([\s|]*self,[\s|]*report:", pydoc.plain(pydoc.render_doc(distriage.Classifier)))


def test_the_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(import distriage\n.*?)^```$", readme, re.S | re.M)
    exec(example, {})
    assert re.fullmatch(r"(?:[a-z-]+ 0\.\d+|not sure: .+)\n", capsys.readouterr().out)


@pytest.mark.parametrize("mode", list(distriage.Mode))
@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Training hangs", "It hangs. Please help."),
        ("Training hangs", ""),
        ("it does not work", "NCCL error, what can I do?"),
    ],
)
def test_a_report_that_says_next_to_nothing_gets_questions_but_no_cause_and_no_fix(
    title: str, body: str, mode: distriage.Mode
) -> None:
    verdict = distriage.classify(title, body, mode)
    for axis in ("cause", "fix"):
        assert verdict.axes[axis].outcome in {distriage.Outcome.ABSTAIN, distriage.Outcome.NOT_APPLICABLE}
    if verdict.in_domain and verdict.axes["kind"].label == "bug":
        assert verdict.axes["cause"].silence == "thin"
        assert [item.fact for item in verdict.missing][:1] == ["error"]


def test_a_report_that_names_its_exception_is_not_thin() -> None:
    known = read(distriage.IssueReport("crash", "ImportError: cannot import name 'log'"))
    assert not known.is_thin and read(distriage.IssueReport("crash", "It crashes.")).is_thin


@pytest.mark.parametrize(
    "body",
    [
        "분산 학습을 시작하면 세 번째 단계에서 모든 프로세스가 멈추고 오류 없이 계속 기다립니다 다시 켜도 같습니다",
        "После обновления обучение на двух серверах зависает: все процессы ждут, ошибок нет, перезапуск не помогает",
    ],
)
def test_a_long_report_is_not_thin_in_any_script(body: str) -> None:
    assert not read(distriage.IssueReport("", body)).is_thin and read(distriage.IssueReport("", body[:30])).is_thin


def test_a_report_can_be_read_once_for_several_answers() -> None:
    known = read(distriage.IssueReport(TITLE, BODY))
    classifier = distriage.Classifier()
    assert classifier.classify(known) == classifier.classify(known.report)
