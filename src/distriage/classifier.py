"""Reports -> scores and verdicts, with the shipped ONNX graph. The only module that runs a model.

One report a pass: dynamic quantization takes its scales from the whole batch, so in a batch a report's answer would
depend on its neighbours (https://github.com/microsoft/onnxruntime/issues/10111).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from distriage.answer.explain import explain as evidence_of
from distriage.answer.findings import Findings
from distriage.answer.similar import Similar
from distriage.answer.verdict import SimilarIssue, Verdict
from distriage.base.errors import BundleError, InputError
from distriage.base.types import AxisScores, IssueReport, Mode, Prediction
from distriage.model.bundle import DOMAIN, Bundle
from distriage.model.domain import DomainGate
from distriage.model.graph import LoadingGraph
from distriage.model.shipped import GRAPH, find_bundle
from distriage.reading.report import ReadReport, check_report, read
from distriage.recipe.text import ModelInput, prepare

if TYPE_CHECKING:
    from distriage.github.releases import Release
    from distriage.own.labels import OwnLabels
    from distriage.own.shelf import OwnShelf

Array = NDArray[np.float32]
_Given = Mapping[str, NDArray[np.int64] | Array]

BEGINNING_CHARS = 1500  # of a text; mostly more tokens than are kept
TOGETHER = 16  # inputs encoded before the first of them is run; bounds memory for many thousands

SIMILAR_ISSUES = 5  # in a verdict
VECTORS = ("vector", "penultimate")  # outputs apart from the axes: see `Prediction`


def softmax(logits: Array, temperature: float, floor: float = 0.0) -> Array:
    """Probabilities of logits [..., labels] at a temperature, mixed with a share `floor` of the uniform one."""
    scaled = logits / temperature
    scaled = scaled - scaled.max(axis=-1, keepdims=True)
    exponent = np.exp(scaled)
    probabilities = exponent / exponent.sum(axis=-1, keepdims=True)
    return np.asarray((1 - floor) * probabilities + floor / logits.shape[-1], dtype=np.float32)


def encode(tokenizer: Tokenizer, report: ModelInput) -> dict[str, NDArray[np.int64] | Array]:
    """The graph's inputs for one report.

    Returns:
        `input_ids` [1, tokens], `feature_ids` and `feature_counts` [1, features]; a report without words has one
        feature, counted 0 times.
    """
    ids, counts = report.features if report.features[0].size else (np.zeros(1, np.int32), np.zeros(1, np.float32))
    return {
        "input_ids": np.asarray([token_ids(tokenizer, report.text)], np.int64),
        "feature_ids": ids[None].astype(np.int64),
        "feature_counts": counts[None],
    }


def token_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """The kept tokens of a text. If its beginning alone has enough, the rest is not read."""
    # No word reaches across white space, so later text cannot change the tokens before it.
    end = max(text.rfind(" ", 0, BEGINNING_CHARS), text.rfind("\n", 0, BEGINNING_CHARS))
    if len(text) > BEGINNING_CHARS and end > 0 and (beginning := tokenizer.encode(text[:end])).overflowing:
        return beginning.ids
    return tokenizer.encode(text).ids


class Classifier:
    """The model of one bundle, ready to classify many reports. Safe to share between threads. It cannot be pickled:
    each process makes its own.

    Attributes:
        gate: Its domain gate, if any.
        own: A repository's own labels, named in every verdict; a server puts a shelf of several here.
        releases: Repository in lower case -> its releases, to hold versions against; see `distriage.signs.table`.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        threads: int | None = None,
        own: str | Path | None = None,
        graph: LoadingGraph | None = None,
    ) -> None:
        """Load and verify a bundle.

        Args:
            model: A bundle's directory, a shipped model's name, or None for the default.
            threads: Threads per report; by default one per core, which answers soonest. For throughput, run several
                processes with one thread each.
            own: A folder that `distriage learn` wrote with this model; a report whose id names another repository than
                that of the folder gets `own: None`.
            graph: The model's graph, if already loading, with its number of threads.

        Raises:
            BundleError: the bundle or the folder is missing or damaged.
            InputError: `threads` is no integer from 1 on.
        """
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise InputError(f"threads: {threads!r}; expected an integer from 1 on, or None")
        path = find_bundle(model)
        graph = graph or LoadingGraph(path / GRAPH, threads)  # loads while the rest is read
        self.bundle = Bundle(path, whole=False)
        vocabulary = path / "tokenizer.json"
        try:
            self._tokenizer = Tokenizer.from_file(str(vocabulary))
        except Exception as error:  # tokenizers raises the bare class
            raise BundleError(f"{vocabulary}: tokenizers cannot load it: {error}") from None
        self._tokenizer.enable_truncation(self.bundle.manifest.max_tokens)
        self._tokenizer.no_padding()
        self.bundle.verify(GRAPH, graph.sha256)  # damage comes first, before any other fault
        self._session = graph.session()
        self._check_outputs(graph.file)
        self._outputs = [*self.bundle.manifest.axes, *VECTORS]
        gated = DOMAIN in self.bundle.manifest.files
        self.gate = DomainGate(self.bundle.path / DOMAIN, self.bundle.manifest.axes) if gated else None
        self.releases: Mapping[str, Sequence[Release]] = {}
        self.own: OwnLabels | OwnShelf | None = None
        if own is not None:
            from distriage.own.labels import OwnLabels  # few need it

            self.own = OwnLabels(Path(own), self.bundle)

    def _check_outputs(self, file: Path) -> None:
        widths = {output.name: output.shape[-1] for output in self._session.get_outputs()}
        for axis, calibration in self.bundle.manifest.axes.items():
            if widths.get(axis) != len(calibration.labels):
                raise BundleError(
                    f"{file}: output {axis} has width {widths.get(axis)}; "
                    f"bundle.json lists {len(calibration.labels)} labels"
                )
        if missing := [name for name in VECTORS if name not in widths]:
            raise BundleError(f"{file}: output {missing[0]} is missing; expected the encoder's mean vector")

    @cached_property
    def similar(self) -> Similar:
        """The index of known issues, read at first use.

        Raises:
            BundleError: the index is missing or damaged.
        """
        return Similar(self.bundle)

    def classify(
        self,
        report: IssueReport | ReadReport,
        mode: Mode | str = Mode.BALANCED,
        *,
        explain: bool = False,
        similar: bool = False,
    ) -> Verdict:
        """Answer one report, as the command line does.

        Args:
            report: The report; `distriage.classify` takes a title and a body.
            mode: How sure a label must be to be applied.
            explain: Also mark the lines that carried each verdict; costs up to 40 model passes.
            similar: Also name known issues like this one, with what fixed them.

        Raises:
            InputError: the report is empty or too large, or not an `IssueReport`; or `mode` is not a `Mode`.
            BundleError: `similar` is asked of a model without an index.
        """
        return self.examine(report, explain=explain, similar=similar).verdict(mode)

    def examine(self, report: IssueReport | ReadReport, *, explain: bool = False, similar: bool = False) -> Findings:
        """The findings behind a verdict in any mode; see `classify`."""
        return self.examine_all([report], explain=explain, similar=similar)[0]

    def examine_all(
        self, reports: Sequence[IssueReport | ReadReport], *, explain: bool = False, similar: bool = False
    ) -> list[Findings]:
        """`examine` several reports, each step for all before the next: a step that follows itself finds its code and
        data in the processor's caches, which saves 3 % of the time.

        Returns:
            Findings of each report, in order.

        Raises:
            InputError: a report is empty or too large, or not an `IssueReport`.
            BundleError: `similar` is asked of a model without an index.
        """
        known = [_as_read(report) for report in reports]
        owns = [None if self.own is None else self.own.of(one.report.id) for one in known]
        return [
            Findings(
                self.bundle,
                one,
                prediction,
                evidence_of(self.predict_inputs, one) if explain else None,
                self._known_issues(one, prediction, SIMILAR_ISSUES) if similar else None,
                own(one.input, prediction) if own is not None else None,
                self.releases.get(one.tracker, ()),
            )
            for one, prediction, own in zip(known, self.predict_inputs([one.input for one in known]), owns, strict=True)
        ]

    def _known_issues(self, report: ReadReport, prediction: Prediction, count: int) -> Sequence[SimilarIssue]:
        """The most similar issues; empty for a report of another field, which the index does not cover."""
        index = self.similar
        return index.nearest(report, prediction, count) if prediction.in_domain else []

    def predict(self, report: IssueReport | ReadReport) -> Prediction:
        """Scores of one report, before any decision; see `classify` for a verdict.

        Raises:
            InputError: the report is empty or too large, or not an `IssueReport`.
        """
        if isinstance(report, ReadReport):
            (prediction,) = self.predict_inputs([report.input])
            return prediction
        _check_type(report)
        check_report(report)
        (prediction,) = self.predict_inputs([prepare(report.title, report.body)])
        return prediction

    def predict_inputs(self, inputs: Sequence[ModelInput]) -> list[Prediction]:
        """Scores of prepared reports; see `predict`."""
        found: list[Prediction] = []
        for start in range(0, len(inputs), TOGETHER):
            some = inputs[start : start + TOGETHER]
            given = [encode(self._tokenizer, report) for report in some]
            found += map(self._prediction, some, given, [self._run(one) for one in given])
        return found

    def _prediction(self, report: ModelInput, given: _Given, outputs: Mapping[str, Array]) -> Prediction:
        manifest, scores = self.bundle.manifest, {}
        for axis, calibration in manifest.axes.items():
            probabilities = softmax(outputs[axis], calibration.temperature, calibration.floor)
            scores[axis] = AxisScores(axis, dict(zip(calibration.labels, map(float, probabilities), strict=True)))
        vector, penultimate = (outputs[name] for name in VECTORS)
        if self.gate is None:
            return Prediction(manifest.name, scores, vector=vector, penultimate=penultimate)
        ids, counts = np.asarray(given["feature_ids"][0]), np.asarray(given["feature_counts"][0])
        domain = self.gate.probability(ids, counts, report, outputs)
        passes, surely = domain >= self.gate.threshold, domain >= self.gate.sure_threshold
        return Prediction(manifest.name, scores, domain, passes, surely, vector, penultimate)

    def _run(self, given: _Given) -> dict[str, Array]:
        """For one encoded report: axis -> logits [labels], and name -> each of `VECTORS` [width]."""
        outputs = self._session.run(self._outputs, given)
        return {name: output[0] for name, output in zip(self._outputs, outputs, strict=True)}

    def logits(self, inputs: Sequence[ModelInput]) -> dict[str, Array]:
        """Raw logits, axis -> [reports, labels]; each report in a pass of its own."""
        passes = [self._run(encode(self._tokenizer, report)) for report in inputs]
        return {
            axis: np.array([logits[axis] for logits in passes], np.float32).reshape(-1, len(calibration.labels))
            for axis, calibration in self.bundle.manifest.axes.items()
        }


def _as_read(report: IssueReport | ReadReport) -> ReadReport:
    if isinstance(report, ReadReport):
        return report
    _check_type(report)
    return read(report)


def _check_type(report: object) -> None:
    if not isinstance(report, IssueReport):
        raise InputError(
            f"a {type(report).__name__} is no report; "
            "expected IssueReport(title, body), or distriage.classify(title, body)"
        )
    for field in ("title", "body", "id"):
        if not isinstance(value := getattr(report, field), str):
            raise InputError(f"report: `{field}` is {type(value).__name__}; expected a string")
