"""Summaries that say nothing: asked to change nothing, a model says that it did."""

from __future__ import annotations

import re

#: A longer summary always tells something.
MAX_FILLER = 400
_INVISIBLE = re.compile("[\x00\u200b\u2060\ufeff\ud800-\udfff]")

# Up to four words: what a filler is about, too short to tell anything of it.
_ABOUT_IT = (
    r"(?: (?:about|on|regarding|for|concerning|related to)(?: (?!(?:except|but|that|who"
    r"|which|because|since|when|where|after|until|than|s?he|it|they)\b)[^\s,;.]+){1,5}?"
    r"| to (?:the )?(?:existing |current )?summary)?"
)
_HERE = (
    r"(?:the |this |our )?(?:last |latest |given |provided |current |human's |user's )*"
    r"(?:line|message|conversation|text|input|turn|dialogue|exchange)"
    r"(?: of (?:the |this )?conversation)?(?: with the human)?"
)
_SAYS_NOTHING = re.compile(
    r"(?:(?:as|since|because) )?(?:there (?:is|are|was|were) |i (?:have|see|found) )?"
    r"(?:no|nothing|(?:currently |still )?(?:nothing|(?:no|not any|not enough)"
    r"(?=.* (?:info|detail|fact|update|change|data|summary|mention)))"
    r"(?: (?:new|more|additional|relevant|further|important|significant|specific|useful"
    r"|updated|existing|other|or|and|factual|real|information|info|details?|facts?"
    r"|updates?|changes?|data|summary|mention of \S+))+)"
    rf"{_ABOUT_IT}(?: (?:is|are|was|were|has been|have been|needed|required|necessary"
    r"|yet|found|available|provided|given|mentioned|shared|relayed|added|noted|here"
    r"|worth noting|to (?:add|make|report|note|update|summari[sz]e|remember)"
    rf"|at this time|(?:in|from|by|during) {_HERE}))*"
)
_STAYS_SAME = re.compile(
    r"(?:so |therefore,? |thus,? |hence,? |and |return )*(?:(?:the |my |your )?"
    r"(?:existing |current |previous |updated )*(?:summary|information|entry) ?"
    r"(?:(?:of|for|about|on)(?: [^\s,;.]+){1,4}? )?)?"
    r"(?:therefore |thus |still |is |are |has |will |should |must |be |been |remains? "
    r"|stays? |left |kept )*(?:unchanged|(?:exactly )?the same|not changed|as is"
    r"|as it (?:is|was))"
)
_FILLER = re.compile(
    r"(?:none|n/a|null|undefined|na|unknown|nothing|empty|unchanged|same"
    r"|same as (?:before|above)"
    r"|not (?:applicable|available|mentioned|specified|provided)|sin cambios"
    r"|no hay (?:nueva )?informaci\u00f3n(?: nueva)?|aucune (?:nouvelle )?information"
    r"|keine (?:neuen )?informationen|keine \u00e4nderung(?:en)?|inchang\u00e9e?"
    r"|\u043d\u0435\u0442 (?:\u043d\u043e\u0432\u043e\u0439 )?"
    r"\u0438\u043d\u0444\u043e\u0440\u043c\u0430\u0446\u0438\u0438"
    r"|[\u6ca1\u6c92]\u6709\u65b0?\u7684?(?:\u4fe1\u606f|\u8cc7\u8a0a)"
    rf"|{_HERE} (?:does not|doesn't|did not|didn't) (?:provide|contain|mention|include"
    r"|add|relay|give|offer)(?: any(?:thing)?| new| relevant| additional| further"
    rf"| information| facts?| details?)+{_ABOUT_IT}"
    rf"|(?:[^\s,;.]+ ){{1,4}}(?:is|was) not (?:mentioned|discussed) in {_HERE})"
)


def is_filler(summary: object) -> bool:
    """Whether a summary only says that there is nothing to say.

    Every clause of it must; "no new information" within a fact is a fact.
    """
    if not isinstance(summary, str):
        return True
    if len(summary) > MAX_FILLER:
        return False
    text = " ".join(
        _INVISIBLE.sub("", summary).casefold().replace("\u2019", "'").split()
    )
    for clause in re.split(
        r"[.!?;\u3002]+(?:\s|$)|, (?=so |the |and the |therefore)", text
    ):
        bare = clause.strip(" \"'`()[]{}*_.,:-\u2013\u2014\u201c\u201d")
        for filler in (_SAYS_NOTHING, _STAYS_SAME, _FILLER):
            if not bare or filler.fullmatch(bare):
                break
        else:
            return False
    return True
