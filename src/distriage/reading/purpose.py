"""The purpose of a report: to describe a failure, to explain one, or neither. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from distriage.base.texts import folded, packaged_table, regex
from distriage.facts.scanning import any_of, matches_at, places, stands_before
from distriage.segments import Kind, Segments
from distriage.segments.roles import names_failure, quotes_exception, vocabulary

# A reporter who says how to fix the code.
_MENDS = regex(
    r"should (?:probably |gracefully |explicitly |also )?"
    r"(?:fix|handle|skip|throw|raise|allow|state|check|pass on|not block|be able to fix"
    r"|be (?:removed|replaced|changed|renamed|corrected))(?![\w?])"
    r"|(?:fix (?:is|would be|should be)|culprit is|root cause is)\b"
    r"(?! (?:still |yet |much |very |highly |really )?"
    r"(?:not\b|un(?:known|clear|certain)|open\b|hard\b|great|nice|good|appreciated|welcome|helpful|needed)"
    r"|\s?[.,;?!]|\s?\Z)"
    r"|causing it to |introduced (?:in|by) (?:#\d|pr |commit)|(?:probably|like it) needs to "
)
# A reporter who has changed the code, names its line, or heads a part of the report with the cause.
_FOUND = regex(
    r"(?:i changed the (?:code|line)|(?:i|we) (?:fixed|patched))\b(?! it by up)|after patching"
    r"|patched (?:it|this|locally)|caused by #\d"
    r"|fixed by (?:chang|add|remov|replac|mov)|be fixed (?:by|with)\b|the (?:issue|problem|bug) is that"
    r"|works after (?:chang|add|remov|replac|mov)\w{1,4} (?:the |this )?(?:line|code|`)"
    r"|(?:what i found|root cause(?: analysis)?|analysis|(?:suggested|proposed) (?:fix|solution|change)"
    r"|why it happens|## cause|## where)[^\S\n]{0,3}[*_:#]{0,3}[^\S\n]{0,3}(?:\n|\Z)"
    r"|this (?:is|happens) because\b|this is due to|the consequence is "
    r"|(?:problem|issue) (?:is|was) (?:re)?solved by "
    r"|fix should |opened a (?:pr\b|pull)"
    r"|it originates? from|the current code\b|quick fix (?:below|is|would|:)"
    r"|propose (?:some|a|the|these|to) (?:\w{1,12} )?(?:modification|change|fix|patch)"
    r"|is (?:it|this|that|this combination) (?:\w{1,12} )?(?:intended|allowed)\b"
    r"|my question is,? how|how can i use |(?<=we )know the reason|(?<=we think we )know the reason"
    r"|just for tracking|remind me to|on purpose|consider adding (?:th|a )|users told us|consequence:"
    r"|(?:(?<=clean )|(?<=proper )|(?<=recommended ))way to "
    r"|this pr \S{0,80} ?(?:introduces|breaks|causes)|lines in [\w./]{1,60} (?:file )?that (?:trigger|cause)"
    r"| (?:fixed|gone)\b(?:(?<=error fixed)|(?<=error is fixed)|(?<=error is gone)|(?<=problem is gone))(?! in)"
    r"|i will work on (?:it|this|the)|will send a p(?:r\b|ull)"
    r"|figured (?:out )?the (?:source|cause|reason)"
    r"|the (?:cause|reason)(?: (?:of|for|behind) (?:(?:the|this) [a-z]{3,10}|this|it|that))? is "
    r"(?!un|not|still|(?:a |an |very |really )?(?:mystery|puzzle|hard|open|beyond))"
    r"|(?:package|wheel|release) (?:doesn't|does not|didn't) (?:include|contain|ship)"
    r"|since (?:the )?(?:[\w-]{1,30} ){0,5}(?:change|pr|commit|pull request)\b[^\n.,;?]{0,40}?"
    r"(?:#\d|\bv?\d{1,3}\.\d|\b(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40}\b)"
    r"|(?:change|commit|pr) (?:that|which) (?:introduced|broke|caused|causes|breaks)\b"
    r"|bisect(?:ed|ing)\b(?! (?:no|nothing|without)\b)"
    r"|narrowed (?:it|this|the \w{1,12}) (?:further )?down|commit by commit"
    r"|around the \w{1,20} should do\b|following workaround"
    r"|(?<!do )(?<!should )we (?:need to (?:modify|fix|handle)|should (?:accomplish|implement|delete|remove))\b"
    r"|(?:i|we) traced (?:it|this)\b(?! (?:to )?(?:no|nothing|without)\b)"
    r"|what i think is (?:missing|wrong)\b|(?:can|could|may) be solved (?:by|using|with)\b"
    r"|(?:(?<=will )|(?<=['’]ll )|(?<=can )|(?<=happy to )|(?<=going to ))send (?:out )?a fix\b|by construction\b"
    r"|\.(?:py|cc|cu|cpp|h)[`)]{0,2},?\s?(?:line \d|#l\d|\((?:around )?l(?:ine )?\d|:\d{2,5}(?![\d)]))"
    r"|line \d{2,5} of `?[\w/]{1,80}\.|lines? \d{1,5}(?: to \d{1,5})?\s{1,9}in\s{1,9}[0-9a-f]{7}\b|#l\d{1,5}"
)
_PATCH = ("diff --git ", "\n+++ b/", "\n@@ -")
# It is denied, hoped or asked.
_DOUBT = regex(r"n[o'’]t\b|\b(?:no|none of|nothing|idea|great|hope|some(?:one|body)|which|what|whether|if)\b")
# Who names places in the code and says how it comes about knows the cause.
_CODE = regex(
    r"`[^`\n]{0,60}(?:\w\(|\w\.\w|::|\w_\w)[^`\n]{0,60}`|\b[\w/.-]{1,60}\.(?:py|cuh?|cc|cpp|h)\b|\b\w{2,40}\(\)|\b\w{1,30}::\w+"
)
_LEAST_MECHANISMS, _LEAST_TOGETHER = 2, 4
_CHORE = regex(
    r"(?:\s?\[[^\]\n]{0,40}\]|\s?[a-z]{2,12}(?:\([\w-]{1,20}\))?:){0,4}\s?"
    r"(?:drop|remove|bump|upgrade|update|refactor|rename|clean ?up|deprecate|migrate|move|delete|document|backport"
    r"|revert|switch to|unpin|pin|retire|replace|tracking|track|sync|withdrawn|release \d"
    r"|add (?:docs?|documentation|tests?|ci)|rfc|roadmap)\b(?=:?\s)(?! (?:in|of|on|after|when|with|from|is|to \d)\b)"
)
_NEWS = regex(
    r".{0,200}?(?:(?:工作|月度|每周)总结|周报|月报|weekly (?:report|digest|summary)|monthly (?:report|summary))"
    r"|\W{0,4}(?:announcement|announcing|release notes|end[ -]of[ -](?:support|life))\b"
    r"|(?:[\w-]{1,30} ){1,3}v?\d{1,3}\.\d[\w.-]{0,20} (?:is |has been )?(?:now )?released\W{0,4}\Z"
)
# A title that is an advisory's.
_ADVISORY = regex(r"\W{0,2}(?:security\W{0,2}[\]:]|ghsa-)")
# The reporter has found what it was, or what cures it: in the title, in the text, and denied behind.
_SOLVED_TITLE = regex(r"\W{0,2}(?:(?:re)?solved|已解决)[\])】:：]|.{1,250}[\[(【](?:(?:re)?solved|已解决)[\])】]\Z")
_SOLVED = regex(
    r"\n\W{0,4}(?:update|edit)\W{1,6}(?:this is |it is )?(?:re)?solved\b"
    r"|(?:\bi am|\bi['’]m|\bi will|\bi['’]ll|\bso|,) clos(?:e|ing) (?:this|it|the issue)(?: issue| now)?(?=[.!;,\n])"
    r"|(?:solves|solved|fixes|fixed|cures|cured) (?:it|the (?:problem|issue|hang|error|crash)|my (?:problem|issue))"
    r"(?=[.!;,)\n])"
    r"|after (?!(?:a while|some time|(?:about |some |a few )?\d* ?(?:seconds?|minutes?|hours?|steps?))\b)"
    r"[^\n.;,]{3,60} it (?:runs|works)(?: fine| well| again)?(?=[.!\n])"
    r"|turn(?:s|ed) out (?:that )?(?:(?:i|we) (?:forgot|had forgotten|mis|did not|didn't)|(?:our|my) own\b)"
    r"|(?<![没未么何])解决了(?=[。！!\n])|(?:后来发现|原来)是|后来发现[^\n，。]{0,30}(?:错|没[关开装])"
    r"|(?:关掉|改成\S{1,12}|换成\S{1,12}|设成\S{1,12})(?:之后|以后|后)?就好了"
)
_STILL = regex(r"[^\n]{0,80}?(?:\b(?:but|however|yet|still|again)\b|但|又|仍|还是)")
_UNSOLVED = regex(r"\b(?:neither|never|none|maybe|perhaps|might)\b")
# A title that asks for a change of the code.
_WISH = regex(
    r"(?:\s?\[[^\]\n]{0,40}\]){0,3}\s?(?:do not|don[’']t|avoid|allow|let|enable|expose|make|handle|investigate|consider"
    r"|improve|add|provide|fix|please (?:add|support|allow|make)) (?!of\b|for\b|fails?\b|error)[\w`]"
)
_PICTURE = regex(
    r"!\[[^\]\n]{0,200}\]\([^)\n]{1,500}\)|<img\b[^>\n]{0,500}>|https?://\S{1,300}\.(?:png|jpe?g|gif|webp)\b"
)
_BARE_WORDS: Final = 4  # beside a picture; so few say nothing


def explains(segments: Segments) -> bool:
    """Whether the reporter explains the failure, says how to fix the code, or asks for a change of it."""
    prose = "\n".join((_prose(segments), *dict.fromkeys(segment.heading for segment in segments.all))) + "\n"
    own = folded(prose)
    if any_of(_PATCH, "\n".join(segment.text for segment in segments.all)):
        return True
    if segments.first_error is None and _WISH.match(folded(segments.title)):
        return True
    words = _words()
    for starts, pattern in ((words["mends"], _MENDS), (words["found"], _FOUND)):
        begins = places(starts, own)
        if any(not stands_before(_DOUBT, own, found.start()) for found in matches_at(pattern, own, begins)):
            return True
    says, in_code = _mechanisms(own), len(set(_CODE.findall(prose)))
    return in_code > 0 and says >= _LEAST_MECHANISMS and in_code + says >= _LEAST_TOGETHER


def mechanisms(segments: Segments) -> int:
    """How many of the words by which a reporter says how a failure comes about are there."""
    return _mechanisms(folded(_prose(segments)))


def _mechanisms(own: str) -> int:
    return sum(word in own for word in _words()["mechanisms"])


def is_solved(segments: Segments) -> bool:
    """Whether the reporter has found what the failure was, or what cures it."""
    own = f"\n{folded(_prose(segments))}\n"
    return _SOLVED_TITLE.match(folded(segments.title)) is not None or any(
        not (
            any(stands_before(one, own, found.start()) for one in (_DOUBT, _UNSOLVED)) or _STILL.match(own, found.end())
        )
        for found in _SOLVED.finditer(own)
    )


def tells_no_failure(segments: Segments) -> bool:
    """Whether a report is a chore, news, a notice about security, or a picture without a word."""
    if _ADVISORY.match(folded(segments.title)):
        return True
    if segments.first_error is not None or vocabulary().is_error(segments.title):
        return False
    prose = _prose(segments)
    own, title, words = folded(prose), folded(segments.title), _words()
    fails = segments.of(Kind.TRACEBACK) or any_of(words["fails"], title)
    if not fails and (any_of(words["security"], own) or _NEWS.match(title)):
        return True
    if _CHORE.match(title) and not (names_failure(own) or any_of(words["fails"], own) or quotes_exception(own)):
        return True
    body = "\n".join(segment.text for segment in segments.all if segment.kind is not Kind.TITLE)
    return _PICTURE.search(body) is not None and len(_PICTURE.sub("", body).split()) <= _BARE_WORDS


def _prose(segments: Segments) -> str:
    return "\n".join(segment.text for segment in segments.of(Kind.TITLE, Kind.PROSE, Kind.FORM))


@cache
def _words() -> Mapping[str, Sequence[str]]:
    """The tables of `purpose.toml`."""
    return packaged_table(__package__, "purpose.toml")
