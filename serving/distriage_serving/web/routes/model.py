"""GET /v1/taxonomy and /v1/models: the loaded model's labels and provenance."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request

from distriage.commands.taxonomy import TaxonomyAnswer, taxonomy_answer
from distriage.model.bundle import TaxonomyRecord
from distriage_serving.web.rooms import rooms

router = APIRouter()


class ModelEntry(BaseModel, extra="forbid", frozen=True):
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


class ModelsAnswer(BaseModel, extra="forbid", frozen=True):
    """The models of this server."""

    models: list[ModelEntry]


@router.get("/v1/taxonomy", summary="The labels and what they mean")
async def taxonomy(request: Request) -> TaxonomyAnswer:
    """All axes with all labels of the loaded model."""
    loaded = rooms(request).engine.bundle.taxonomy
    return taxonomy_answer(loaded, list(loaded.axes.values()))


@router.get("/v1/models", summary="The loaded model")
async def models(request: Request) -> ModelsAnswer:
    """Name, taxonomy, format and provenance of each model that answers here: one."""
    manifest = rooms(request).engine.bundle.manifest
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
