"""`[file]`: delimiters, encodings and headers that the policy declares; nothing is guessed, one row is one row."""

import gzip
import io
import random
from pathlib import Path

import numpy as np
import pytest
from workbooks import workbook

from dxprivacy.engines import open_source
from dxprivacy.engines.files import parquet as recoded
from dxprivacy.engines.files.csv_records import split_quoted
from dxprivacy.errors import DataError, PolicyError, UsageError
from dxprivacy.synthetic.synthetic_records import Records, require_savable
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.file_format import CODECS, FileFormat
from dxprivacy.universe.universe import Universe

TOWN = Values(name="town", values=("Köln", "Łódź", "x;y", 'a"b', "Zürich"))
AGE = Integers(name="age", low=0, high=9)
BOTH = Universe([TOWN, AGE])


def counts(path, file=FileFormat(), universe=BOTH):  # noqa: B008
    return open_source(path, file=file).count(universe).counts.reshape(universe.shape)


@pytest.mark.parametrize("encoding", CODECS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_encoding_is_read_as_it_was_written(encoding, packed, tmp_path):
    rows = [(town, age) for town in ("Köln", "Łódź", "Zürich", "Bern") for age in range(3)]
    rows = [(t, a) for t, a in rows if t.encode(CODECS[encoding], "ignore").decode(CODECS[encoding]) == t]
    text = "age;town;more\r\n" + "".join(f"{a};{t};é\r\n" for t, a in rows)
    content = text.encode(CODECS[encoding], "replace")
    path = tmp_path / ("people.csv.gz" if packed else "people.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    found = counts(path, FileFormat(";", encoding))
    want = np.zeros(BOTH.shape, dtype=np.int64)
    for town, age in rows:
        want[TOWN.values.index(town) if town in TOWN.values else TOWN.listed, age] += 1
    assert (found == want).all()
    assert open_source(path, file=FileFormat(";", encoding)).rows() == len(rows)


@pytest.mark.parametrize("encoding", CODECS)
def test_one_row_of_any_bytes_moves_one_unit(encoding, tmp_path):
    """A row is replaced by random bytes without a line feed: all others stay where they are."""
    rng = random.Random(encoding)
    unit = 2 if encoding.startswith("utf-16") else 1
    feed = "\n".encode(CODECS[encoding])
    lines = [f"{town};{k}".encode(CODECS[encoding], "replace") for k in range(3) for town in ("Köln", "Zürich", "?")]
    path = tmp_path / "people.csv"
    file = FileFormat(";", encoding)

    def histogram(rows):
        path.write_bytes("town;age".encode(CODECS[encoding]) + feed + feed.join(rows) + feed)
        source = open_source(path, file=file)
        assert source.rows() == len(rows)
        return source.count(BOTH).counts

    before = histogram(lines)
    for _ in range(60):
        k = rng.randrange(len(lines))
        odd = [rng.randbytes(unit) for _ in range(rng.randrange(12))]
        odd += [x.encode(CODECS[encoding], "replace") for x in rng.sample(['"', ";", "\r", "K", "\ufeff"], 2)]
        row = b"".join(x for x in odd if x != feed)
        change = histogram([*lines[:k], row, *lines[k + 1 :]]) - before
        assert sorted(change[change != 0].tolist()) in ([], [-1, 1])


def test_a_byte_that_an_encoding_does_not_know_is_no_other_text(tmp_path):
    """It is not left out: Ul\x81m is no Ulm."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"town;age\nK\xf6ln;1\nK\x81\xf6ln;2\n")
    assert counts(path, FileFormat(";", "cp1252")).sum(axis=1).tolist() == [1, 0, 0, 0, 0, 1]


def test_without_a_header_the_first_line_is_a_record(tmp_path):
    path = tmp_path / "people.csv"
    file = FileFormat(",", columns=("town", "more", "age"))
    path.write_bytes(b"\xef\xbb\xbf" + "Köln,x,3\nZürich,y\nKöln,,4,further\n\n".encode())
    source = open_source(path, file=file)
    assert source.rows() == 4
    assert [c.name for c in source.columns()] == ["town", "more", "age"]
    found = counts(path, file)
    assert (found[0, 3], found[0, 4], found[4, 10], found[5, 10]) == (1, 1, 1, 1)
    path.write_bytes(b"")
    assert open_source(path, file=file).rows() == 0
    with pytest.raises(DataError, match="no column “street”"):
        open_source(path, file=file).check(Universe([Values(name="street", values=("a",))]))


def test_a_sheet_without_a_header(tmp_path):
    path = tmp_path / "people.xlsx"
    workbook(path, people=[["Köln", 3], ["Zürich", 4], ["Köln", 3]])
    found = counts(path, FileFormat(columns=("town", "age")))
    assert (found[0, 3], found[4, 4], found.sum()) == (2, 1, 3)


@pytest.mark.parametrize(
    ("content", "file", "what", "hint"),
    [
        ("town;age\nKöln;3\n", FileFormat(), "no column “town”", 'delimiter = ";"'),
        ("town\tage\nKöln\t3\n", FileFormat(), "no column “town”", r'delimiter = "\t"'),
        ("town,age\nKöln,3\n", FileFormat(";"), "no column “town”", 'delimiter = ","'),
        ("town|age\nKöln|3\n", FileFormat(";"), "no column “town”", 'delimiter = "|"'),
        ("town,age\n".encode("utf-16"), FileFormat(), "is UTF-16, not UTF-8", 'encoding = "utf-16"'),
        ("\ufefftown,age\n".encode("utf-16-be"), FileFormat(), "the other way round", 'encoding = "utf-16-be"'),
        ("town,age\n".encode("utf-16-le"), FileFormat(), "zero bytes in its first line", 'encoding = "utf-16"'),
        ("\ufefftown,age\n".encode("utf-16-be"), FileFormat(encoding="utf-16"), "way round", 'encoding = "utf-16-be"'),
        ("\ufefftown,age\n", FileFormat(encoding="latin-1"), "is UTF-8, not latin-1", "without encoding"),
        ("town,age\nKöln,3\n", FileFormat(encoding="utf-16"), "no column “town”", "in utf-16"),
        ("town,age\rKöln,3\rBern,4\r", FileFormat(), "carriage returns", "line feeds"),
        ("Köln,3\nZürich,4\n", FileFormat(), "no column “town”", "must name the columns, with commas"),
        ("Köln;3\nZürich;4\n", FileFormat(";"), "no column “town”", "with semicolons between them"),
    ],
)
def test_a_declaration_that_does_not_fit_is_one_clear_message(content, file, what, hint, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as error:
        open_source(path, file=file).check(BOTH)
    told = str(error.value)
    assert what in told
    assert hint in told
    assert not any(secret in told for secret in ("Köln", "Bern", "Zürich"))


def test_a_header_in_an_old_encoding_is_told_by_its_names(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("größe,age\n3,4\n".encode("cp1252"))
    size = Universe([Integers(name="size", column="größe", low=0, high=9)])
    with pytest.raises(DataError, match="no column") as error:
        open_source(path).check(size)
    assert ('encoding = "cp1252"', "in [file]: then the first line names what the policy reads") in error.value.hints
    assert open_source(path, file=FileFormat(encoding="cp1252")).count(size).counts[3] == 1


@pytest.mark.parametrize(
    "file",
    [
        FileFormat(";"),
        FileFormat("\t", "utf-16"),
        FileFormat(encoding="cp1252", columns=("more", "age", "town")),
        FileFormat("|", quoted_line_breaks=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_synthetic_records_are_read_back_with_the_same_policy(file, ending, tmp_path):
    town = Values(name="town", values=("Köln", "x;y", 'a"b', "t\u00a0|"))
    universe = Universe([town, AGE], file=file)
    made = Records.counted(universe, np.random.default_rng(3).integers(0, 3, universe.cells))
    path = made.save(tmp_path / f"made.{ending}")
    assert (open_source(path, file=file).count(universe).counts == made.counts).all()


def test_records_that_the_encoding_cannot_hold_are_refused_before():
    universe = Universe([TOWN], file=FileFormat(encoding="latin-1"))
    with pytest.raises(UsageError, match="cannot hold in latin-1"):
        require_savable(universe, Path("made.csv"))


def test_what_a_universe_says_of_its_file_is_in_its_digest_and_comes_back():
    plain = Universe([TOWN, AGE])
    seen = {plain.digest}
    for file in (FileFormat(";"), FileFormat(encoding="cp1252"), FileFormat(columns=("a", "age")), FileFormat("\t")):
        for most in (None, 100):
            universe = Universe([TOWN, AGE], file=file, max_records=most)
            back = Universe.from_spec(universe.spec())
            assert (back, back.file, back.max_records) == (universe, file, most)
            assert universe.digest not in seen
            seen.add(universe.digest)
    assert Universe([TOWN, AGE], file=FileFormat()).spec() == plain.spec()
    for bad in ({"kind": "file"}, {"kind": "file", "delimiter": ""}, {"kind": "file", "encoding": "ebcdic"}):
        with pytest.raises(PolicyError, match="damaged"):
            Universe.from_spec([TOWN.spec(), bad])


def test_fields_split_by_any_delimiter():
    assert split_quoted('"a;b";c"d;"e ""f"" g";', ";") == ["a;b", 'c"d', 'e "f" g', ""]


@pytest.mark.parametrize("encoding", [name for name in CODECS if name != "utf-8"])
@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_bytes_are_recoded_alike_however_they_are_cut(encoding, chunk, monkeypatch):
    """Random bytes, with line feeds and pairs of surrogates among them: line by line what a whole decoding gives."""
    monkeypatch.setattr(recoded, "_CHUNK", chunk)
    rng = random.Random(f"{encoding} {chunk}")
    codec = CODECS[encoding]
    for _ in range(30):
        parts = [
            rng.choice([rng.randbytes(3), "\n".encode(codec), "😀".encode(codec, "replace"), b""]) for _ in range(12)
        ]
        content = b"".join(parts)
        with recoded.recoded(io.BytesIO(content), codec) as handle:
            read = b"".join(iter(handle.readline, b""))
        assert read.decode() == content.decode(codec, "replace")
