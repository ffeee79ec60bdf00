"""The table of versions that fit together, `matrix.csv`: from packages' own metadata on PyPI, and from read pages.

Network I/O. A wheel's metadata is a small file beside it, or the end of the wheel; of a source archive, the beginning.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib import resources
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
from packaging.version import InvalidVersion, Version

from distriage.base.disk import writing
from distriage.base.errors import DistriageError
from distriage.facts.compatibility.matrix import COLUMNS, RELEASES, Requirement
from distriage.facts.compatibility.requirements import PACKAGES, PYTHON, requirements_of
from distriage.github.http_client import open_client

PAGES: Final = "matrix_pages.csv"
_INDEX: Final = "https://pypi.org/simple"
_LISTED: Final = {"Accept": "application/vnd.pypi.simple.v1+json"}
_FIRST: Final = {"torch": "1.13", "transformers": "4.20", "ray": "2.0", "tokenizers": "0.12"}
_END_BYTES: Final = 64 << 10  # of a wheel: the list of its files
_BEGIN_BYTES: Final = 256 << 10  # of a source archive
_WHEEL_TAG: Final = re.compile(r"-cp3(\d{1,2})-cp3\d{1,2}-(?:manylinux|linux)\w*_x86_64")
_PROJECT: Final = "https://pypi.org/project/{}/{}/"


class Release(NamedTuple):
    """A release on PyPI with the file whose metadata is read.

    Attributes:
        minors: Of Python 3, for which there are wheels; empty of a wheel for all.
    """

    version: Version
    date: str
    url: str
    minors: Sequence[int]


@dataclass(frozen=True, slots=True)
class Built:
    """The outcome: its rows, and the releases whose metadata could not be read."""

    rows: Sequence[Requirement]
    unread: Sequence[str]


def build(output: Path, progress: Callable[[str, int], None]) -> Built:
    """Write the table.

    Args:
        progress: Called with a package and the number of its releases.

    Raises:
        DistriageError: PyPI cannot be reached.
    """
    rows = [Requirement(*row) for row in _pages()]
    unread: list[str] = []
    with (
        open_client("PyPI cannot be reached", timeout=60, follow_redirects=True) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        for package in PACKAGES:
            releases = list(_releases(client, package))
            progress(package, len(releases))
            texts = list(pool.map(lambda release: _metadata(client, release.url), releases))
            unread += [f"{package} {one.version}" for one, text in zip(releases, texts, strict=True) if not text]
            rows += [_all_releases(package, releases), *_rows(package, releases, texts)]
    rows.sort(key=lambda row: (row.package, row.needs, Version(row.first)))
    with writing(output), output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    return Built(rows, unread)


def _pages() -> Iterator[Sequence[str]]:
    """Rows read by hand from pages that are not metadata."""
    text = resources.files(__package__).joinpath(PAGES).read_text(encoding="utf-8")
    lines = csv.reader(line for line in io.StringIO(text) if not line.startswith("#"))
    next(lines)
    yield from lines


def _releases(client: httpx.Client, package: str) -> Iterator[Release]:
    """Final releases that were not taken back, the oldest first."""
    files = _get(client, f"{_INDEX}/{package}/", _LISTED).json()["files"]
    by_version: dict[Version, list[dict[str, Any]]] = {}
    least = Version(_FIRST.get(package, "0"))
    for file in files:
        version = _version(file["filename"], package)
        if version is not None and not version.is_prerelease and version >= least and not file.get("yanked"):
            by_version.setdefault(version, []).append(file)
    for version, found in sorted(by_version.items()):
        linux = [one for one in found if _WHEEL_TAG.search(one["filename"])]
        any_wheel = [one for one in found if one["filename"].endswith(".whl")]
        archive = [one for one in found if one["filename"].endswith(".tar.gz")]
        minors = sorted({int(_WHEEL_TAG.search(one["filename"])[1]) for one in linux})  # type: ignore[index]
        if file := next(iter([*linux, *any_wheel, *archive]), None):
            yield Release(version, min(one["upload-time"] for one in found)[:10], file["url"], minors)


def _version(filename: str, package: str) -> Version | None:
    name = package.replace("-", "[-_.]")
    found = re.match(rf"{name}-(.+?)(?:-(?:\d\w*-)?(?:cp|py)\d.*\.whl|\.tar\.gz)$", filename, re.I)
    try:
        return Version(found[1]) if found else None
    except InvalidVersion:
        return None


def _all_releases(package: str, releases: Sequence[Release]) -> Requirement:
    versions = [str(one.version) for one in releases]
    history = f"https://pypi.org/project/{package}/#history"
    return Requirement(package, versions[0], versions[-1], RELEASES, " ".join(versions), releases[-1].date, history)


def _rows(package: str, releases: Sequence[Release], texts: Sequence[str]) -> Iterator[Requirement]:
    """One row for each run of releases with the same requirement."""
    wanted = [_wanted(package, release, text) for release, text in zip(releases, texts, strict=True)]
    for needs in sorted({name for one in wanted for name in one}):
        cells = ((one.get(needs, ""), release) for one, release in zip(wanted, releases, strict=True))
        for specifier, run in groupby(cells, key=itemgetter(0)):
            same = [release for _, release in run]
            if specifier:
                begin, last = same[0], str(same[-1].version)
                source = _PROJECT.format(package, begin.version)
                yield Requirement(package, str(begin.version), last, needs, specifier, begin.date, source)


def _wanted(package: str, release: Release, text: str) -> dict[str, str]:
    head = HeaderParser().parsestr(text)
    found = requirements_of(head.get_all("Requires-Dist", ()), head.get("Requires-Python"))
    if package == "torch" and release.minors and PYTHON in found:  # it has no source archive: no wheel, no torch
        found[PYTHON] += f",<3.{max(release.minors) + 1}"
    return found


def _metadata(client: httpx.Client, url: str) -> str:
    """The metadata of a wheel or of a source archive; empty if it has none."""
    beside = client.get(f"{url}.metadata")
    if beside.status_code == httpx.codes.OK:
        return beside.text
    try:
        return _in_wheel(client, url) if url.endswith(".whl") else _in_archive(client, url)
    except (httpx.HTTPError, zipfile.BadZipFile, zlib.error, KeyError, StopIteration):
        return ""


class _Far(io.RawIOBase):
    """A file on the net, of which only the wanted parts are read."""

    def __init__(self, client: httpx.Client, url: str) -> None:
        self._client, self._url, self._place = client, url, 0
        end = client.get(url, headers={"Range": f"bytes=-{_END_BYTES}"})
        end.raise_for_status()
        self._end = end.content
        self._size = int(end.headers["Content-Range"].rpartition("/")[2])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def read(self, size: int = -1) -> bytes:
        stop = self._size if size < 0 else min(self._size, self._place + size)
        kept_from = self._size - len(self._end)
        if self._place >= kept_from:
            part = self._end[self._place - kept_from : stop - kept_from]
        elif stop <= self._place:
            return b""
        else:
            part = self._client.get(self._url, headers={"Range": f"bytes={self._place}-{stop - 1}"}).content
        self._place += len(part)
        return part


def _in_wheel(client: httpx.Client, url: str) -> str:
    with zipfile.ZipFile(_Far(client, url)) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1)
        return wheel.read(name).decode("utf-8", "replace")


def _in_archive(client: httpx.Client, url: str) -> str:
    """The `PKG-INFO` of an archive, which stands among its first files, and the requirements beside it."""
    begin = client.get(url, headers={"Range": f"bytes=0-{_BEGIN_BYTES - 1}"})
    text = zlib.decompressobj(wbits=31).decompress(begin.content).decode("utf-8", "replace")
    found = text.find("Metadata-Version:")
    return text[found : text.find("\0", found)] if found >= 0 else ""


def _get(client: httpx.Client, url: str, headers: dict[str, str]) -> httpx.Response:
    try:
        answer = client.get(url, headers=headers)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise DistriageError(f"{url}: {type(error).__name__}; expected PyPI's list of the package's files") from None
    return answer
