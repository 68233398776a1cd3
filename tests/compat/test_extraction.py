# ruff: noqa: RUF001 - the quotes and letters models really use
"""What models answer is read for what they mean, and a sentence is nobody's name."""

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdover.compat.entities.extraction import MAX_NAME, parse_entities
from holdover.compat.entities.filler import is_filler
from holdover.compat.records import normalised

CLEAN = [
    "Langchain",
    "Langchain, Person #2",
    "Deven, Sam",
    "Deven,Sam",
    "Deven Smith, New York, GPT-4",
    "Washington D.C., Deven",
    "Deven, Washington D.C.",
    "Acme Inc., Bob",
    "Bob, Acme Inc.",
    "Yahoo!, Wham!, Jeopardy!",
    "St. Ives, Mt. Everest, J. K. Rowling",
    "St. Ives",
    "Dr. Strange, Mr. T",
    "Simon and Garfunkel",
    "Bob, Simon and Garfunkel",
    "Crosby, Stills & Nash",
    "Steins;Gate, Re:Zero",
    "Star Wars: A New Hope, Deven",
    "Mission: Impossible",
    "2001: A Space Odyssey",
    "1. FC Köln, Bayern",
    "1. FC Köln",
    "2. Bundesliga",
    "*NSYNC, M*A*S*H",
    ".NET, C++, C#, Node.js",
    "O'Brien, D'Angelo, 't Hooft",
    "Dunkin', McDonald's",
    "(500) Days of Summer",
    "Mercury (planet), Mercury",
    "Queen (band), Georgia (country)",
    "Nonesuch Records, No Doubt, Nothing Else Matters",
    "None of the Above, No Country for Old Men",
    "And One, And Just Like That",
    "The Answer, The People",
    "There Will Be Blood, This Is Us",
    "Here Comes the Sun, I Am Legend",
    "As I Lay Dying",
    "The Curious Incident of the Dog in the Night-Time",
    "Frankfurt am Main, Rio de Janeiro",
    "田中太郎, 東京",
    "Иван Петров, Москва",
    "محمد, القاهرة",
    "राम, दिल्ली",
    "🍎, Deven",
    "AT&T, R&D",
    "deven, sam",
    "@deven, #holdover",
    "https://example.com, Deven",
    "v1.0, 3.14, 007",
    "Notre-Dame, Jean-Luc",
    "will.i.am, Ke$ha, P!nk",
    "A",
    "NONE",
    "NONE ",
]

NOBODY = [
    "", " ", "\n\t", "NONE", "none.", "None", '"NONE"', "'none'", "“NONE”", "(none)",
    "[NONE]", "**NONE**", "`NONE`", "N/A", "n/a.", "null", "NONE\n", "- NONE", "NONE!",
    "Output: NONE", "Entities: none", "No entities", "No entities found.",
    "no proper nouns found.", "No named entities", "No proper nouns to return.",
    "There are no proper nouns in the last line of conversation.",
    "There are no entities.", "I found no proper nouns in that line.",
    "The last line does not contain any proper nouns.",
    "The last line of conversation contains no proper nouns.",
    "NONE (the user is just issuing a greeting)", "NONE - simple greeting",
    "NONE. The user is simply saying hello.", "NONE\n\nThe human only says hello.",
    "None found", "none mentioned", "Nothing of note.", "nothing", "-", "—", "...",
    "[]", "{}", '{"entities": []}', '["NONE"]', "[null]", '{"entities": "NONE"}',
    "```json\n[]\n```", "```\nNONE\n```", "Aucun", "aucune.", "ninguno", "Keine",
    "nichts", "nessuno", "нет", "无", "没有专有名词。", "なし", "없음", "nenhum",
    "<think>Deven? No.</think>NONE", "<think>Deven, Sam", "\x00", "\ufeffNONE",
    "I'm sorry, but I cannot extract any proper nouns from this.",
    "Sure! Here is the list:", "Output:", "Entities:\n",
    "It seems the user is just greeting, so there is nothing to extract.",
    "Based on the last line of conversation, the human is asking about the weather.",
    ",", ", ,", ";", '""', "[", "```", "{", "<think>", "</think>", "• ",
]  # fmt: skip

