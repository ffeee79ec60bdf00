"""Hardware that a report asks for, lacks or gives as an example, rather than uses. Pure."""

from __future__ import annotations

import re

from distriage.base.texts import regex
from distriage.facts.scanning import Passage

# Words before a number that is not a count: part of another ("0.8.5 server"), of a name ("ZeRO-3 nodes", "HTTP 500
# server", "RTX 6000 GPUs", "Windows 10 machine"), or of a supposed machine.
_NO_COUNT = regex(
    r"(?:\d[.,]|第\s?|\b(?:meant|intended|designed|written|tuned) for |(?<!from )\b\d{1,3} to "
    r"|\b(?:file|script|template|project|repository) that allocates "
    r"|\b(?:zero|stage|http|port|cuda|python|version|rank|step|epoch|rtx|gtx|quadro|pro|max|llama|qwen|capability"
    r"|(?:more|fewer|less) than|beyond|windows|ubuntu|debian|centos|rhel|rocky|alma|suse|leap|fedora|macos|linux"
    r"|server|js|base)[ -]"
    r"|example, suppose [^\n.?]{0,80})\Z",
    re.I,
)
_NO_COUNT_CHARS = 90  # at most
# "The model needs 8x A100"; a job and a reproduction use what they ask for
_DEMAND = regex(
    r"(?P<uses>\b(?:you|reproduction|job|pod|slurm) (?:only |just )?)?"
    r"(?:(?<=\w )(?:needs?|requires?|required|asks? for|allocates?) [^\n.;]{0,12}"
    r"|\b(?:papers?|authors|tutorial|readme|docs|documentation|blog|guide)"
    r" (?:use[sd]?|trained (?:it |this )?(?:on|with)|ran (?:it )?on|says?|recommends?|assumes?) (?:at least )?)\Z",
    re.I,
)
_DEMAND_CHARS = 60  # at most
_REQUIRED = regex(r"\S{1,12} (?:[\w-]{1,12} ){1,3}(?:is|are) (?:required|needed|recommended|necessary)\b", re.I)
# "8x A100, which we lack", "8x A100, but I own 4"; not "2 GPUs, but I have seen it once"
_LACKED = regex(
    r"[^\n.;]{0,50}?[ .;,] ?(?:we|i) "
    r"(?:(?:lack|(?:do not|don't|cannot|can't) (?:have|own|afford))(?: (?:it|them|those|that|enough)\b|[.,;!\n]|\Z)"
    r"|(?:(?:only|just) (?:have|own)|(?:have|own) (?:only|just)|(?:(?<=but i )|(?<=but we ))(?:have|own)) "
    r"(?:\d|(?:one|two|four|eight)\b|an? (?:single )?(?:gpu|card|rtx|[a-z]{1,3}\d)))",
    re.I,
)
# "8x A100 is more than we have"
_TOO_MUCH = regex(
    r"(?:(?:[\w×*()-]{0,6}\d[\w×*()-]{0,8}|gpus?|cards?|nvidia|nodes|machines) ){1,4}(?:is|are) "
    r"(?:more than (?:we|i|(?:our|my|many|most) \w{2,14}) (?:have|has|owns?|can|could)\b"
    r"|too (?:many|much) for (?:me|us|our|my)\b)",
    re.I,
)
_PLAN = regex(r"\broadmap\b|\[rfc\]", re.I)  # names cards that are to be supported
_DOCUMENT = regex(r"\[docs?\]|(?:\A|: )\W{0,4}docs?:|\breadme\b", re.I)  # names an example's
# Words of a report that an example was run or fails
_WAS_RUN = regex(
    r"\b(?:i|we) (?:\w{2,10} )?(?:run|ran|running|use|used|using|tried|try|launch(?:ed)?|train(?:ed)?|start(?:ed)?)\b"
    r"|\b(?:saw|nan|oom|hangs?|hung|stuck|crash(?:es|ed)?|fail(?:s|ed|ure)?|can ?not|\w{0,30}errors?(?! in\b))\b"
)


def is_no_count(text: str, place: int) -> bool:
    """Whether the text around a number at a place makes it part of a name or of another number, or of a wish."""
    return bool(_NO_COUNT.search(text, max(0, place - _NO_COUNT_CHARS), place)) or is_lacked(text, place)


def is_demanded(text: str, place: int) -> bool:
    """Whether something other than the reporter's job asks for the hardware at a place, or has it."""
    demand = _DEMAND.search(text, max(0, place - _DEMAND_CHARS), place)
    return not demand["uses"] if demand else _REQUIRED.match(text, place) is not None


def is_lacked(text: str, place: int) -> bool:
    """Whether the hardware at a place is said to be more than the reporter has."""
    if _TOO_MUCH.match(text, place):
        return True
    return bool(_LACKED.match(text, place) and _DEMAND.search(text, max(0, place - _DEMAND_CHARS), place))


def is_example(title: str, own: Passage, output: Passage) -> bool:
    """Whether the hardware and commands are those of a plan or of a documentation's example which nobody ran."""
    if _PLAN.search(title):
        return True
    return bool(_DOCUMENT.search(title)) and not (output.text or _WAS_RUN.search(own.words))
