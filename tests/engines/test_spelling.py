"""Blanks, capitals and aliases: each a function of the entry alone, the same in every source and every version."""

import hashlib
import itertools
import json
import random
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from engine_kinds import EVERY, build, from_arrow

from dxprivacy.engines import open_source
from dxprivacy.engines.entries import entry_reader
from dxprivacy.errors import PolicyError
from dxprivacy.universe.attribute_matching import Recoding, relate
from dxprivacy.universe.attributes.attribute_kinds import KINDS, attribute_from_spec
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.reading.spelling import BLANKS, EXACT, Spelling, folding
from dxprivacy.universe.universe import Universe

STATES = Values(
    name="state",
    values=("NJ", "Öst", "1", "true"),
    spelling=Spelling(trim=True, fold_case=True, aliases=(("NJ", "New Jersey"), ("Öst", "Ost"), ("1", "one"))),
)


def slow_place(attribute: Values, text: str) -> int:
    """Where a text belongs, by rules written differently: one listed text after the other, letter by letter."""

    def same(a: str, b: str) -> bool:
        if not attribute.spelling.fold_case:
            return a == b
        return len(a) == len(b) and all(x.casefold() == y.casefold() for x, y in zip(a, b, strict=True))

    while attribute.spelling.trim and text and text[0] in BLANKS:
        text = text[1:]
    while attribute.spelling.trim and text and text[-1] in BLANKS:
        text = text[:-1]
    known = [(v, v) for v in attribute.values] + list(attribute.spelling.aliases)
    return next((attribute.values.index(v) for v, written in known if same(written, text)), attribute.listed)


ENTRIES = [
    *("NJ", "nj", " Nj", "nJ\t", "\u00a0NJ\u202f", "n j", "New Jersey", "NEW JERSEY ", "newjersey", "NJJ", "\nNJ"),
    *(
        "Öst",
        "öst",
        "ÖST",
        "OST",
        " ost ",
        "O\u0308st",
        "Öſt",
        "1",
        " 1",
        "1.0",
        "one",
        "ONE",
        "true",
        "TRUE ",
        "other",
    ),
    *("", " ", "日本", "😀", "\u3000NJ", "x" * 70_000, " " * 70_000 + "NJ", "NJ" + " " * 60_000, None),
]


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize(
    "spelling",
    [
        STATES.spelling,
        Spelling(trim=True),
        Spelling(fold_case=True),
        Spelling(aliases=(("NJ", "New Jersey"), ("1", ""), ("true", " NJ"))),
        EXACT,
    ],
    ids=str,
)
def test_every_source_places_every_spelling_where_a_slow_reader_does(kind, spelling, tmp_path):
    attribute = Values(name="state", values=STATES.values, spelling=spelling)
    entries = (
        [e for e in ENTRIES if e is None or "\n" not in e] if kind not in ("arrow", "parquet", "jsonl") else ENTRIES
    )
    entries = entries * 2
    data = build(kind, {"state": (pa.string(), entries), "more": (pa.int8(), [0] * len(entries))}, tmp_path)
    counts = open_source(data).count(Universe([attribute])).counts.tolist()
    texts = ["" if e is None and kind.startswith("csv") else e for e in entries]
    places = [attribute.listed if e is None or len(e) > 65_536 else slow_place(attribute, e) for e in texts]
    assert counts == [places.count(k) for k in range(attribute.size)]


@pytest.mark.parametrize("kind", ["arrow", "parquet", "polars", "pandas", "csv"])
def test_numbers_and_truths_go_by_their_text_to_aliases_too(kind, tmp_path):
    wave = Values(name="wave", values=("first", "yes"), spelling=Spelling(aliases=(("first", "1"), ("yes", "true"))))
    for declared, entries, want in (
        (pa.int64(), [1, 2, 1, None], [2, 0, 2]),
        (pa.float64(), [1.0, 1.5, 2.0], [1, 0, 2]),
        (pa.bool_(), [True, False, True], [0, 2, 1]),
    ):
        data = build(kind, {"wave": (declared, entries)}, tmp_path)
        if kind == "csv" and declared == pa.float64():
            want = [0, 0, 3]  # written 1.0, which is another text
        assert open_source(data).count(Universe([wave])).counts.tolist() == want


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_bytes_that_are_no_unicode_are_one_other_entry_each(text, tmp_path):
    odd = [
        b"nj",
        b" NJ\xff",
        b"\xff",
        b"NJ\xc3",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\x80",
        b" NJ ",
        b"\xe2\x82",
    ]
    raw = pa.array(odd, pa.binary())
    plain = pa.Array.from_buffers(pa.string(), len(odd), raw.buffers())
    for kind in ("arrow", "parquet", "feather"):
        column = plain.dictionary_encode() if pa.types.is_dictionary(text) else plain.cast(text, safe=False)
        data = build_from(kind, pa.table({"state": column}), tmp_path)
        assert open_source(data).count(Universe([STATES])).counts.tolist() == [2, 0, 0, 0, 7]
    path = tmp_path / "people.csv"
    path.write_bytes(b"state\n" + b"\n".join(odd) + b"\n")
    assert open_source(path).count(Universe([STATES])).counts.tolist() == [2, 0, 0, 0, 7]


def build_from(kind, table, tmp_path):
    folder = tmp_path / kind
    folder.mkdir(exist_ok=True)
    return from_arrow(kind, table, folder)


