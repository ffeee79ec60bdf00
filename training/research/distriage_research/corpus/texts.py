"""Texts of a local collection -> the local text store."""

from __future__ import annotations

from pathlib import Path

from distriage.base.errors import CorpusError
from distriage.base.references import thread_key
from distriage.model.taxonomy import Taxonomy
from distriage_research.files import write_jsonl
from distriage_training.corpus.jsonl import read_jsonl
from distriage_training.corpus.records import valid_annotations
from distriage_training.corpus.texts import add_text, is_text, own_texts, read_texts


def import_texts(folder: Path, corpus: Path, texts: Path, taxonomy: Taxonomy) -> tuple[int, int, int]:
    """Copy the texts of annotated reports, and all unlabelled ones, from a folder into the local store.

    Args:
        folder: Searched for `*.jsonl` and `*.jsonl.gz` with id, title and body.
        corpus: Folder of the annotations; a text under an earlier name of its repository takes the annotated id.
        texts: The store; unlabelled reports go to `unlabelled.jsonl` beside it. Both keep earlier imports.

    Returns:
        Number of texts stored, of unlabelled reports, and of annotated reports that still lack a text.

    Raises:
        CorpusError: missing folder, folder without a text, invalid line, or invalid annotations.
    """
    if not folder.is_dir():
        raise CorpusError(f"{folder}: not a folder; expected one with *.jsonl or *.jsonl.gz text files")
    annotations = valid_annotations(corpus / "annotations.jsonl", taxonomy)
    wanted = {thread_key(annotation.id): annotation.id for annotation in annotations}
    others = texts.with_name("unlabelled.jsonl")
    known = read_texts([others, texts])  # of earlier imports
    found = 0
    for path in sorted([*folder.rglob("*.jsonl"), *folder.rglob("*.jsonl.gz")]):
        for position, (number, row) in enumerate(read_jsonl(path)):
            if position == 0 and not is_text(row):
                break  # another kind of file
            add_text(known, row, f"{path}:{number}")
            found += 1
    if not found:
        raise CorpusError(f"{folder}: no text found; expected *.jsonl or *.jsonl.gz with id, title and body")
    annotated = {wanted[key]: text for i, text in known.items() if (key := thread_key(i)) in wanted}
    unlabelled = {i: text for i, text in known.items() if thread_key(i) not in wanted}
    stored, rest = (
        write_jsonl(file, ({"id": i, "title": title, "body": body} for i, (title, body) in part.items()))
        for file, part in ((texts, annotated), (others, unlabelled))
    )
    return stored, rest, len({*wanted.values()} - annotated.keys() - read_texts(own_texts(corpus)).keys())
