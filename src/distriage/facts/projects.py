"""The projects of `frameworks.toml`, and the project of a tracker. Pure except for reading the list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from typing import Final

from distriage.base.references import RENAMED, repository_of
from distriage.base.texts import packaged, table_in
from distriage.base.validation import Strict, field, read_entry
from distriage.facts.scanning import any_of
from distriage.facts.versions import VERSION

PYTORCH: Final = "PyTorch"
NCCL: Final = "NCCL"
_LEAST_NAME = 2  # characters; the `b` of `a/b` names nothing


class What(StrEnum):
    """The kind of a project."""

    LIBRARY = "library"
    FRAMEWORK = "framework"
    TRAINER = "trainer"
    SERVER = "server"
    COMMUNICATION = "communication"
    NATIVE = "native"
    OPERATOR = "operator"


class Pattern(Strict):
    """How a launcher, or a version without its product's name, is known.

    Attributes:
        starts: The words that a match begins with, in lower case.
    """

    starts: tuple[str, ...]
    pattern: str

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """`pattern`, compiled; {} stands for a version."""
        return re.compile(self.pattern.replace("{}", VERSION))


class Project(Strict):
    """One project; its fields are those of `frameworks.toml`."""

    name: str
    repositories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    at_home: tuple[str, ...] = ()
    what: What
    on: tuple[str, ...] = ()
    part_of: str | None = None
    distributed: bool = False
    in_domain: bool = True
    releases: bool = True
    platform: str | None = None
    stamps: tuple[Pattern, ...] = ()
    mentions: str | None = None
    launchers: Mapping[str, Pattern] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tracker:
    """Where a report was filed.

    Attributes:
        product: Developed there; None if the report's id names no repository.
        project: Its entry in the list, if known.
        spellings: Its names in its own tracker, in lower case.
        repository: In lower case, `owner/name`, or empty.
    """

    product: str | None = None
    project: Project | None = None
    spellings: tuple[str, ...] = ()
    repository: str = ""


@dataclass(frozen=True, eq=False)  # without slots, for cached properties
class Projects:
    """The list. Compared by identity, so that its cached properties go with it.

    Attributes:
        all: Name -> project, in the list's order.
    """

    all: Mapping[str, Project]

    @cached_property
    def names(self) -> Mapping[str, str]:
        """A project's name in any report, in lower case -> its name here."""
        return {spelling: project.name for project in self.all.values() for spelling in project.names}

    @cached_property
    def repositories(self) -> Mapping[str, Project]:
        """Tracker -> project."""
        return {repository: project for project in self.all.values() for repository in project.repositories}

    @cached_property
    def parts(self) -> frozenset[str]:
        """The parts of PyTorch that reports name like frameworks."""
        return frozenset(name for name, project in self.all.items() if project.part_of == PYTORCH)

    @cached_property
    def launchers(self) -> Mapping[str, Pattern]:
        """Name -> launcher, in the list's order."""
        return {name: launcher for project in self.all.values() for name, launcher in project.launchers.items()}

    @cached_property
    def starts_of_launchers(self) -> Sequence[str]:
        """The words of which a text in lower case holds one where a launcher may stand."""
        words = {word for launcher in self.launchers.values() for word in launcher.starts}
        return tuple(word for word in words if not any_of(words - {word}, word))

    def product_of(self, name: str | None) -> str | None:
        """The product that a framework is, or is a part of: PyTorch of `PyTorch FSDP`."""
        project = self.all.get(name or "")
        return (project.part_of if project else None) or name

    def library_of(self, name: str | None) -> str | None:
        """The library that a project computes with; None if its user chooses, if it uses none, or if unknown."""
        project = self.all.get(name or "")
        if project is None:
            return None
        if project.what is What.LIBRARY and not project.on:
            return project.name
        return next((one for one in project.on if self.all[one].what is What.LIBRARY), None)

    def is_a(self, name: str | None, what: What) -> bool:
        """Whether a project is in the list, and of a kind."""
        project = self.all.get(name or "")
        return project is not None and project.what is what

    def is_native(self, name: str | None) -> bool:
        """Whether a project itself is not written in Python; `llama.cpp` says so."""
        named_so = name is not None and name.endswith(".cpp")
        return named_so or self.is_a(name, What.COMMUNICATION) or self.is_a(name, What.NATIVE)

    def tracker_of(self, identifier: str) -> Tracker:
        """The tracker of a report named `owner/repo#12`.

        A tracker that is not in the list is of the project that its repository is called after, such as a fork's, else
        of the repository's own name.
        """
        repository = repository_of(identifier)
        return Tracker() if repository is None else _tracker(self, repository, identifier.partition("#")[0])

    def called(self, name: str) -> Project | None:
        """The project that a name in lower case means in any tracker."""
        if name in self.names:
            return self.all[self.names[name]]
        libraries = (project for project in self.all.values() if project.what is What.LIBRARY)
        return next((library for library in libraries if library.name.lower() == name), None)


@cache
def projects() -> Projects:
    """The packaged list."""
    return read_projects(packaged(__package__, "frameworks.toml"))


def read_projects(text: str) -> Projects:
    """Read a list like `frameworks.toml`; raises `DistriageError` for an entry that is not valid."""
    listed = {}
    for name, entry in table_in(text, "frameworks.toml").items():
        whole = {"name": name, **entry} if isinstance(entry, dict) else entry
        listed[name] = read_entry(Project, whole, f"frameworks.toml: {name}")
    return Projects(listed)


# Names of repositories that say nothing; their owner's name is used.
_NO_NAMES = frozenset({"client", "website", "docs", "examples", "server", "core", "sdk", "community", "main", "code"})


@lru_cache(maxsize=1000)
def _tracker(known: Projects, repository: str, written: str) -> Tracker:
    last = repository.rpartition("/")[2]
    project = known.repositories.get(RENAMED.get(repository, repository)) or known.called(last)
    if project is not None:
        called = (one.rpartition("/")[2] for one in project.repositories)
        return Tracker(project.name, project, _spellings([*project.names, *project.at_home, *called]), repository)
    if last in _NO_NAMES:
        last, written = repository.partition("/")[0], written.partition("/")[0]
    if len(last) < _LEAST_NAME:
        return Tracker()
    return Tracker(written.rpartition("/")[2], None, _spellings([last]), repository)


def _spellings(written: Sequence[str]) -> tuple[str, ...]:
    """Each name with its usual other spellings: `gluon-ts`, `gluon_ts`, `gluon ts`, `gluonts`."""
    return tuple(dict.fromkeys(re.sub("[-_ ]", sign, one) for one in written for sign in ("-", "_", " ", "")))
