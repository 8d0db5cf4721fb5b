"""A messy spreadsheet, protected by patient: `python examples/spreadsheet/run.py`."""

import tempfile
from pathlib import Path

from make_visits import make

import dxprivacy as dx

HERE = Path(__file__).parent
WHAT = """\
What is protected: a patient with all their visits, of which twelve count.  How the file is written (semicolons, commas,
the encoding, how a town may be spelt) stands in the policy, and each entry is read by itself: one odd row counts as
“other” and changes nobody else's.  What is not protected: patients who are entered under two numbers are two people.
"""


def main() -> None:
    policy = dx.Policy.load(HERE / "policy.toml")
    with tempfile.TemporaryDirectory() as folder:
        data = make(Path(folder) / "visits.csv")
        with dx.Session(policy, data, ledger=Path(folder) / "ledger.db", new_ledger=True) as session:
            plan = session.plan(
                dx.count_people(by="town"), dx.mean_of("fee", by="town"), budget="100%", n_records=20_000
            )
            print(plan, session.release(plan), WHAT, sep="\n\n")


if __name__ == "__main__":
    main()
