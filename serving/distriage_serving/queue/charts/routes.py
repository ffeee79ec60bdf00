"""/queue/charts: how triage is going, and how well the model does here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from distriage.answer.feedback import OWN_AXIS
from distriage_serving.queue.charts import figures as charts
from distriage_serving.queue.pages import PageRoute, show
from distriage_serving.queue.visit import Visit
from distriage_serving.store import WEEK_S
from distriage_serving.web.problem import ProblemError

router = APIRouter(prefix="/queue", route_class=PageRoute, include_in_schema=False)
WEEKS: Final = 26
# Title, meaning, and the `TeamWeek` attributes of its line and of a dashed one, if any.
TEAM_PLOTS: Final = (
    ("Backlog", "Issues that wait for a person.", "waiting", ""),
    (
        "Age of the backlog",
        "Days since an issue was filed: the median, and dashed the age that a tenth of the issues exceeds.",
        "age_days",
        "oldest_days",
    ),
    ("Issues decided", "For the first time: here, in a comment, or by a label on GitHub.", "decided", ""),
    (
        "Time to the first decision",
        "Days since an issue was filed, median of those decided in the week.",
        "took_days",
        "",
    ),
)


@router.get("/charts")
def chart_page(request: Request) -> Response:
    """Backlog and decisions by week, precision by label, coverage, drift by week."""
    visit, query = Visit(request), request.query_params
    axes = visit.taxonomy.axes
    axis = query.get("axis", "symptom" if "symptom" in axes else next(iter(axes)))
    repositories = visit.repositories()
    repository = query.get("repository", "")
    if axis not in axes or repository not in ["", *repositories]:
        raise ProblemError(400, "bad-request", "axis, repository: expected those that the page offers")
    seen = [repository] if repository else visit.seen
    now = visit.store.clock()
    since = now - (WEEKS + charts.BASELINE_WEEKS) * WEEK_S
    counts = visit.store.axis_counts(since, seen)
    shown_since = now - WEEKS * WEEK_S
    families = {label: family for family, labels in axes[axis].families.items() for label in labels}
    by_week = charts.weeks(counts, axis, families, now, WEEKS)
    days = [week.day for week in by_week]
    covered = {
        item.axis: item for item in charts.coverage(item for item in counts if item.week_at >= shown_since - WEEK_S)
    }
    reviews = visit.store.reviews(shown_since, seen)
    team = charts.team_weeks(visit.store.waits(shown_since, seen), now, WEEKS)
    return show(
        "charts.html",
        visit.session,
        page="charts",
        axes=[(axis_id, known.name) for axis_id, known in axes.items()],
        axis=axis,
        axis_name=axes[axis].name,
        repositories=repositories.items(),
        repository=repository,
        weeks=WEEKS,
        baseline_weeks=charts.BASELINE_WEEKS,
        min_issues=charts.MIN_ISSUES,
        few=charts.FEW,
        precision=[(visit.label_name(axis, label), right) for label, right in charts.precision(reviews, axis)],
        own=charts.precision(reviews, OWN_AXIS),
        confusions=[
            (visit.label_name(axis, said), visit.label_name(axis, right), count)
            for said, right, count in charts.confusions(reviews, axis)[: charts.MOST_CONFUSED]
        ],
        coverage=[(axes[axis_id].name, covered[axis_id]) for axis_id in axes if axis_id in covered],
        by_week=by_week,
        by_family=bool(families),
        team=team,
        team_plots=list(_team_plots(days, team)),
        coverage_plot=charts.plot("Coverage by week", days, [week.covered for week in by_week], "{:.0%}", peak=1),
        drift_plot=charts.plot(
            "Drift by week", days, [week.drift for week in by_week], "{:.1f}", [week.chance for week in by_week], 1
        ),
    )


def _team_plots(days: Sequence[str], team: Sequence[charts.TeamWeek]) -> Iterator[tuple[str, str, Markup]]:
    """Title, meaning and chart of each figure; an empty chart without an issue or a decision."""
    for title, meaning, *keys in TEAM_PLOTS:
        values, beside = ([getattr(week, key) for week in team] if key else [] for key in keys)
        shown = days if any(values) else ()
        yield title, meaning, charts.plot(title, shown, values[: len(shown)], "{:,.0f}", beside)