LISTS = [
    ("Deven, Sam.", ["Deven", "Sam"]),
    ("Deven, Sam,", ["Deven", "Sam"]),
    ("Maya,", ["Maya"]),
    ("Deven, , Sam", ["Deven", "Sam"]),
    ("Deven, deven, DEVEN, Sam", ["Deven", "Sam"]),
    ("Output: Deven, Sam", ["Deven", "Sam"]),
    ("output: Langchain", ["Langchain"]),
    ("**Output:** Deven, Sam", ["Deven", "Sam"]),
    ("Entities: Deven, Sam", ["Deven", "Sam"]),
    ("The proper nouns are: Deven, Sam", ["Deven", "Sam"]),
    ("Proper nouns: Star Wars: A New Hope, Sam", ["Star Wars: A New Hope", "Sam"]),
    ("Here are the proper nouns from the last line: Deven, Sam", ["Deven", "Sam"]),
    ("Sure! Here is the list:\nDeven\nSam", ["Deven", "Sam"]),
    ("Sure! Here's the list:\n\n- Deven\n- Sam", ["Deven", "Sam"]),
    ("Certainly!\n\nDeven, Sam", ["Deven", "Sam"]),
    ("Entidades: Ana, Luis", ["Ana", "Luis"]),
    ("实体：张伟，北京", ["张伟", "北京"]),
    ("- Deven\n- Sam", ["Deven", "Sam"]),
    ("* Deven\n* Sam", ["Deven", "Sam"]),
    ("• Deven\n• Sam", ["Deven", "Sam"]),
    ("• Deven • Sam", ["Deven", "Sam"]),
    ("1. Deven\n2. Sam", ["Deven", "Sam"]),
    ("1) Deven\n2) Sam", ["Deven", "Sam"]),
    ("1. Deven", ["Deven"]),
    ("1. Deven 2. Sam 3. Washington D.C.", ["Deven", "Sam", "Washington D.C."]),
    ("1. Deven, 2. Sam", ["Deven", "Sam"]),
    ("- [ ] Deven\n- [x] Sam", ["Deven", "Sam"]),
    ("Deven\nSam\nNew York", ["Deven", "Sam", "New York"]),
    ("Deven\r\nSam\r\n", ["Deven", "Sam"]),
    ("Deven,\nSam,\n", ["Deven", "Sam"]),
    ("# Entities\n\n- Deven\n- Sam", ["Deven", "Sam"]),
    ("People: Deven, Sam\nPlaces: New York", ["Deven", "Sam", "New York"]),
    ("- **Deven**: a person working on the project\n- **Sam**", ["Deven", "Sam"]),
    ("- Deven - a colleague\n- Paris – the capital", ["Deven", "Paris"]),
    ("1. Deven (a colleague)\n2. Sam", ["Deven", "Sam"]),
    ("- Deven, a colleague\n- Sam", ["Deven", "Sam"]),
    ("Deven (person), Paris (place)", ["Deven", "Paris"]),
    ("**Deven**, *Sam*, _Maya_, `Paris`", ["Deven", "Sam", "Maya", "Paris"]),
    ('"Deven", "Sam"', ["Deven", "Sam"]),
    ("'Deven', 'Sam'", ["Deven", "Sam"]),
    ("“Deven”, “Sam”", ["Deven", "Sam"]),
    ("„Deven“, »Sam«, «Maya»", ["Deven", "Sam", "Maya"]),
    ("「田中」、「東京」", ["田中", "東京"]),
    ('"Deven, Sam"', ["Deven", "Sam"]),
    ('"Deven"', ["Deven"]),
    ('"Deven" and "Sam"', ["Deven", "Sam"]),
    ('"Acme, Inc.", "Bob"', ["Acme, Inc.", "Bob"]),
    ('"Acme, Inc."', ["Acme, Inc."]),
    ("Deven (friend, colleague), Sam", ["Deven (friend, colleague)", "Sam"]),
    ("[Deven, Sam]", ["Deven", "Sam"]),
    ("(Deven, Sam)", ["Deven", "Sam"]),
    ("['Deven', 'Sam']", ["Deven", "Sam"]),
    ('["Deven", "Sam"]', ["Deven", "Sam"]),
    ('["Deven", "Deven", null, 3, "Sam"]', ["Deven", "Sam"]),
    ('["Acme, Inc.", "Bob"]', ["Acme, Inc.", "Bob"]),
    ('["Deven", "Sam', ["Deven", "Sam"]),
    ('{"entities": ["Deven", "Sam"]}', ["Deven", "Sam"]),
    ('{"entities": "Deven, Sam"}', ["Deven", "Sam"]),
    ('{"people": ["Deven"], "places": ["Paris"]}', ["Deven", "Paris"]),
    ("{'entities': ['Deven', 'Sam']}", ["Deven", "Sam"]),
    ('[{"name": "Deven", "type": "person"}, {"name": "Sam"}]', ["Deven", "Sam"]),
    ('{"entities": [{"entity": "Deven"}]}', ["Deven"]),
    ('{"name": "Deven"}\n{"name": "Sam"}', ["Deven", "Sam"]),
    ('```json\n["Deven", "Sam"]\n```', ["Deven", "Sam"]),
    ('```json\n{"entities": ["Deven"]}\n```\nDone!', ["Deven"]),
    ("```\nDeven, Sam\n```", ["Deven", "Sam"]),
    ("```Deven, Sam```", ["Deven", "Sam"]),
    ('Here is the JSON: ["Deven", "Sam"]', ["Deven", "Sam"]),
    ("Deven [1], Sam [2]", ["Deven [1]", "Sam [2]"]),
    ("Deven; Sam; Maya", ["Deven", "Sam", "Maya"]),
    ("Deven | Sam | Maya", ["Deven", "Sam", "Maya"]),
    ("田中、東京、大阪", ["田中", "東京", "大阪"]),
    ("张伟，北京，李娜。", ["张伟", "北京", "李娜"]),
    ("محمد، القاهرة", ["محمد", "القاهرة"]),
    ("Deven, Sam, and Bob", ["Deven", "Sam", "Bob"]),
    ("Deven, and Bob", ["Deven", "Bob"]),
    ("Deven, Sam, & Bob", ["Deven", "Sam", "Bob"]),
    ("Anna, Bert, und Carl", ["Anna", "Bert", "Carl"]),
    ("Deven and Sam", ["Deven and Sam"]),
    ("Deven, Sam, ...", ["Deven", "Sam"]),
    ("Deven, Sam…", ["Deven", "Sam"]),
    ("NONE, Deven", ["Deven"]),
    ("Deven, N/A, Sam", ["Deven", "Sam"]),
    ("Deven, Sam\n\nNONE", ["Deven", "Sam"]),
    ("<think>Maybe Bob, too?\nNo.</think>\n\nDeven, Sam", ["Deven", "Sam"]),
    ("The names... Bob? </think>Deven, Sam", ["Deven", "Sam"]),
    ("<thinking>Bob</thinking><answer>Deven, Sam</answer>", ["Deven", "Sam"]),
    ("[THINK]Bob[/THINK]Deven", ["Deven"]),
    ("<think>Bob</think>\n<reasoning>Al</reasoning>\nDeven", ["Deven"]),
    ("Deven, Sam<|im_end|>", ["Deven", "Sam"]),
    ("Deven, Sam</s>", ["Deven", "Sam"]),
    ("<ul><li>Deven</li><li>Sam</li></ul>", ["Deven", "Sam"]),
    ("Deven\nEND OF EXAMPLE\n\nEXAMPLE\nConversation history:\nBob", ["Deven"]),
    ("Deven, Sam\nHuman: what about Bob?\nAI: Bob", ["Deven", "Sam"]),
    ("Deven, Sam\n\nLet me know if you need anything else!", ["Deven", "Sam"]),
    ("Deven, Sam\n\nNote: Bob is not in the last line.", ["Deven", "Sam"]),
    ("Deven, Sam. These are the proper nouns I found.", ["Deven", "Sam"]),
    ("Deven, Sam (these are the only proper nouns there)", ["Deven", "Sam"]),
    ("Deven\x00, S\x00am", ["Deven", "Sam"]),
    ("Deven\x07, \u200bSam\ufeff", ["Deven", "Sam"]),
    ("Deven\u2028Sam", ["Deven", "Sam"]),
    ("Dev\ud800en", ["Deven"]),
]

