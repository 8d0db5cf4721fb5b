"""Synthetic records: whole numbers of records in the cells of a universe, and the files they are written to.

The file has the columns that the policy reads, and read with the same policy it gives the same histogram again.  Its
records stand in the order of the cells; like everything else about them, that tells nothing about any person.
"""

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dxprivacy.engines.csv_records import require_csv, write_csv
from dxprivacy.engines.duck_records import require_parquet, write_parquet_records
from dxprivacy.engines.fields import fields_of
from dxprivacy.errors import UsageError
from dxprivacy.model.arrays import Ints
from dxprivacy.model.universe import Universe
from dxprivacy.synthesis.rounding import whole_counts

DELIMITERS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (*DELIMITERS, ".parquet")


@dataclass(frozen=True, eq=False)
class Records:
    """So many synthetic records in each cell of a universe.

    >>> records = Records.of(Universe.listed("abc"), [1.4, 0.3, 1.3], 3)
    >>> records, records.counts.tolist()
    (Records(3 in 3 cells), [1, 1, 1])
    """

    universe: Universe
    counts: Ints = field(repr=False)

    @classmethod
    def of(cls, universe: Universe, histogram: object, records: int) -> "Records":
        """A histogram of fractions rounded to that many records; a cell for absent people is left out."""
        y = np.asarray(histogram)
        if universe.absent is not None and y.shape == (universe.size,):
            y = y[: universe.cells]
        return cls(universe.present, whole_counts(y, universe.shape, records))

    @property
    def number(self) -> int:
        """How many records there are."""
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"Records({self.number:,} in {self.universe.cells:,} cells)"

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a .csv, .tsv or .parquet file; an existing one is replaced only if that is asked for.

        The file appears when it is complete: what breaks off leaves nothing behind.
        """
        target = Path(path)
        require_savable(self.universe, target, overwrite=overwrite)
        fields = fields_of(self.universe)
        cells = np.flatnonzero(self.counts)
        counts = self.counts[cells]
        part = _part(target)
        try:
            if target.suffix.lower() == ".parquet":
                write_parquet_records(part, fields, cells, counts)
            else:
                with part.open("w", encoding="utf-8", newline="") as file:
                    write_csv(file, fields, cells, counts, DELIMITERS[target.suffix.lower()])
            part.replace(target)
        except OSError as error:
            raise UsageError(f"cannot write {target}: {error.strerror or 'the disk may be full'}") from None
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        return target


def require_savable(universe: Universe, path: Path, *, overwrite: bool = False) -> None:
    """Refuse what could not be written, before anything is spent on it."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"cannot write records to {path.name!r}", hints=["a name that ends in .parquet, .csv or .tsv"])
    fields = fields_of(universe)
    if ending == ".parquet":
        require_parquet(fields)
    else:
        require_csv(fields)
    try:
        if path.is_dir():
            raise UsageError(f"cannot write {path}: it is a folder")
        if path.exists() and not overwrite:
            raise UsageError(f"{path} exists", hints=[("--overwrite", "replaces it"), ("--out FILE", "another name")])
        if not path.parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no such folder")
        part = _part(path)
        part.touch()
        part.unlink()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    except ValueError:  # a NUL in the path
        raise UsageError(f"{str(path)!r} cannot be a file name") from None


def _part(path: Path) -> Path:
    """What a file is called while it is written."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")
