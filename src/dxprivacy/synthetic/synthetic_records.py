"""Synthetic records: the number of records for each possible record, and the files that they are written to.

The file has the columns that the policy reads, and reading it with the same policy gives the same histogram.  Its
records are in the order of the possible records; like the records, this order is post-processing of released numbers.
"""

import hashlib
import io
import json
import math
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dxprivacy.engines.fields import fields_of
from dxprivacy.engines.files.csv_records import require_csv, write_csv
from dxprivacy.engines.sql.duckdb.duckdb_database import records_relation, require_parquet, write_parquet_records
from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.formats.file_access import FileKind, file_to_write, require_place
from dxprivacy.mechanisms.synthesis.histogram_answers import require_all_cells
from dxprivacy.synthetic.controlled_rounding import whole_counts
from dxprivacy.tabular import Columnar
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import repr_of_half_built

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation as Relation

_GENERATORS = [math.sqrt(n) for n in range(2, 4_000) if math.isqrt(n) ** 2 != n]
DELIMITERS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*DELIMITERS, ".parquet")
_LONGEST_REPORT = 1 << 28


@repr_of_half_built
@dataclass(frozen=True, eq=False)
class Records(Columnar):
    """Synthetic records of a universe: the possible records that occur, in order, and how often each occurs.

    >>> records = Records.of(Universe.listed("abc"), [1.4, 0.3, 1.3], 3)
    >>> records, records.counts.tolist()
    (Records(3 in 3 cells), [1, 1, 1])
    """

    universe: Universe
    cells: Ints = field(repr=False)
    times: Ints = field(repr=False)

    @classmethod
    def of(cls, universe: Universe, histogram: object, records: int) -> "Records":
        """Round a histogram of fractions to the given number of records; the entry of `absent` is left out."""
        y = np.asarray(histogram)
        if universe.absent is not None and y.shape == (universe.size,):
            y = y[: universe.cells]
        return cls.counted(universe.present, whole_counts(y, universe.shape, records))

    @classmethod
    def counted(cls, universe: Universe, counts: object) -> "Records":
        """Make records from the number of each possible record."""
        every = np.asarray(counts, dtype=np.int64)
        cells = np.flatnonzero(every).astype(np.int64)
        return cls(universe, cells, every[cells])

    @property
    def counts(self) -> Ints:
        """How often each possible record occurs; only for universes that are small enough to list."""
        require_all_cells(self.universe, "listing them")
        out: Ints = np.zeros(self.universe.cells, dtype=np.int64)
        out[self.cells] = self.times
        return out

    @property
    def number(self) -> int:
        """The number of records."""
        return int(self.times.sum())

    def filled_up(self, universe: Universe) -> "Records":
        """Return the same records over a universe with further attributes, whose values are spread evenly.

        Values follow a Kronecker sequence, without randomness: in any run of records, all values are about equally
        frequent.
        """
        record = np.repeat(np.arange(len(self.cells)), self.times)
        where = np.zeros(len(record), dtype=np.int64)
        nth, generators = np.arange(len(record)) + 0.5, iter(_GENERATORS)
        for name, attribute, stride in zip(universe.names, universe.attributes, universe.strides, strict=True):
            if name in self.universe.names:
                axis = self.universe.names.index(name)
                value = self.universe.along(axis, self.cells)[record]
            else:
                value = (nth * next(generators) % 1.0 * max(attribute.listed, 1)).astype(np.int64)
            where += value * stride
        cells, times = np.unique(where, return_counts=True)
        return Records(universe, cells, times.astype(np.int64))

    def __repr__(self) -> str:
        return f"Records({self.number:,} in {self.universe.cells:,} cells)"

    def _relation(self) -> "Relation":
        """Return the typed columns of the file, record by record."""
        fields = fields_of(self.universe)
        require_parquet(fields)
        return records_relation(fields, self.cells, self.times)

    def save(self, path: str | Path, *, overwrite: bool = False, inputs: Sequence[Path] = ()) -> Path:
        """Write a .csv, .tsv or .parquet file; an existing file is replaced only with `overwrite`.

        Even then, it must be a file of synthetic records that dxprivacy wrote, as the report next to it shows
        (`report.save`).  `inputs` are files that are never replaced.  The file appears only when it is complete.
        """
        target = Path(path)
        require_savable(self.universe, target, overwrite=overwrite, inputs=inputs)
        fields, cells, counts = fields_of(self.universe), self.cells, self.times
        with file_to_write(target, _synthetic(target), inputs=inputs, overwrite=overwrite) as file:
            if target.suffix.lower() == ".parquet":
                with tempfile.TemporaryDirectory() as hidden:  # the engine needs a path: use a private folder
                    part = Path(hidden) / "records.parquet"
                    write_parquet_records(part, fields, cells, counts)
                    with part.open("rb") as made:
                        shutil.copyfileobj(made, file)
            else:
                layout = self.universe.file
                text = io.TextIOWrapper(file, encoding=layout.codec, newline="")
                write_csv(text, fields, cells, counts, DELIMITERS[target.suffix.lower()], layout)
                text.flush()
                text.detach()
        return target


def report_of(records: Path) -> Path:
    """Return the path of the report on a file of synthetic records.

    >>> report_of(Path("synthetic.csv")).name
    'synthetic-report.json'
    """
    return records.with_name(f"{records.stem}-report.json")


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, by which a report identifies its records."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _synthetic(target: Path) -> FileKind:
    """Return the kind of file that may be replaced: only the report distinguishes synthetic records from data."""
    try:
        with report_of(target).open("rb") as file:
            digest = json.loads(file.read(_LONGEST_REPORT)).get("file_sha256")
    except (OSError, ValueError, AttributeError, RecursionError):
        digest = None
    return FileKind.listed("file of synthetic records", [digest] if isinstance(digest, str) else [])


def require_savable(universe: Universe, path: Path, *, overwrite: bool = False, inputs: Sequence[Path] = ()) -> None:
    """Refuse records or paths that could not be written, before anything is spent."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"cannot write records to {path.name!r}", hints=["a name that ends in .parquet, .csv or .tsv"])
    fields = fields_of(universe)
    if ending == ".parquet":
        require_parquet(fields)
    else:
        require_csv(fields, universe.file)
    require_place(path, _synthetic(path), inputs=inputs, overwrite=overwrite)