PROSE = [
    "The conversation is about Deven, who works at Acme, and lives in Paris.",
    "In the last line the human says that Deven has worked with Sam on a project.",
    "Deven, who is a friend of Sam, was mentioned in the conversation.",
    "I would extract Deven and Sam from the last line of this conversation.",
    "The user is asking about the weather in a general way, without any names.",
    "Unfortunately, the text that you provided is too short to extract anything.",
    "Deven and Sam are working on a hackathon project.",
]

FILLERS = [
    "", "  ", "NONE", "none.", "None", "N/A", "n/a.", '"NONE"', "null", "UNCHANGED",
    "Unchanged.", "[UNCHANGED]", "No change.", "No changes.", "No update.",
    "No updates needed.", "No update is needed.", "No new information.",
    "No new information provided.", "No new information was provided.",
    "No new information provided. The existing summary stays the same.",
    "The existing summary stays the same.", "The existing summary remains unchanged.",
    "The existing summary remains the same.", "Existing summary unchanged.",
    "The summary remains unchanged.", "Summary unchanged", "The summary is unchanged.",
    "Return the existing summary unchanged.",
    "The current summary of Maya remains unchanged.",
    "There is no new information.", "There is no relevant information.",
    "There is no relevant information about X in the last line",
    "There is no new information about Deven Smith in the last line of conversation.",
    "There was no additional information about Sam provided in the conversation.",
    "There are no new facts about Maya.", "There are no facts about Maya in this line.",
    "No relevant information about Maya.", "No information available.",
    "No information about Maya was provided.", "No information about Sam is available.",
    "No new facts were relayed in the last line of conversation.",
    "No new or relevant information.", "Nothing new.", "Nothing to add.",
    "Nothing new about Maya.", "No additional details were mentioned.",
    "No significant updates.", "No existing summary.", "No summary available.",
    "Not applicable.", "Not mentioned.", "Unknown.",
    "The last line does not provide any new information about Maya.",
    "The last line of conversation does not mention any relevant facts.",
    "The last line doesn't contain information about Maya.",
    "Maya is not mentioned in the last line.",
    "Deven Smith was not mentioned in the last line of the conversation.",
    "No new information provided, so the existing summary remains unchanged.",
    "As there is no new information, the existing summary remains unchanged.",
    "Since no new information was provided, the summary stays the same.",
    "(No new information)", "**No new information.**", "I have no new information.",
    "no new information about maya; the summary remains the same",
    "No hay información nueva.", "Sin cambios.", "Aucune nouvelle information.",
    "Keine neuen Informationen.", "Нет новой информации.", "没有新的信息。",
]  # fmt: skip

