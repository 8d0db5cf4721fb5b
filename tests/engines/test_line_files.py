"""JSON lines, and lines in archives."""

import bz2
import gzip
import lzma

import pytest
from small_sources import UNIVERSE, counts, csv
from test_engine_schema import PLANTED, refusal

from dxprivacy.engines import open_source
from dxprivacy.engines.files import line_files
from dxprivacy.universe.universe import Universe


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
    monkeypatch.setitem(line_files.COMPRESSIONS, ".zst", "no_such_module.zstd")
    for name in ("people.csv.zst", "people.jsonl.zst"):
        (tmp_path / name).write_bytes(b"x")
        error = refusal(lambda name=name: open_source(tmp_path / name))
        assert "no reader for it" in error.what
        assert ".gz" in str(error.hints)
