"""How a name may be spelt, and what of it two spellings may differ in."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from holdover.compat.records import normalised

#: Longer names are nobody's variant: only the same text is the same name.
MAX_NAME = 300

_SAME = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201b\u02bb\u02bc\u2032\u00b4`\uff07", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d", "-"),
        **dict.fromkeys("\u00b7\u2027\u30fb\uff65", " "),
        # Signs, tatweel and what nobody sees; not the joiners, which do change text.
        **dict.fromkeys("\u2122\u00ae\u00a9\u0640\u00ad\u200b\u200e\u200f\u2060"),
        **dict.fromkeys("\ufeff\ufe0e\ufe0f\u202a\u202b\u202c\u202d\u202e"),
        # NFKC would make 10² and 102 one.
        **{power: f"^{digit}" for digit, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    }
)
_OPENING = " \"'([{,;\u00ab\u2039\u201c\u201e\u201a\u300c\u300e\u3010"
_CLOSING = " \"')]},;.\u00bb\u203a\u201c\u201d\u300d\u300f\u3011"
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?")
# Only between words, or before a number; in French the hyphen is what tells a town or
# a church from its saint or its hill.
_HYPHEN = re.compile(
    r"(?<!\bsaint)(?<!\bsainte)(?<!\bst)(?<!\bste)(?<!\bnotre)(?<!\bmont)(?<!\bport)"
    r"(?<=[^\W\d_]{2})-(?=\d|[^\W\d_]{2})"
)
_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_CJK_SPACE = re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])")
_TITLE_WORDS = {"doctor": "dr", "professor": "prof", "mister": "mr"}
# Not Mrs: "Mrs. John Smith" is not John Smith.
_DROPPED = frozenset({"the", "mr", "ms", "dr", "prof", "sir", "herr"})
# Who the band, WHO and who; US, U.S. and us: only the case tells these apart.
_WORDS = frozenset(
    """
    a all am an and as at be by can do he her him i if in is it me my no of on or our
    she so that the them they this to up us was we what who you
    """.split()  # noqa: SIM905
)

# Marks that people leave out. In Latin script not the ring (Håkan is not Hakan), the
# macron (Yūki is not Yuki) or ñ, and the others only in a name of several words or a
# well-known one: León is not Leon, Münster not Munster, San José not San Jose.
_OPTIONAL = re.compile(
    "(?<=i)\u0307|(?<=[\u03b1-\u03c9])\u0301|(?<=\u0435)\u0308|(?<=\u0627)[\u0654\u0655]"
    "|[\u064b-\u0652\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7]"
)
_LATIN = re.compile(
    "(?<=[a-mo-z])[\u0300-\u0303\u0306\u0308\u030c\u0326-\u0328]"
    "|(?<=n)[\u0300-\u0302\u030c]"
)
# Vietnamese and pinyin names are syllables, of which every tone is another name.
_SYLLABLE = re.compile(
    r"(?:[bcdghklmnpqrstvxfjzwy\u0111]|[cgknpstz]h|ngh?|gi|qu|tr)?[aeiouy]+"
    r"(?:c|ch|m|n|ng|nh|p|r|t)?"
)

# A short name is taken for a longer one only where the longer one is plainly a person:
# a given name and a family name, both of these lists. None of them is also a town, a
# country, a maker, a product or a common word; who is not in them is a miss.
_GIVEN = frozenset(
    """
    aaron agnieszka ahmed aisha alejandro alessandro alexander amanda amit amy ana
    andrei andres angela anil anita anjali anna anthony antoine arjun astrid ayse ayşe
    barbara beatriz benjamin bjorn brandon brenda brian carlos catherine chiara chinedu
    chloe christine christopher cynthia daniel david deborah deepak deven diane dmitri
    dorothy elena elizabeth emily emma emre erik ethan fatima fernanda fernando
    francesca francois gabriela giovanni giulia giuseppe greta guillaume hannah hans
    hassan helene ibrahim ingrid isabel james jan javier jennifer jessica joao john
    jonathan jorge jose joseph juan julien jurgen karen katarzyna katherine kevin klaus
    kofi kwame laura layla linda lisa lucia luis magnus manuel margaret maria mary
    matteo matthew megan mehmet melissa michael michelle miguel mikhail mohammed
    muhammad mustafa natalia nathan neha ngozi nicholas nicole olga oluwaseun omar
    pablo pamela patricia paul paulo pavel pedro philippe pierre piotr priya rachel
    rafael rahul ramesh rebecca ricardo richard robert rohan sabine samuel sandra
    sanjay sarah sergei sophie stefan stephanie steven sunita suresh susan svetlana
    teresa thabo thomas tomasz ursula vijay vikram wanjiru william wolfgang yusuf
    zainab zeynep zoltan анна дмитрий екатерина елена иван ирина мария михаил наталья
    ольга сергей татьяна
    """.split()  # noqa: SIM905
)
_FAMILY = frozenset(
    """
    adeyemi agarwal alvarez anderson andersson banerjee boateng carvalho chatterjee
    desai dominguez erickson esposito evans fernandez ferreira fischer fitzgerald
    fournier garcia gomez gonzalez gupta gutierrez hansen hartmann henderson hernandez
    hoffmann ivanov jenkins jensen jimenez johansson johnson jones joshi kapoor
    karlsson kowalski kuznetsov larsson lefebvre lindqvist lopez malhotra martinez
    mccarthy mehta mitchell mukherjee mwangi nilsson novak nowak nwosu o'brien o'connor
    okafor okonkwo oliveira ozturk patel patterson pedersen pereira perez peterson
    petrov qureshi ramirez richardson roberts robinson rodriguez sanchez schmidt sharma
    smirnov smith sokolov thompson verma watkins williams wisniewski yilmaz y\u0131lmaz
    zimmermann иванов иванова кузнецов кузнецова петров петрова смирнов смирнова
    """.split()  # noqa: SIM905
)
_NAMES = _GIVEN | _FAMILY


@dataclass(frozen=True, slots=True)
class Form:
    """A name without what two spellings of it may differ in.

    It is filed under `plain`, and under `acronym` if it may be one; `loose` is without
    what only one of two spellings may leave out.
    """

    plain: str
    acronym: str
    loose: str

    @property
    def ways(self) -> set[str]:
        """Everything it is filed under."""
        return {self.plain, self.loose, self.acronym or self.plain}

    @property
    def person(self) -> tuple[str, str] | None:
        """The given and the family name of what is plainly a person."""
        given, _, family = self.loose.partition(" ")
        return (given, family) if given in _GIVEN and family in _FAMILY else None


def form_of(name: str) -> Form:
    """The form of a name as somebody spelt it."""
    if len(name) > MAX_NAME:
        return Form(name, "", name)
    text = name.translate(_SAME)
    core = text.lstrip(_OPENING).rstrip(_CLOSING)
    words, shouted = _words(core)
    if not words:
        return Form(normalised(text), "", normalised(text))
    plain = " ".join(words)
    if plain in _WORDS:
        return Form(core, "", core)
    acronym = " ".join(shouted)
    return Form(plain, acronym if acronym != plain else "", _loose(words))


def _words(text: str) -> tuple[list[str], list[str]]:
    """The words, with J. K. and J.K. as JK; and again, with capitals left capitals.

    So M.I.A. is MIA but not Mia, although MIA may be Mia shouted.
    """
    text = unicodedata.normalize("NFKC", text).replace(" & ", " and ")
    words: list[str] = []
    shouted: list[str] = []
    after_initial = False
    for cased in text.split():
        word = normalised(cased)
        bare = word.rstrip(".") or word
        initial = bool(_DOTTED.fullmatch(word)) or (len(bare) == 1 and bare.isalpha())
        initial = initial and bare != bare.upper()
        if initial and (after_initial or "." in bare):
            bare = bare.replace(".", "").upper()
            bare = words.pop().upper() + bare if after_initial else bare
            del shouted[len(words) :]
        words.append(_TITLE_WORDS.get(bare, bare))
        shouted.append(bare.upper() if cased.isupper() and len(bare) > 1 else words[-1])
        after_initial = initial
    return words, shouted


def _loose(words: list[str]) -> str:
    """Without hyphens, titles and marks, as far as these may be left out."""
    words = _HYPHEN.sub(" ", " ".join(words)).split()
    while len(words) > 2 and words[0] in _DROPPED:  # noqa: PLR2004 - two stay
        del words[0]
    text = " ".join(words)
    if text.isascii():
        return text
    text = _CJK_SPACE.sub("", text)
    parts = _OPTIONAL.sub("", unicodedata.normalize("NFD", text))
    bare = unicodedata.normalize("NFC", _LATIN.sub("", parts))
    if len(words) > 1 and words[0] not in {"san", "santa"} and not _tonal(parts):
        return bare
    return bare if bare in _NAMES else unicodedata.normalize("NFC", parts)


def _tonal(parts: str) -> bool:
    letters = "".join(part for part in parts if not unicodedata.combining(part))
    return all(_SYLLABLE.fullmatch(word) for word in letters.split())
