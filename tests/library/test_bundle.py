from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from distriage.base.errors import BundleError
from distriage.classifier import VECTORS, Classifier
from distriage.model.bundle import INDEX, REQUIRED_FILES, TRAINED_ON, Bundle
from distriage.model.graph import LoadingGraph, open_session
from distriage.model.shipped import GRAPH, MANIFEST, MAPPED, default_model, find_bundle
from distriage.model.taxonomy import default_taxonomy
from distriage.recipe.text import RECIPE_VERSION

from support.files import rewrite
from support.keyword_model import WIDTHS, seal, write_graph

VERSION = default_taxonomy().version


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    change(manifest)
    rewrite(folder / MANIFEST, json.dumps(manifest).encode())


def test_the_exported_bundle_loads(tiny_bundle: Path) -> None:
    bundle = Bundle(tiny_bundle)
    assert bundle.manifest.name == "tiny"
    assert bundle.taxonomy == default_taxonomy()
    assert set(bundle.manifest.files) == {*REQUIRED_FILES, MAPPED, INDEX, TRAINED_ON}
    assert {path.name for path in tiny_bundle.iterdir()} == {MANIFEST, *REQUIRED_FILES, MAPPED, INDEX, TRAINED_ON}
    assert bundle.manifest.provenance.records["train"] == 96


def test_the_shipped_bundle_loads(shipped_bundle: Path) -> None:
    bundle = Bundle(shipped_bundle)
    ours = default_taxonomy()
    assert (bundle.manifest.name, bundle.taxonomy.name) == (default_model(), ours.name)
    assert bundle.taxonomy.axes.keys() == ours.axes.keys(), "its labels may be older ones"


def test_a_bundle_may_have_a_taxonomy_of_its_own(keyword_bundle: Path) -> None:
    assert {axis.id: len(axis.label_ids) for axis in Bundle(keyword_bundle).taxonomy.axes.values()} == WIDTHS


@pytest.mark.parametrize("name", [*REQUIRED_FILES, MANIFEST])
def test_a_missing_file_is_named(tiny_copy: Path, name: str) -> None:
    (tiny_copy / name).unlink()
    with pytest.raises(BundleError) as refused:
        Bundle(tiny_copy)
    assert str(refused.value).startswith(f"{tiny_copy / name}: ")
    assert "missing" in str(refused.value) or "not found" in str(refused.value)