FACTS = [
    "Maya provided no new information about the case to the police; she is a lawyer.",
    "Maya is a lawyer.",
    "Maya is a lawyer. No new information provided.",
    "No new information provided. Maya is a lawyer.",
    "The existing summary remains unchanged: Maya is a lawyer.",
    "The existing summary stays the same, except that Maya moved to Paris.",
    "Existing summary: Maya is a lawyer.",
    "Updated summary: Maya is a lawyer.",
    "There is no information about the trial because Maya, a lawyer, refused to talk.",
    "There is no cheese shop in Ely.",
    "There is no water on Arrakis.",
    "There are no trains to Ely on Sundays.",
    "No one knows where Deven lives.",
    "No Doubt is a band.",
    "No. 10 is where the prime minister lives.",
    "No country for old men.",
    "No update of Windows was installed on Maya's laptop since May.",
    "No changes were made to the contract that Maya signed.",
    "No information leaves the building, says Maya.",
    "Nothing is known about Deven's childhood except that he grew up in Pune.",
    "Nothing new under the sun is Maya's motto.",
    "Nothing but Thieves is a band from Essex.",
    "None of the above is a film.",
    "None of Maya's brothers are lawyers.",
    "N/A Records is a label.",
    "Unchanged is Maya's first album.",
    "Unknown Pleasures is an album.",
    "Unknown to Sam, Deven moved to Paris.",
    "Maya remains unchanged by fame.",
    "Maya remains the same cheerful person.",
    "Maya stays at the Ritz.",
    "Deven is not mentioned in the will.",
    "Deven was not mentioned in the report that Sam wrote.",
    "The last line of the song mentions Maya.",
    "The last line does not stop at Ely any more.",
    "The summary of the novel is kept in the safe.",
    "The summary was written by Maya.",
    "The information desk stays open.",
    "Information wants to be free.",
    "Deven has no new information.",
    "Deven has no relevant experience but is keen.",
    "Deven has nothing to add to his statement.",
    "Deven sees no relevant differences.",
    "Sam is not applicable for the visa.",
    "The existing contract remains unchanged.",
    "The price of tea remains unchanged since May.",
    "The same as Deven: vegetarian.",
    "Sam keeps the existing car.",
    "There is a new summary by Maya.",
    "Not mentioned in despatches, Sam left the army.",
    "No new information about Maya except that she moved.",
    "No relevant information but a phone number: 555-0100.",
    "No data centres of Acme are in Spain.",
    "No details survive of the temple of Artemis.",
    "An unknown number of people live in Ely.",
    "Sin Cambios es un grupo de Lima.",
    "Нет новой школы в Москве.",
    "没有人知道。",
    "Maya",
    "Lawyer",
    "42",
    "There is no new information about Maya. " * 20,
]


