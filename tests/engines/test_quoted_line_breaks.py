"""Records over several lines, where the policy declares them: read back as the table that was written, or refused."""

import csv
import io
import random

import numpy as np
import pytest

from dxprivacy.engines import open_source
from dxprivacy.engines.files import csv_quoted, line_files
from dxprivacy.errors import DataError
from dxprivacy.policy import Policy
from dxprivacy.session import Session
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.file_format import FileFormat
from dxprivacy.universe.universe import Universe

MANY = FileFormat(quoted_line_breaks=True)
SEX = Universe([Values(name="sex", values=("M", "F", 'q"', ",", "é"))])
NOTES = ["", "a", "two\nlines", 'a "quote"\n\n', "\r\n", ",\n,", '"', '"\n"', "é" * 3, "x\n" * 5]


def written(rows, file=MANY, terminator="\n"):
    text = io.StringIO()
    out = csv.writer(text, delimiter=file.delimiter or ",", lineterminator=terminator)
    out.writerows([["note", "sex", "more"], *rows])
    return text.getvalue().encode(file.codec)


def table(rng, rows):
    return [
        [rng.choice(NOTES), rng.choice([*SEX.attributes[0].values, "x", ""]), rng.choice(NOTES)] for _ in range(rows)
    ]


def expected(rows):
    values = list(SEX.attributes[0].values)
    return np.bincount([values.index(r[1]) if r[1] in values else len(values) for r in rows], minlength=len(values) + 1)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_what_a_table_is_written_as_is_read_back_as_that_table(seed, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "CHUNK", chunk)
    rng = random.Random(seed)
    file = rng.choice([MANY, FileFormat(";", "cp1252", (), True), FileFormat("\t", "utf-16", (), True)])
    rows = table(rng, rng.randrange(25))
    path = tmp_path / "people.csv"
    path.write_bytes(written(rows, file, rng.choice(["\n", "\r\n"])))
    source = open_source(path, file=file)
    assert source.rows() == len(rows)
    assert (source.count(SEX).counts == expected(rows)).all()
    if rows:  # one record replaced is one unit moved, whatever stands in it
        before = source.count(SEX).counts
        rows[rng.randrange(len(rows))] = table(rng, 1)[0]
        path.write_bytes(written(rows, file))
        change = open_source(path, file=file).count(SEX).counts - before
        assert sorted(change[change != 0].tolist()) in ([], [-1, 1])


@pytest.mark.parametrize(
    "body",
    ['a,M,"open\nb,F,c\n', 'a,M"x,b\n"c",F,d\n', 'a,"M"x,b\n', 'a,"M" ,b\n', ' "a",M,b\n', 'a,M,b\n"', '"a""\nb,M,c\n'],
)
def test_any_other_file_is_refused_as_a_whole_without_a_word_of_it(body, tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b"note,sex,more\n" + body.encode())
    source = open_source(path, file=MANY)
    source.check(SEX)
    for read in (source.rows, lambda: source.count(SEX)):
        with pytest.raises(DataError, match="not written as quoted_line_breaks") as error:
            read()
        told = str(error.value).replace("quoted", "")
        assert not any(f" {x}" in told for x in ("1", "2", "line 1", "record 1"))
    assert open_source(path).rows() == body.count("\n") + (not body.endswith("\n"))  # by lines, all of them count


def test_a_refused_file_costs_nothing(tmp_path):
    sex = '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1'
    policy = Policy.parse(f'title = "T"\ndataset = "t"\n[file]\nquoted_line_breaks = true\n{sex}')
    path = tmp_path / "people.csv"
    path.write_bytes(b'note,sex\n"two\nlines",M\nx,F\n')
    with Session(policy, path, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        plan = session.plan("count by sex")
        assert session.n_records == 2
    path.write_bytes(b'note,sex\n"two\nlines,M\nx,F\n')
    with Session(policy, path, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        with pytest.raises(DataError, match="not written as"):
            session.release(plan)
        assert not session.ledger.entries()


def test_headers_may_have_line_breaks_too(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b'"two\r\nlines",sex\r\nx,M\r\n')
    source = open_source(path, file=MANY)
    assert [c.name for c in source.columns()] == ["two\r\nlines", "sex"]
    assert source.count(SEX).counts.tolist() == [1, 0, 0, 0, 0, 0]
    path.write_bytes(b'"two\r\nlines,sex\r\nx,M\r\n')
    with pytest.raises(DataError, match="not written as"):
        open_source(path, file=MANY)


def test_a_long_record_is_cut_and_takes_no_other_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_quoted, "LONGEST_LINE", 50)
    rows = [["x", "M", ""], ["", "F", "long\n" * 100], ["long\n" * 100, "F", ""], ["", "F", ""]]
    path = tmp_path / "people.csv"
    path.write_bytes(written(rows))
    source = open_source(path, file=MANY)
    assert source.rows() == 4
    assert source.count(SEX).counts.tolist() == [1, 2, 0, 0, 0, 1]  # of one, the field lies behind what is looked at
