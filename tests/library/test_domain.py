from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distriage.bundle import DOMAIN
from distriage.classifier import Classifier
from distriage.domain import DomainGate, shape_features, tfidf
from distriage.errors import BundleError
from distriage.policy import OUT_OF_DOMAIN, TOO_THIN
from distriage.recipe.features import HASH_BUCKETS, VIEWS, all_features
from distriage.recipe.text import prepare
from distriage.types import IssueReport, Mode
from distriage.verdict import Verdict

from support import keyword_model
from support.checkout import REPOSITORY
from support.toy_gate import FOREIGN, add_gate, arrays

AXES = {"kind": 2, "symptom": 4}
FEATURES = len(arrays(FOREIGN)["mean"])
PIE = IssueReport(
    "Apple pie",
    "It hangs over the rim of the dish. Memory exhausted by peeling sour apples, warm butter, wet flour.",
)


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Classifier:
    return Classifier(add_gate(keyword_model.build(tmp_path_factory.mktemp("gated") / "toy")), threads=1)


def verdict_of(classifier: Classifier, report: IssueReport, mode: Mode = Mode.BALANCED) -> Verdict:
    return classifier.classify(report, mode)


def write(file: Path, **changes: Any) -> Path:
    np.savez_compressed(file, **{**arrays(FOREIGN), **changes})
    return file


def probability(gate: DomainGate, text: str) -> float:
    report = prepare("", text)
    ids, counts = all_features(report)
    logits = {"kind": np.asarray([2.0, -1.0], np.float32)}
    return gate.probability(np.asarray(ids, np.int64), np.asarray(counts), len(report.filed), logits)


@pytest.mark.parametrize("mode", Mode)
def test_what_is_outside_gets_no_label_but_its_kind(gated: Classifier, mode: Mode) -> None:
    verdict = verdict_of(gated, PIE, mode)
    assert not verdict.in_domain and verdict.domain_probability is not None and verdict.domain_probability < 0.5
    assert (verdict.axes["kind"].outcome, verdict.axes["kind"].label) == ("apply", "bug")
    for axis in ("symptom", "fix"):
        said = verdict.axes[axis]
        assert (said.outcome, said.reason, said.family) == ("abstain", OUT_OF_DOMAIN, None)
    assert verdict.missing == [] and verdict.checks == []


def test_what_says_too_little_is_told_so_and_asked_whatever_its_field(gated: Classifier) -> None:
    verdict = verdict_of(gated, IssueReport("Apple pie", "It hangs, please help"))
    assert not verdict.in_domain and verdict.axes["symptom"].reason == TOO_THIN
    assert verdict.silence == "The report says too little for anybody to know; ask for what is missing."
    assert [item.fact for item in verdict.missing] == ["error", "reproduction"]
    question = verdict_of(gated, IssueReport("how", "how do I bake an apple"))
    assert question.missing == [] and question.silence.startswith("This does not read like")


def test_a_question_from_outside_has_no_symptom_for_being_a_question(gated: Classifier) -> None:
    verdict = verdict_of(gated, IssueReport("how", "how do I bake an apple"))
    assert not verdict.in_domain
    assert verdict.axes["symptom"].reason == "kind is question"


def test_what_is_inside_is_answered_as_without_a_gate(gated: Classifier, keyword_classifier: Classifier) -> None:
    report = IssueReport("It hangs", "hangs with a timeout")
    verdict, before = verdict_of(gated, report), verdict_of(keyword_classifier, report)
    assert verdict.in_domain and verdict.domain_probability is not None and verdict.domain_probability > 0.5
    assert verdict.axes == before.axes
    assert before.in_domain and before.domain_probability is None


def test_a_report_gets_the_same_answer_alone_and_among_others(gated: Classifier) -> None:
    reports = [IssueReport("", "it hangs"), PIE, IssueReport("", "segfault " * 50)]
    together = gated.predict_inputs([prepare(report.title, report.body) for report in reports])
    assert [item.in_domain for item in together] == [True, False, True]
    for report, found in zip(reports, together, strict=True):
        assert gated.predict(report).domain_probability == pytest.approx(found.domain_probability)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": np.asarray(9)}, "it is of format 9"),
        ({"axes": np.asarray('["stage"]')}, "it reads the axes stage; the model has kind, symptom"),
        ({"idf": np.ones(7, np.uint8)}, "broadcast"),
        ({"mean": np.zeros(3)}, "mean does not fit"),
        ({"coefficients": np.full(FEATURES, np.nan)}, "coefficients does not fit"),
        ({"scale": np.zeros(FEATURES)}, "scale or thresholds are out of range"),
        ({"threshold": np.asarray(1.5)}, "scale or thresholds are out of range"),
    ],
)
def test_a_gate_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = write(tmp_path / DOMAIN, **changes)
    with pytest.raises(BundleError, match="not a domain gate that this Distriage reads") as refused:
        DomainGate(file, AXES)
    assert message in str(refused.value) and str(file) in str(refused.value)


