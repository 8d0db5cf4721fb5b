"""Sheets of workbooks, cell by cell: odd, broken and endless ones too."""

import subprocess
import sys
import zipfile

import pytest
from small_sources import csv
from test_engine_schema import PLANTED, refusal
from workbooks import workbook

from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


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


def with_cell(path, cell, *, alone=False):
    """A workbook of three rows, the second of which holds this XML in place of a cell, or of all its cells."""
    workbook(path, people=[["sex", "id"], ["M", 1], ["SWAP", *([] if alone else [2])], ["F", 3]])
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


ONLY_CELLS = [
    "<c><f>A1+1</f></c>", "<c><f>A1+1</f><v></v></c>", "<c><f>A1+1</f><v/></c>", '<c t="str"><f>A1</f></c>',
    "<c><f/></c>", '<c t="b"><f>A1</f><v/></c>',
    "<c><v></v></c>", '<c t="s"><v/></c>', '<c t="e"/>', '<c r="?"><v>1</v></c>',
    '<c r="ZZZ1"><v>1</v></c>', '<c r="ZZZZZZ1"><v>1</v></c>', '<c r="&#x661;"><v>1</v></c>', '<c r="a1"><f>1</f></c>',
]  # fmt: skip


@pytest.mark.parametrize("cell", ONLY_CELLS, ids=lambda cell: cell[:40])
def test_a_row_with_one_unreadable_cell_is_a_record(cell, tmp_path):
    """The number of records is public: it must not depend on whether the content of a row can be read."""
    universe = Universe([Values(name="sex", values=("M", "F")), Integers(name="id", low=1, high=3)])
    path = with_cell(tmp_path / "people.xlsx", cell, alone=True)
    source = open_source(path)
    assert source.rows() == 3
    counts = source.count(universe).counts
    assert counts.sum() == 3
    assert counts[-1] == 1  # `other` in both attributes


@pytest.mark.parametrize(
    "cell", ["<c/>", '<c s="1"/>', '<c t="str"><f>A1</f><v></v></c>', '<c t="inlineStr"><is/></c>']
)
def test_a_row_with_styles_and_empty_texts_alone_is_not_a_record(cell, tmp_path):
    source = open_source(with_cell(tmp_path / "people.xlsx", cell, alone=True))
    assert source.rows() == 2


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
    from dxprivacy.engines.files.sheets import Workbook

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
        "from dxprivacy.universe.attributes.listed_values import Values\n"
        "from dxprivacy.universe.universe import Universe\n"
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

    from dxprivacy.universe.attributes.binned_numbers import Numbers
    from dxprivacy.universe.attributes.dates import Dates

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
    assert "not an .xlsx workbook" in refusal(lambda: open_source(csv(tmp_path / "odd.xlsx", "M,1"))).what
    assert "is empty" in refusal(lambda: open_source(workbook(path, first=[]))).what
    record = open_source(workbook(path, first=[[PLANTED, 4711], ["M", 1]]))
    assert "the first row must name the columns" in str(refusal(lambda: record.check(universe)))


@pytest.mark.parametrize(("beginning", "end"), [("<!--", "-->"), ('<c x="', '"/>')])
def test_a_sheet_with_a_long_comment_or_attribute_takes_linear_time_and_has_an_end(
    tmp_path, monkeypatch, beginning, end
):
    """The parser begins an unfinished tag anew with every chunk."""
    from dxprivacy.engines.files import sheets as books

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
    from dxprivacy.engines.files import sheets as books

    monkeypatch.setattr(books, "_LONGEST_TAG", 1 << 18)
    universe = Universe([Values(name="sex", values=("M", "F"))])
    for text in ("M" * (1 << 22), "é" * (1 << 20), "&amp;" * (1 << 18), "<![CDATA[" + "]" * (1 << 20) + "]]>"):
        path = workbook(tmp_path / "people.xlsx", people=[["sex"], ["M"], [text], ["F"]])
        assert open_source(path).count(universe).counts.tolist() == [1, 1, 1]
