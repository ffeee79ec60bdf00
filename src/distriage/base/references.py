"""Names of repositories and issues, `owner/repo`, `owner/repo#12`, and addresses of pages. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from distriage.base.errors import InputError
from distriage.base.texts import regex

REPOSITORY: Final = regex(r"[A-Za-z0-9][\w.-]{0,99}/(?!\.{1,2}$)[\w.-]{1,100}")
# Repositories that moved: the same thread has two names. Lower case; old -> new.
RENAMED: Final = {
    "microsoft/deepspeed": "deepspeedai/deepspeed",
    "microsoft/deepspeedexamples": "deepspeedai/deepspeedexamples",
    "microsoft/deepspeed-mii": "deepspeedai/deepspeed-mii",
    "microsoft/megatron-deepspeed": "deepspeedai/megatron-deepspeed",
    "pytorchlightning/pytorch-lightning": "lightning-ai/pytorch-lightning",
    "pytorch/fairseq": "facebookresearch/fairseq",
    "nvidia/nemo": "nvidia-nemo/speech",
    "uber/horovod": "horovod/horovod",
    "apache/incubator-mxnet": "apache/mxnet",
    "dmlc/mxnet": "apache/mxnet",
    "apache/incubator-tvm": "apache/tvm",
    "dmlc/tvm": "apache/tvm",
    "opencv/dldt": "openvinotoolkit/openvino",
    "rusty1s/pytorch_geometric": "pyg-team/pytorch_geometric",
}
_REFERENCE: Final = regex(
    r"^(?:(?:https?://)?(?P<host>[\w.-]+)/(?:(?:api/v3/)?repos/)?)?(?P<repository>[A-Za-z0-9][\w.-]*/(?!\.{1,2}[#/])[\w.-]+)"
    r"(?:#|/issues/|/pull/)(?P<number>[1-9]\d{0,9})(?:[#?/].*)?$"
)
_ISSUE: Final = regex(r"([^\s/#]+/[^\s/#]+)#\d+")
_WEB: Final = regex(r"https?://[^\s\"'<>]+")


@dataclass(frozen=True, slots=True)
class IssueReference:
    """`owner/repo` and number of an issue."""

    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"

    @property
    def path(self) -> str:
        """Where GitHub's REST API has it."""
        return f"/repos/{self.repository}/issues/{self.number}"


def check_repository(name: str) -> None:
    """Refuse a name that no repository has.

    Raises:
        InputError: it is not `owner/repo`.
    """
    if not REPOSITORY.fullmatch(name):
        raise InputError(f"{name!r}: expected owner/repo")


def parse_reference(text: str, hosts: Collection[str] = ()) -> IssueReference:
    """Read `owner/repo#12` or the issue's URL.

    Args:
        hosts: Allowed in a URL; any if empty.

    Raises:
        InputError: another form, or a URL of another host.
    """
    match = _REFERENCE.match(text.strip())
    if match is None:
        raise InputError(f"{text!r}: expected owner/repo#number or the issue's URL")
    if hosts and match["host"] and match["host"].lower() not in hosts:
        raise InputError(
            f"{text!r}: {match['host']}; expected an issue of github.com (GITHUB_API_URL names another GitHub)"
        )
    return IssueReference(match["repository"], int(match["number"]))


def reference_of(item: Mapping[str, object]) -> str | None:
    """The name of an issue in JSON of ours or of GitHub's: its `id`, or `owner/repo#12` from its address.

    GitHub's own `id` is a row of its database; `html_url` names the issue, and so does `url` in output of `gh`.

    Returns:
        None if the item has neither.
    """
    if isinstance(given := item.get("id"), str) and given:
        return given
    for key in ("html_url", "url"):
        if isinstance(url := item.get(key), str):
            with suppress(InputError):  # of a server whose addresses have another form
                return str(parse_reference(url))
    return None


def repository_of(identifier: str) -> str | None:
    """`owner/repo` in lower case of a report named `owner/repo#12`; None for other names."""
    named = _ISSUE.fullmatch(identifier)
    return None if named is None else named[1].casefold()


def thread_key(identifier: str) -> str:
    """The same string for all names of one thread."""
    repository, _, number = identifier.lower().partition("#")
    return f"{RENAMED.get(repository, repository)}#{number}"


def web_link(url: str) -> str:
    """An address that is safe as a link; empty if not of the web, as `javascript:` would act."""
    return url if _WEB.fullmatch(url) else ""
