"""Every kind of query beside OpenDP and diffprivlib, both at the ε of our worst case and as strict as we are.

Standard differential privacy has one ε for all pairs of records.  *At our worst case* it is the largest loss that our
release has for any pair; *as strict* the least ε of a pair that the query separates.  Neighbors replace a record,
with everybody: what that means for each peer stands in its file.  All are measured against the records themselves.
"""

from fractions import Fraction

import numpy as np

import dxprivacy as dx
from benchmarks import by_diffprivlib, by_opendp, peers, survey
from benchmarks.figures import Figure, skipped
from benchmarks.survey import Floats, Query, Sample
from dxprivacy.metrics.place_metrics import Euclidean
from dxprivacy.universe.attributes.listed_points import Points


def run() -> list[Figure]:
    """Two lines for each query and peer; or why there is none."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measured = [(query, *_ours(query)) for query in survey.ALL]
    theirs = _diffprivlib([(query.words, epsilon) for query, _, both in measured for epsilon in both])
    figures = []
    for query, ours, both in measured:
        opendp = [query.rmse(by_opendp.answer(query, epsilon)) for epsilon in both]
        figures += _pair(query, "OpenDP", ours, both, opendp)
        if query.words in by_diffprivlib.CANNOT:
            figures.append(skipped(f"`{query.words}`: diffprivlib", by_diffprivlib.CANNOT[query.words]))
        elif isinstance(theirs, str):
            figures.append(skipped(f"`{query.words}`: diffprivlib", theirs))
        else:
            figures += _pair(query, "diffprivlib", ours, both, [theirs[query.words, epsilon] for epsilon in both])
    return figures


def _pair(query: Query, peer: str, ours: float, both: tuple[float, float], found: list[float]) -> list[Figure]:
    worst, strict = found
    what = f"`{query.words}`: {peer}"
    return [
        Figure(f"{what} at our worst case, ε = {both[0]:.3g}", ours, worst, worst / ours, "none", ""),
        Figure(f"{what} as strict, ε = {both[1]:.3g}", ours, strict, strict / ours, "≥ 1", ""),
    ]


def _ours(query: Query) -> tuple[float, tuple[float, float]]:
    """Our error, the largest ε of our release and the least that the query separates."""
    places = query is survey.MAP
    metric = _map() if places else _people()
    plan = dx.plan(query.words, metric, n_records=survey.HOMES if places else survey.PEOPLE)
    (gain,) = plan.to_dict()["gains"]

    def answer(sample: Sample) -> Floats:
        codes = sample.home if places else _cells(sample)
        counts = np.bincount(codes, minlength=metric.universe.size)
        return np.array([row.value for row in plan.by_hand(counts).answers])

    return query.rmse(answer), (plan.worst_epsilon, gain["standard_epsilon"])


def _people() -> dx.metrics.Metric:
    universe = dx.Universe(
        [
            dx.Values(name="region", values=tuple("ABCDE"), has_other=False),
            dx.Values(name="smoker", values=("N", "Y"), has_other=False),
            dx.Integers(name="age", low=0, high=survey.TOP, has_other=False),
            dx.Integers(name="rooms", low=1, high=survey.ROOMS, has_other=False),
        ]
    )
    ages, rooms = {"epsilon": "0.01", "per": 1}, {"epsilon": "0.1", "per": 1}
    return dx.metrics.attributes(universe, {"region": 1, "smoker": "0.5", "age": ages, "rooms": rooms})


def _cells(s: Sample) -> survey.Ints:
    return np.ravel_multi_index(
        (s.region, s.smoker, s.age, s.rooms - 1), (survey.REGIONS, 2, survey.TOP + 1, survey.ROOMS)
    )


def _map() -> dx.metrics.Metric:
    """0.01 a km."""
    spots = survey.places()
    names = tuple(f"p{k}" for k in range(len(spots)))
    return Euclidean(
        dx.Universe([Points(name="home", ids=names, coordinates=spots, has_other=False)]), spots, Fraction("0.01")
    )


def _diffprivlib(asked: list[tuple[str, float]]) -> dict[tuple[str, float], float] | str:
    can = [(words, epsilon) for words, epsilon in asked if words not in by_diffprivlib.CANNOT]
    try:
        found = peers.told(peers.DIFFPRIVLIB, "from benchmarks.by_diffprivlib import main; main()", can)
    except peers.Unavailable as error:
        return f"diffprivlib {error}"
    return dict(zip(can, found, strict=True))


if __name__ == "__main__":
    for figure in run():
        print(figure)
