"""Distriage: which distributed-training failure is this issue about, and how are such failures fixed?

    import distriage

    verdict = distriage.classify("Training hangs at step 3", "All eight ranks wait in all_reduce ...")
    verdict.axes["symptom"].label        # the likeliest label, even if it is not sure
    verdict.axes["symptom"].outcome      # act on the label only where this is Outcome.APPLY

For many reports, keep one `Classifier` and call its `classify`.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distriage.answer.verdict import AxisVerdict as AxisVerdict
    from distriage.answer.verdict import Verdict as Verdict
    from distriage.base.errors import BundleError as BundleError
    from distriage.base.errors import DistriageError as DistriageError
    from distriage.base.errors import InputError as InputError
    from distriage.base.types import IssueReport as IssueReport
    from distriage.base.types import Mode as Mode
    from distriage.base.types import Outcome as Outcome
    from distriage.classifier import Classifier as Classifier

__version__ = "0.1.0"

# onnxruntime's wheels for Linux otherwise write a device id and usage events for Microsoft into ~/.cache on import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# Imported at first use (PEP 562): the model's libraries take a third of a second, which `--help` need not wait for.
_HOMES = {
    "AxisVerdict": "answer.verdict",
    "BundleError": "base.errors",
    "Classifier": "classifier",
    "DistriageError": "base.errors",
    "InputError": "base.errors",
    "IssueReport": "base.types",
    "Mode": "base.types",
    "Outcome": "base.types",
    "Verdict": "answer.verdict",
}
__all__ = [
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


def classify(
    title: str, body: str | None = "", mode: Mode | str = "balanced", *, explain: bool = False, similar: bool = False
) -> Verdict:
    """Answer one report with the default model, as `distriage classify` does.

    Args:
        title: The issue's title; may be empty if `body` is not.
        body: The issue's body, Markdown; may be None.
        mode: How sure a label must be: `best` (the likeliest, unless the report is of another field or says too
            little), `balanced` (right in about 80 % of the cases) or `precise` (90 %).
        explain: Also mark the lines that carried each verdict; costs up to 40 model passes.
        similar: Also name known issues like this one, with what fixed them.

    Returns:
        The verdict. `verdict.axes["symptom"].outcome` says whether to act on `verdict.axes["symptom"].label`;
        `verdict.model_dump_json()` is the output of `--json`.

    Raises:
        InputError: the report is empty, too large or not text, or `mode` is unknown.
        BundleError: the installed model is damaged.
    """
    from distriage.base.types import IssueReport

    return _default_classifier().classify(
        IssueReport(title, "" if body is None else body), mode, explain=explain, similar=similar
    )


@cache
def _default_classifier() -> Classifier:
    from distriage.classifier import Classifier

    return Classifier()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'distriage' has no attribute {name!r}")
    return getattr(import_module(f"distriage.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
