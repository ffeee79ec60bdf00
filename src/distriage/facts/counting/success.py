"""Numbers of GPUs or nodes with which it works, so that the report is about others. Pure."""

from __future__ import annotations

from distriage.base.texts import regex

# "It works with 2 GPUs", a table's row "| 2 GPUs | ok |": the report is about others, unless it "no longer works".
_FINE_BEFORE = regex(
    r"(?P<denied>(?:n't|\b(?:not|never|longer)) (?:\w{2,8} )?)?"
    r"(?:\b(?:works|worked|fine|ok|all right|no (?:problem|issue|error)s?|succeeds|passes)"
    r"|(?:n't|\b(?:can)?not) reproduce(?: it| this)?)"
    r" (?:fine |well |up )?(?:on|with|for|at|using|in|to) (?:an? |the |only |just )?\Z"
)
_FINE_BEFORE_CHARS = 40  # at most
# "It loads on 32 GPUs, not on 24"
_GOES_BEFORE = regex(r"\b(?:works|loads|trains|runs|starts) (?:on|with) \Z")
_BUT_NOT = regex(r"[^\n.;,]{0,20}, (?:but )?not (?:on|with) ")
_FINE_BEHIND = regex(
    r"[ :：`]{0,2}(?:there (?:is|was) no (?:problem|issue|error)"
    r"|(?:(?:is|are|was|were|trains?|runs?|works?) )?(?:fine|ok|all right|normally|works))\b"
    r"(?!-|\?| (?:only|until|but|for|with|on|under|if|tun\w+)\b)"
    r"|[^\n，。；;,.]{0,6}(?:正常|没问题|没有问题)"
)
_FINE_ROW = regex(r"[^|\n]{0,40}\|(?:[^|\n]{0,40}\|)?\s?(?:ok|works|fine|pass(?:ed|es)?|good|✅|✓)\s?\|?;?(?:\n|\Z)")
_ALL_BEFORE = regex(r"\ball (?:of )?(?:the |my |our )?\Z")  # "all 8 GPUs are OK"
_ALL_BEFORE_CHARS = 16  # at most
# ", but the loss is NaN", said of no other number
_FAILS_BEHIND = regex(
    r"(?![^\n.;?!]{0,120}\b(?:more|multi(?:ple)?|several|gpus|cards|nodes|machines|(?:one|single) (?:gpu|node)"
    r"|(?:on|with|using|for|at|to|than) (?:the )?(?:\d{1,4}|one|two|three|four|six|eight|all|both|fewer|less))\b)"
    r"[^\n.;?!]{0,80}?\b(?:but|then|hangs?|hung|stuck|fail(?:s|ed|ure)?|crash(?:es|ed)?|nan)\b"
)


def is_fine(words: str, start: int, end: int) -> bool:
    """Whether the number between two places of a folded text is one with which it is said to work."""
    if before := _FINE_BEFORE.search(words, max(0, start - _FINE_BEFORE_CHARS), start):
        return not before["denied"]
    if _FINE_BEHIND.match(words, end) or _FINE_ROW.match(words, end):
        return not _ALL_BEFORE.search(words, max(0, start - _ALL_BEFORE_CHARS), start)
    return bool(_BUT_NOT.match(words, end) and _GOES_BEFORE.search(words, max(0, start - _FINE_BEFORE_CHARS), start))


def fails_behind(words: str, end: int) -> bool:
    """Whether a sentence of a folded text goes on, from a place behind a number that works, with how it fails."""
    return bool(_FAILS_BEHIND.match(words, end))
