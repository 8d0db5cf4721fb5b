"""Files as people have them (tests/data/messy): each ends in the right counts, or in one clear message."""

import csv
import importlib.util
import io
import shutil
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxprivacy.engines import open_source
from dxprivacy.errors import DataError, DxError
from dxprivacy.policy import Policy
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe

MESSY = Path(__file__).parents[1] / "data" / "messy"
ORT = '[attributes.ort]\nvalues = ["Köln", "Ulm"]\nepsilon = 1\n'
AGE = "[attributes.alter]\nintegers = [30, 39]\nepsilon = 1\nper = 1\n"


def age(**counts: int) -> dict[str, int]:
    return {f"3{k[1:]}" if k != "other" else k: n for k, n in counts.items()}


RIGHT: dict[str, tuple[str, dict[str, dict[str, int]]]] = {
    "semicolons.csv": (
        '[file]\ndelimiter = ";"\n' + ORT + AGE,
        {"ort": {"Köln": 2, "Ulm": 1}, "alter": age(_1=2, _2=1)},
    ),
    "tabs.txt": (
        '[file]\ndelimiter = "\\t"\n' + ORT + AGE,
        {"ort": {"Köln": 1, "Ulm": 1}, "alter": age(_1=1, _2=1)},
    ),
    "pipes.csv": (
        '[file]\ndelimiter = "|"\n' + ORT + AGE,
        {"ort": {"Köln": 1, "Ulm": 2}, "alter": age(_1=1, _2=1, other=1)},
    ),
    "decimal_commas.csv": (
        '[file]\ndelimiter = ";"\n'
        + ORT
        + '[attributes.betrag]\nnumbers = [0, 1500]\nstep = 500\nformat = "1.234,5"\nepsilon = 1\nper = 500\n',
        # 17.5 is no number where commas stand before decimals; nothing is none either
        {"ort": {"Köln": 3, "Ulm": 2}, "betrag": {"0 to 500": 1, "500 to 1000": 1, "1000 to 1500": 1, "other": 2}},
    ),
    "cp1252.csv": (
        '[file]\ndelimiter = ";"\nencoding = "cp1252"\n'
        '[attributes.ort]\nvalues = ["Köln", "Zürich", "K€ln"]\nepsilon = 1\n'
        '[attributes.alter]\ncolumn = "größe"\nintegers = [30, 39]\nepsilon = 1\nper = 1\n',
        {"ort": {"Köln": 2, "Zürich": 1, "K€ln": 1}, "alter": age(_1=1, _2=1, _3=1, _4=1)},
    ),
    "one_bad_byte.csv": (
        ORT + AGE,  # one entry is other, and its row counts all the same
        {"ort": {"Köln": 1, "Ulm": 1, "other": 1}, "alter": age(_1=1, _2=1, _3=1)},
    ),
    "utf16_from_excel.txt": (
        '[file]\ndelimiter = "\\t"\nencoding = "utf-16"\n[attributes.ort]\nvalues = ["Köln", "Łódź"]\nepsilon = 1\n'
        + AGE,
        {"ort": {"Köln": 1, "Łódź": 1}, "alter": age(_1=1, _2=1)},
    ),
    "byte_order_mark.csv": (ORT + AGE, {"ort": {"Köln": 1, "Ulm": 1}, "alter": age(_1=1, _2=1)}),
    "no_header.csv": (
        '[file]\nheader = false\ncolumns = ["ort", "alter", "mehr"]\n' + ORT + AGE,
        {"ort": {"Köln": 1, "Ulm": 2}, "alter": age(_1=1, _2=1, _3=1)},
    ),
    "stray_blanks.csv": (
        ORT + "trim = true\n" + AGE,
        {"ort": {"Köln": 2, "Ulm": 1, "other": 1}, "alter": age(_1=1, _2=1, _3=1, _4=1)},
    ),
    "capitals.csv": (ORT + "trim = true\nfold_case = true\n", {"ort": {"Köln": 3, "Ulm": 2}}),
    "aliases.csv": (
        ORT + 'aliases = { Köln = ["Cologne", "K"], Ulm = "Neu-Ulm" }\n'.replace("Köln =", '"Köln" ='),
        {"ort": {"Köln": 3, "Ulm": 1, "other": 2}},
    ),
    "line_breaks.csv": ("[file]\nquoted_line_breaks = true\n" + ORT, {"ort": {"Köln": 1, "Ulm": 2}}),
    "stray_quote.csv": (ORT, {"ort": {"Köln": 1, "Ulm": 1, "other": 1}}),  # by lines: each stays in its own
    "rates.csv": (
        '[attributes.satz]\nvalues = [17.5, 18]\naliases = { "17.5" = "17.50" }\nepsilon = 1\n' + ORT,
        {"satz": {"17.5": 2, "18": 1, "other": 1}, "ort": {"Köln": 2, "Ulm": 1, "other": 1}},
    ),
    "german_dates.csv": (
        '[file]\ndelimiter = ";"\n'
        + ORT
        + '[attributes.tag]\ndates = ["2026-01-01", "2026-12-31"]\nstep = "6 months"\n'
        'format = "%d.%m.%Y"\nepsilon = 1\nper = "1 year"\n',
        {"ort": {"Köln": 1, "Ulm": 3}, "tag": {"2026-01–2026-06": 1, "2026-07–2026-12": 1, "other": 2}},
    ),
    "same_name_twice.csv": (AGE, {"alter": age(_1=1, _2=1)}),  # a name that is not wanted may stand there twice
    "ragged.csv": (
        ORT + AGE + "[attributes.plz]\nvalues = [9]\nepsilon = 1\n",
        {"ort": {"Köln": 2, "Ulm": 1, "other": 1}, "alter": age(_1=1, _2=1, other=2), "plz": {"9": 1, "other": 3}},
    ),
    "excel.xlsx": (
        ORT + "trim = true\nfold_case = true\n[attributes.satz]\nvalues = [17.5, 18]\nepsilon = 1\n",
        {"ort": {"Köln": 2, "Ulm": 1, "other": 1}, "satz": {"17.5": 2, "18": 2}},
    ),
    "excel_no_header.xlsx": (
        '[file]\nheader = false\ncolumns = ["ort", "alter"]\n' + ORT + AGE,
        {"ort": {"Köln": 1, "Ulm": 2}, "alter": age(_1=1, _2=2)},
    ),
}
REFUSED: dict[str, tuple[str, str, str]] = {
    "semicolons.csv": (ORT, "no column “ort”", 'delimiter = ";"'),
    "tabs.txt": (ORT, "no column “ort”", r'delimiter = "\t"'),
    "pipes.csv": (ORT, "no column “ort”", 'delimiter = "|"'),
    "cp1252.csv": (
        '[attributes.größe]\nvalues = ["31"]\nepsilon = 1\n'.replace("größe", '"größe"'),
        "no column “größe”",
        'encoding = "cp1252"',
    ),
    "utf16_from_excel.txt": (ORT, "is UTF-16, not UTF-8", 'encoding = "utf-16"'),
    "no_header.csv": (ORT, "no column “ort”", "the first line must name the columns"),
    "line_breaks.csv": ('[file]\ndelimiter = ";"\n' + ORT, "no column “ort”", 'delimiter = ","'),
    "stray_quote.csv": ("[file]\nquoted_line_breaks = true\n" + ORT, "is not written as quoted_line_breaks", "Parquet"),
    "same_name_twice.csv": (ORT, "2 columns are named “ort”: columns 1 and 4", "rename all but one"),
    "old_macintosh.csv": (ORT, "lines that end in carriage returns", "line feeds"),
    "excel_no_header.xlsx": (ORT, "no column “ort”", "the first row must name the columns"),
}
ENTRIES = ("Köln", "Ulm", "Zürich", "Łódź", "Cologne", "31", "32", "17")


