"""Every error that Distriage raises on purpose.

DistriageError                 anything a user can fix; the command line prints it as one line, exit code 2
├── InputError                 a report that cannot be read: empty, too large, binary, not JSON
├── TaxonomyError              a label, axis or taxonomy version that does not exist or does not fit
├── BundleError                a model bundle that is missing, truncated, swapped or mislabelled
├── ConfigError                a configuration file with an unknown key or a value out of range
├── CorpusError                annotations or texts that break the schema, or leak between splits
├── WorkerError                a process of a pool died
├── MissingExtraError          a command whose extra (`train`, `serve`) is not installed
└── GitHubError                GitHub could not be reached or refused
    ├── RefusedError           GitHub refused for good; carries the status
    │   └── NotFoundError      deleted, or does not exist, or not for this token
    │       └── TransferredError   the issue is in another repository now
    ├── BrokenError            GitHub itself fails
    ├── LostAnswerError        a write may or may not have been carried out
    └── RateLimitError         the rate limit is reached; carries the time at which it ends

A message names the place, the value found and what was expected, on one line.
"""

from __future__ import annotations


class DistriageError(Exception):
    """Base of all errors of this package. `str(error)` is one line, fit for a person."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class InputError(DistriageError):
    """A report that cannot be classified as given."""


class WorkerError(DistriageError):
    """A process of a pool died and its answers are missing; the work can be repeated."""


class TaxonomyError(DistriageError):
    """An unknown axis or label, or a taxonomy of another version."""


class BundleError(DistriageError):
    """A model bundle that fails verification."""


class ConfigError(DistriageError):
    """A configuration that is not valid."""


class CorpusError(DistriageError):
    """Corpus data that is not valid."""


class MissingExtraError(DistriageError):
    """A command needs an optional part of Distriage."""


class GitHubError(DistriageError):
    """GitHub could not be reached, or refused the request.

    Attributes:
        status: HTTP status of GitHub's answer; None if there was none, or if the error's class says enough.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class RefusedError(GitHubError):
    """GitHub refused a request for good.

    Attributes:
        status: 401, 403, 404, 410 or 422; for a write also a redirect, if the issue or the repository moved.
        already_exists: The thing to create exists already.
    """

    status: int

    def __init__(self, message: str, status: int, *, already_exists: bool = False) -> None:
        super().__init__(message, status)
        self.already_exists = already_exists


class NotFoundError(RefusedError):
    """The issue does not exist, was deleted, or is private."""

    def __init__(self, message: str, status: int = 404) -> None:
        super().__init__(message, status)


class TransferredError(NotFoundError):
    """The issue was transferred to another repository."""


class BrokenError(GitHubError):
    """GitHub itself fails repeatedly; a smaller request may succeed."""


class LostAnswerError(GitHubError):
    """A write without an answer: it may or may not have been carried out."""


class RateLimitError(GitHubError):
    """The rate limit is used up.

    Attributes:
        reset_epoch_s: Unix time in seconds at which requests are accepted again.
    """

    def __init__(self, message: str, reset_epoch_s: float) -> None:
        super().__init__(message)
        self.reset_epoch_s = reset_epoch_s
