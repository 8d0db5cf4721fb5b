"""A simulated survey: 20,000 respondents in 906 US places.

Places are GeoNames data (CC BY 4.0). Two near-duplicates, Carol City and City of Milford (balance), are left out: the
noise ratio to standard DP depends on the closest pair, and a place listed twice would exaggerate it.
"""

import csv
import hashlib
import tempfile
from importlib.resources import files
from pathlib import Path

import numpy as np

from dxprivacy.engines.files.parquet import write_parquet
from dxprivacy.errors import DxError, UsageError
from dxprivacy.formats.file_access import NEVER, FileKind, write_file
from dxprivacy.ledger.journal import Journal

RESPONDENTS = 20_000
DATASET = "demo-survey"
LEFT_OUT = "Places: GeoNames, CC BY 4.0; Carol City and Milford (balance), each listed twice, are left out."
FILES = ("policy.toml", "places.csv", "people.parquet")


def write_survey(folder: Path, *, overwrite: bool = False) -> None:
    """Write policy, places and newly simulated people into a folder; replace an earlier demo only with `overwrite`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = [p.name for p in folder.iterdir()]
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
    if occupied and not _holds_a_demo(folder):  # never remove the user's files, above all not a ledger
        raise UsageError(f"{folder} holds other files", hints=[("--write demo/", "a folder of its own")])
    if occupied and not overwrite:
        raise UsageError(
            f"{folder} holds a demo already", hints=[("--overwrite", "replaces the demo's own files in it")]
        )
    try:
        for pattern in ("plan-*.json", "release-*.*", "ledger.db*", "people.parquet"):
            for old in folder.glob(pattern):
                old.unlink()
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
    for name in FILES[:2]:
        text = _packaged(name)
        write_file(folder / name, text, FileKind.listed("file of the demo", [_digest(text)]))
    _write_people(folder)


def _packaged(name: str) -> bytes:
    return files("dxprivacy.demo").joinpath(name).read_bytes()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _holds_a_demo(folder: Path) -> bool:
    """Return whether the folder holds the unchanged policy of the demo and, if there is a ledger, that of the demo."""
    try:
        same = (folder / "policy.toml").read_bytes() == _packaged("policy.toml")
        if not same or not (folder / "ledger.db").exists():
            return same
        with Journal.read(folder / "ledger.db") as journal:
            return journal.binding.get("dataset") == DATASET
    except (OSError, DxError):
        return False


def _write_people(folder: Path) -> None:
    places = list(csv.DictReader(_packaged("places.csv").decode().splitlines()))
    people = np.array([float(p["population"]) for p in places])
    chosen = np.random.default_rng().choice(len(places), RESPONDENTS, p=people / people.sum())
    ids = np.array([int(p["id"]) for p in places])
    with tempfile.TemporaryDirectory() as hidden:  # the engine writes to a path, so use a private folder
        part = Path(hidden) / "people.parquet"
        write_parquet(part, {"respondent": np.arange(RESPONDENTS), "home": ids[chosen]})
        write_file(folder / "people.parquet", part.read_bytes(), NEVER)
