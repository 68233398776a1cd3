"""What models answer when asked for names, read for what they mean.

A model asked for "a single comma-separated list, or NONE" also answers with bullets,
JSON, a sentence or its thoughts. A clean list gives what classic makes of it, without
doubles. A sentence is nobody's name: where an answer looks like prose, it gives none.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Any

from holdover.compat.prompting import MAX_ANSWER, without_thoughts
from holdover.compat.records import normalised

MAX_NAME = 200
_MAX_THOUGHTS = 2_000_000
#: How many items of a list are looked at; whoever names no one in so many, will not.
_MAX_ITEMS = 1_000
_MAX_VALUES = 50
_MAX_DEPTH = 4
_MAX_WORDS = 14

_BREAK = re.compile(
    "\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|<br ?/?>|</?li>", re.IGNORECASE
)
_INVISIBLE = re.compile("[\x00\u200b\u2060\ufeff\ud800-\udfff]")
# Over long runs of spaces, searches take quadratic time.
_GAP = re.compile(r"[^\S\n]{20,}")
_CONTROL = re.compile("[\x01-\x08\x0e-\x1f\x7f-\x9f]")
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_MARKUP = re.compile(
    r"<\|[a-z_]{1,30}\|>|</?s>|\*\*|```(?:json|text|txt|csv|markdown|md|yaml|python)?"
    r"|</?(?:answer|output|entities|list|result|final|ul|ol|p|code|pre)>",
    re.IGNORECASE,
)
# A base model goes on with the prompt's next example.
_NEXT_TURN = re.compile(
    r"\n(?:END OF EXAMPLE|EXAMPLE\n|Conversation history|Last line|(?:Human|AI):)"
)

_BULLET = re.compile(
    r"(?:[-*+>\u2013\u2014]\s+|#{1,6}\s+|[\u2022\u25aa\u25e6\u2023\u00b7]\s*)+"
    r"(?:\[[ xX]\]\s)?"
)
_NUMBER = re.compile(r"(?:\(?\d{1,3}[.)]\s+(?!F[CS]))+")
_NEXT_NUMBER = re.compile(r"(?<=\S)[ \t]+(?=\d{1,2}[.)]\s)")
_ABOUT = re.compile(r"(.{1,80}?)(?:\s+[-\u2013\u2014]\s+|:\s+|\s+\()(?=[a-z])")
_HEAD = re.compile(r"([^:\uff1a]{1,120})[:\uff1a](?:\s+|$|(?=[^\s\w/]|[^\x00-\u02ff]))")
_WORD = re.compile(r"[^\W\d_]+")
_LEAD = frozenset(
    """
    a ai all and answer any are as assistant based below can certainly comma
    conversation course detected each entities entity extracted final find following
    follows for found from given have here human i identified important in input is
    items key last line list locations mentioned message name named names no noun nouns
    of ok okay only organizations our output people persons places proper provided
    relevant requested response result s separated sure text that the their there these
    this to user ve were your
    entit\u00e9s entidades entit\u00e4ten entit\u00e0 noms propres nombres propios
    nomes pr\u00f3prios nomi propri eigennamen sortie salida ausgabe
    \u0438\u043c\u0435\u043d\u0430 \u5b9e\u4f53 \u5be6\u9ad4 \u8f93\u51fa \u8f38\u51fa
    \u51fa\u529b \u540d\u524d \u56fa\u6709\u540d\u8a5e \u4e13\u6709\u540d\u8bcd
    """.split()  # noqa: SIM905
)
_LEAD_NEEDS = _LEAD - frozenset(
    """
    a ai all and any are as based below can comma conversation each final find for found
    from given have human i important in input is key last line no of only our provided
    relevant s text that the their there this to user ve were your
    """.split()  # noqa: SIM905
)

_QUOTES = dict(
    zip(
        "\"'`\u201c\u201e\u2018\u201a\u00ab\u00bb\u2039\u300c\u300e\uff02\u201d\u2019",
        "\"'`\u201d\u201c\u2019\u2018\u00bb\u00ab\u203a\u300d\u300f\uff02\u201d\u2019",
        strict=True,
    )
)
_AROUND = {**_QUOTES, "*": "*", "_": "_", "[": "]", "(": ")", "{": "}", "<": ">"}
_STOP = ",|\uff0c\u3001\u060c\u061b\u2022"
_QUOTED = re.compile(
    r"\s*(?:"
    + "|".join(rf"{a}[^{b}\n]{{1,{MAX_NAME}}}{b}" for a, b in _QUOTES.items())
    + rf")\.?\s*(?=[{_STOP}]|;\s|;?$)"
)
_BARE = re.compile(rf"(?:\([^()\n]{{0,80}}\)|;(?=\S)|\|(?=\S)|[^;{_STOP}])*")
_QUOTED_AND = re.compile('(?<=["\u201d\u00bb]) (?:and|&) (?=["\u201c\u00ab])')
_AND = re.compile(r"(?:(?:and|&|und|et)\s+)+(?=\S)")
_STAYS = re.compile(
    r"(?:^|[\s.])(?:\w|inc|ltd|co|corp|llc|bros|jr|sr|esq|st|ste|mt|ft|dr|mr|mrs|ms|prof"
    r"|ph\.d|gov|sen|rep|gen|col|capt|lt|sgt|rev|hon|ave|blvd|rd|univ|dept|no)\.$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(
    r"[^,]+, ?(?:Inc|LLC|Ltd|Co|Corp|GmbH|L\.?P|S\.?A|Jr|Sr|M\.?D|Ph\.?D|Esq)\.?"
)
_KIND = re.compile(
    r"(.+?)\s+\((?:person|people|place|location|city|country|organi[sz]ation|company"
    r"|product|event|name|human|other|misc|group)\)",
    re.IGNORECASE,
)

# Not nil, nada, rien or inga, who are people somewhere.
_NOBODY = "none|n/a|null|undefined"
_ALL_NONE = re.compile(
    rf"(?:{_NOBODY}|no|nothing|empty|not (?:applicable|available)|aucune?"
    r"|ningun[oa]|nenhuma?|kein[er]?|keine|nichts|nessun[oa]?|niente|geen|ingen"
    r"|brak|yok|\u043d\u0435\u0442|\u043d\u0438\u0447\u0435\u0433\u043e|[\u65e0\u7121]"
    r"|[\u6ca1\u6c92]\u6709.{0,20}|\u306a\u3057|\uc5c6\uc74c|kh\u00f4ng(?: c\u00f3)?"
    r"|tidak ada|\u0644\u0627 (?:\u0634\u064a\u0621|\u064a\u0648\u062c\u062f)"
    r"|\u05d0\u05d9\u05df|\u0915\u094b\u0908 \u0928\u0939\u0940\u0902)"
)
_STARTS_NONE = re.compile(
    r"none(?:\s*[.!(\-\u2013\u2014:;]|\s+(?:found|mentioned|of note|identified|present"
    r"|detected|to return|here|in)\b)|nothing (?:of note|to (?:return|extract)|notable)"
    r"|(?:there (?:is|are|was|were) |i (?:found|find|see|detected) )?(?:no|not any)"
    r"(?: [a-z-]+){0,3}? (?:nouns?|entit(?:y|ies)|names)"
    r"(?:$|[.!;:(]| (?:found|mentioned|to|in|were|was|are|is|present|detected"
    r"|identified|extracted|here|that|worth|from|of|or)\b)"
    r"|the (?:last|given|provided|final)? ?(?:line|text|message|conversation|input)\b"
    r".{0,40}(?:not (?:contain|mention|include|have)|contains? no|has no|mentions? no)"
)

_PROSE = frozenset(
    """
    any are because been contain contains could did does had has have is mentioned
    mentions please provided should there these they was were would
    """.split()  # noqa: SIM905
)
_OPENS = re.compile(
    r"(?:I|I'm|I've|There|Here|Sorry|Please|Let|Since|As|It|Based|Unfortunately|However"
    r"|Note|This|These|If|The (?:user|last|conversation|human|text|AI|assistant|input"
    r"|answer|line|message|proper|entities|list|output|only))\b"
)
_CLAUSE = re.compile(
    r"(?:an?|who|which|where|that|his|her|their|its|my|our|your|because|since|so|but"
    r"|is|was|are|were|has|have|including|he|she|they|it|we|i)\s"
)
_SENTENCE = re.compile(r"[.!?]\s+(?=[A-Z\"\u201c(])")
_ASIDE = re.compile(r"\s*[(\[]([^()\[\]]{1,300})[)\]]\.?$")


def parse_entities(answer: object, *, limit: int = 20) -> list[str]:
    """The names a model's answer lists, in its order, each once; at most `limit`.

    Whatever is no text lists none.
    """
    if not isinstance(answer, str) or limit < 1:
        return []
    names: dict[str, str] = {}
    for name in _names(_readable(answer)):
        names.setdefault(normalised(name), name)
        if len(names) == limit:
            break
    found = list(names.values())
    return [] if len(found) == 1 and _is_none(found[0]) else found


def _readable(answer: str) -> str:
    text = without_thoughts(answer[:_MAX_THOUGHTS]).lstrip()[:MAX_ANSWER]
    text = _CONTROL.sub(" ", _INVISIBLE.sub("", _BREAK.sub("\n", text)))
    return _GAP.sub(" ", text)


def _names(text: str) -> Iterator[str]:
    fenced = _FENCED.search(text)
    if fenced and fenced[1].strip():
        text = fenced[1]
    text = _NEXT_TURN.split(_MARKUP.sub("", text).strip(" \t\n,;"))[0]
    values = _from_json(text)
    listed = _from_lines(text) if values is None else values
    for at, item in enumerate(islice(listed, _MAX_ITEMS)):
        # ", and Bob" is Bob; Simon and Garfunkel stay together.
        joined = _AND.match(item) if at and values is None else None
        name = _tidied(item[joined.end() :] if joined else item)
        if _is_name(name):
            yield name


def _from_json(text: str) -> list[str] | None:
    """The names in what JSON there is; `None` where the answer is no JSON."""
    at = min((i for i in map(text.find, "[{") if i >= 0), default=-1)
    before = text[: max(at, 0)].rstrip()
    if at < 0 or (before and before[-1] not in ":=.!\n\uff1a"):
        return None
    for source in (text, text.replace("'", '"')):
        values = _decoded(source, at)
        if values:
            return [name for value in values for name in _texts(value, 0)]
    return None


def _decoded(text: str, at: int) -> list[Any]:
    """The JSON values one after another from there, till something else comes."""
    values: list[Any] = []
    while at < len(text) and text[at] in "[{" and len(values) < _MAX_VALUES:
        try:
            value, at = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        if not isinstance(value, list | dict):
            break
        values.append(value)
        at += len(text[at:]) - len(text[at:].lstrip(" \n\t,"))
    return values


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for inner in value:
            yield from _texts(inner, depth + 1)
    elif isinstance(value, dict) and depth < _MAX_DEPTH:
        for key in ("name", "entity", "text", "value", "noun", "label"):
            if isinstance(value.get(key), str):
                yield value[key]
                return
        for key, inner in value.items():
            if isinstance(inner, list | dict):
                yield from _texts(inner, depth + 1)
            elif isinstance(inner, str) and key.casefold() in _LEAD_NEEDS:
                yield from _items(inner)


def _from_lines(text: str) -> Iterator[str]:
    if _NUMBER.match(text) and re.search(r"\s2[.)]\s", text):
        text = _NEXT_NUMBER.sub("\n", text)
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    numbered = len(lines) == 1 or sum(map(bool, map(_NUMBER.match, lines))) > 1
    first = True
    for line in lines:
        item, listed = (
            _BULLET.subn("", line, count=1) if _BULLET.match(line) else (line, 0)
        )
        if (
            numbered
            and _NUMBER.match(item)
            and (len(lines) > 1 or item[:2] in ("1.", "1)"))
        ):
            item, listed = _NUMBER.sub("", item, count=1), 1
        item = _without_lead(item, alone=len(lines) == 1)
        if not item:
            continue
        if _is_none(item):
            if first:
                return
            continue
        first = False
        about = _ABOUT.match(item) if listed else None
        yield from _of_line(about[1] if about else item, listed=bool(listed))


def _without_lead(line: str, *, alone: bool) -> str:
    for _ in range(3):
        head = _HEAD.match(line)
        if not head or not _is_lead(head[1]):
            break
        line = line[head.end() :].strip()
    return "" if not alone and (_is_lead(line) or line.endswith(":")) else line


def _is_lead(text: str) -> bool:
    words = set(_WORD.findall(text.casefold()))
    return words <= _LEAD and not words.isdisjoint(_LEAD_NEEDS)


def _of_line(line: str, *, listed: bool) -> Iterator[str]:
    """The names of a line; of a line of prose none, of an item those before it."""
    for end in islice(_SENTENCE.finditer(line), 10):
        if _is_prose(line[end.end() :]):
            line = line[: end.start()]
            break
    aside = _ASIDE.search(line)
    if aside and (_is_prose(aside[1]) or _is_none(aside[1])) and aside.start():
        line = line[: aside.start()]
    items = list(_items(line))
    for at, item in enumerate(items):
        if _is_prose(item):
            items = items[:at] if listed else []
            break
    kinds = [_KIND.fullmatch(item) for item in items]
    yield from (
        kind[1] if kind and len(kinds) > 1 and all(kinds) else item
        for kind, item in zip(kinds, items, strict=True)
    )


def _items(line: str) -> Iterator[str]:
    if line[:1] in ("[", "{", "("):
        # Cut off before its end, or whole.
        closed = _AROUND[line[0]] in line
        line = _unwrapped(line) if closed else line.lstrip("[{( ")
    line = _QUOTED_AND.sub(", ", line)
    whole = _QUOTED.match(line)
    if whole and whole.end() == len(line) and not _SUFFIX.fullmatch(_tidied(line)):
        line = _tidied(line)
    at = 0
    while at <= len(line):
        match = _QUOTED.match(line, at) or _BARE.match(line, at)
        at = match.end() + 1 if match else len(line) + 1
        item = match[0].strip() if match else ""
        if item:
            yield item


def _unwrapped(text: str) -> str:
    """Without one pair of quotes, brackets or emphasis around the whole."""
    end = _AROUND.get(text[:1])
    if end and len(text) > 1 and text.endswith(end):
        inner = text[1:-1]
        if end not in inner and text[0] not in inner:
            return inner
    return text


def _tidied(item: str) -> str:
    """A name without what stands around it."""
    name = " ".join(item.split(" ")).strip()[: MAX_NAME * 2]
    for _ in range(8):
        before = name
        name = _unwrapped(name.strip(" \t\n;:").rstrip(",\u3002\u2026"))
        if name.endswith(".") and not _STAYS.search(name):
            name = name.rstrip(".")
        for opening, closing in ('""', "[]", "()", "{}", "\u201c\u201d"):
            # One half alone is left of a list, or of an answer that was cut off.
            if name.count(opening) + (opening != closing) * name.count(closing) == 1:
                name = name.removeprefix(opening).removesuffix(closing)
        if name == before:
            break
    return name


def _is_name(name: str) -> bool:
    return (
        0 < len(name) <= MAX_NAME
        and any(c.isalnum() or unicodedata.category(c) == "So" for c in name)
        and not re.fullmatch(_NOBODY, name, re.IGNORECASE)
        and not _is_prose(name)
    )


def _is_none(text: str) -> bool:
    bare = text.casefold().strip(" \"'`()[]{}*_.!-\u2013\u2014\u201c\u201d\u3002")
    return not bare or bool(_ALL_NONE.fullmatch(bare) or _STARTS_NONE.match(bare))


def _is_prose(text: str) -> bool:
    words = text.split()
    if len(words) > _MAX_WORDS or _CLAUSE.match(text):
        return True
    small = sum(word[:1].islower() for word in words[1:])
    opens = _OPENS.match(text) and small * 2 >= len(words) - 1 > 1
    long = len(words) > 3  # noqa: PLR2004 - "What is Life" is a book
    return bool(opens) or (long and not _PROSE.isdisjoint(words))
