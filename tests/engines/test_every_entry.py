"""Every entry of every type in every source counts, or the schema is refused: no row decides about a release."""

import bz2
import gzip
import html
import itertools
import lzma
import random
import re
import subprocess
import sys
import timeit
import warnings
import zipfile

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from every_type import (
    ARROW,
    ATTRIBUTES,
    DUCK_TYPES,
    ENCODED,
    PLAIN,
    Labeled,
    arrow_in_pandas,
    duck_texts,
    pandas_columns,
    polars_columns,
    texts,
)
from workbooks import workbook

from contracts.long_forms import mostly_slow, slow
from dxprivacy.engines import open_source
from dxprivacy.errors import DataError
from dxprivacy.universe.universe import Universe

FEW, MANY = 300, 10_000
ARROW_SOURCES = ["arrow", "parquet"]
LIKE_THEM = ["polars", "pandas by Arrow", "batch", "stream", "dataset", "feather", "stream file", "lazy", "pandas"]
ODD = ["string", "string view", "decimal128", "decimal128 of few digits", "timestamp ns", "timestamp ns UTC", "json"]


def refusal(source, attribute):
    try:
        source.check(Universe([attribute]))
    except DataError as error:
        return error.what
    return ""


def together(attributes):
    """As few universes as hold them all, and are counted quickly."""
    groups = []
    for attribute in attributes:
        if groups and groups[-1][0] * attribute.size < 200_000:
            groups[-1] = (groups[-1][0] * attribute.size, [*groups[-1][1], attribute])
        else:
            groups.append((attribute.size, [attribute]))
    return [Universe(members) for _, members in groups]


def counted(whole, parts, empty):
    """Every attribute that the schema allows counts all rows, and the parts sum up to the whole: each row by itself."""
    opened, nothing = [open_source(data) for data in (whole, *parts)], open_source(empty)
    refused = {name: refusal(opened[0], attribute) for name, attribute in ATTRIBUTES.items()}
    # The schema alone decides: rows or none make no difference.
    assert refused == {name: refusal(nothing, attribute) for name, attribute in ATTRIBUTES.items()}
    allowed = [attribute for name, attribute in ATTRIBUTES.items() if not refused[name]]
    for universe in together(allowed):
        counts = [source.count(universe) for source in opened]
        assert counts[0].total == opened[0].rows()
        if parts:
            assert (counts[0].counts == sum(c.counts for c in counts[1:])).all(), universe
    return allowed


def halves(n, rng):
    """Some of the rows, and the others: where a row lies must not matter."""
    first = np.array([rng.random() < 0.5 for _ in range(n)])
    return np.flatnonzero(first), np.flatnonzero(~first)


def arrow_source(kind, table, folder):
    folder.mkdir()
    match kind:
        case "arrow":
            return table
        case "batch":
            return pa.RecordBatch.from_arrays([c.combine_chunks() for c in table.columns], names=table.column_names)
        case "stream":
            return table.to_reader(max_chunksize=97)
        case "dataset":
            return pa.dataset.dataset(table)
        case "feather":
            pa.feather.write_feather(table, folder / "people.feather", compression="lz4")
            return folder / "people.feather"
        case "stream file":
            with pa.ipc.new_stream(str(folder / "people.arrow"), table.schema) as file:
                file.write_table(table)
            return folder / "people.arrow"
        case "parquet":
            pq.write_table(table, folder / "people.parquet", row_group_size=1000)
            return folder / "people.parquet"
        case "polars" | "lazy":
            frame = pl.from_arrow(table)
            return frame.lazy() if kind == "lazy" else frame
        case "pandas":
            return table.to_pandas()
    return pd.DataFrame({name: arrow_in_pandas(table[name].combine_chunks()) for name in table.column_names})


def taken(table, a, b):
    try:
        return table.take(a), table.take(b)
    except pa.ArrowNotImplementedError:  # of runs
        return table.slice(0, len(a)), table.slice(len(a))


