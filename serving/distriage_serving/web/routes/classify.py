"""POST /v1/classify."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from distriage.answer.verdict import FailedRecord, Verdict
from distriage.base.errors import InputError
from distriage.base.types import IssueReport, Mode
from distriage.past.index import PastIndex
from distriage.reading.report import check_report
from distriage_serving.judging.process import ModelError, ModelGoneError
from distriage_serving.store import UnavailableError
from distriage_serving.web.engine import LOADING_RETRY_AFTER_S, Engine
from distriage_serving.web.problem import ProblemError, invalid, of_validation, unavailable
from distriage_serving.web.rooms import rooms

JSON: Final = "application/json"
# An escape in JSON; a pair of surrogates is one, so that half an emoji, of a client that cuts texts, is found alone.
_ESCAPE: Final = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\.", re.DOTALL)
MAX_ID_CHARS: Final = 200
MAX_VALUES: Final = 100  # for each report that a request may hold; a report has three
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # of JSON; the end may be missing

router = APIRouter()


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ReportFields(_Body):
    """A report as filed. Title and body together are at most 1 MiB; one of them may be blank, not both."""

    # A long one is refused by `check_report`, which costs the other reports of a request nothing.
    title: str = Field(default="", examples=["NCCL timeout in all_reduce"])
    body: str | None = Field(
        default="",
        description="Markdown.",
        examples=["Training hangs after 1200 steps on 2 nodes."],
    )
    id: str = Field(
        default="",
        max_length=MAX_ID_CHARS,
        description="Your own name for it; comes back in the answer.",
        examples=["owner/repo#12"],
    )

    def report(self) -> IssueReport:
        """The library's own form."""
        return IssueReport(title=self.title, body=self.body or "", id=self.id)


class _Options(_Body):
    mode: Mode = Field(
        default=Mode.BALANCED,
        description="How sure a label must be: best (the likeliest), balanced (right in about 80 %), precise (90 %).",
    )
    explain: bool = Field(default=False, description="Also name the lines that carried each verdict; slow.")
    similar: bool = Field(
        default=False,
        description="Also name the known issues that are most similar, with the labels that their threads led to.",
    )
    duplicates: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}(?:/[A-Za-z0-9_.-]{1,100}){1,8}$",  # GitLab nests groups
        description="Also name the past issue of this repository that is likely the same. An `id` such as "
        "`owner/repo#12` looks among earlier issues only.",
        examples=["owner/repo"],
    )


class ClassifyReport(ReportFields, _Options):
    """One report; title and body must not both be blank."""


class ClassifyBatch(_Options):
    """Several reports."""

    reports: list[ReportFields] = Field(min_length=1)


