"""Answers on standard output: for people, or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from distriage.answer.render import plain, shown
from distriage.answer.verdict import FailedRecord, Verdict
from distriage.base.errors import DistriageError
from distriage.base.terminal import counted, is_plain, output, say
from distriage.model.taxonomy import Taxonomy


def print_answers(
    answers: Iterator[Verdict | FailedRecord],
    taxonomy: Taxonomy,
    *,
    json_: bool,
    jsonl: bool,
    quiet: bool,
    own: str | None,
) -> tuple[int, int]:
    """Print answers in order, and failures on standard error unless `quiet`.

    Args:
        own: The folder of the own labels that were asked for.

    Returns:
        The number of answers, and of failures among them.
    """
    count, failures, without_own, documents = 0, 0, 0, list[str]()
    try:
        for count, answer in enumerate(answers, 1):
            if isinstance(answer, FailedRecord):
                failures += 1
                if not quiet:
                    say(answer.error)
            else:
                without_own += answer.own is None
            if json_:
                documents.append(answer.model_dump_json(indent=2))
            elif jsonl:
                sys.stdout.write(answer.model_dump_json() + "\n")
            elif not isinstance(answer, FailedRecord):
                if count - failures > 1:
                    sys.stdout.write("\n")
                _print_verdict(answer, taxonomy)
    except DistriageError:  # finished answers are not lost
        if documents:
            _print_documents(documents, several=True)
        raise
    if json_:
        _print_documents(documents, several=len(documents) != 1)
    say_without_own(own, without_own)
    return count, failures


def say_without_own(folder: str | None, count: int) -> None:
    """Say how many reports got none of the own labels, because they are of other repositories.

    Args:
        folder: That of the own labels, if any were asked for.
    """
    if folder is not None and count:
        from distriage.own.labels import MANIFEST, read_manifest

        repository = read_manifest(Path(folder) / MANIFEST).repository
        say(f"own labels are of {repository}; none for {counted(count, 'report')} of another repository")


def _print_documents(documents: Sequence[str], *, several: bool) -> None:
    sys.stdout.write(("[" + ",\n".join(documents) + "]" if several else documents[0]) + "\n")


def _print_verdict(verdict: Verdict, taxonomy: Taxonomy) -> None:
    if is_plain():
        sys.stdout.writelines(f"{line}\n" for line in plain(shown(verdict, taxonomy)))
    else:
        from distriage.answer.screen import print_parts  # with Rich, which takes a tenth of the time to one answer

        print_parts(output(), shown(verdict, taxonomy))
