"""Arrow datasets, streams and files, and lazy frames."""

import subprocess
import sys

import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
from engine_kinds import build
from small_sources import counts, csv
from test_engine_schema import PLANTED, refusal

from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe


def test_a_dataset_of_many_files_is_read_in_batches(tmp_path):
    for k in range(3):
        pq.write_table(pa.table({"a.b": [9, 9], "sex": ["M", "F"], "age": [k, k]}), tmp_path / f"{k}.parquet")
    assert counts(pa.dataset.dataset(tmp_path)) == [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    universe = Universe(
        [Integers(name="x", column="a.b", low=9, high=9), Integers(name="y", column="a.b", low=0, high=9)]
    )
    assert open_source(pa.dataset.dataset(tmp_path)).count(universe).total == 6


def test_a_dataset_whose_files_have_other_types_is_refused_by_its_schema(tmp_path):
    """Arrow converts each file, and stopped at one entry that does not fit: a fraction, or an id above 2^53."""
    whole, longer, short = pa.array([2**53 + 1, 1]), pa.array([1.0, 0.5]), pa.array([1, 2], pa.int8())
    universe = Universe([Integers(name="age", low=0, high=9)])
    for first, second, fits in (
        (whole, longer, False),
        (longer, whole, False),
        (whole, pa.array([2**64 - 1, 1], pa.uint64()), False),
        (whole, pa.nulls(2), True),
        (whole, short, True),
        (short, whole, False),
        (longer, longer.cast(pa.float32()), True),
    ):
        for name, entries in (("a", first), ("b", second)):
            pq.write_table(
                pa.table({"age": entries, "unused": entries.cast(pa.float64(), safe=False)}),
                tmp_path / f"{name}.parquet",
            )
        dataset = pa.dataset.dataset(
            [tmp_path / "a.parquet", tmp_path / "b.parquet"], schema=pa.schema({"age": first.type})
        )
        for given in (dataset, dataset.filter(pa.dataset.field("age") >= 0), pa.dataset.dataset([dataset])):
            source = open_source(given)
            if fits:
                source.check(universe)
                assert source.count(universe).total == source.rows()
            else:
                error = refusal(lambda source=source: source.check(universe))
                assert f"of type {first.type}, and in some of its files {second.type}" in error.what


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
    assert "not an Arrow file" in refusal(lambda: open_source(tmp_path / "cut.arrow")).what


def test_arrow_files_ask_for_pyarrow_where_it_is_missing(tmp_path):
    path = build("feather", {"sex": (pa.string(), ["M"])}, tmp_path)
    program = (
        "import sys; sys.modules['pyarrow'] = None; from dxprivacy.engines import open_source\n"
        f"try: open_source({str(path)!r})\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "is read with pyarrow, which is not installed" in done.stdout
