"""Several files, databases, archives, sheets: what is accepted, what is refused, and what the refusals say."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import zipfile

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from engine_kinds import build
from test_engine_schema import PLANTED, refusal

from dxprivacy.attributes.integers import Integers
from dxprivacy.attributes.values import Values
from dxprivacy.engines import lines, open_source
from dxprivacy.model.universe import Universe

UNIVERSE = Universe([Values(name="sex", values=("M", "F")), Integers(name="age", low=0, high=2)])


def counts(data):
    source = open_source(data)
    source.check(UNIVERSE)
    histogram = source.count(UNIVERSE)
    assert source.rows() == histogram.total
    return histogram.counts.reshape(3, 4).tolist()


def csv(path, *rows, header="sex,age"):
    path.write_text("".join(line + "\n" for line in (header, *rows)))
    return path


# several files


def test_several_files_are_counted_as_one_table(tmp_path):
    a, b = csv(tmp_path / "a.csv", "M,1", "F,2"), csv(tmp_path / "b.csv", "1,M", "0,x", header="age,sex")
    want = [[0, 2, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]
    assert (
        counts([a, str(b)]) == counts((b, a)) == counts(str(tmp_path / "*.csv")) == counts(tmp_path / "*.csv") == want
    )
    (tmp_path / "deep" / "er").mkdir(parents=True)
    pq.write_table(pa.table({"age": [2], "sex": ["F"]}), tmp_path / "deep" / "er" / "c.parquet")
    assert counts([a, tmp_path / "deep" / "er" / "c.parquet"])[1][2] == 2
    assert counts(str(tmp_path / "**" / "*.parquet"))[1][2] == 1
    assert counts([pl.DataFrame({"sex": ["M"], "age": [1]}), a])[0][1] == 2


def test_several_files_name_themselves_and_what_they_hold(tmp_path):
    csv(tmp_path / "a.csv", "M,1")
    assert open_source(str(tmp_path / "*.csv")).name == "a.csv"
    csv(tmp_path / "b.csv", "M,1")
    source = open_source(str(tmp_path / "*.csv"))
    assert source.name == f"{tmp_path}/*.csv (2 files)"
    assert [column.name for column in source.columns()] == ["sex", "age"]


def test_a_file_given_twice_is_refused_under_any_name(tmp_path):
    """Otherwise one record would be two rows, and the promise half."""
    a, b = csv(tmp_path / "a.csv", "M,1"), csv(tmp_path / "b.csv", "M,1")
    (tmp_path / "link.csv").symlink_to(a)
    os.link(b, tmp_path / "hard.csv")
    frame = pd.DataFrame({"sex": ["M"], "age": [1]})
    for twice in ([a, a], [a, str(a)], [a, tmp_path / "link.csv"], [b, tmp_path / "hard.csv"], [frame, frame]):
        assert refusal(lambda twice=twice: open_source(twice)).what == "is given twice"
    assert "is given twice" in refusal(lambda: open_source(str(tmp_path / "*.csv"))).what
    for twice in ([str(tmp_path / "a*.csv"), a], [[a], [a]], [str(tmp_path / "a.*"), str(tmp_path / "[a].csv")]):
        assert refusal(lambda twice=twice: open_source(twice)).what == "is given twice"


def test_files_of_different_columns_are_refused_without_naming_one(tmp_path):
    """A file without header has a record in its first line."""
    a = csv(tmp_path / "a.csv", "M,1")
    for header in (f"{PLANTED},4711", "sex", "sex,age,age", "SEX,age"):
        b = csv(tmp_path / "b.csv", "F,2", header=header)
        error = refusal(lambda b=b: open_source([a, b]))
        assert error.headline == "b.csv · has other columns than a.csv"


def test_each_of_several_files_must_fit(tmp_path):
    pq.write_table(pa.table({"sex": ["M"], "age": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"sex": ["M"], "age": ["1"]}), tmp_path / "b.parquet")
    source = open_source(str(tmp_path / "*.parquet"))
    for action in (source.check, source.count):
        assert "b.parquet does not fit" in refusal(lambda action=action: action(UNIVERSE)).headline


def test_empty_lists_and_odd_members_are_refused(tmp_path):
    a = csv(tmp_path / "a.csv", "M,1")
    assert "empty" in refusal(lambda: open_source([])).what
    assert "no such file" in refusal(lambda: open_source([a, tmp_path / "b.csv"])).what
    assert "cannot read data from a int" in refusal(lambda: open_source([a, 3])).what
    (tmp_path / "folder.csv").mkdir()
    assert "is a directory" in refusal(lambda: open_source(str(tmp_path / "*.csv"))).what


def test_a_directory_is_refused_with_the_pattern_that_names_its_files(tmp_path):
    assert str(tmp_path / "*.parquet") in str(refusal(lambda: open_source(tmp_path)))


def test_many_files_share_one_database(tmp_path):
    for k in range(40):
        pq.write_table(pa.table({"sex": ["M"], "age": [k % 3]}), tmp_path / f"{k}.parquet")
    assert counts(str(tmp_path / "*.parquet"))[0] == [14, 13, 13, 0]


# JSON lines


def test_json_lines_have_no_schema_to_show_or_to_misfit(tmp_path):
    path = tmp_path / "people.ndjson"
    path.write_text(f'{{"{PLANTED}": 4711}}\n')
    source = open_source(path)
    source.check(UNIVERSE)
    assert not source.has_schema
    assert "no row may be read" in refusal(source.columns).what
    assert counts(path)[2][3] == 1
    assert "has no “other”" in refusal(lambda: source.check(Universe.listed(["M"], name="sex"))).what
    both = open_source([path, csv(tmp_path / "a.csv", "M,1")])
    assert both.count(UNIVERSE).total == 2
    assert "no row may be read" in refusal(both.columns).what


# compressed files

PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("ending", [".csv", ".TSV", ".txt", ".jsonl"])
def test_compressed_lines_are_read_as_if_they_were_not(ending, packed, tmp_path):
    text = '{"sex": "F", "age": 2}\n' if ending == ".jsonl" else "sex,age\nF,2\n"
    path = tmp_path / f"people{ending}{packed}"
    path.write_bytes(PACKED[packed]((text.replace(",", "\t") if ending == ".TSV" else text).encode()))
    assert counts(path)[1][2] == 1


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("where", ["cut", "flipped"])
def test_damaged_archives_are_refused_as_a_whole(where, packed, tmp_path):
    rows = "".join(f"{PLANTED},{k * 4711}\n" for k in range(40_000))
    whole = PACKED[packed](("sex,age\n" + rows).encode())
    damaged = whole[: len(whole) // 2] if where == "cut" else whole[:-40] + b"4711" + whole[-36:]
    path = tmp_path / f"people.csv{packed}"
    path.write_bytes(damaged)

    def read():
        source = open_source(path)
        source.check(UNIVERSE)
        source.count(UNIVERSE)

    assert "cannot be read to its end: it is damaged" in refusal(read).what
    assert "damaged" in refusal(lambda: open_source(path).rows()).what


def test_an_archive_that_this_python_cannot_read_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(lines.COMPRESSIONS, ".zst", "no_such_module.zstd")
    for name in ("people.csv.zst", "people.jsonl.zst"):
        (tmp_path / name).write_bytes(b"x")
        error = refusal(lambda name=name: open_source(tmp_path / name))
        assert "no reader for it" in error.what
        assert ".gz" in str(error.hints)


# databases


def database(path, *statements):
    with duckdb.connect(path) as con:
        for statement in statements:
            con.execute(statement)
    return path


PEOPLE = "CREATE TABLE people AS SELECT 'M' AS sex, 1 AS age UNION ALL SELECT 'F', 2"


def test_a_table_of_a_database_is_read_by_its_name(tmp_path):
    odd = (
        'CREATE SCHEMA "w.x"; CREATE TABLE "w.x"."it\'s ""so""" AS FROM people; CREATE TABLE empty (sex TEXT, age INT)'
    )
    path = database(tmp_path / "survey.duckdb", PEOPLE, odd)
    want = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert counts(f"{path}::people") == want
    assert counts(f'{path}::w.x.it\'s "so"') == want
    assert counts(f"{path}::empty") == np.zeros((3, 4)).tolist()
    assert counts([f"{path}::people", f"{path}::empty"]) == want
    for other in ("people", "main.people", "People"):
        assert "is given twice" in refusal(lambda o=other: open_source([f"{path}::people", f"{path}::{o}"])).what
    path.rename(tmp_path / "survey.db")
    assert counts(f"{tmp_path / 'survey.db'}::people") == want


