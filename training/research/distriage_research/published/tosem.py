"""The published labels of Liu et al. (2023), "Rise of distributed deep learning training in the big model era: From a
software engineering perspective", ACM TOSEM 32(6): 637 faults of Stack Overflow and GitHub. Apache-2.0."""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from distriage.base.errors import CorpusError
from distriage.model.taxonomy import SYMPTOM, default_taxonomy

WORKBOOK = "final_categories.xlsx"
COLUMNS = ("Type", "Link", "distributed-specific", "stage", "inner-category", "leaf category", "fix pattern")
STAGES = {
    "package build & import": "build-import",
    "communication setup": "communication-setup",
    "data and model preparation": "data-model-preparation",
    "training & evaluation": "training-evaluation",
}
# Leaf category -> ours, where one of ours is meant; the others are kept as they are.
SYMPTOMS = {leaf: label.id for label in default_taxonomy().axis(SYMPTOM).labels for leaf in label.study}
FIXES = {
    "fix dependency version": "version-dependency-management",
    "fix framework version": "version-dependency-management",
    "fix dependency installation": "version-dependency-management",
    "fix framework installation": "version-dependency-management",
    "fix build/install configuration": "version-dependency-management",
    "install missing dependency": "version-dependency-management",
    "fix communication configuration": "distributed-tuning",
    "fix distributed api usage": "distributed-tuning",
    "fix device assignment": "distributed-tuning",
    "fix consistency between devices": "distributed-tuning",
    "fix scope assignment": "distributed-tuning",
    "fix memory/core setting": "resource-adjustment",
    "change hardware": "resource-adjustment",
    "fix model construction": "model-data-adaptation",
    "save single-device model/weights only": "model-data-adaptation",
    "fix data type": "model-data-adaptation",
    "fix dataset": "model-data-adaptation",
    "fix learning rate": "model-data-adaptation",
    "fix optimizer": "model-data-adaptation",
    "fix loss function": "model-data-adaptation",
    "fix network setting": "environment-repair",
    "fix dependency path": "environment-repair",
}
_SPELLINGS = {
    "hang and timeout": "hang",
    "hang & timeout": "hang",
    "unexpected intermediate results": "unexpected intermediate result",
}
_ISSUE = re.compile(r"https?://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
_QUESTION = re.compile(r"https?://stackoverflow\.com/(?:questions|q)/(\d+)")


@dataclass(frozen=True, slots=True)
class TosemFault:
    """A row of the sheet `faults`, spelling evened out.

    Attributes:
        id: `owner/repo#12`, or `stackoverflow#NUMBER`.
        place: Where it was asked, as published: `GitHub-horovod`, `SO-tensorflow`, ...
        stage: Of `STAGES`.
        symptom: Leaf category.
    """

    id: str
    url: str
    place: str
    distributed: bool
    stage: str
    symptom: str
    fix: str

    @property
    def labels(self) -> dict[str, str]:
        """On our axes, where they map."""
        found = {"kind": "bug", "distributed": str(self.distributed).lower(), "stage": STAGES[self.stage]}
        if self.symptom == "hang":
            found["symptom"] = "runtime-hang" if self.stage == "training & evaluation" else "setup-hang"
        elif self.symptom in SYMPTOMS:
            found["symptom"] = SYMPTOMS[self.symptom]
        if self.fix in FIXES:
            found["fix"] = FIXES[self.fix]
        return found

    def record(self) -> dict[str, Any]:
        """As `import-tosem` writes it."""
        original = {"place": self.place, "stage": self.stage, "symptom": self.symptom, "fix": self.fix}
        return {"id": self.id, "url": self.url, **self.labels, "original": original}


def read_tosem(folder: Path) -> list[TosemFault]:
    """Read the published workbook.

    Raises:
        CorpusError: it is missing, no workbook, or has other columns or stages.
        ModuleNotFoundError: openpyxl is missing.
    """
    from openpyxl import load_workbook

    file = folder / WORKBOOK
    try:
        workbook = load_workbook(BytesIO(file.read_bytes()), read_only=True)
        rows = list(workbook["faults"].iter_rows(values_only=True))
    except Exception as error:  # openpyxl raises what zipfile and xml raise
        raise CorpusError(f"{file}: cannot be read: {error}") from None
    if rows[0][: len(COLUMNS)] != COLUMNS:
        raise CorpusError(f"{file}: columns of sheet faults: expected {', '.join(COLUMNS)}")
    faults: list[TosemFault] = []
    place = link = ""
    for number, row in enumerate(rows[1:], 2):
        if row[2] is None:
            continue
        place, link = (str(row[0]), str(row[1])) if row[1] else (place, link)  # cells of one thread are merged
        stage = _even(row[3])
        if stage not in STAGES:
            raise CorpusError(f"{file}: faults, row {number}: unknown stage {stage!r}; known: {', '.join(STAGES)}")
        symptom = _even(row[5])
        url = link.split()[0]
        faults.append(
            TosemFault(
                id=_identifier(url),
                url=url,
                place=place,
                distributed=bool(row[2]),
                stage=stage,
                symptom=_SPELLINGS.get(symptom, symptom),
                fix=_even(row[6]),
            )
        )
    return faults


def _even(value: object) -> str:
    return " ".join(str(value or "").lower().split())


def _identifier(url: str) -> str:
    if issue := _ISSUE.match(url):
        return f"{issue[1]}#{issue[2]}"
    if question := _QUESTION.match(url):
        return f"stackoverflow#{question[1]}"
    return url
