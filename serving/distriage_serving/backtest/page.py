"""The result of a back-test as one HTML page, without scripts or outside files; foreign text is escaped. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from distriage.base.pages import page_environment
from distriage.base.types import Mode
from distriage.github.history import History
from distriage.model.bundle import Manifest
from distriage.model.taxonomy import Taxonomy
from distriage_serving.backtest import curves
from distriage_serving.backtest.mapping import Meaning
from distriage_serving.backtest.measure import THRESHOLDS, AxisResult, SignResult, proposed_threshold, tally_of
from distriage_serving.backtest.replay import Replay

LATEST = 25  # issues shown one by one
MAX_LABELS = 40  # of the repository's, those without a meaning here


@dataclass(frozen=True, slots=True)
class Backtest:
    """Content of the page."""

    repository: str
    manifest: Manifest
    taxonomy: Taxonomy
    history: History
    replay: Replay
    meaning: Meaning
    results: tuple[AxisResult, ...]
    signs: tuple[SignResult, ...] = ()


def render_page(backtest: Backtest) -> str:
    """The page."""
    environment = page_environment("distriage_serving.backtest")
    replay = backtest.replay
    made_at = replay.model_made_at
    fresh = [item for item in replay.items if made_at is not None and item.issue.created_at >= made_at]
    labels = Counter(label for item in replay.items for label in item.issue.labels)
    unmapped = [(label, count) for label, count in labels.most_common() if label.casefold() not in backtest.meaning]
    page = environment.get_template("page.html").render(
        backtest=backtest,
        replay=replay,
        names={axis.id: axis.name for axis in backtest.taxonomy.axes.values()},
        results=backtest.results,
        charts={result.axis: _charts(result) for result in backtest.results},
        fresh={result.axis: tally_of(result.axis, fresh, Mode.BALANCED) for result in backtest.results}
        if fresh
        else {},
        modes=list(Mode),
        balanced=Mode.BALANCED,
        thresholds=THRESHOLDS,
        proposed={result.axis: proposed_threshold(result) for result in backtest.results},
        judged=sum(bool(item.truth) for item in replay.items),
        unmapped=unmapped[:MAX_LABELS],
        latest=list(reversed(replay.items[-LATEST:])),
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def _charts(result: AxisResult) -> dict[str, str]:
    return {
        "curve": curves.precision_coverage(result) if result.curve else "",
        "dates": curves.by_date(result) if result.issues else "",
    }