def test_a_database_is_left_as_it_was(tmp_path):
    path = database(tmp_path / "survey.duckdb", PEOPLE)
    before = path.read_bytes()
    path.chmod(0o444)
    counts(f"{path}::people")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["survey.duckdb"]


def test_views_are_refused_because_they_may_compute_across_rows(tmp_path):
    path = database(
        tmp_path / "survey.duckdb", PEOPLE, "CREATE VIEW summary AS SELECT max(sex) AS sex, 1 AS age FROM people"
    )
    error = refusal(lambda: open_source(f"{path}::summary"))
    assert error.headline == "survey.duckdb · “summary” is a view, not a table"


def test_an_unknown_or_missing_table_is_answered_with_those_there_are(tmp_path):
    path = database(tmp_path / "survey.duckdb", PEOPLE)
    error = refusal(lambda: open_source(f"{path}::peple"))
    assert error.headline == "survey.duckdb · no table “peple”"
    assert ("people", "did you mean this?") in error.hints
    missing = refusal(lambda: open_source(path))
    assert missing.what == "which table?"
    assert ("survey.duckdb::people", "a file and its table") in missing.hints
    assert "has no tables" in str(refusal(lambda: open_source(database(tmp_path / "empty.duckdb"))))


def test_a_database_in_use_or_of_another_kind_is_refused(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "other.db") as con:
        con.execute("CREATE TABLE people (sex)")
    con.close()
    assert "no DuckDB database" in refusal(lambda: open_source(f"{tmp_path / 'other.db'}::people")).what
    path = database(tmp_path / "survey.duckdb", PEOPLE)
    writer = subprocess.Popen(
        [sys.executable, "-c", f"import duckdb; c = duckdb.connect({str(path)!r}); print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert "another program writes" in refusal(lambda: open_source(f"{path}::people")).what
    finally:
        writer.communicate(b"\n")


# Arrow and polars


def test_a_dataset_of_many_files_is_read_in_batches(tmp_path):
    for k in range(3):
        pq.write_table(pa.table({"a.b": [9, 9], "sex": ["M", "F"], "age": [k, k]}), tmp_path / f"{k}.parquet")
    assert counts(pa.dataset.dataset(tmp_path)) == [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    universe = Universe(
        [Integers(name="x", column="a.b", low=9, high=9), Integers(name="y", column="a.b", low=0, high=9)]
    )
    assert open_source(pa.dataset.dataset(tmp_path)).count(universe).total == 6


def test_datasets_of_text_are_refused_because_their_types_are_guessed(tmp_path):
    csv(tmp_path / "people.csv", "M,1")
    (tmp_path / "people.json").write_text('{"sex": "M", "age": 1}\n')
    pq.write_table(pa.table({"sex": ["M"], "age": [1]}), tmp_path / "people.parquet")
    text, lines, fine = (
        pa.dataset.dataset(tmp_path / f"people.{kind}", format=kind) for kind in ("csv", "json", "parquet")
    )
    declared = pa.dataset.dataset(tmp_path / "people.csv", format="csv", schema=fine.schema)
    for dataset in (text, declared, text.filter(pa.dataset.field("age") > 0), pa.dataset.dataset([fine, declared])):
        error = refusal(lambda dataset=dataset: open_source(dataset))
        assert "CSV with types guessed" in error.what
        assert "give the file itself" in str(error)
    assert "JSON with types guessed" in refusal(lambda: open_source(lines)).what
    assert open_source(fine).rows() == open_source(pa.dataset.dataset([fine])).rows() == 1


def test_lazy_frames_that_scan_text_are_refused_because_their_types_are_guessed(tmp_path):
    csv(tmp_path / "people.csv", "M,1")
    (tmp_path / "people.jsonl").write_text('{"sex": "M", "age": 1}\n')
    pq.write_table(pa.table({"sex": ["M"], "age": [1]}), tmp_path / "CSV SCAN.parquet")
    scan, lines = pl.scan_csv(tmp_path / "people.csv"), pl.scan_ndjson(tmp_path / "people.jsonl")
    fine = pl.scan_parquet(tmp_path / "CSV SCAN.parquet").rename({"age": "Csv SCAN"})
    assert open_source(fine).rows() == 1
    joined = fine.rename({"Csv SCAN": "age"}).join(scan, on="sex").select("sex", "age")
    for frame in (scan, scan.filter(pl.col("age") > 0).select("sex"), joined, pl.concat([scan, scan])):
        assert "CSV with types guessed" in refusal(lambda frame=frame: open_source(frame)).what
    assert "JSON with types guessed" in refusal(lambda: open_source(lines)).what
    assert open_source(scan.collect()).rows() == 1  # a frame in memory has the types that its owner gave it


def test_a_stream_that_breaks_is_refused_without_its_message():
    def broken():
        yield pa.record_batch({"sex": ["M"], "age": [1]})
        raise ValueError(PLANTED)

    reader = pa.RecordBatchReader.from_batches(pa.schema({"sex": pa.string(), "age": pa.int64()}), broken())
    assert "cannot read the Arrow stream" in refusal(lambda: open_source(reader)).what


def test_dictionaries_that_differ_from_batch_to_batch_are_read():
    batches = [pa.array(entries).dictionary_encode() for entries in (["M", "M"], ["F", "x"], ["F", "M"])]
    table = pa.table({"sex": pa.chunked_array(batches), "age": [1] * 6})
    assert [row[1] for row in counts(table)] == [row[1] for row in counts(table.to_reader())] == [3, 2, 1]


def test_a_lazy_frame_is_asked_for_the_wanted_columns_only():
    def refuse(_column):
        raise AssertionError(PLANTED)

    frame = pl.LazyFrame({"sex": ["M"], "age": [1], "^s.*$": [2]})
    costly = frame.with_columns(pl.col("age").map_batches(refuse, return_dtype=pl.Int64).alias("other"))
    assert counts(costly)[0][1] == 1
    pattern = Universe([Integers(name="x", column="^s.*$", low=2, high=2)])
    assert open_source(frame).count(pattern).counts.tolist() == [1, 0]
    assert (
        "cannot be counted"
        in refusal(lambda: open_source(costly).count(Universe([Integers(name="other", low=0, high=1)]))).what
    )


def test_streams_of_arrow_files_are_read_too(tmp_path):
    table = pa.table({"sex": ["M", "F"], "age": [0, 1]})
    with pa.ipc.new_stream(tmp_path / "people.arrow", table.schema) as writer:
        writer.write_table(table)
    assert counts(tmp_path / "people.arrow")[1][1] == 1
    with pa.ipc.new_file(tmp_path / "cut.arrow", table.schema) as writer:
        writer.write_table(table)
    whole = (tmp_path / "cut.arrow").read_bytes()
    (tmp_path / "cut.arrow").write_bytes(whole[: len(whole) // 2])
    assert "no Arrow file" in refusal(lambda: open_source(tmp_path / "cut.arrow")).what


def test_arrow_files_ask_for_pyarrow_where_it_is_missing(tmp_path):
    path = build("feather", {"sex": (pa.string(), ["M"])}, tmp_path)
    program = (
        "import sys; sys.modules['pyarrow'] = None; from dxprivacy.engines import open_source\n"
        f"try: open_source({str(path)!r})\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "is read with pyarrow, which is not installed" in done.stdout


# sheets


def workbook(path, **sheets):
    """The least that is a workbook: entries are texts, numbers, truths, or (number, 1) for a date."""

    def cell(entry):
        if isinstance(entry, bool):
            return f'<c t="b"><v>{int(entry)}</v></c>'
        if isinstance(entry, str):
            return f'<c t="inlineStr"><is><t xml:space="preserve">{entry}</t></is></c>'
        if entry is None:
            return "<c/>"
        number, style = entry if isinstance(entry, tuple) else (entry, 0)
        return f'<c s="{style}"><v>{number}</v></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    names = list(sheets)
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        start = f'<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
        book.writestr("_rels/.rels", f'<Relationships xmlns="{package}">{start}</Relationships>')
        listed = "".join(f'<sheet name="{n}" sheetId="{k}" r:id="r{k}"/>' for k, n in enumerate(names, 1))
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>'
        )
        links = "".join(
            f'<Relationship Id="r{k}" Type="{office}/worksheet" Target="worksheets/sheet{k}.xml"/>'
            for k in range(1, len(names) + 1)
        )
        book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}">{links}</Relationships>')
        formats = '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
        book.writestr("xl/styles.xml", f'<styleSheet xmlns="{main}">{formats}</styleSheet>')
        for k, name in enumerate(names, 1):
            rows = "".join("<row>" + "".join(map(cell, row)) + "</row>" for row in sheets[name])
            book.writestr(
                f"xl/worksheets/sheet{k}.xml", f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
            )
    return path


def test_an_empty_row_of_a_sheet_is_no_record_wherever_it_stands(tmp_path):
    universe = Universe([Values(name="sex", values=("M", "F"))])
    for empty in ([], [None], [""], ["", None]):
        for rows in (
            [["sex", "note"], ["M"], empty, empty, ["F"]],
            [["sex", "note"], ["M"], ["F"], empty, empty],
            [empty, ["sex", "note"], empty, ["M"], ["F"]],
        ):
            source = open_source(workbook(tmp_path / "people.xlsx", people=rows))
            assert source.rows() == 2
            assert source.count(universe).counts.tolist() == [1, 1, 0]
    noted = open_source(workbook(tmp_path / "people.xlsx", people=[["sex", "note"], ["M"], [None, "x"], [" "], [0]]))
    assert noted.rows() == 4  # something stands in each of them
    assert noted.count(universe).counts.tolist() == [1, 0, 3]
    nothing = workbook(tmp_path / "people.xlsx", people=[[None, ""], [""]])
    assert "is empty" in refusal(lambda: open_source(nothing)).what


def with_cell(path, cell):
    """A workbook of three rows, the second of which holds this XML in place of a cell."""
    workbook(path, people=[["sex", "id"], ["M", 1], ["SWAP", 2], ["F", 3]])
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name).decode() for name in book.namelist()}
    plain = '<c t="inlineStr"><is><t xml:space="preserve">SWAP</t></is></c>'
    assert plain in parts["xl/worksheets/sheet1.xml"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, text.replace(plain, cell))
    return path


BROKEN_CELLS = [
    *(f'<c t="e"><v>{error}</v></c>' for error in ("#N/A", "#DIV/0!", "#REF!", "#SPILL!", "#CALC!", "#NEW!", "")),
    f'<c t="n"><v>{PLANTED}</v></c>', "<c><v>1e999</v></c>", "<c><v>nan</v></c>", '<c t="s"><v>4711</v></c>',
    '<c t="s"><v>-1</v></c>', '<c t="s"><v>M</v></c>', '<c t="b"><v>2</v></c>', '<c t="new"><v>M</v></c>',
    '<c s="999"><v>M</v></c>', '<c s="x"><v>1</v></c>', '<c s="1"><v>60</v></c>', '<c s="1"><v>1e300</v></c>',
    '<c s="1"><v>-1e300</v></c>', '<c t="d"><v>2026-99-99</v></c>', '<c r="XFD1048576"><v>1</v></c>', "<c/>",
    '<c r="ZZZZZZZZZZ1"><v>1</v></c>', '<c r="&#x661;"><v>1</v></c>', "<c><v>" + "9" * 100_000 + "</v></c>",
    '<c t="str"><v>' + "M" * 100_000 + "</v></c>", "<c><f>1/0</f></c>", "<c><v><v>M</v></v></c>",
    '<c t="inlineStr"><is><rPh><t>M</t></rPh></is></c>',
]  # fmt: skip


@pytest.mark.parametrize("cell", BROKEN_CELLS, ids=lambda cell: cell[:40])
def test_a_cell_that_says_nothing_we_know_counts_as_other(cell, tmp_path):
    universe = Universe([Values(name="sex", values=("M", "F"))])
    source = open_source(with_cell(tmp_path / "people.xlsx", cell))
    assert source.rows() == 3
    assert source.count(universe).counts.tolist() == [1, 1, 1]


def test_a_workbook_is_read_as_another_reader_reads_it(tmp_path):
    """Days, truths, numbers and texts of all kinds; with numbers of days, both are asked for the day."""
    calamine = pytest.importorskip("python_calamine")
    cells = [
        None,
        "",
        "x",
        "é&lt;&amp;&gt;",
        True,
        False,
        1,
        1.5,
        -3,
        1e300,
        (46023, 1),
        (46024.75, 1),
        (1, 1),
        (59, 1),
        (61, 1),
    ]
    cells += [(2958465, 1), 12345678901234567890, 0.1, "2026-01-02", " blank "]
    path = workbook(tmp_path / "people.xlsx", people=[["id", "x"], *([k, cell] for k, cell in enumerate(cells))])
    theirs = calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()[1:]
    from dxprivacy.engines.entries import clean_text
    from dxprivacy.engines.workbook import Workbook

    book = Workbook(path)
    ours = list(book.rows("people"))[1:]
    book.close()
    for (_, their), row in zip(theirs, ours, strict=True):
        assert clean_text(row.get(1, "")) == clean_text(their)


def test_a_workbook_of_one_far_cell_and_one_that_would_fill_the_memory_are_read_in_little(tmp_path):
    """1.4 KB that took 512 GiB; and a text of 80 MB, in 80 KB."""
    far = workbook(tmp_path / "far.xlsx", people=[["sex"], ["M"]])
    with zipfile.ZipFile(far) as book:
        parts = {name: book.read(name).decode() for name in book.namelist()}
    one = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    with zipfile.ZipFile(far, "w") as book:
        for name, text in parts.items():
            book.writestr(name, text.replace("</sheetData>", one))
    long = with_cell(tmp_path / "long.xlsx", '<c t="str"><v>' + "M" * 80_000_000 + "</v></c>")
    program = (
        "import sys, resource\n"
        "from dxprivacy.engines import open_source\n"
        "from dxprivacy.attributes.values import Values\n"
        "from dxprivacy.model.universe import Universe\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for name in sys.argv[1:]:\n"
        "    found = open_source(name).count(Universe([Values(name='sex', values=('M', 'F'))])).counts\n"
        "    print(name[-8:], found.tolist())\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", program, far, long], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["far.xlsx [1, 0, 1]", "ong.xlsx [1, 1, 1]"]
    assert int(lines[2]) < 50_000  # KB


def test_a_sheet_is_read_cell_by_cell(tmp_path):
    from engine_kinds import moved

    from dxprivacy.attributes.dates import Dates
    from dxprivacy.attributes.numbers import Numbers

    universe = Universe(
        [
            Values(name="sex", values=("M", "F", "true", "")),
            Integers(name="age", low=0, high=2),
            Numbers(name="rate", low=0, high=1, step=1),
            Dates(name="visit", first="2026-01-01", last="2026-01-03"),
        ]
    )
    header, clean = ["sex", "age", "rate", "visit"], [["M", 1, 0.5, (46023, 1)] for _ in range(4)]
    path = tmp_path / "people.xlsx"

    def count(rows):
        source = open_source(workbook(path, first=[header, *rows], second=[["x"], [1]]))
        histogram = source.count(universe)
        assert source.rows() == histogram.total == len(rows)
        return histogram.counts

    before = count(clean)
    assert before[int(universe.index([{"sex": "M", "age": 1, "rate": 0.5, "visit": "2026-01-01"}])[0])] == 4
    dirt = [None, "", "x", True, 1, 1.5, 1e300, -5, (46024.75, 1), (1e9, 1), (-3, 1), "2026-01-02", "1", "\u2028"]
    for at in range(4):
        for entry in dirt:
            changed = [list(row) for row in clean]
            changed[2][at] = entry
            moved(before, count(changed))
    assert moved(before, count([*clean[:2], [None, None, None, None, "behind"], clean[3]])) is not None
    assert open_source(f"{path}::second").count(Universe([Integers(name="x", low=1, high=1)])).counts.tolist() == [1, 0]
    error = refusal(lambda: open_source(f"{path}::secund"))
    assert error.headline == "people.xlsx · no sheet “secund”"
    assert "no .xlsx workbook" in refusal(lambda: open_source(csv(tmp_path / "odd.xlsx", "M,1"))).what
    assert "is empty" in refusal(lambda: open_source(workbook(path, first=[]))).what
    record = open_source(workbook(path, first=[[PLANTED, 4711], ["M", 1]]))
    assert "the first row must name the columns" in str(refusal(lambda: record.check(universe)))


@pytest.mark.parametrize(("beginning", "end"), [("<!--", "-->"), ('<c x="', '"/>')])
def test_a_sheet_with_a_long_comment_or_attribute_takes_linear_time_and_has_an_end(
    tmp_path, monkeypatch, beginning, end
):
    """The parser begins an unfinished tag anew with every chunk."""
    from dxprivacy.engines import workbook as books

    def made(size):
        path = workbook(tmp_path / f"{size}.xlsx", people=[["sex"], ["M"], ["F"]])
        with zipfile.ZipFile(path) as book:
            parts = {name: book.read(name) for name in book.namelist()}
        sheet = parts["xl/worksheets/sheet1.xml"].decode()
        parts["xl/worksheets/sheet1.xml"] = sheet.replace("<row>", f"{beginning}{'x' * size}{end}<row>", 1).encode()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
            for name, content in parts.items():
                book.writestr(name, content)
        return path

    read = 0
    real = books.expat.ParserCreate

    class Counting:
        """A parser that counts the bytes that it looks at, as often as it does."""

        def __init__(self, **options):
            object.__setattr__(self, "parser", real(**options))
            object.__setattr__(self, "given", 0)

        def __getattr__(self, name):
            return getattr(self.parser, name)

        def __setattr__(self, name, value):
            setattr(self.parser, name, value)

        def Parse(self, chunk, last):
            nonlocal read
            object.__setattr__(self, "given", self.given + len(chunk))
            read += self.given - max(self.parser.CurrentByteIndex, 0)
            return self.parser.Parse(chunk, last)

    monkeypatch.setattr(books.expat, "ParserCreate", Counting)
    universe = Universe([Values(name="sex", values=("M", "F"))])
    size = 1 << 23
    assert open_source(made(size)).count(universe).counts.tolist() == [1, 1, 0]
    assert read < 20 * size
    monkeypatch.setattr(books, "_LONGEST_TAG", 1 << 20)
    assert "cannot be read" in refusal(lambda: open_source(made(size)).count(universe)).what


def test_a_cell_of_any_length_is_no_damage(tmp_path, monkeypatch):
    from dxprivacy.engines import workbook as books

    monkeypatch.setattr(books, "_LONGEST_TAG", 1 << 18)
    universe = Universe([Values(name="sex", values=("M", "F"))])
    for text in ("M" * (1 << 22), "é" * (1 << 20), "&amp;" * (1 << 18), "<![CDATA[" + "]" * (1 << 20) + "]]>"):
        path = workbook(tmp_path / "people.xlsx", people=[["sex"], ["M"], [text], ["F"]])
        assert open_source(path).count(universe).counts.tolist() == [1, 1, 1]
