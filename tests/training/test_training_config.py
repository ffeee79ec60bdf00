from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from distriage.base.errors import ConfigError, TaxonomyError
from distriage.model.taxonomy import default_taxonomy, load_taxonomy
from distriage_training.config import (
    Config,
    DataConfig,
    EncoderConfig,
    SparseConfig,
    TrainingConfig,
    load_config,
)

from support.toys import REPOSITORY

TABLES = {
    "": Config,
    "encoder": EncoderConfig,
    "data": DataConfig,
    "training": TrainingConfig,
    "sparse": SparseConfig,
}
CONFIGS = sorted((REPOSITORY / "configs").glob("*.toml"))


def refusal(tmp_path: Path, text: str) -> str:
    """The message with which a configuration is refused."""
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("table", TABLES)
def test_unknown_key_names_file_key_and_all_known_keys_of_its_table(tmp_path: Path, table: str) -> None:
    head = f"[{table}]\n" if table else ""
    message = refusal(tmp_path, f'name = "a"\n{head}bogus = 1\n')
    key = f"{table}.bogus" if table else "bogus"
    known = [name for name in TABLES[table].model_fields if name != "path"]
    assert message.endswith(f"unknown key {key}; known: {', '.join(known)}")


def test_the_place_of_a_configuration_is_no_key_of_it(tmp_path: Path) -> None:
    message = refusal(tmp_path, 'name = "a"\npath = "elsewhere.toml"\n')
    assert "unknown key path; known: name, seed, taxonomy, encoder" in message


@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.sampled_from(sorted(TABLES)), key=st.from_regex(r"[a-z_]{1,20}", fullmatch=True))
def test_no_unknown_key_passes(tmp_path: Path, table: str, key: str) -> None:
    assume(key == "path" or key not in TABLES[table].model_fields)
    head = f"[{table}]\n" if table else ""
    path = tmp_path / "run.toml"
    path.write_text(f'name = "a"\n{head}{key} = "x"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"unknown key {table + '.' if table else ''}{key};"):
        load_config(path)


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("encoder", "max_tokens", "15"),
        ("encoder", "max_tokens", "8193"),
        ("encoder", "layers", "0"),
        ("data", "format", '"parquet"'),
        ("data", "validation_fraction", "0.5"),
        ("data", "validation_fraction", "0.0"),
        ("data", "limit", "7"),
        ("training", "epochs", "0"),
        ("training", "epochs", "nan"),
        ("training", "batch_size", "0"),
        ("training", "learning_rate", "-0.1"),
        ("training", "learning_rate", "inf"),
        ("training", "layer_decay", "1.1"),
        ("training", "warmup_fraction", "1.0"),
        ("training", "label_smoothing", "1.0"),
        ("training", "class_balance", "1.5"),
        ("training", "head_dropout", "1.0"),
        ("training", "token_dropout", "-0.1"),
        ("training", "sample", "{ table = 1.5 }"),
        ("training", "sample", "{ table = 0.0 }"),
        ("training", "label_weights", "{ table = { fix = -1.0 } }"),
        ("training", "unsure_weights", "{ fix = -0.5 }"),
        ("training", "save_steps", "0"),
        ("sparse", "inverse_regularization", "0"),
        ("sparse", "max_iterations", "0"),
    ],
)
def test_a_value_out_of_range_names_its_key(tmp_path: Path, table: str, key: str, value: str) -> None:
    message = refusal(tmp_path, f'name = "a"\n[{table}]\n{key} = {value}\n')
    assert f": {table}.{key}" in message
    found = tomllib.loads(f"v = {value}")["v"]
    while isinstance(found, dict):
        found = next(iter(found.values()))
    assert message.endswith(f"found {found!r}")


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_no_generator_takes_is_refused(tmp_path: Path, seed: int) -> None:
    assert ": seed: expected" in refusal(tmp_path, f'name = "a"\nseed = {seed}\n')


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("", "seed = 1.5"),
        ("", 'seed = "7"'),
        ("", "training = 3"),
        ("encoder", "freeze_embeddings = 1"),
        ("encoder", "source = 7"),
        ("data", "corpus = 3"),
        ("data", "label_columns = { type = 1 }"),
        ("training", 'epochs = "4"'),
        ("training", "batch_size = true"),
        ("training", "sample = 0.4"),
    ],
)
def test_a_wrong_type_is_refused_not_converted(tmp_path: Path, table: str, line: str) -> None:
    message = refusal(tmp_path, f'name = "a"\n{line}\n' if not table else f'name = "a"\n[{table}]\n{line}\n')
    assert f"{table + '.' if table else ''}{line.split(' ')[0]}" in message


