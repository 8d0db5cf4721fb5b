"""The same queries by OpenDP, as its users put them together, at one ε for every replaced record.

OpenDP measures tables by the records that were added or removed.  A replaced record is two such steps, `d_in=2`.  The
records of one group are a table of their own: both steps fall into one group, or one into each of two, so that groups
at ε/2 a step (`d_in=1`) keep ε together.  Several numbers from the same records share ε evenly.
"""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import survey
from benchmarks.survey import PEOPLE, QUARTILES, REGIONS, ROOMS, TOP, Floats, Ints, Query, Sample, by_region

Answer = Callable[[Sample], Floats]
AGE = TOP // 2  # the middle: sums of numbers around 0 change by half as much
PRODUCTS = {  # of ages (a) and rooms (r) around their middles, and their ends; rooms twice, to be whole numbers
    "a": (-AGE, AGE),
    "r": (1 - ROOMS, ROOMS - 1),
    "ar": (-AGE * (ROOMS - 1), AGE * (ROOMS - 1)),
    "aa": (0, AGE**2),
    "rr": (0, (ROOMS - 1) ** 2),
}
BRANCHING = 11  # errs least of 2 to 101, which is what OpenDP proposes


def answer(query: Query, epsilon: float) -> Answer:
    """How OpenDP answers."""
    return _ANSWERS[query.words](epsilon)


def _budgets(epsilon: float) -> Answer:
    counted = _counts(2 * REGIONS, epsilon)

    def budgets(s: Sample) -> Floats:
        without, smokers = counted(2 * s.region + s.smoker).reshape(REGIONS, 2).T
        return _over(smokers, smokers + without)

    return budgets


def _means(epsilon: float) -> Answer:
    total, number = _sum(-AGE, AGE, epsilon / 4), _sum(1, 1, epsilon / 4)

    def mean(age: Ints) -> float:
        return AGE + float(_over(total(age - AGE), number(np.ones_like(age))))

    return lambda s: by_region(s, lambda r: mean(s.age[r]))


def _ratios(epsilon: float) -> Answer:
    """Sums of ages as they are: around 0, they would need a third number."""
    ages, rooms = _sum(0, TOP, epsilon / 4), _sum(1, ROOMS, epsilon / 4)
    return lambda s: by_region(s, lambda r: float(_over(ages(s.age[r]), rooms(s.rooms[r]))))


def _quantiles(epsilon: float) -> Answer:
    at = [_quantile(q, epsilon / 2 / len(QUARTILES)) for q in QUARTILES]
    return lambda s: by_region(s, lambda r: [quantile(s.age[r]) for quantile in at])


def _medians(epsilon: float) -> Answer:
    median = _quantile(0.5, epsilon / 2)
    return lambda s: by_region(s, lambda r: median(s.age[r & (s.smoker == 1)]))


def _variance(epsilon: float) -> Answer:
    """OpenDP's own, of numbers whose number is public; it divides by one less, which we undo."""
    import opendp.prelude as dp

    domain = dp.vector_domain(dp.atom_domain(bounds=(0.0, float(TOP))), size=PEOPLE)
    variance = (domain, dp.symmetric_distance()) >> dp.t.then_variance()
    noisy = dp.binary_search_chain(lambda b: variance >> dp.m.then_laplace(b), 2, epsilon, bounds=(1e-6, 1e8))
    return lambda s: np.array([noisy(s.age.astype(float).tolist()) * (PEOPLE - 1) / PEOPLE])


def _sd(epsilon: float) -> Answer:
    variance = _variance(epsilon)
    return lambda s: np.sqrt(np.maximum(variance(s), 0))


def _products(asked: Sequence[str], epsilon: float) -> Answer:
    """Means of products around the middles by noisy sums: OpenDP has neither covariance nor correlation."""
    sums = [_sum(*PRODUCTS[names], epsilon / len(asked), PEOPLE) for names in asked]

    def means(s: Sample) -> Floats:
        columns = {"a": s.age - AGE, "r": 2 * s.rooms - ROOMS - 1}
        products = [np.prod([columns[letter] for letter in names], axis=0) for names in asked]
        return np.array([noisy(product) / PEOPLE for noisy, product in zip(sums, products, strict=True)])

    return means