def test_a_file_that_is_no_gate_is_refused(tmp_path: Path) -> None:
    (tmp_path / DOMAIN).write_bytes(b"PK\x03\x04 but no zip")
    with pytest.raises(BundleError, match="not a domain gate"):
        DomainGate(tmp_path / DOMAIN, AXES)
    missing = {name: value for name, value in arrays(FOREIGN).items() if name != "bias"}
    np.savez_compressed(tmp_path / DOMAIN, **missing)
    with pytest.raises(BundleError, match="bias"):
        DomainGate(tmp_path / DOMAIN, AXES)


def test_a_damaged_gate_stops_the_bundle(tmp_path: Path) -> None:
    folder = add_gate(keyword_model.build(tmp_path / "toy"))
    content = (folder / DOMAIN).read_bytes()
    (folder / DOMAIN).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BundleError, match=r"domain\.npz: its SHA-256"):
        Classifier(folder)


@given(st.lists(st.integers(0, VIEWS * HASH_BUCKETS - 1), unique=True, max_size=40), st.integers(1, 9))
def test_the_words_of_each_view_have_unit_length(ids: list[int], count: int) -> None:
    numbers = np.asarray(sorted(ids), np.int64)
    values = tfidf(numbers, np.full(len(ids), float(count)), np.linspace(1, 5, VIEWS * HASH_BUCKETS))
    for view in range(VIEWS):
        own = values[numbers // HASH_BUCKETS == view]
        assert len(own) == 0 or np.linalg.norm(own) == pytest.approx(1)


@given(st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=9))
def test_the_shape_of_logits_is_their_peak_energy_and_entropy(logits: list[float]) -> None:
    values = np.asarray(logits, np.float32)
    words, characters, top, energy, entropy = shape_features(np.asarray([1, HASH_BUCKETS + 1]), 10, {"kind": values})
    assert (words, characters) == pytest.approx((np.log(2), np.log(11)))
    assert top == values.max() and energy >= top and energy - top <= np.log(len(logits)) + 1e-6
    assert -1e-6 <= entropy <= np.log(len(logits)) + 1e-6


@given(st.text(max_size=300))
def test_any_text_has_a_probability(gated: Classifier, text: str) -> None:
    assert gated.gate is not None
    assert 0 <= probability(gated.gate, text) <= 1


@pytest.mark.parametrize("text", ["\n", "```\n", "[", "'\"", " ", "7", "é\u0301", "a b ", "\u4e2d"])
def test_hostile_text_takes_linear_time(gated: Classifier, text: str) -> None:
    assert gated.gate is not None
    took = []
    for characters in (50_000, 200_000):
        begin = time.process_time()
        probability(gated.gate, (text * characters)[:characters])
        took.append(time.process_time() - begin)
    assert took[1] < 8 * took[0] + 0.3


def foreign_texts() -> list[IssueReport]:
    """Our own texts about something else: other software, everyday life, two words."""
    file = REPOSITORY / "tests" / "support" / "foreign_texts.txt"
    blocks = [block.split("\n", 1) for block in file.read_text(encoding="utf-8").split("\n\n")[1:]]
    return [IssueReport(title, body.strip()) for title, body in ([*block, ""][:2] for block in blocks)]


def test_few_short_texts_about_something_else_get_a_label(shipped_classifier: Classifier) -> None:
    assert shipped_classifier.gate is not None
    texts = foreign_texts()
    assert len(texts) >= 180
    examined = [(report.title, shipped_classifier.examine(report)) for report in texts]
    labelled = {
        mode: [
            title
            for title, findings in examined
            for axis, said in findings.verdict(mode).axes.items()
            if axis != "kind" and said.outcome == "apply" and said.label != "false"
        ]
        for mode in (Mode.BALANCED, Mode.PRECISE)
    }
    assert len(set(labelled[Mode.BALANCED])) <= 22 and len(set(labelled[Mode.PRECISE])) <= 9


