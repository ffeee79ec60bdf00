"""Every error that Distriage raises on purpose.

DistriageError                 anything a user can mend; the command line prints it as one line, exit code 2
├── InputError                 a report that cannot be read: empty, too large, binary, not JSON
├── TaxonomyError              a label, axis or taxonomy version that does not exist or does not fit
├── BundleError                a model bundle that is missing, truncated, swapped or mislabelled
├── ConfigError                a configuration file with an unknown key or a value out of range
├── CorpusError                annotations or texts that break the schema, or leak between splits
├── MissingExtraError          a command whose extra (`train`, `serve`) is not installed
└── GitHubError                GitHub could not be reached or refused
    ├── NotFoundError          no such issue, or a private one that the token cannot see
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
    """GitHub could not be reached, or refused the request."""


class NotFoundError(GitHubError):
    """The issue does not exist, was deleted, or is private."""


class RateLimitError(GitHubError):
    """The rate limit is used up.

    Attributes:
        reset_epoch_s: Unix time in seconds at which requests are accepted again.
    """

    def __init__(self, message: str, reset_epoch_s: float) -> None:
        super().__init__(message)
        self.reset_epoch_s = reset_epoch_s