def test_whole_numbers_stand_for_fractions(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('name = "a"\n[training]\nepochs = 3\n', encoding="utf-8")
    assert load_config(path).training.epochs == 3.0


@pytest.mark.parametrize("name", ["", "Ab", "-a", "a/b", "a b"])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    assert f"name: expected text that matches pattern '^[a-z0-9][a-z0-9.-]*$', found {name!r}" in refusal(
        tmp_path, f'name = "{name}"\n'
    )


def test_a_name_is_required(tmp_path: Path) -> None:
    assert ": name: missing" in refusal(tmp_path, "seed = 3\n")


def test_not_toml_names_line_and_column(tmp_path: Path) -> None:
    message = refusal(tmp_path, 'name = "a"\n[training\n')
    assert "not valid TOML: " in message
    assert "line 2" in message


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml: cannot be read: .*No such file"):
        load_config(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match=r"cannot be read: .*Is a directory"):
        load_config(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "é"'.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.toml: cannot be read: .*utf-8"):
        load_config(path)


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "run.toml"
    path.parent.mkdir()
    path.write_text('name = "a"\n[data]\ncorpus = "../corpus"\ntexts = "/elsewhere/texts.jsonl"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for given_path in (path, Path("deep/run.toml")):
        config = load_config(given_path)
        assert config.path == given_path
        assert config.data.corpus == tmp_path / "corpus"
        assert config.data.texts == Path("/elsewhere/texts.jsonl")
        assert config.record()["data"]["corpus"] == "../corpus"


def test_the_record_of_a_run_does_not_hold_its_place(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('name = "a"\n', encoding="utf-8")
    dumped = load_config(path).record()
    assert "path" not in dumped
    assert str(tmp_path) not in str(dumped)


def test_the_taxonomy_is_the_packaged_one_or_the_named_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('name = "a"\n', encoding="utf-8")
    assert load_config(path).load_taxonomy() is default_taxonomy()
    path.write_text('name = "a"\ntaxonomy = "mine.toml"\n', encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nversion = "1"\n[axis.a]\n'
        '[[a]]\nid = "x"\ndefinition = "X."\n[[a]]\nid = "y"\ndefinition = "Y."\n',
        encoding="utf-8",
    )
    assert load_config(path).load_taxonomy().axes["a"].label_ids == ("x", "y")
    (tmp_path / "mine.toml").unlink()
    with pytest.raises(TaxonomyError, match=r"mine\.toml: cannot be read"):
        load_config(path).load_taxonomy()


def test_there_are_shipped_configurations() -> None:
    assert {"base.toml", "tiny.toml"} <= {path.name for path in CONFIGS}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_shipped_configuration_loads(path: Path) -> None:
    if path.stem.endswith("-taxonomy"):
        assert load_taxonomy(path).axes
        return
    config = load_config(path)
    axes = config.load_taxonomy().axes
    if config.data.format == "corpus":
        assert (config.data.corpus / "annotations.jsonl").is_file()
    else:
        assert set(config.data.label_columns) == set(axes)
    for weights in (*config.training.label_weights.values(), config.training.unsure_weights):
        assert set(weights) <= set(axes)
