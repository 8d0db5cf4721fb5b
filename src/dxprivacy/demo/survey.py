"""A simulated survey: 20,000 respondents in 906 US places.

Places are GeoNames data (CC BY 4.0); two near-duplicates, Carol City and City of Milford (balance), are left out: the
gain over plain DP hangs on the closest pair, and a place listed twice would flatter us.
"""

import csv
from importlib.resources import files
from pathlib import Path

import numpy as np

from dxprivacy.engines.parquet import write_parquet
from dxprivacy.errors import UsageError

RESPONDENTS = 20_000
LEFT_OUT = "Places: GeoNames, CC BY 4.0; Carol City and Milford (balance), each listed twice, are left out."
FILES = ("policy.toml", "places.csv", "people.parquet")


def write_survey(folder: Path, *, overwrite: bool = False) -> None:
    """Write policy, places and freshly simulated people into a folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = [p.name for p in folder.iterdir()]
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
    if occupied and not _holds_a_demo(folder):  # least of all may anyone's ledger be removed
        raise UsageError(f"{folder} holds other files", hints=[("--write demo/", "a folder of its own")])
    if occupied and not overwrite:
        raise UsageError(
            f"{folder} holds a demo already", hints=[("--overwrite", "replaces the demo's own files in it")]
        )
    try:
        for pattern in ("plan-*.json", "release-*.*", "ledger.db*"):
            for old in folder.glob(pattern):
                old.unlink()
        for name in FILES[:2]:
            (folder / name).write_text(files("dxprivacy.demo").joinpath(name).read_text("utf-8"), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from None
    _write_people(folder)


def _holds_a_demo(folder: Path) -> bool:
    try:
        return 'dataset = "demo-survey"' in (folder / "policy.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _write_people(folder: Path) -> None:
    with (folder / "places.csv").open(encoding="utf-8", newline="") as file:
        places = list(csv.DictReader(file))
    people = np.array([float(p["population"]) for p in places])
    chosen = np.random.default_rng().choice(len(places), RESPONDENTS, p=people / people.sum())
    ids = np.array([int(p["id"]) for p in places])
    write_parquet(folder / "people.parquet", {"respondent": np.arange(RESPONDENTS), "home": ids[chosen]})
