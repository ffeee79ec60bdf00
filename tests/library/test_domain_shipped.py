"""The shipped model's domain gate, on texts of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from distriage.base.types import IssueReport, Mode
from distriage.classifier import Classifier

from support.checkout import REPOSITORY

DATA = Path(__file__).parent / "data"


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
    ),
]


@pytest.mark.parametrize("listing", sorted((DATA / "listings").glob("*.txt")), ids=lambda file: file.stem)
def test_a_listing_of_the_environment_lets_no_report_of_other_software_pass(
    shipped_classifier: Classifier, listing: Path
) -> None:
    """When its words counted for the field, 50 of 120 reports of brokers and databases passed with one."""
    body = (
        "Since a failover of our message broker two of five nodes think that they lead the partition. Clients of the"
        " third get `connection refused`, and the log says `timed out waiting for the quorum`. Restarts help briefly."
    )
    printed = f"```\n{listing.read_text(encoding='utf-8')}\n```"
    assert not shipped_classifier.classify(
        IssueReport("Two leaders after a failover", f"{body}\n\n{printed}")
    ).in_domain


@pytest.mark.parametrize("report", LONG_FOREIGN)
def test_a_long_bug_of_other_software_gets_no_sure_label_of_ours(
    shipped_classifier: Classifier, report: IssueReport
) -> None:
    verdict = shipped_classifier.classify(report, Mode.PRECISE)
    assert {said.outcome for axis, said in verdict.axes.items() if axis != "kind"} <= {"abstain", "not-applicable"}


@pytest.mark.parametrize(
    "title", ["Training hangs", "NCCL timeout", "\u8bad\u7ec3\u5361\u4f4f", "CUDA out of memory", "loss is nan"]
)
def test_a_short_report_of_the_domain_passes(shipped_classifier: Classifier, title: str) -> None:
    assert shipped_classifier.predict(IssueReport(title, "")).in_domain
