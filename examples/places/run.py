"""Two maps: `python examples/places/run.py`, and with `--write FOLDER` their pictures, pages and GeoJSON.

The first is of 20,000 invented homes in a plane, the second of 100,000 residents of real cities, drawn in proportion to
the population of each (906 cities of the United States, GeoNames, CC BY 4.0).
"""

import csv
import random
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import numpy as np
from make_homes import make

import dxprivacy as dx
from dxprivacy.releases.release import Release

HERE = Path(__file__).parent
RESIDENTS = 100_000
WHAT = """\
What a map tells: how many records lie near each spot, each of them spread around its place before it is counted.  So
what a neighbor changes is little, over the whole map, and the noise of a cell depends on the width and on ε for a km,
not on how close two homes may be.  Counts of cells as they are pay for the closest pair across an edge: five times as
much here, a hundred times among cities that are 0.8 km apart.
What it does not tell: what is smaller than its width, and anything about a cell that is gray.
"""


def homes(folder: Path) -> Release:
    """Homes in a plane, 10 km wide."""
    policy, data = dx.Policy.load(HERE / "homes.toml"), make(folder / "homes.csv")
    with dx.Session(policy, data, ledger=folder / "homes.db", new_ledger=True) as session:
        plan = session.plan("density home width 10 every 10", budget="100%")
        release = session.release(plan)
    print(plan, end="\n\n")
    drawn = np.array([row.value for row in release.answers])
    print(f"correlation of the noisy map with the true counts: {np.corrcoef(drawn, _true(data))[0, 1]:.3f}\n")
    return release


def _true(data: Path) -> list[int]:
    """How many homes lie in each cell of 10 km: to compare with, here where the homes are invented."""
    counts = np.zeros((40, 40), dtype=int)
    with data.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            counts[tuple(min(int(float(row[c]) // 10), 39) for c in "xy")] += 1
    return counts.ravel().tolist()


def residents(folder: Path) -> Release:
    """Residents of cities on the Earth, 40 km wide; without the two states that lie far away."""
    cities = folder / "cities.csv"
    cities.write_bytes((files("dxprivacy") / "demo" / "places.csv").read_bytes())
    shutil.copy(HERE / "residents.toml", folder)
    with cities.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    data, rng = folder / "residents.csv", random.Random(1)
    chosen = rng.choices([r["id"] for r in rows], [float(r["population"]) for r in rows], k=RESIDENTS)
    data.write_text("\n".join(["home", *chosen]) + "\n", encoding="utf-8")
    with dx.Session(
        dx.Policy.load(folder / "residents.toml"), data, ledger=folder / "residents.db", new_ledger=True
    ) as session:
        asked = dx.density_of("home", width=40, every=40, where="not state=Alaska|Hawaii")
        plan = session.plan(asked, budget="80%")
        release = session.release(plan)
        states = session.plan(dx.table("state", blur=40), budget="20%")
        print(plan, states, session.release(states), sep="\n\n", end="\n\n")
    return release


def main(write: Path | None = None) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, release in (("homes", homes(folder)), ("residents", residents(folder))):
            if write is not None:
                write.mkdir(parents=True, exist_ok=True)
                for end in (".png", ".svg"):
                    dx.plots.release(release).save(write / f"{name}{end}")
                if name == "residents":
                    release.save(write / f"{name}.geojson")
    print(WHAT)


if __name__ == "__main__":
    main(Path(sys.argv[sys.argv.index("--write") + 1]) if "--write" in sys.argv else None)