@pytest.mark.parametrize("name", REQUIRED_FILES)
def test_a_truncated_file_is_named(tiny_copy: Path, name: str) -> None:
    content = (tiny_copy / name).read_bytes()
    rewrite(tiny_copy / name, content[: len(content) // 2])
    with pytest.raises(BundleError) as refused:
        Bundle(tiny_copy)
    assert (
        str(refused.value)
        == f"{tiny_copy / name}: {len(content) // 2} bytes; bundle.json says {len(content)}: truncated or swapped"
    )


@pytest.mark.parametrize("name", REQUIRED_FILES)
def test_another_files_content_of_the_same_size_is_told(tiny_copy: Path, name: str) -> None:
    size = (tiny_copy / name).stat().st_size
    other = (tiny_copy / ("tokenizer.json" if name == "model.onnx" else "model.onnx")).read_bytes()
    rewrite(tiny_copy / name, (other * (size // len(other) + 1))[:size])
    with pytest.raises(BundleError) as refused:
        Bundle(tiny_copy)
    assert str(refused.value) == f"{tiny_copy / name}: its SHA-256 is not the one in bundle.json: damaged or swapped"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"format": 1'])
def test_a_manifest_that_is_no_manifest_is_named(tiny_copy: Path, content: bytes) -> None:
    rewrite(tiny_copy / MANIFEST, content)
    with pytest.raises(BundleError) as refused:
        Bundle(tiny_copy)
    assert str(refused.value).startswith(f"{tiny_copy / MANIFEST}: ") and "\n" not in str(refused.value)


def reverse_labels(manifest: dict[str, Any]) -> None:
    manifest["axes"]["symptom"]["labels"].reverse()


def drop_label(manifest: dict[str, Any]) -> None:
    manifest["axes"]["symptom"]["labels"].pop()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            reverse_labels,
            (
                "labels of axis symptom do not match the taxonomy: 'unexpected-parallelism' where "
                "'install-failure' was expected"
            ),
        ),
        (drop_label, "labels of axis symptom do not match the taxonomy: another number of labels"),
        (
            lambda m: m["axes"].pop("cause"),
            (
                "axes kind, distributed, stage, symptom, fix; the taxonomy has kind, distributed, stage, "
                "symptom, cause, fix"
            ),
        ),
        (
            lambda m: m["taxonomy"].update(version="0.9.0"),
            f"taxonomy distriage 0.9.0, but taxonomy.toml beside it is distriage {VERSION}",
        ),
        (
            lambda m: m["taxonomy"].update(name="other"),
            f"taxonomy other {VERSION}, but taxonomy.toml beside it is distriage {VERSION}",
        ),
        (lambda m: m.update(format=3), "format 3; this Distriage reads 2"),
        (lambda m: m.update(recipe_version=99), f"recipe_version 99; this Distriage reads {RECIPE_VERSION}"),
        (lambda m: m.update(hash_buckets=1024), "hash_buckets 1024; this Distriage reads 131072"),
        (lambda m: m.update(numeric_format="int4"), "numeric_format: expected 'fp32' or 'int8', found 'int4'"),
        (lambda m: m.update(max_tokens=0), "max_tokens: expected greater than or equal to 8, found 0"),
        (lambda m: m.update(colour="red"), "unknown key colour; known: format, name"),
        (lambda m: m.pop("name"), "name: missing"),
        (lambda m: m["axes"]["fix"].update(temperature=0), "axes.fix.temperature: expected greater than 0, found 0"),
        (
            lambda m: m["axes"]["fix"]["thresholds"].pop("0.80"),
            "axis fix lacks thresholds for precision 0.80; expected one a label, or null",
        ),
        (
            lambda m: m["axes"]["fix"]["thresholds"]["0.90"].pop("framework-patch"),
            "axis fix lacks thresholds for precision 0.90; expected one a label, or null",
        ),
        (
            lambda m: m["axes"]["cause"].update(family_thresholds={}),
            "axis cause lacks family thresholds for precision 0.50; expected one a family, or null",
        ),
        (lambda m: m["files"].pop("reference.json"), "`files` lacks reference.json"),
        (
            lambda m: m["files"]["model.onnx"].update(bytes="many"),
            "files.model.onnx.bytes: expected a valid integer",
        ),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    tiny_copy: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    change_manifest(tiny_copy, change)
    with pytest.raises(BundleError) as refused:
        Bundle(tiny_copy)
    assert str(refused.value).startswith(f"{tiny_copy / MANIFEST}: {message}")


@pytest.mark.parametrize(
    "name", ["../model.onnx", "/etc/passwd", "sub/model.onnx", "..", ".", "", "model\0.onnx", "model\n.onnx"]
)
def test_files_outside_the_bundle_are_not_touched(tiny_copy: Path, name: str) -> None:
    (tiny_copy.parent / "model.onnx").write_bytes(b"x")
    record = {"bytes": tiny_copy.parent.stat().st_size, "sha256": "0" * 64}
    change_manifest(tiny_copy, lambda manifest: manifest["files"].update({name: record}))
    with pytest.raises(BundleError, match="is not a plain file name"):
        Bundle(tiny_copy)


def test_a_folder_in_a_files_place_is_named(tiny_copy: Path) -> None:
    (tiny_copy / "metrics.json").unlink()
    (tiny_copy / "metrics.json").mkdir()
    with pytest.raises(BundleError, match=r"metrics\.json: missing"):
        Bundle(tiny_copy)


def made_for(bundle: Path, version: str) -> None:
    text = (bundle / "taxonomy.toml").read_text(encoding="utf-8")
    rewrite(bundle / "taxonomy.toml", text.replace(f'version = "{VERSION}"', f'version = "{version}"', 1).encode())
    change_manifest(bundle, lambda manifest: manifest["taxonomy"].update(version=version))
    seal(bundle)


def test_a_bundle_for_an_older_version_of_the_packaged_taxonomy_loads(tiny_copy: Path) -> None:
    made_for(tiny_copy, "0.9.0")
    assert Bundle(tiny_copy).taxonomy.version == "0.9.0"


@pytest.mark.parametrize("version", ["1.10.0", "next"])
def test_a_newer_version_of_the_packaged_taxonomy_is_refused(tiny_copy: Path, version: str) -> None:
    made_for(tiny_copy, version)
    with pytest.raises(BundleError) as refused:
        Bundle(tiny_copy)
    expected = f"bundle.json: made for taxonomy version {version}; this Distriage has {VERSION}"
    assert str(refused.value).endswith(expected)


def test_a_sealed_taxonomy_with_a_cause_that_there_is_not_loads(toy_copy: Path) -> None:
    """It loaded before such names were refused, and nobody can mend a sealed file."""
    text = (toy_copy / "taxonomy.toml").read_text(encoding="utf-8")
    rewrite(toy_copy / "taxonomy.toml", f'{text}of_causes = ["hardware"]\n'.encode())
    seal(toy_copy)
    assert Bundle(toy_copy).taxonomy.name == "toy"


def test_a_sealed_taxonomy_that_is_not_valid_is_named(toy_copy: Path) -> None:
    rewrite(toy_copy / "taxonomy.toml", b'name = "toy"\n')
    seal(toy_copy)
    with pytest.raises(BundleError, match=r"taxonomy\.toml: key 'version' is missing"):
        Bundle(toy_copy)


@pytest.mark.parametrize(
    ("widths", "vectors", "message"),
    [
        ({"kind": 2, "symptom": 3, "fix": 2}, VECTORS, "output symptom has width 3; bundle.json lists 4 labels"),
        ({"kind": 2, "symptom": 4}, VECTORS, "output fix has width None; bundle.json lists 2 labels"),
        (WIDTHS, ["vector"], "output penultimate is missing; expected the encoder's mean vector"),
    ],
)
def test_a_graph_whose_outputs_do_not_fit_is_refused(
    toy_copy: Path, widths: dict[str, int], vectors: list[str], message: str
) -> None:
    (toy_copy / "model.onnx").unlink()
    write_graph(toy_copy / "model.onnx", widths, vectors)
    seal(toy_copy)
    with pytest.raises(BundleError) as refused:
        Classifier(toy_copy)
    assert str(refused.value) == f"{toy_copy / 'model.onnx'}: {message}"


@pytest.mark.parametrize(("name", "library"), [("model.onnx", "onnxruntime"), ("tokenizer.json", "tokenizers")])
def test_a_sealed_file_that_its_library_cannot_load_is_named(toy_copy: Path, name: str, library: str) -> None:
    rewrite(toy_copy / name, b"{}")
    seal(toy_copy)
    with pytest.raises(BundleError) as refused:
        Classifier(toy_copy)
    assert str(refused.value).startswith(f"{toy_copy / name}: {library} cannot load it: ") and "\n" not in str(
        refused.value
    )


def test_a_graph_whose_weights_are_mapped_answers_to_the_same_bit(shipped_bundle: Path, tmp_path: Path) -> None:
    """In a folder of its own, through a link to the folder, and, where onnxruntime does not follow, through links to
    the files.
    """
    linked, of_links = tmp_path / "linked", tmp_path / "links"
    linked.symlink_to(shipped_bundle)
    of_links.mkdir()
    for file in (GRAPH, MAPPED):
        (of_links / file).symlink_to(shipped_bundle / file)
    feeds = {
        "input_ids": np.arange(100, 160)[None],
        "feature_ids": np.arange(0, 100_000, 1000)[None],
        "feature_counts": np.ones((1, 100), np.float32),
    }
    whole = open_session(shipped_bundle / GRAPH, 1).run(None, feeds)
    for folder, name in ((shipped_bundle, MAPPED), (linked, MAPPED), (of_links, GRAPH)):
        loading = LoadingGraph(folder / GRAPH, 1)
        assert loading.loaded.name == name and len(loading.sha256()) == 64
        for found, expected in zip(loading.session().run(None, feeds), whole, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_mapped_graph_that_the_manifest_does_not_list_is_named(toy_copy: Path) -> None:
    (toy_copy / MAPPED).write_bytes(b"of another model")
    with pytest.raises(BundleError) as refused:
        Bundle(toy_copy)
    assert str(refused.value) == f"{toy_copy / MAPPED}: bundle.json does not list it: perhaps of another model"


def test_an_index_is_verified_by_who_reads_it(tiny_copy: Path) -> None:
    rewrite(tiny_copy / INDEX, (tiny_copy / INDEX).read_bytes()[:-1])
    with pytest.raises(BundleError, match=rf"{INDEX}: .* truncated or swapped"):
        Bundle(tiny_copy)
    classifier = Classifier(tiny_copy)
    with pytest.raises(BundleError, match=rf"{INDEX}: .* truncated or swapped"):
        _ = classifier.similar


def test_a_model_is_found_by_its_folder_and_by_its_name(tiny_bundle: Path) -> None:
    assert find_bundle(tiny_bundle) == find_bundle(str(tiny_bundle)) == tiny_bundle


def test_the_shipped_model_is_the_default(shipped_bundle: Path) -> None:
    found = find_bundle()
    assert found == find_bundle(default_model()) and found.name == default_model()
    assert Bundle(found).manifest == Bundle(shipped_bundle).manifest


def test_an_unknown_model_says_where_it_was_looked_for() -> None:
    with pytest.raises(
        BundleError,
        match=r"model 'maxilm-v9': no such directory and no shipped model of that name \(looked in .*models "
        r"and .*models\)",
    ):
        find_bundle("maxilm-v9")


def test_a_folder_without_a_bundle_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"bundle\.json: not found or not readable; expected a model bundle"):
        Classifier(tmp_path)
