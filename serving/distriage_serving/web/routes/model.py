"""GET /v1/taxonomy and /v1/models: what the loaded model can say, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from distriage.bundle import TaxonomyRecord
from distriage.taxonomy_view import taxonomy_json
from distriage_serving.web.engine import Engine

router = APIRouter()


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Requirement(_Answer):
    """Another axis must have this label, or the axis does not apply."""

    axis: str
    label: str


class LabelEntry(_Answer):
    """One label of an axis."""

    id: str
    name: str
    family: str | None
    definition: str
    source: str
    retired: str | None


class AxisEntry(_Answer):
    """One question with its possible answers."""

    name: str
    question: str
    requires: Requirement | None
    labels: list[LabelEntry]


class TaxonomyAnswer(_Answer):
    """The taxonomy of the loaded model; the same as `distriage taxonomy --json`."""

    name: str
    version: str
    axes: Mapping[str, AxisEntry]


class ModelEntry(_Answer):
    """One model."""

    name: str
    taxonomy: TaxonomyRecord
    numeric_format: str
    max_tokens: int = Field(description="So much of a prepared report is read.")
    axes: Mapping[str, int] = Field(description="Axis -> number of its labels.")
    created: str
    base_model: str
    base_model_license: str
    sha256: str = Field(description="Of model.onnx, hex.")


class ModelsAnswer(_Answer):
    """The models of this server."""

    models: list[ModelEntry]


def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


@router.get("/v1/taxonomy", summary="The labels and what they mean")
async def taxonomy(request: Request) -> TaxonomyAnswer:
    """All axes with all labels of the loaded model."""
    loaded = _engine(request).bundle.taxonomy
    return TaxonomyAnswer.model_validate_json(taxonomy_json(loaded, list(loaded.axes.values())))


@router.get("/v1/models", summary="The loaded model")
async def models(request: Request) -> ModelsAnswer:
    """Name, taxonomy, format and provenance of each model that answers here: one."""
    manifest = _engine(request).bundle.manifest
    entry = ModelEntry(
        name=manifest.name,
        taxonomy=manifest.taxonomy,
        numeric_format=manifest.numeric_format,
        max_tokens=manifest.max_tokens,
        axes={axis: len(calibration.labels) for axis, calibration in manifest.axes.items()},
        created=manifest.provenance.created,
        base_model=manifest.provenance.base_model,
        base_model_license=manifest.provenance.base_model_license,
        sha256=manifest.files["model.onnx"].sha256,
    )
    return ModelsAnswer(models=[entry])