def policy(body: str) -> Policy:
    return Policy.parse('title = "Messy"\ndataset = "messy"\n' + body)


def opened(path: Path, made: Policy):
    source = open_source(path, file=made.universe.file)
    source.check(made.universe)
    return source


def counted(source, universe: Universe) -> dict[str, dict[str, int]]:
    """Of each attribute, how many rows every value has; those without any are left out."""
    counts = source.count(universe).counts.reshape(universe.shape)
    out = {}
    for axis, attribute in enumerate(universe.attributes):
        along = counts.sum(axis=tuple(k for k in range(counts.ndim) if k != axis))
        out[attribute.name] = {attribute.label(k): int(n) for k, n in enumerate(along) if n}
    return out


def test_the_files_are_what_their_script_makes_and_each_is_looked_at(tmp_path):
    spec = importlib.util.spec_from_file_location("make_messy", MESSY / "make.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.make(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {p.name: p.read_bytes() for p in MESSY.iterdir() if p.suffix not in (".py", ".md") and p.is_file()}
    assert made == kept
    assert len(kept) >= 20
    assert set(kept) == set(RIGHT) | set(REFUSED)
    table = (MESSY / "README.md").read_text()
    assert all(f"`{name}`" in table for name in kept)


@pytest.mark.parametrize("name", RIGHT)
def test_a_policy_that_says_how_a_file_is_written_gets_the_right_counts(name):
    body, want = RIGHT[name]
    made = policy(body)
    source = opened(MESSY / name, made)
    assert counted(source, made.universe) == want
    assert all(sum(of.values()) == source.rows() for of in want.values())  # nothing is lost


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_one_clear_message_that_shows_no_entry(name):
    body, what, hint = REFUSED[name]
    made = policy(body)
    with pytest.raises(DataError) as error:
        opened(MESSY / name, made).rows()
    told = str(error.value)
    assert what in told
    assert hint in told
    assert not any(entry in told for entry in ENTRIES)


TEXTS = [name for name in RIGHT if not name.endswith(".xlsx") and name not in ("stray_quote.csv", "ragged.csv")]


@pytest.mark.parametrize("kind", ["parquet", "pandas", "objects", "polars", "arrow", "jsonl"])
@pytest.mark.parametrize("name", TEXTS)
def test_the_same_entries_count_alike_in_every_other_source(name, kind, tmp_path):
    """The entries of a file, read by another library, as columns of text."""
    body, want = RIGHT[name]
    made = policy(body)
    file = made.universe.file
    text = (MESSY / name).read_bytes().decode(file.codec, errors="replace").removeprefix("\ufeff")
    delimiter = file.delimiter or ("\t" if name.endswith(".tsv") else ",")
    header, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if file.columns:
        header, rows = list(file.columns), [header, *rows]
    rows = [[*row, *[""] * (len(header) - len(row))][: len(header)] for row in rows]
    columns = {name: [row[k] for row in rows] for k, name in enumerate(header)}
    # Whole numbers in columns of text need a format, which a policy for this file does not have.
    plain = [
        a for a in made.universe.attributes if kind in ("objects", "pandas", "jsonl") or not isinstance(a, Integers)
    ]
    if not plain:
        plain = [Integers(name=made.universe.attributes[0].name, low=30, high=39, format="1234.5")]
    table = pa.table({name: pa.array(entries, pa.string()) for name, entries in columns.items()})
    data: object = table
    if kind == "parquet":
        pq.write_table(table, tmp_path / "people.parquet")
        data = tmp_path / "people.parquet"
    elif kind in ("pandas", "objects"):
        data = pd.DataFrame(columns, dtype=object if kind == "objects" else "str")
    elif kind == "polars":
        data = pl.from_arrow(table)
    elif kind == "jsonl":
        data = tmp_path / "people.jsonl"
        table.to_pandas().to_json(data, orient="records", lines=True)
    found = counted(open_source(data), Universe(plain))
    assert found == {a.name: want[a.name] for a in plain}


@pytest.mark.parametrize("name", sorted(set(RIGHT) | set(REFUSED)))
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16", "utf-16-be", "cp850"])
@pytest.mark.parametrize("delimiter", ["", ";", "|", "\\t"])
def test_no_declaration_makes_a_crash_or_loses_a_row(name, encoding, delimiter, tmp_path):
    """Every file under every declaration: counts of all its lines, or one error of ours."""
    told = f'encoding = "{encoding}"\n' + (f'delimiter = "{delimiter}"\n' if delimiter else "")
    made = policy(f"[file]\n{told}" + ORT)
    refusal: DxError | None = None
    try:
        source = opened(Path(shutil.copy(MESSY / name, tmp_path)), made)
        counts = source.count(made.universe).counts
    except DxError as error:
        refusal = error
    if refusal is None:
        assert counts.sum() == source.rows()
    else:
        assert isinstance(refusal, DataError)
        assert refusal.hints
        assert not any(entry in str(refusal) for entry in ENTRIES)