def check_arrow(kind, sort, n, tmp_path, *, in_parts):
    rng = random.Random(f"{sort} {n}")
    column = ARROW[sort](rng, n)
    table = pa.table({"x": column, "x2": column})
    a, b = halves(n, rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind.startswith("pandas"):  # whose types follow from the entries that it was made from
                frame = arrow_source(kind, table, tmp_path / "whole")
                data = [frame, frame.iloc[a], frame.iloc[b], frame.iloc[:0]]
            else:
                parts = [table, *taken(table, a, b), table.slice(0, 0)]
                data = [arrow_source(kind, part, tmp_path / str(k)) for k, part in enumerate(parts)]
    except (Exception, pl.exceptions.PanicException) as error:
        # What pyarrow, pandas or polars cannot hold is never given to us.
        pytest.skip(f"no such column: {type(error).__name__}")
    try:
        open_source(data[3] if kind != "stream" else arrow_source(kind, parts[3], tmp_path / "empty"))
    except DataError as error:
        assert sort in ENCODED
        pytest.skip(f"refused without looking at a row: {error.what}")  # types of somebody's own within others
    counted(data[0], data[1:3] if in_parts else [], data[3])


@pytest.mark.parametrize(
    ("kind", "sort"),
    mostly_slow(
        [
            *((k, s) for k in [*ARROW_SOURCES, *LIKE_THEM[:2]] for s in (PLAIN if k in ARROW_SOURCES else ODD)),
            *(("arrow", s) for s in ENCODED),
            *(
                (k, s)
                for k in ("pandas by Arrow", "stream", "feather", "dataset")
                for s in ENCODED
                if s.endswith("s UTC")
            ),
        ],
        slice(0, None, 8),
    ),
)
def test_every_entry_of_an_arrow_type_counts_or_its_schema_is_refused(kind, sort, tmp_path):
    check_arrow(kind, sort, FEW, tmp_path, in_parts=False)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "sort"),  # runs end the process in pyarrow's own way to pandas
    [(k, s) for k in [*ARROW_SOURCES, *LIKE_THEM] for s in (PLAIN if k == "pandas" else ARROW)],
)
def test_ten_thousand_entries_of_an_arrow_type_count_or_its_schema_is_refused(kind, sort, tmp_path):
    check_arrow(kind, sort, MANY, tmp_path, in_parts=True)


@pytest.mark.parametrize(
    "sort", mostly_slow(["uint64", "decimal128", "date32", "int16", "timestamp ms UTC", "string"], 3)
)
def test_entries_count_the_same_behind_a_dictionary_runs_or_a_name(sort):
    """Runs of places in a dictionary were counted as if the places were the entries."""
    values = PLAIN[sort](random.Random(sort), FEW)
    backwards = pa.array(range(FEW - 1, -1, -1), pa.int32())
    places = pa.DictionaryArray.from_arrays(backwards, values.take(backwards))
    ends = pa.array(range(1, FEW + 1), pa.int32())
    runs = pa.Array.from_buffers(pa.run_end_encoded(ends.type, places.type), FEW, [None], children=[ends, places])
    at = pa.array(range(FEW), pa.int16())
    named = pa.ExtensionArray.from_storage(Labeled(values.type), values)
    plain = open_source(pa.table({"x": values, "x2": values}))
    allowed = [attribute for attribute in ATTRIBUTES.values() if not refusal(plain, attribute)]
    assert allowed
    for column in (pa.DictionaryArray.from_arrays(at, values), runs, runs.slice(100), named):
        rest = values.slice(FEW - len(column))
        plain = open_source(pa.table({"x": rest, "x2": rest}))
        for universe in together(allowed):
            counts = open_source(pa.table({"x": column, "x2": column})).count(universe).counts
            assert (counts == plain.count(universe).counts).all()


def check_duck(kind, sort, n, tmp_path, *, in_parts):
    rng = random.Random(f"{sort} {n}")
    entries = duck_texts(rng, n)
    a, _ = halves(n, rng)
    parts = [entries, [entries[k] for k in a], [e for k, e in enumerate(entries) if k not in set(a.tolist())], []]
    data = []
    with duckdb.connect(tmp_path / "survey.duckdb") as con:
        for k, part in enumerate(parts):
            entries_sql = f"SELECT TRY_CAST(t AS {sort}) AS x, x AS x2 FROM unnest($t::VARCHAR[]) AS u(t)"
            con.execute(f"CREATE TABLE p{k} AS {entries_sql}", {"t": part})
            if kind == "parquet":
                try:
                    con.execute(f"COPY p{k} TO '{tmp_path / f'{k}.parquet'}'")
                except duckdb.Error:
                    pytest.skip("Parquet files hold no such column")
            data.append(tmp_path / f"{k}.parquet" if kind == "parquet" else f"{tmp_path / 'survey.duckdb'}::p{k}")
    counted(data[0], data[1:3] if in_parts else [], data[3])


@pytest.mark.parametrize("kind", ["duckdb", "parquet"])
@pytest.mark.parametrize("sort", mostly_slow(DUCK_TYPES, slice(0, None, 4)))
def test_every_entry_of_an_engine_type_counts_or_its_schema_is_refused(kind, sort, tmp_path):
    check_duck(kind, sort, FEW, tmp_path, in_parts=False)