@pytest.mark.parametrize("answer", CLEAN)
def test_a_clean_list_is_what_classic_reads(answer):
    classic = [] if answer.strip() == "NONE" else [w.strip() for w in answer.split(",")]
    assert parse_entities(answer) == classic


@pytest.mark.parametrize("answer", [*NOBODY, None, 3, b"Deven", ["Deven"]])
def test_no_entities_however_it_is_said(answer):
    assert parse_entities(answer) == []


@pytest.mark.parametrize(("answer", "names"), LISTS)
def test_lists_in_every_form(answer, names):
    assert parse_entities(answer) == names


@pytest.mark.parametrize("answer", PROSE)
def test_a_sentence_gives_no_names(answer):
    assert parse_entities(answer) == []


def test_the_limit():
    answer = ", ".join(f"Name {number}" for number in range(30))
    assert parse_entities(answer, limit=3) == ["Name 0", "Name 1", "Name 2"]
    assert len(parse_entities(answer)) == 20
    assert parse_entities(answer, limit=0) == []


def test_no_name_is_longer_than_any_name():
    assert parse_entities(f"Deven, {'x' * (MAX_NAME + 1)}, Sam") == ["Deven", "Sam"]
    assert parse_entities('["' + "x" * 5_000 + '", "Sam"]') == ["Sam"]
    assert parse_entities("x" * MAX_NAME) == ["x" * MAX_NAME]


