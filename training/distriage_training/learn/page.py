"""The result of learning as one HTML page, without scripts or outside files; foreign text is escaped. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from distriage.base.pages import page_environment, plain
from distriage.own.labels import OwnManifest
from distriage_training.learn.examples import Issues
from distriage_training.learn.measure import Figures, what_would_help
from distriage_training.learn.thresholds import Promise


@dataclass(frozen=True, slots=True)
class Page:
    """Content of the page.

    Attributes:
        figures: Of each kind of features, the chosen one first.
    """

    manifest: OwnManifest
    issues: Issues
    figures: tuple[Figures, ...]
    promise: Promise


def render_page(page: Page) -> str:
    """The page."""
    environment = page_environment("distriage_training.learn")
    chosen = page.figures[0]
    first = len(page.issues.kept) - chosen.issues
    text = environment.get_template("page.html").render(
        manifest=page.manifest,
        promise=page.promise,
        figures=page.figures,
        chosen=chosen,
        issues=page.issues,
        learned=page.issues.kept[:first],
        later=page.issues.kept[first:],
        advice={
            label.name: plain(what_would_help(label, page.promise))
            for label in chosen.labels
            if label.threshold is None
        },
    )
    return text.encode("utf-8", "replace").decode("utf-8")