class BatchAnswer(BaseModel):
    """The answers to several reports, in their order; one that is blank, too large or cannot be classified has its
    error in its place. A request that does not fit the schema has one answer: 422.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    verdicts: list[Verdict | FailedRecord]


def _shape(value: object) -> str:
    return "batch" if isinstance(value, dict) and "reports" in value else "report"


ClassifyRequest = Annotated[
    Annotated[ClassifyReport, Tag("report")] | Annotated[ClassifyBatch, Tag("batch")], Discriminator(_shape)
]
REQUEST: TypeAdapter[ClassifyReport | ClassifyBatch] = TypeAdapter(ClassifyRequest)


@router.post(
    "/v1/classify",
    summary="Classify one report or several",
    response_model=Verdict | BatchAnswer,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": {"$ref": "#/components/schemas/ClassifyRequest"}}},
        }
    },
)
async def classify(request: Request) -> Response:
    """Says stage, symptom, root cause, fix pattern and kind of each report, with calibrated probabilities.

    Act on an axis only where its `outcome` is `apply`.
    """
    _check_headers(request.headers)
    body = (await request.body()).removeprefix(BOM_UTF8)  # of editors and shells on Windows
    here = rooms(request)
    engine, settings, metrics = here.engine, here.settings, here.metrics
    _check_count(body, settings.max_reports)
    try:
        # Not FastAPI's own reading: this one is in Rust, bounds nesting, and never puts the input into an error.
        asked = REQUEST.validate_json(body)
    except ValidationError as error:
        try:
            asked = REQUEST.validate_json(_ESCAPE.sub(_whole, body))
        except ValidationError:
            raise of_validation(error) from None
    fields = asked.reports if isinstance(asked, ClassifyBatch) else [asked]
    request.scope["distriage.log"].update(
        reports=len(fields),
        mode=asked.mode.value,
        explain=asked.explain,
        similar=asked.similar,
        duplicates=asked.duplicates is not None,
    )
    limit = settings.max_explained_reports if asked.explain else settings.max_reports
    if len(fields) > limit:
        which = " with `explain`" if asked.explain else ""
        raise invalid(f"{len(fields)} reports; at most {limit} at a time{which}", "reports")
    reports = [item.report() for item in fields]
    faults = {place: fault for place, report in enumerate(reports) if (fault := _fault(report)) is not None}
    metrics.reports.labels("refused").inc(len(faults))
    past = None
    if asked.duplicates is not None:
        past = await run_in_threadpool(_past, engine, asked.duplicates, bool(settings.api_keys), here.store is not None)
    ask = partial(engine.classify, mode=asked.mode, explain=asked.explain, similar=asked.similar, past=past)
    if isinstance(asked, ClassifyReport):
        if faults:
            raise invalid(faults[0])
        (verdict,) = await ask(reports)
        if isinstance(verdict, ModelGoneError):
            raise unavailable("not-ready", "the model's process ended", LOADING_RETRY_AFTER_S)
        if isinstance(verdict, ModelError):
            raise verdict
        if isinstance(verdict, FailedRecord):
            raise invalid(verdict.error)
        return Response(verdict.model_dump_json(), media_type=JSON)
    answers = iter(await ask([report for place, report in enumerate(reports) if place not in faults]))
    verdicts = [
        FailedRecord(id=report.id, error=faults[place]) if place in faults else _record(report, next(answers))
        for place, report in enumerate(reports)
    ]
    return Response(BatchAnswer(verdicts=verdicts).model_dump_json(), media_type=JSON)


def _record(report: IssueReport, answer: Verdict | FailedRecord | ModelError) -> Verdict | FailedRecord:
    if isinstance(answer, ModelGoneError):
        return FailedRecord(id=report.id, error="not read: the model's process ended; send it again")
    if isinstance(answer, ModelError):  # the other reports of the batch have been paid for
        return FailedRecord(id=report.id, error="the model failed on this report")
    return answer


def _past(engine: Engine, repository: str, has_keys: bool, has_store: bool) -> PastIndex:
    model = engine.bundle.manifest.name
    try:
        index = engine.past.index(repository, model, only_files=not has_keys)
    except UnavailableError:
        raise unavailable("not-ready", "the database cannot be reached", 5) from None
    if index is None:
        what = f"this server has no index of the past issues of {repository} made with its model {model}"
        if has_store and not has_keys:  # said of every repository, in the database or not
            what += "; past issues in the database need DISTRIAGE_API_KEYS"
        raise invalid(what, "duplicates")
    return index


def _check_headers(headers: Headers) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise ProblemError(
            415, "unsupported-media-type", "expected Content-Type: application/json", headers={"Accept": JSON}
        )
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ProblemError(
            415,
            "unsupported-media-type",
            "expected a body without Content-Encoding",
            headers={"Accept-Encoding": "identity"},
        )


def _check_count(body: bytes, max_reports: int) -> None:
    """Refuse a body with millions of values or faults: it may be megabytes of `{},` or `"a":1,`.

    Raises:
        ProblemError: too many values (422).
    """
    most = MAX_VALUES * (max_reports + 1)
    structure, strings = _STRING.subn(b"", body, most)
    if strings == most or sum(structure.count(mark) for mark in (b",", b"[", b"{")) > most:
        raise invalid(f"more than {most} values; at most {max_reports} reports at a time are expected")


def _fault(report: IssueReport) -> str | None:
    try:
        check_report(report)
    except InputError as error:
        return str(error)
    return None


def _whole(escape: re.Match[bytes]) -> bytes:
    """A replacement character for a lone surrogate, as at every other entrance."""
    is_lone = len(escape[0]) == 6
    return rb"\ufffd" if is_lone else escape[0]