@pytest.mark.parametrize(
    "piece",
    [
        "x", ",", "a,", "[", "{", '["', '{"a":', "(", "((a)", '"', "'", "“", "`", "```",
        "```\n", "*", "**", "- ", "1. ", "<think>", "</think>", "<think></think>", "<",
        "\n", " ", "\t", "None ", "no entities ", "Output: ", ": ", ". A", "; ", "|",
        "•", "and ", "Here is the list:\n", "\x00", "\ud800", "é", "田",
        "The last line ",
    ],
)  # fmt: skip
def test_ten_million_characters_take_no_time(piece):
    answer = piece * (10_000_000 // len(piece))
    start = time.process_time()
    names = parse_entities(answer)
    assert not is_filler(answer) or len(answer) <= 400
    assert time.process_time() - start < 3
    assert len(names) <= 20
    assert all(len(name) <= MAX_NAME for name in names)


@pytest.mark.parametrize(
    "piece",
    [
        "a" + " " * 1_400, "a, " + "\t" * 300, "a" + "\u3000" * 9_000, "a\u2028",
        "1) 2) ",
        '"a\n', "a\\\n", "{},", "[]", "[Inc., ", "a (b) ", "((a)\n", "no a b c ",
        '"a" and ', "None | ", "a & [", "a:[a (person), '[[", "[THINK][/THINK]a, ",
    ],
)  # fmt: skip
def test_no_answer_takes_long(piece):
    answer = (piece * (100_000 // len(piece) + 1))[:100_000]
    for text in (answer, f"1. a\n2. {answer}", f"[{answer}", f"{answer}x"):
        start = time.process_time()
        parse_entities(text)
        assert time.process_time() - start < 0.5


def test_long_thoughts_do_not_hide_the_answer():
    assert parse_entities(f"<think>{'Bob, ' * 100_000}</think>Deven") == ["Deven"]


@pytest.mark.parametrize("summary", [*FILLERS, None])
def test_a_summary_that_tells_nothing(summary):
    assert is_filler(summary)


@pytest.mark.parametrize("summary", FACTS)
def test_a_summary_that_tells_something(summary):
    assert not is_filler(summary)


@pytest.mark.parametrize("clause", ["no new ", "no information about a b ", "the "])
def test_fillers_are_found_in_no_time(clause):
    start = time.process_time()
    is_filler((clause * 400)[:399])
    assert time.process_time() - start < 0.5


PIECES = st.sampled_from(
    [
        "Deven", "Sam", "Acme, Inc.", "NONE", "none", ",", ", ", ";", "\n", "\n- ",
        "1. ", "2. ", '"', "'", "“", "”", "[", "]", "{", "}", "(", ")", ":", ": ",
        "Output: ",
        "entities", "*", "**", "_", "`", "```", "```json\n", "<think>", "</think>",
        " and ", ". ", ".", "…", "is", " are ", "the", "The", " ", "\t", "\x00", "•",
        "|", "、",
        "#", "Here are", "No", "é", "田", "\\", "/", "-", "—", "&", "a",
    ]
)  # fmt: skip
ANSWERS = st.text(max_size=60) | st.lists(PIECES, max_size=14).map("".join)


@settings(max_examples=300, deadline=None)
@given(ANSWERS, st.integers(-1, 25))
@example('{"name": {"name": [[[[["a"]]]]]}}', 20)
def test_whatever_the_answer(answer, limit):
    names = parse_entities(answer, limit=limit)
    assert len(names) <= max(limit, 0)
    assert len({normalised(name) for name in names}) == len(names)
    for name in names:
        assert name
        assert name == name.strip()
        assert len(name) <= MAX_NAME
        assert not set(name) & set("\x00\n\r")
    assert isinstance(is_filler(answer), bool)


@settings(max_examples=300, deadline=None)
@given(ANSWERS)
def test_a_list_of_what_was_found_is_read_the_same(answer):
    names = parse_entities(answer)
    if all(re.fullmatch(r"(?!and |und |et )\w[\w '&#-]*", name) for name in names):
        assert parse_entities(", ".join(names)) == names
