"""The verifier leaves out values that lie between others, or that others stand for: against all pairs, in fractions."""

import random
from fractions import Fraction

import pytest

from contracts.by_all_pairs import check, over_all_pairs, read, read_back
from contracts.line_models import asked, one_distance_each, towns, universe
from contracts.long_forms import slow
from dxprivacy.errors import NotVerified, Undecided
from dxprivacy.formats.canonical import sealed
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics import attributes
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.queries.asking import gather, mean_of, ranges, table
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import certificate, directions, verify_data
from dxprivacy.verify.certificate import tightest
from dxprivacy.verify.exchange import never_more


def scales_of(rng, rows):
    alike = [rng.choice([1.0, 3.5, 40.0])] * rows
    return alike if rng.random() < 0.5 else [s * rng.choice([1.0, 0.25, 7.0]) for s in alike]


@pytest.mark.parametrize("many", [1_500, 0])
@pytest.mark.parametrize("seed", range(60))
def test_along_attributes_of_one_distance(monkeypatch, seed, many):
    monkeypatch.setattr(directions, "_MANY_VALUES", many)
    rng = random.Random(f"along {seed}")
    metric = one_distance_each(rng)
    queries = asked(rng)
    scales = scales_of(rng, queries.on(metric.universe).rows)
    check(*read(queries, metric, scales, choose=rng.random() < 0.2))


@pytest.mark.parametrize("seed", range(60))
def test_values_for_which_others_stand(monkeypatch, seed):
    monkeypatch.setattr(directions, "_MANY_VALUES", 0)
    rng = random.Random(f"towns {seed}")
    metric, queries = towns(rng)
    workload = queries.on(metric.universe)
    scales = [rng.choice([0.3, 1.0, 20.0]) for _ in workload.blocks]
    check(*read(queries, metric, [scales[b] for b in workload.block_of.tolist()]))


@pytest.mark.parametrize("seed", range(60))
def test_under_one_distance_for_all_records(seed):
    rng = random.Random(f"everywhere {seed}")
    metric = Constant(universe(rng), Fraction(rng.randint(1, 5), 3))
    queries = asked(rng)
    scales = scales_of(rng, queries.on(metric.universe).rows)
    check(*read(queries, metric, scales))


@pytest.mark.parametrize("seed", range(80))
def test_of_too_many_records_a_bound_that_is_never_too_small_and_mostly_met(monkeypatch, seed):
    monkeypatch.setattr(certificate, "_MOST_COLUMNS", 0)
    rng = random.Random(f"bound {seed}")
    sums, queries = towns(rng) if seed % 2 else (one_distance_each(rng), asked(rng))
    metric = Constant(sums.universe, Fraction(rng.randint(1, 5), 3))
    workload = queries.on(metric.universe)
    scales = [rng.choice([0.3, 1.0, 20.0]) for _ in workload.blocks]
    loss, distances = read(queries, metric, [scales[b] for b in workload.block_of.tolist()])
    truth = over_all_pairs(loss, distances)[1]
    assert truth <= tightest(loss, distances).high
    bound = never_more(loss)
    assert bound is not None
    assert truth <= bound / Fraction(metric.epsilon)


@pytest.mark.parametrize("seed", range(60))
def test_of_too_many_pairs_blocks_are_looked_at_by_themselves(monkeypatch, seed):
    monkeypatch.setattr(directions, "MOST_PAIRS", seed % 20)
    rng = random.Random(f"too many {seed}")
    metric = one_distance_each(rng)
    queries = asked(rng)
    scales = scales_of(rng, queries.on(metric.universe).rows)
    loss, distances = read(queries, metric, scales)
    truth = over_all_pairs(loss, distances)[1]
    try:
        found = tightest(loss, distances)
    except Undecided:  # a single block with more pairs than that
        assert max(metric.universe.shape) > 2
    else:
        assert found.high >= truth


@pytest.mark.parametrize(("values", "high"), [(150, 20), slow(3_000, 360)])
def test_a_worst_case_of_a_large_part_and_a_small_one_is_verified(values, high):
    """The large part is bounded, the small one exact: together neither the verifier's own sum nor an earlier bound."""
    tail = Values(name="tail", values=tuple(f"t{k}" for k in range(values)))
    delay, age = Integers(name="delay", low=-60, high=high), Integers(name="age", low=0, high=9)
    metric = attributes(Universe([delay, tail, age]), {"delay": 1, "tail": 1, "age": 1})
    queries = gather(mean_of("delay"), mean_of("delay", by="tail"), ranges("age"))
    plan = make_plan(queries, metric, n_records=10**6)
    data = plan.to_dict()
    assert "worst case" in [found.name for found in verify_data(read_back(data))]
    data.pop("seal")
    edited = [sealed({**data, "worst_case_epsilon": data["worst_case_epsilon"] * x}) for x in (1.02, 0.99, 5)]
    assert list(verify_data(read_back(edited[0])))  # a little more is safe; less, or far more, is not
    for one in edited[1:]:
        with pytest.raises(NotVerified, match="largest loss"):
            list(verify_data(read_back(one)))


@pytest.mark.slow  # fewer pairs are looked at; short form: the test before
def test_a_plan_of_more_pairs_than_can_be_looked_at_is_verified_table_by_table():
    """Three facts of each of 7,000 places: no two of them stand for all."""
    rng = random.Random(3)
    names = ("elev", "area", "pop")
    facts = tuple(Property(name, tuple(str(rng.randint(0, 5_000)) for _ in range(7_000))) for name in names)
    place = Values(name="place", values=tuple(f"p{k}" for k in range(7_000)), facts=facts)
    g = Values(name="g", values=("a", "b"))
    metric = attributes(Universe([place, g]), {"place": 5, "g": 1})
    queries = gather(*(mean_of(f"place.{name}") for name in names), table("place"), table("g"))
    plan = make_plan(queries, metric, n_records=100_000, method="by-table")
    assert "upper bound" in plan.certificate.rule
    told = {found.name: found.found for found in verify_data(read_back(plan.to_dict()))}
    assert told["certificate"].startswith("uses at most 100 %")


def test_a_plan_under_one_distance_with_thousands_of_groups_is_verified():
    """Both signs: a sum over everybody changes by less than twice its largest number."""
    tail = Values(name="tail", values=tuple(f"t{k}" for k in range(3_000)))
    whole = Universe([Integers(name="delay", low=-60, high=360), tail])
    plan = make_plan(
        gather(mean_of("delay"), mean_of("delay", by="tail")), Constant(whole, Fraction(1)), n_records=10**6
    )
    assert "certificate" in [found.name for found in verify_data(read_back(plan.to_dict()))]
