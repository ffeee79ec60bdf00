"""Disks that take no more: one line, exit code 2, and what was there before stays whole."""

from __future__ import annotations

import errno
import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from distriage.base.disk import replaced, writing
from distriage.base.errors import InputError

from support.command_line import Command, assert_one_line
from support.past_issues import plain_history, write_history
from support.toys import annotation, texts, write_config, write_corpus, write_lines

FULL = os.strerror(errno.ENOSPC)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let the system refuse what would make a file longer, in bytes: whoever writes is told, in any language."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def full_disk(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENOSPC, FULL)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, FULL), "{place}: cannot be written: " + FULL),
        (OSError(errno.ENOSPC, FULL, "{place}/a"), "{place}/a: cannot be written: " + FULL),
        (FileExistsError(errno.EEXIST, "File exists", "{place}"), "{place}: cannot be written: File exists"),
        (PermissionError(errno.EACCES, "No", "{beside}"), "{place}: cannot be written: No"),
        (FileNotFoundError(errno.ENOENT, "No such file", "other"), "other: No such file"),
        (RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 64 vs 0"), "{place}: cannot be "),
        (Exception("Error while serializing: I/O error: File too large (os error 27)"), "{place}: cannot be written"),
    ],
)
def test_what_the_system_refuses_is_named(tmp_path: Path, error: Exception, said: str) -> None:
    if isinstance(error, OSError) and error.filename:
        error.filename = error.filename.format(place=tmp_path, beside=tmp_path.with_name(f".new-{tmp_path.name}"))
    with pytest.raises(InputError) as refused, writing(tmp_path):
        raise error
    assert str(refused.value).startswith(said.format(place=tmp_path))


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "x"), OSError("of a hub"), ValueError("unexpected")])
def test_other_errors_are_left_alone(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as left, writing(tmp_path):
        raise error
    assert left.value is error


def test_files_are_replaced_together_or_not_at_all(tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    with replaced(*files) as parts:
        for part in parts:
            part.write_text("before")
    with pytest.raises(InputError, match=FULL), replaced(*files) as (first, _):
        first.write_text("after")
        full_disk()
    assert content(tmp_path) == {"one": b"before", "two": b"before"}


@pytest.mark.parametrize(
    ("arguments", "function", "place"),
    [
        (("train", "run.toml"), "fit.train.train", "runs/tiny"),
        (("train", "run.toml", "--sparse-only"), "fit.train.refit_sparse", "runs/tiny"),
        (("export", "run.toml"), "release.export.export", "models"),
        (("index", "run.toml", "--model", "toy"), "release.index.add_index", "toy"),
    ],
)
def test_a_full_disk_is_one_line(
    command: Command,
    keyword_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    function: str,
    place: str,
) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'distriage[train]'")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy").symlink_to(keyword_bundle)
    write_config(tmp_path / "run.toml")
    monkeypatch.setattr(f"distriage_training.{function}", full_disk)
    assert_one_line(command(*arguments), f"{place}: cannot be written: {FULL}")


def test_what_pytorch_and_rust_cannot_write_is_one_line(research: Command, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'distriage[train]'")
    reports = write_lines(tmp_path / "reports.jsonl", texts(f"a/b#{n}" for n in range(4)))
    encoder = {"layers": 1, "max_tokens": 16}
    config = write_config(tmp_path / "run.toml", encoder=encoder, data={"corpus": "none"})
    with files_of_at_most(1 << 20):
        done = research("pretrain", config, "--reports", reports, "--batch-size", 4, "--output", tmp_path / "out")
    assert done.code == 2 and done.err.splitlines()[-1].startswith(
        f"distriage: {tmp_path / 'out'}: cannot be written: "
    )


def test_an_encoder_is_replaced_when_the_new_one_is_whole(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'distriage[train]'")
    from distriage_training.config import EncoderConfig
    from distriage_training.fit.encoder import load_encoder, load_tokenizer, save_encoder

    settings = EncoderConfig(layers=1)
    encoder, tokenizer, folder = load_encoder(settings), load_tokenizer(settings), tmp_path / "encoder"
    save_encoder(encoder, tokenizer, folder)
    before = content(folder)
    with pytest.raises(InputError), writing(folder), files_of_at_most(1 << 20):
        save_encoder(encoder, tokenizer, folder)
    assert content(folder) == before
    save_encoder(encoder, tokenizer, folder)
    assert content(folder) == before and [file.name for file in tmp_path.iterdir()] == ["encoder"]


def test_own_labels_and_their_page_stay_what_they_were(
    command: Command, keyword_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is learned for the second time is learned once: only to write it fails, at four places."""
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'distriage[learn]'")
    from distriage_training.learn import run as learning

    history, own = tmp_path / "issues.jsonl", tmp_path / "own"
    run = ("learn", "--issues", history, "--model", keyword_bundle, "--output", own)
    write_history(history, plain_history(150))
    placed: list[str] = []
    replace = Path.replace
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda part, file: placed.append(file.name) or replace(part, file))
        assert command(*run).code == 0
    assert placed[-2:] == ["own.npz", "own.json"]  # a server that sees a new manifest finds the new heads
    before = content(own)
    write_history(history, plain_history(180))
    kept: list[learning.Result] = []
    learn = learning.learn_and_measure
    monkeypatch.setattr(learning, "learn_and_measure", lambda *given: (kept or kept.append(learn(*given)) or kept)[0])
    for size in (1000, len(before["own.json"]) - 100, len(before["own.npz"]), len(before["report.html"]) - 100):
        with files_of_at_most(size):
            done = command(*run)
        assert_one_line(done, f"{own}: cannot be written")
        assert content(own) == before


def test_the_corpus_stays_whole(research: Command, tmp_path: Path) -> None:
    rows = [annotation(f"a/b#{n}", split="test" if n % 2 else "train") for n in range(200)]
    corpus = write_corpus(tmp_path / "corpus", rows)
    store = tmp_path / "texts.jsonl"
    write_lines(tmp_path / "in" / "all.jsonl", texts(f"a/b#{n}" for n in range(100)))
    publish = ("corpus", "publish", "--corpus", corpus)
    bring = ("corpus", "import", tmp_path / "in", "--corpus", corpus, "--texts", store)
    assert research(*publish).code == research(*bring).code == 0
    write_lines(tmp_path / "in" / "all.jsonl", texts(f"a/b#{n}" for n in range(100, 200)))
    write_corpus(tmp_path / "corpus", [*rows, annotation("a/b#777")])
    before = content(tmp_path)
    with files_of_at_most(300):
        published, brought = research(*publish), research(*bring)
    assert_one_line(published, f"{corpus / 'data'}: cannot be written")
    assert_one_line(brought, f"{store}: cannot be written")
    assert content(tmp_path) == before


def test_a_line_that_broke_off_is_cut_where_nothing_more_can_be_written(tmp_path: Path) -> None:
    from distriage_research.files import mend_last_line

    store = tmp_path / "texts.jsonl"
    whole = "".join(json.dumps(row) + "\n" for row in texts(f"a/b#{n}" for n in range(50)))
    store.write_text(whole + '{"id": "a/b#5')
    with files_of_at_most(300):
        mend_last_line(store)
    assert store.read_text() == whole


def test_figures_stay_what_they_were(command: Command, keyword_bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'distriage[train]'")
    question = {"kind": "question", **dict.fromkeys(("stage", "symptom", "cause", "fix"))}
    rows = [annotation("a/b#1", symptom="oom", fix="tuning"), annotation("a/b#2", symptom="leak", fix="patch")]
    rows += [annotation("a/b#3", **question), annotation("c/d#1", symptom="oom", fix="patch", split="validation")]
    rows = [{**row, "origin": "restated"} for row in rows]
    corpus = write_corpus(
        tmp_path / "corpus", rows, {row["id"]: (f"Strange {n}", "body") for n, row in enumerate(rows)}
    )
    config = write_config(tmp_path / "run.toml", data={"corpus": str(corpus), "limit": None})
    run = ("evaluate", config, "--no-baselines", "--output", tmp_path / "out", "--model", keyword_bundle)
    assert command(*run).code == 0
    before = content(tmp_path / "out")
    with files_of_at_most(len(before["report.md"]) - 10):
        done = command(*run)
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith(f"distriage: {tmp_path / 'out'}: cannot be written: ")
    assert content(tmp_path / "out") == before