@pytest.mark.parametrize(
    "report",
    [
        IssueReport("Grandma's apple pie", "Peel six apples, core them, mix the dough and bake for 45 minutes."),
        IssueReport("Chocolate cake", "I used 200 g of sugar and baked it for an hour."),
        IssueReport("Football results", "The home team won two to one."),
        IssueReport("React: useEffect runs twice", ""),
        IssueReport("WiFi drops after suspend", "Kernel 6.5, AX210."),
        IssueReport("hi", ""),
    ],
)
@pytest.mark.parametrize("mode", [Mode.BALANCED, Mode.PRECISE])
def test_a_recipe_is_no_distributed_bug(shipped_classifier: Classifier, report: IssueReport, mode: Mode) -> None:
    verdict = shipped_classifier.classify(report, mode)
    assert not verdict.in_domain
    assert {said.outcome for axis, said in verdict.axes.items() if axis != "kind"} <= {"abstain", "not-applicable"}


@pytest.mark.parametrize(
    ("title", "body"),
    [
        (
            "网页打不开",
            "点击登录按钮没有反应，Chrome 浏览器 120，清除缓存之后还是一样。控制台里也没有报错，请问怎么解决？",
        ),
        (
            "购物车页面样式错乱",
            "在 Safari 里打开购物车页面，图片和文字重叠在一起，刷新之后正常，过一会又出现同样的问题。",
        ),
        ("安卓应用闪退", "升级到 2.3.1 之后，打开设置页面应用就闪退，手机型号小米 13。日志里有 NullPointerException。"),
        ("数据库查询很慢", "MySQL 8.0，订单表有 500 万行，按用户查询要 20 秒，已经建了索引。"),
        ("集群里一个节点起不来", "三个节点的消息队列，重启之后 node2 一直连接超时，日志里是 leader election failed。"),
        ("导出 Excel 乱码", "后台导出订单的 Excel 文件，用 Office 打开中文是乱码，用 WPS 正常。"),
    ],
)
def test_a_chinese_report_of_other_software_gets_no_label(
    shipped_classifier: Classifier, title: str, body: str
) -> None:
    assert not shipped_classifier.classify(IssueReport(title, body)).in_domain


# A long bug of other software, in a template as its tracker has it: the page that the gate was built for had eight.
LONG_FOREIGN = [
    IssueReport(
        "Drawer does not close after the second tap",
        """### Steps to reproduce
1. Open the example at /settings with a phone of 390 px
2. Tap the button in the top bar, then tap outside, then tap the button again
3. Tap outside once more

### What is expected?
The drawer closes and the focus goes back to the button.

### What is actually happening?
The drawer stays open and the console says
```
Warning: Cannot update a component (`Header`) while rendering a different component (`Drawer`).
    at Drawer (webpack-internal:///./src/components/Drawer.tsx:41:23)
    at div
    at Layout (webpack-internal:///./src/components/Layout.tsx:12:5)
```

| Version | 18.3.1 |
|---|---|
| Browser | Firefox 128, Safari 17 |
| Bundler | webpack 5.93, TypeScript 5.5 |

### Any additional comments?
It worked before the update of the router. The reducer is called twice, and the second call sees the old state.""",
    ),
    pytest.param(
        IssueReport(
            "Backup job reports success but the archive is empty",
            """**Describe the bug**
The nightly job of the backup plugin ends with status 0, and the archive in the bucket has 22 bytes.

**To reproduce**
Install the chart with `schedule: "0 3 * * *"`, wait for a night, list the bucket.

**Expected behavior**
The dump of all tables, about 4 GB, as with `--now`.

**Logs**
```
2024-05-02 03:00:01 INFO  starting backup of database shop
2024-05-02 03:00:01 WARN  role "backup" has no privilege on table orders, skipping
2024-05-02 03:00:02 INFO  uploaded shop-2024-05-02.tar.gz (22 bytes)
2024-05-02 03:00:02 INFO  done
```

**Environment**
PostgreSQL 16.3 on Debian 12, chart 7.1.0, MinIO as object store, cert-manager for TLS.""",
        ),
        marks=pytest.mark.xfail(
            strict=True, reason="the gates of minilm-v6 and -v7 let it pass; that of minilm-v5 did not"
        ),
    ),
]


@pytest.mark.parametrize("report", LONG_FOREIGN)
def test_a_long_bug_of_other_software_gets_no_sure_label_of_ours(
    shipped_classifier: Classifier, report: IssueReport
) -> None:
    verdict = shipped_classifier.classify(report, Mode.PRECISE)
    assert {said.outcome for axis, said in verdict.axes.items() if axis != "kind"} <= {"abstain", "not-applicable"}


@pytest.mark.parametrize(
    "title", ["Training hangs", "NCCL timeout", "\u8bad\u7ec3\u5361\u4f4f", "CUDA out of memory", "loss is nan", "hang"]
)
def test_a_short_report_of_the_domain_passes(shipped_classifier: Classifier, title: str) -> None:
    assert shipped_classifier.predict(IssueReport(title, "")).in_domain