def test_the_list_of_engine_types_is_whole():
    """A new type of the engine is noticed here before it is met in data."""
    made_above = {"enum", "list", "array", "struct", "row", "tuple", "map", "union"}  # of other types, or of names
    with duckdb.connect() as con:
        names = {n.lower() for (n,) in con.execute("SELECT DISTINCT type_name FROM duckdb_types()").fetchall()}
        known = [*DUCK_TYPES, '"NULL"', '"TYPE"', *(f'"{name}"' for name in sorted(names - made_above))]
        ids = [con.sql(f"SELECT CAST(NULL AS {declared})").types[0].id for declared in known]
    listed = len(DUCK_TYPES) + 2
    assert set(ids[listed:]) <= set(ids[:listed])


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["duckdb", "parquet"])
@pytest.mark.parametrize("sort", DUCK_TYPES)
def test_ten_thousand_entries_of_an_engine_type_count_or_its_schema_is_refused(kind, sort, tmp_path):
    check_duck(kind, sort, MANY, tmp_path, in_parts=True)


PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
LINES = [f"{ending}{packed}" for ending in (".csv", ".tsv", ".jsonl") for packed in PACKED]


def check_lines(ending, n, tmp_path):
    """Bytes of all kinds between line feeds: as fields, as JSON values, and as whole lines."""
    rng = random.Random(f"{ending} {n}")
    entries = [entry.replace(b"\n", b"") for entry in texts(rng, n)]
    form, _, packed = ending[1:].partition(".")
    whole = [b"%s,%s", b'"%s","%s', b"%s", b'%s"%s'] if form == "csv" else [b"%s\t%s", b'"%s"\t"%s"']
    if form == "jsonl":
        whole = [b'{"x": %s, "x2": %s}', b'{"x": "%s", "x2": "%s"}', b"%s", b'{"x": [%s], "x": "%s"}', b'{"x2": 1, %s']
    forms = [rng.choice(whole) for _ in entries]
    rows = [form % tuple([entry] * form.count(b"%s")) for form, entry in zip(forms, entries, strict=True)]
    head = [] if form == "jsonl" else [b"x\tx2" if form == "tsv" else b"x,x2"]
    a, b = halves(n, rng)
    data = []
    for k, part in enumerate((range(n), a, b, [])):
        data.append(tmp_path / f"{k}{ending}")
        lines = [*head, *(rows[j] for j in part)]
        data[-1].write_bytes(PACKED[f".{packed}" if packed else ""](b"".join(line + b"\n" for line in lines)))
    assert len(counted(data[0], data[1:3], data[3])) == len(ATTRIBUTES)