def test_folding_is_unicodes_own_letter_by_letter_and_fixed():
    for code, small in folding().items():
        assert len(small) == 1
        assert small.translate(folding()) == small
        assert unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt")
        assert chr(code).lower() == small or chr(code).casefold() == small
    # The same in every version of Python: a policy must mean the same for ever.
    table = json.dumps(sorted((code, ord(small)) for code, small in folding().items()))
    assert hashlib.sha256(table.encode()).hexdigest()[:16] == "c8a69842c52e4ba3"
    assert "ſıİßẞ\u212a\u212b".translate(folding()) == "sıİßß\u212a\u212b"  # signs are no letters


def test_every_letter_is_folded_by_the_engine_as_by_python(tmp_path):
    small = sorted(set(folding().values()))
    letters = Values(name="state", values=tuple(small), spelling=Spelling(fold_case=True))
    entries = [*small, *map(chr, folding()), "ß", "ẞ", "\u212a", "İ", "ı", "ǅ", "ﬁ"]
    data = build("parquet", {"state": (pa.string(), entries)}, tmp_path)
    read = entry_reader(letters.codec)
    places = [read(entry) for entry in entries]
    assert open_source(data).count(Universe([letters])).counts.tolist() == [
        places.count(k) for k in range(letters.size)
    ]
    assert places[: len(small)] == list(range(len(small)))
    assert places.count(letters.listed) == 4  # what is no letter here, or no single one


@pytest.mark.parametrize(
    ("spelling", "values", "words"),
    [
        (Spelling(fold_case=True), ("M", "m"), "'M' and 'm', which are the same under fold_case"),
        (Spelling(trim=True), ("M ", "F"), "lists 'M ', and trim leaves out"),
        (Spelling(aliases=(("M", "F"),)), ("M", "F"), "alias 'F' of 'M' is listed itself"),
        (Spelling(aliases=(("M", "x"), ("F", "x"))), ("M", "F"), "alias 'x' of 'F' is taken for 'M' already"),
        (Spelling(fold_case=True, aliases=(("M", "f"),)), ("M", "F"), "alias 'f' of 'M' is taken for 'F' already"),
        (Spelling(aliases=(("X", "y"),)), ("M", "F"), "has no value 'X'"),
    ],
)
def test_what_could_not_be_told_apart_is_refused(spelling, values, words):
    with pytest.raises(PolicyError, match="sex") as error:
        Values(name="sex", values=values, spelling=spelling)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "attribute",
    [
        STATES,
        Values(name="a", values=("x", "y"), spelling=Spelling(trim=True)),
        Points(name="h", ids=("x",), coordinates=np.zeros((1, 2)), spelling=Spelling(aliases=(("x", "X"), ("x", "")))),
    ],
    ids=lambda a: a.name,
)
def test_a_spelling_is_part_of_the_digest_and_comes_back(attribute):
    back = attribute_from_spec(json.loads(json.dumps(attribute.spec())))
    assert back.spelling == attribute.spelling
    assert back.spec() == attribute.spec()
    plain = json.loads(json.dumps({k: v for k, v in attribute.spec().items() if k not in attribute.spelling.spec()}))
    assert Universe([attribute]).digest != Universe([attribute_from_spec(plain)]).digest


SPELLINGS = [
    Spelling(trim, fold, aliases)
    for trim in (False, True)
    for fold in (False, True)
    for aliases in ((), (("b", "A"),), (("b", "c"),))
]


@pytest.mark.parametrize("seed", range(60))
def test_two_versions_have_every_pair_that_some_entry_is_read_as(seed):
    """Against all entries of up to four characters; where both change entries alike, no pair is too many."""
    rng = random.Random(seed)
    versions = []
    while len(versions) < 2:
        spelling = rng.choice(SPELLINGS)
        listed = (*rng.sample(["a", "A", "b", "c", " a", "C1"], rng.randint(1, 3)), "b")
        try:
            versions.append(Values(name="x", values=tuple(dict.fromkeys(listed)), spelling=spelling))
        except PolicyError:
            continue
    old, new = versions
    readers = [entry_reader(a.codec) for a in versions]
    entries = ("".join(e) for n in range(5) for e in itertools.product(" aAbBcC1", repeat=n))
    want = {tuple(read(e) for read in readers) for e in entries}
    found = relate(old, new)
    pairs = set(zip(found.old.tolist(), found.new.tolist(), strict=True))
    assert want <= pairs
    ways = [(a.spelling.trim, a.spelling.fold_case) for a in versions]
    if ways[0] == ways[1]:
        assert pairs == want


def test_was_and_a_spelling_cannot_be_carried_in_one_step():
    old, new = Values(name="x", values=("a",)), Values(name="x", values=("b",), spelling=Spelling(trim=True))
    with pytest.raises(PolicyError, match="was cannot be combined with"):
        relate(old, new, Recoding({"b": ("a",)}))


def test_a_kind_from_elsewhere_is_read_with_its_spelling_in_the_process_apart(tmp_path, monkeypatch):
    class Towns(Values):
        kind = "towns"

        def __post_init__(self) -> None:
            object.__setattr__(self, "kind", "towns")
            super().__post_init__()

    monkeypatch.setitem(KINDS, "towns", Towns)
    towns = Towns(name="state", values=STATES.values, spelling=STATES.spelling)
    data = build("parquet", {"state": (pa.string(), [" nj ", "New Jersey", "ÖST", "x"])}, tmp_path)
    assert open_source(data).count(Universe([towns])).counts.tolist() == [2, 1, 0, 0, 1]