def _covariance(epsilon: float) -> Answer:
    means = _products(("a", "r", "ar"), epsilon)

    def covariance(s: Sample) -> Floats:
        a, r, ar = means(s)
        return np.array([ar - a * r]) / 2

    return covariance


def _correlation(epsilon: float) -> Answer:
    means = _products(("a", "r", "ar", "aa", "rr"), epsilon)

    def correlation(s: Sample) -> Floats:
        a, r, ar, aa, rr = means(s)
        spread = (aa - a * a) * (rr - r * r)
        return np.array([(ar - a * r) / np.sqrt(spread) if spread > 0 else 0.0])

    return correlation


def _histogram(epsilon: float) -> Answer:
    counted = _counts(TOP // 10 + 1, epsilon)
    return lambda s: counted(s.age // 10)


def _cumulative(epsilon: float, branching: int = BRANCHING) -> Answer:
    """Sums of the leaves of a tree of counts, made consistent."""
    import opendp.prelude as dp

    domain, distance = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counted = (domain, distance) >> dp.t.then_count_by_categories(list(range(TOP + 1)), null_category=False)
    tree = counted >> dp.t.then_b_ary_tree(leaf_count=TOP + 1, branching_factor=branching)
    noisy = dp.binary_search_chain(lambda b: tree >> dp.m.then_laplace(b), 2, epsilon, bounds=(1e-6, 1e8))
    leaves = dp.t.make_consistent_b_ary_tree(branching_factor=branching)
    return lambda s: np.array(leaves(noisy(s.age.tolist()))).cumsum()


def _map(epsilon: float) -> Answer:
    counted = _counts((survey.EDGE // survey.CELL) ** 2, epsilon)
    return lambda s: counted(survey.cells(s))


def _counts(number: int, epsilon: float) -> Callable[[Ints], Floats]:
    """Of every value at once: a replaced record changes two of them by one."""
    import opendp.prelude as dp

    domain, distance = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counted = (domain, distance) >> dp.t.then_count_by_categories(list(range(number)), null_category=False)
    noisy = dp.binary_search_chain(lambda b: counted >> dp.m.then_laplace(b), 2, epsilon, bounds=(1e-6, 1e8))
    return lambda codes: np.array(noisy(codes.tolist()), dtype=float)


def _sum(low: int, high: int, epsilon: float, size: int | None = None) -> Callable[[Ints], float]:
    """Of whole numbers: ε for one step, or of so many numbers as are public, for one that is replaced."""
    import opendp.prelude as dp

    domain = dp.vector_domain(dp.atom_domain(bounds=(low, high)), size=size)
    total = (domain, dp.symmetric_distance()) >> dp.t.then_sum()
    steps = 1 if size is None else 2
    noisy = dp.binary_search_chain(lambda b: total >> dp.m.then_laplace(b), steps, epsilon, bounds=(1e-6, 1e9))
    return lambda numbers: float(noisy(numbers.tolist()))


def _quantile(at: float, epsilon: float) -> Callable[[Ints], float]:
    """One of all ages, by permute-and-flip: ε for one step."""
    import opendp.prelude as dp

    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance(), dp.max_divergence()
    ages = list(range(TOP + 1))
    chosen = dp.binary_search_chain(
        lambda b: dp.m.make_private_quantile(*space, candidates=ages, alpha=at, scale=b), 1, epsilon, bounds=(1e-6, 1e9)
    )
    return lambda numbers: float(chosen(numbers.tolist()))


def _over(above: Floats | float, below: Floats | float) -> Floats:
    """A quotient of noisy numbers; a number of records is at least 1."""
    return np.asarray(above) / np.maximum(below, 1)


_ANSWERS: dict[str, Callable[[float], Answer]] = {
    query.words: function
    for query, function in {
        survey.SHARES: _budgets,
        survey.MEANS: _means,
        survey.RATIOS: _ratios,
        survey.QUANTILES: _quantiles,
        survey.MEDIANS: _medians,
        survey.VARIANCE: _variance,
        survey.SD: _sd,
        survey.COVARIANCE: _covariance,
        survey.CORRELATION: _correlation,
        survey.HISTOGRAM: _histogram,
        survey.CUMULATIVE: _cumulative,
        survey.MAP: _map,
    }.items()
}