@pytest.mark.parametrize("ending", LINES)
def test_every_line_counts(ending, tmp_path):
    check_lines(ending, FEW, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("ending", LINES)
def test_ten_thousand_lines_count(ending, tmp_path):
    check_lines(ending, MANY, tmp_path)


def check_cells(n, tmp_path):
    """Anything between the tags of a cell, in any type of cell."""
    rng = random.Random(f"cells {n}")
    kinds = ["", ' t="n"', ' t="s"', ' t="str"', ' t="inlineStr"', ' t="b"', ' t="e"', ' t="d"', ' t="?"', ' s="1"']
    rows = []
    for entry in texts(rng, n):
        text = re.sub("[\x00-\x08\x0b-\x1f\ufffe\uffff]", "?", entry.decode("utf-8", "replace"))
        inner = rng.choice(["<v>{}</v>", "<is><t>{}</t></is>", "<v>46023</v>", "<v>{}</v><f>{}</f>"])
        cell = f"<c{rng.choice(kinds)}>{inner.replace('{}', html.escape(text))}</c>"
        rows.append(f'<row><c r="A1"><v>1</v></c>{cell}{cell}</row>')
    head = "<row>" + "".join(f'<c t="str"><v>{name}</v></c>' for name in ("id", "x", "x2")) + "</row>"
    a, b = halves(n, rng)
    data = []
    for k, part in enumerate((range(n), a, b, [])):
        data.append(workbook(tmp_path / f"{k}.xlsx", people=[]))
        with zipfile.ZipFile(data[-1]) as book:
            parts = {name: book.read(name).decode() for name in book.namelist()}
        with zipfile.ZipFile(data[-1], "w") as book:
            for name, text in parts.items():
                filled = "<sheetData>" + head + "".join(rows[j] for j in part) + "</sheetData>"
                book.writestr(name, text.replace("<sheetData></sheetData>", filled))
    assert len(counted(data[0], data[1:3], data[3])) == len(ATTRIBUTES)


def test_every_cell_of_a_sheet_counts(tmp_path):
    check_cells(FEW, tmp_path)


@pytest.mark.soak
def test_ten_thousand_cells_of_a_sheet_count(tmp_path):
    check_cells(MANY, tmp_path)


LONG = """
import resource, sys
from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
universe = Universe([Values(name="x", values=("M", "F")), Integers(name="x2", low=0, high=1)])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
source = open_source(sys.argv[1])
print(source.rows(), *source.count(universe).counts.tolist())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl.gz"])
@pytest.mark.parametrize("sign", mostly_slow(["9", "M", '"', "["], 1))
def test_a_record_of_any_length_takes_little_memory(ending, sign, tmp_path):
    """900 MB took 2.7 GB; forty that are not held are as telling."""
    size = 40_000_000 if sign == "M" else 10_000_000
    long = sign.encode() * size
    row = b'{"x": "M", "x2": 1, "y": ' + long + b"}" if "jsonl" in ending else b"M," + long
    clean = b'{"x": "M", "x2": 1}' if "jsonl" in ending else b"M,1"
    head = b"" if "jsonl" in ending else b"x,x2\n"
    path = tmp_path / f"people{ending}"
    content = head + clean + b"\n" + row + b"\n" + clean + b"\n"
    path.write_bytes(gzip.compress(content, 1) if ending.endswith("gz") else content)
    done = subprocess.run([sys.executable, "-c", LONG, path], capture_output=True, text=True, check=True)
    counted_rows, memory = done.stdout.splitlines()
    assert counted_rows.split()[0] == "3"
    cells = np.array(counted_rows.split()[1:], dtype=int).reshape(3, 3)
    assert cells[0, 1] == 2
    assert cells.sum() == 3
    assert cells[2, 2] == 1 if "jsonl" in ending else cells[0, 2] == 1
    assert int(memory) < 70_000  # KB; as much as for short lines, and less than two copies of it


def test_a_line_is_cut_at_the_same_character_wherever_it_stands(tmp_path, monkeypatch):
    """Cut lines do not depend on how the file falls into chunks, nor on the bytes of their characters."""
    from dxprivacy.engines.files import line_files as lines

    monkeypatch.setattr(lines, "LONGEST_LINE", 8)
    universe = Universe([ATTRIBUTES["texts"]])
    rows = ["M", "xxxxxx,M", "MMMMMMMM", "F,345678", "F,3456789", "ééééééé,M", "M,é\udcff\udcff\udcffé12345"]
    path = tmp_path / "people.csv"
    path.write_bytes(b"x,y\n" + b"".join(r.encode("utf-8", "surrogateescape") + b"\n" for r in rows * 5))
    found = []
    for chunk in (1, 2, 3, 7, 50, 1000):
        monkeypatch.setattr(lines, "CHUNK", chunk)
        found.append(open_source(path).count(universe).counts.tolist())
    assert all(counts == found[0] for counts in found)
    assert found[0][:2] == [10, 10]


def test_a_field_of_quotes_takes_linear_time():
    from dxprivacy.engines.files.csv_records import split_quoted

    def seconds(size):
        line = "a," + '"' * size
        best = min(timeit.repeat(lambda: split_quoted(line, ","), number=1, repeat=5))
        assert split_quoted(line, ",")[0] == "a"
        return best

    assert seconds(1 << 20) < 40 * seconds(1 << 16) + 0.01


def frames_of(module, n):
    columns = pandas_columns if module == "pandas" else polars_columns
    rng = random.Random(f"{module} {n}")
    a, b = halves(n, rng)
    for sort, column in columns(rng, n):
        if module == "pandas":
            frame = pd.DataFrame({"x": column, "x2": column})
            yield sort, frame, [frame.iloc[a], frame.iloc[b]], frame.iloc[:0]
        else:
            frame = pl.DataFrame({"x": column, "x2": column})
            yield sort, frame, [frame[a], frame[b]], frame.head(0)


@pytest.mark.parametrize(("module", "every"), [("pandas", 12), ("polars", 12), slow("pandas", 1), slow("polars", 1)])
def test_every_entry_of_a_frame_counts_or_its_schema_is_refused(module, every):
    for n in (49, FEW):  # a short frame is handed over in another way
        for sort, whole, _, empty in itertools.islice(frames_of(module, n), 0, None, every):
            if n == 49 and not sort.lower().startswith(("str", "object", "category of text")):
                continue
            try:
                counted(whole, [], empty)
            except Exception as error:
                raise AssertionError(sort) from error


@pytest.mark.soak
@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_ten_thousand_entries_of_a_frame_count_or_its_schema_is_refused(module):
    for sort, whole, parts, empty in frames_of(module, MANY):
        try:
            counted(whole, parts, empty)
        except Exception as error:
            raise AssertionError(sort) from error
