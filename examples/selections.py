"""What the data should choose: the most common value, medians, quantiles and bin edges, under one small budget."""

import tempfile
from pathlib import Path

import numpy as np

import dxprivacy as dx

HERE = Path(__file__).parent / "household"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        dx.Session(
            HERE / "policy.toml", HERE / "people.csv", ledger=Path(folder) / "ledger.db", new_ledger=True
        ) as session,
    ):
        picks = [
            dx.most_common("children"),
            dx.median_of("age"),
            dx.quantile_of("age", 0.9),
            dx.bin_edges("age/5", bins=4),
        ]
        for pick in picks:
            selection = session.plan_selection(pick, budget="20%", flip=True)
            release = session.select(selection)
            off = f"at most {selection.shortfall():.0f} {selection.candidates.measure}"
            print(f"{release.title:24s}{release.chosen:32s}{off}")
        print(session.ledger.between({"age": 39}, {"age": 40}))

    # The researcher's view: any whole-number scores whose sensitivity is declared.
    places = np.array([[0, 0], [3, 4], [30, 40]])
    d = dx.metrics.euclidean(places, epsilon_per_unit="0.1")
    counts = np.array([40, 70, 12])
    print(dx.exponential(counts, np.eye(3, dtype=int), d))

    # A small database that answers two queries.
    small = dx.smalldb([[1, 1, 0], [0, 1, 1]], dx.metrics.constant(3, 1), counts, alpha=0.3)
    print(small.counts, small.answers, small.plan.bounds)


if __name__ == "__main__":
    main()
