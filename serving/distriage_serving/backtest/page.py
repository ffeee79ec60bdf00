"""The result of a back-test as one HTML page: no script, nothing from elsewhere; every text of others is escaped. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from jinja2 import Environment, PackageLoader, StrictUndefined

from distriage.bundle import Manifest
from distriage.policy import Mode
from distriage.taxonomy import Taxonomy
from distriage_serving.backtest import curves
from distriage_serving.backtest.history import History
from distriage_serving.backtest.mapping import Meaning
from distriage_serving.backtest.measure import THRESHOLDS, AxisResult, Tally, measure
from distriage_serving.backtest.replay import Replay

LATEST = 25  # issues shown one by one
MAX_TITLE_CHARS = 120
MAX_LABELS = 40  # of the repository's, that stand for nothing here
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


@dataclass(frozen=True, slots=True)
class Backtest:
    """All that the page tells.

    Attributes:
        axes: Ids of the axes to show.
    """

    repository: str
    manifest: Manifest
    taxonomy: Taxonomy
    history: History
    replay: Replay
    meaning: Meaning
    axes: tuple[str, ...]


def render_page(backtest: Backtest) -> str:
    """The page."""
    environment = Environment(
        loader=PackageLoader("distriage_serving.backtest"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(percent=_percent, date=_date, plain=_plain, web=_web)
    replay = backtest.replay
    made_at = replay.model_made_at
    fresh = [item for item in replay.items if made_at is not None and item.issue.created_at >= made_at]
    results = [measure(axis, replay.items) for axis in backtest.axes]
    labels = Counter(label for item in replay.items for label in item.issue.labels)
    unmapped = [(label, count) for label, count in labels.most_common() if label.casefold() not in backtest.meaning]
    page = environment.get_template("page.html").render(
        backtest=backtest,
        replay=replay,
        names={axis.id: axis.name for axis in backtest.taxonomy.axes.values()},
        results=results,
        charts={result.axis: _charts(result) for result in results},
        fresh={axis: measure(axis, fresh).modes[Mode.BALANCED] for axis in backtest.axes} if fresh else {},
        modes=list(Mode),
        balanced=Mode.BALANCED,
        thresholds=THRESHOLDS,
        judged=sum(bool(item.truth) for item in replay.items),
        unmapped=unmapped[:MAX_LABELS],
        latest=list(reversed(replay.items[-LATEST:])),
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def _charts(result: AxisResult) -> dict[str, str]:
    return {"curve": curves.precision_coverage(result) if result.curve else "", "dates": curves.by_date(result) if result.issues else ""}


def _percent(value: float | Tally | None) -> str:
    return "–" if not isinstance(value, float) else f"{value:.0%}"


def _date(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%d")


def _plain(text: str) -> str:
    """Somebody's words on one short line, without characters that change how others are shown."""
    line = " ".join(_CONTROL.sub(" ", text[: 4 * MAX_TITLE_CHARS]).split())
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[: MAX_TITLE_CHARS - 1]}…"


def _web(url: str) -> str:
    """A link that leads to a web page, or nowhere."""
    return url if re.fullmatch(r"https?://[^\s\"'<>]+", url) else ""
