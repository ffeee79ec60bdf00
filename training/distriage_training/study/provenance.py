"""Where a study comes from: commit, command, files, model. The same for the same commit, in any clone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distriage.classifier import Classifier
from distriage.model.shipped import MANIFEST, sha256_of
from distriage.model.taxonomy import Taxonomy
from distriage_training.checkout import commit_of, name_in_checkout
from distriage_training.study.faults import Source


def provenance_of(
    source: Source, place: str, options: Mapping[str, str], taxonomy: Taxonomy, classifier: Classifier | None
) -> dict[str, Any]:
    """The content of study.json.

    Args:
        place: The argument of the command: a folder, a file, or `owner/repo`.
        options: Name and value of those that choose reports or labels; of a configuration its name.
    """
    path = Path(place)
    named = name_in_checkout(path) if path.exists() else place
    folder = path if path.is_dir() else path.parent
    command = ["distriage", "study", "report", named]
    command += [word for name, value in options.items() for word in (f"--{name}", value)]
    return {
        "commit": commit_of(folder) if path.exists() else "unknown",
        "command": command,
        "source": source.name,
        "files": {name_in_checkout(file): sha256_of(file) for file in source.files},
        "reports": len(source.faults),
        "failures": len(source.bugs),
        "labels": source.origin.value,
        "model": _model(classifier) if classifier is not None else source.model or None,
        "taxonomy": f"{taxonomy.name} {taxonomy.version}",
    }


def _model(classifier: Classifier) -> dict[str, str]:
    bundle = classifier.bundle
    return {"name": bundle.manifest.name, MANIFEST: sha256_of(bundle.path / MANIFEST)}
