"""Own data without tears: `dxp init` declares how a file is written, `dxp inspect` shows what to paste."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

import dxprivacy as dx
from dxprivacy.cli.inspect_remedies import LOOKED_AT, remedies
from dxprivacy.engines import entries, open_source
from dxprivacy.engines.source import Others
from dxprivacy.universe.file_format import FileFormat

MESSY = Path(__file__).parents[2] / "data" / "messy"


@pytest.fixture
def here(tmp_path, monkeypatch):
    for path in MESSY.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("semicolons.csv", ['semicolons.csv shows one column; try --delimiter ";"']),
        ("tabs.txt", [r'tabs.txt shows one column; try --delimiter "\t"']),
        (
            "cp1252.csv",
            [
                'cp1252.csv shows bytes that are not UTF-8; try --encoding "cp1252"',
                'cp1252.csv shows one column; try --delimiter ";"',
            ],
        ),
        ("ragged.csv", []),
        ("excel.xlsx", []),
    ],
)
def test_a_file_that_shows_one_column_or_odd_bytes_is_warned_of(here, dxp, name, warnings):
    called = dxp("init", name, "--out", "new.toml")
    assert called.code == 0
    assert called.err.splitlines() == [f"! look twice  {line}" for line in warnings]
    assert "Köln" not in called.out + called.err + (here / "new.toml").read_text()
    told = dxp("init", name, "--json")
    assert told.err == called.err
    json.loads(told.out)


def test_a_file_of_one_column_without_any_delimiter_is_told_so(here, dxp):
    (here / "one.csv").write_text("town\nUlm\n")
    assert "shows one column: nothing seems to stand between fields" in dxp("init", "one.csv").err


def test_a_record_in_one_piece_is_no_header(here, dxp):
    (here / "people.csv").write_text("Köln;31;2026-01-03\nUlm;32;2026-01-04\n")
    called = dxp("init", "people.csv")
    assert called.code == 6
    assert "column 2 looks like an entry" in called.err
    assert "Köln" not in called.err
    assert not (here / "policy.toml").exists()


def test_what_was_declared_stands_in_the_policy_and_reads_the_file(here, dxp):
    options = ["--delimiter", ";", "--encoding", "windows-1252", "--decimal-comma", "--date-format", "%d.%m.%Y"]
    called = dxp("init", "cp1252.csv", *options, "--out", "new.toml").fine()
    assert "2 columns" in called.out
    text = (here / "new.toml").read_text()
    assert '# # format = "1.234,5" ' in text
    assert '# # format = "%d.%m.%Y" ' in text
    body = '[attributes.ort]\nvalues = ["Köln"]\nepsilon = 1\n'
    policy = dx.Policy.parse(text + body)
    assert policy.universe.file == FileFormat(";", "cp1252")
    with dx.Session(policy, "cp1252.csv", ledger="l.db", new_ledger=True) as session:
        assert session.n_records == 4


@pytest.mark.parametrize(
    ("name", "columns"), [("no_header.csv", "ort,alter,mehr"), ("excel_no_header.xlsx", "ort,alter")]
)
def test_without_a_header_the_curator_names_the_columns(here, dxp, name, columns):
    dxp("init", name, "--no-header", "--columns", columns, "--out", "new.toml").fine()
    text = (here / "new.toml").read_text()
    assert "# [attributes.alter]" in text
    policy = dx.Policy.parse(text + '[attributes.ort]\nvalues = ["Köln"]\nepsilon = 1\n')
    assert policy.universe.file.columns == tuple(columns.split(","))
    with dx.Session(policy, name, ledger="l.db", new_ledger=True) as session:
        assert session.n_records == 3


def test_values_of_a_sheet_may_be_declared_public(here, dxp):
    called = dxp("init", "excel.xlsx", "--public", "satz", "--public", "ort", "--out", "new.toml").fine()
    text = (here / "new.toml").read_text()
    assert '# values = ["18", "17.5"]\n' in text
    assert '# values = ["Köln", "Köln ", "ulm"]\n' in text
    assert called.out.count("! declared") == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delimiter", "||"], "a delimiter is one character"),
        (["--delimiter", ""], "a delimiter is one character"),
        (["--encoding", "ebcdic"], "no encoding “ebcdic”"),
        (["--no-header"], "where no header names the columns, you do"),
        (["--columns", "a,b"], "columns are named by the header"),
        (["--no-header", "--columns", "a,a"], "a name of its own for each column"),
        (["--no-header", "--columns", "a,,b"], "a name of its own for each column"),
        (["--no-header", "--header", "--columns", "a"], "cannot both be true"),
        (["--date-format", "%d.%m"], "it needs %Y, %m and %d"),
    ],
)
def test_options_that_make_no_sense_are_refused(here, dxp, options, words):
    called = dxp("init", "semicolons.csv", *options)
    assert called.code == 2
    assert words in called.err
    assert not (here / "policy.toml").exists()


def test_a_header_with_a_name_twice_is_refused_with_both_places(here, dxp):
    called = dxp("init", "same_name_twice.csv")
    assert called.code == 6
    assert "columns 1 and 4 have the same name" in called.err
    called = dxp("init", "same_name_twice.csv", "--header", "--public", "ort")
    assert "2 columns are named “ort”: columns 1 and 4" in called.err


HEAD = 'title = "T"\ndataset = "t"\n'
ORT = '[attributes.ort]\nvalues = ["Köln", "Ulm"]\nepsilon = 1\n'


@pytest.mark.parametrize(
    ("name", "file", "body", "line", "rows"),
    [
        ("stray_blanks.csv", "", ORT, 'trim = true\naliases = { Ulm = ["U lm"] }', (4, 0)),
        ("capitals.csv", "", ORT, "trim = true\nfold_case = true", (4, 0)),
        # Only what looks like a listed value is proposed; nobody can know what Cologne, K and Paris are.
        ("aliases.csv", "", ORT, 'aliases = { Ulm = ["Neu-Ulm"] }', (5, 4)),
        (
            "decimal_commas.csv",
            'delimiter = ";"\n',
            "[attributes.betrag]\nnumbers = [0, 1500]\nstep = 500\nepsilon = 1\nper = 500\n",
            'format = "1.234,5"',
            (4, 2),
        ),
        (
            "german_dates.csv",
            'delimiter = ";"\n',
            '[attributes.tag]\ndates = ["2026-01-01", "2026-12-31"]\nepsilon = 1\nper = "1 day"\n',
            'format = ["iso", "%d.%m.%Y"]',
            (3, 1),
        ),
    ],
)
def test_the_remedy_that_is_shown_can_be_pasted_and_mends_what_it_says(here, dxp, name, file, body, line, rows):
    head = HEAD + (f"[file]\n{file}" if file else "")
    (here / "policy.toml").write_text(head + body)
    page = json.loads(dxp("inspect", "policy.toml", "--data", name, "--json").fine().out)["attributes"][0]
    assert page["rows"] == rows[0]
    assert page["remedies"][0]["line"] == line
    screen = dxp("inspect", "policy.toml", "--data", name).fine().out
    assert all(part in screen for part in ("to paste below [attributes.", *line.split("\n")))
    (here / "policy.toml").write_text(head + body + line + "\n")
    after = json.loads(dxp("inspect", "policy.toml", "--data", name, "--json").fine().out)["attributes"][0]
    assert after["rows"] == rows[1]


def test_remedies_of_a_thousand_entries_are_looked_for_once_for_each_of_them(monkeypatch):
    """Not once for each two of them, which took seconds in silence."""
    looked = []
    reader = entries.entry_reader
    monkeypatch.setattr(entries, "entry_reader", lambda codec: lambda text: looked.append(1) or reader(codec)(text))
    found = Counter({(f"entry {k}",): 1 for k in range(LOOKED_AT - 1)} | {(" M",): 5})
    (best,) = remedies(dx.Values(name="x", values=("M", "F")), Others.of("x", ("x",), found, LOOKED_AT))
    assert (best.line, best.rows) == ("trim = true", 5)
    assert len(looked) <= 12 * LOOKED_AT


def test_every_kind_of_attribute_may_be_looked_at(here, dxp):
    kinds = {
        "i": "integers = [0, 9]\nper = 1",
        "n": "numbers = [0, 9]\nstep = 1\nper = 1",
        "d": 'dates = ["2026-01-01", "2026-12-31"]\nper = "1 day"',
        "w": "weekdays = true",
        "h": 'hours = [0, 24]\nper = "1 hour"',
        "s": 'columns = ["i", "n"]\nintegers = [0, 9]\nper = 1',
        "p": 'points = "p.csv"\nper = "1 km"\ntrim = true',
    }
    body = "".join(f"[attributes.{name}]\n{text}\nepsilon = 1\n" for name, text in kinds.items())
    (here / "p.csv").write_text("id,latitude,longitude\nHome,1,2\n")
    (here / "policy.toml").write_text(HEAD + body)
    (here / "k.csv").write_text('i,n,d,w,h,p\n"1,0","1,5",3.1.2026,13/1/2026,8.15,HOME\nx,x,x,x,x,x\n')
    page = json.loads(dxp("inspect", "policy.toml", "--data", "k.csv", "--json").fine().out)["attributes"]
    told = {a["attribute"]: [r["line"] for r in a["remedies"]] for a in page}
    assert told == {
        "i": ['format = "1234,5"'],
        "n": ['format = "1234,5"'],
        "d": ['format = ["iso", "%d.%m.%Y"]'],
        "w": ['format = ["iso", "%d/%m/%Y"]'],
        "h": ['format = ["iso", "%H.%M"]'],
        "s": [],
        "p": ["fold_case = true"],
    }


def test_entries_in_another_encoding_are_told_of(here, dxp):
    (here / "policy.toml").write_text(HEAD + ORT)
    screen = dxp("inspect", "policy.toml", "--data", "one_bad_byte.csv").fine().out
    assert 'to paste below [file]:\n  → encoding = "cp1252"' in screen


def test_texts_in_a_remedy_cannot_break_out_of_it(here, dxp):
    (here / "policy.toml").write_text(
        HEAD + '[attributes.ort]\nvalues = ["Ulm\\\\", "Köln"]\nepsilon = 1\ntrim = true\n'
    )
    (here / "odd.csv").write_text('ort,x\n"U""l\tm\\",1\nKöln.,1\n')
    line = json.loads(dxp("inspect", "policy.toml", "--data", "odd.csv", "--json").fine().out)["attributes"][0][
        "remedies"
    ][0]["line"]
    policy = dx.Policy.parse((here / "policy.toml").read_text() + line.replace("\\u0009", "x"))
    assert policy.universe.attributes[0].codec.places["Köln."] == 1


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('[attributes.a]\nvalues = ["M" "F"]\n', 4, "a comma is missing between two entries"),
        ('[attributes.a]\nvalues = [\n  "M",\n  "F"\n  "X",\n]\n', 6, "a comma is missing between two entries"),
        ("[attributes.a]\nintegers = [0 120]\n", 4, "a comma is missing between two entries"),
        ('[attributes.a]\nvalues = ["M"]\nepsilon = { M = 1 F = 2 }\n', 5, "a comma is missing between two entries"),
        ('[attributes.a]\naliases = { NJ = ["a" "b"] }\n', 4, "a comma is missing between two entries"),
        ('[attributes.a]\nvalues = ["M", "F"\nepsilon = 1\n', 5, "a list is not closed"),
        ('[attributes.a]\nvalues = ["M", "F"\n[attributes.b]\nvalues = ["x"]\n', 5, "a list is not closed"),
        ('[attributes.a]\nepsilon = { M = 1, F = 2\nvalues = ["M"]\n', 4, "a table in braces is not closed"),
    ],
)
def test_a_missing_comma_is_no_missing_bracket(text, line, what):
    with pytest.raises(dx.errors.PolicyError) as error:
        dx.Policy.parse(HEAD + text)
    assert what in error.value.what
    assert error.value.where == f"policy.toml:{line}"


def test_too_many_answers_get_a_hint_that_fits_the_attribute():
    body = "[attributes.{}]\n{}\nepsilon = 1\nper = {}\n"
    birth = dx.Policy.parse(HEAD + body.format("birth", 'dates = ["0001-01-01", "9999-12-31"]', '"1 day"'))
    age = dx.Policy.parse(HEAD + body.format("age", "integers = [0, 3000000]", "1"))
    for policy, hint in ((birth, "birth/year"), (age, "age/10")):
        with pytest.raises(dx.errors.QueryError) as error:
            dx.plan(f"count by {hint.partition('/')[0]}", policy.metric, n_records=10)
        assert error.value.hints[0][0] == hint
        with pytest.raises(dx.errors.TooLarge) as error:
            dx.plan_selection(f"median {hint.partition('/')[0]}", policy.metric, n_records=10)
        assert error.value.hints[0][0] == hint


VISITS = """[attributes.visit]
dates = ["2026-01-01", "2026-01-31"]
epsilon = 1
per = "7 days"
"""


def test_a_format_that_is_shown_loses_no_row_that_fits(tmp_path, monkeypatch, dxp):
    monkeypatch.chdir(tmp_path)
    days = ["2026-01-02", "2026-01-03", "04.01.2026", "5.1.2026", "2026-01-06T23:30:00Z"]
    (tmp_path / "visits.csv").write_text("visit\n" + "".join(f"{day}\n" for day in days))
    (tmp_path / "policy.toml").write_text(HEAD + VISITS)
    page = json.loads(dxp("inspect", "policy.toml", "--data", "visits.csv", "--json").fine().out)["attributes"][0]
    (line,) = [remedy["line"] for remedy in page["remedies"]]
    assert line == 'format = ["iso", "%d.%m.%Y"]'
    (tmp_path / "policy.toml").write_text(HEAD + VISITS + line + "\n")
    page = json.loads(dxp("inspect", "policy.toml", "--data", "visits.csv", "--json").fine().out)
    assert page["attributes"][0]["rows"] == 0
    policy = dx.Policy.load(tmp_path / "policy.toml")
    assert open_source(tmp_path / "visits.csv").count(policy.universe).counts.tolist()[1:6] == [1, 1, 1, 1, 1]


def test_a_time_zone_moves_text_that_ends_in_z(tmp_path, monkeypatch, dxp):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("visit\n" + "2026-02-01T04:30:00Z\n" * 88 + "2026-01-31\n")
    (tmp_path / "policy.toml").write_text(HEAD + VISITS + 'timezone = "America/New_York"\n')
    dxp("check", "policy.toml", "--data", "visits.csv").fine()
    page = json.loads(dxp("inspect", "policy.toml", "--data", "visits.csv", "--json").fine().out)
    assert page["attributes"][0]["rows"] == 0
    (tmp_path / "policy.toml").write_text(HEAD + VISITS + 'timezone = "America/New_York"\nformat = "%Y-%m-%d"\n')
    refused = dxp("check", "policy.toml", "--data", "visits.csv")
    assert refused.code != 0
    assert 'format = "%Y-%m-%d %H:%M%z"' in refused.err
