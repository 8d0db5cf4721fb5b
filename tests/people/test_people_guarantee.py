"""What is guaranteed to people with several rows, by enumeration: all pairs of people, all outputs in a box."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from people_cases import apart, every_row, kept_by_hand, policy_text

import dxprivacy as dx
from contracts.long_forms import seeds
from dxprivacy.engines.contribution_bounding import digest_of_key
from dxprivacy.errors import DxError
from dxprivacy.queries.text.query_grammar import parse

ASKED = (
    *("count", "count by a", "sum a", "mean a", "count where a=0", "count where a=x", "prefixes a", "table a by b"),
    "count where b=x",
)
CASES = 200


def planned(policy: dx.Policy, rng: random.Random):
    """A plan of some queries that this policy can answer."""
    queries = []
    for text in rng.sample(ASKED, len(ASKED)):
        try:
            parse(text).on(policy.universe)
        except DxError:
            continue
        queries.append(text)
        if len(queries) == rng.choice([1, 2]):
            break
    budget = rng.choice(["10%", "50%", "100%"])
    return dx.plan(queries, policy.metric, budget=budget, n_records=10)


@pytest.mark.parametrize("seed", seeds(CASES, fast=40))
def test_no_two_people_are_told_apart_by_more_than_was_guaranteed(seed):
    rng = random.Random(seed)
    max_rows = rng.choice([1, 2, 2, 3])
    policy = dx.Policy.parse(policy_text(rng, max_rows))
    universe, written = policy.universe, policy.of_people
    plan = planned(policy, rng)
    rows = every_row(universe)
    most = max_rows + 1 if len(rows) <= 3 else max_rows  # one of them has a row too many
    people = [p for n in range(most + 1) for p in itertools.combinations_with_replacement(range(len(rows)), n)]
    people = people if len(people) <= 60 else rng.sample(people, 60)
    cells = [int(universe.index([dict(zip(universe.names, row, strict=True))])[0]) for row in rows]
    kept = [kept_by_hand("p", [cells[k] for k in p], max_rows) for p in people]
    columns = plan.counted.columns(np.arange(universe.cells))
    answers = [sum((n * columns[:, c] for c, n in x.items()), np.zeros(len(columns), dtype=np.int64)) for x in kept]
    scales = [Fraction(s) for s in plan.scales]
    worst = Fraction(0)
    for (x, ax), (y, ay) in itertools.combinations(zip(kept, answers, strict=True), 2):
        moved = [abs(int(d)) for d in ax - ay]
        assert all(s or not d for s, d in zip(scales, moved, strict=True))  # exact answers tell nobody apart
        loss = sum((Fraction(d) / s for d, s in zip(moved, scales, strict=True) if d), Fraction(0))
        average, largest = apart(written, x, y, max_rows)
        assert loss <= plan.budget * average <= plan.budget * largest
        worst = max(worst, loss)
        if rng.random() < 0.05:
            _in_a_box(ax, ay, scales, float(plan.budget * largest))
    assert float(worst) <= plan.worst_epsilon * (1 + 1e-9)


def _in_a_box(ax, ay, scales, guaranteed):
    """Outputs around both answers, by the distribution itself: no event is more likely than guaranteed."""
    at = [k for k, s in enumerate(scales) if s][:3]
    if not at:
        return
    for z in itertools.product(*(range(min(int(ax[k]), int(ay[k])) - 1, max(int(ax[k]), int(ay[k])) + 2) for k in at)):
        log_p = sum(-abs(v - int(ax[k])) / float(scales[k]) for v, k in zip(z, at, strict=True))
        log_q = sum(-abs(v - int(ay[k])) / float(scales[k]) for v, k in zip(z, at, strict=True))
        assert abs(log_p - log_q) <= guaranteed + 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_the_distance_between_people_is_a_metric_and_its_largest_is_what_check_says(seed):
    rng = random.Random(seed)
    policy = dx.Policy.parse(policy_text(rng, 2))
    written = policy.of_people
    cells = [*range(policy.universe.cells)]
    people = [Counter(c) for n in range(3) for c in itertools.combinations_with_replacement(cells, n)]
    chosen = rng.sample(people, min(len(people), 12))
    for k in (0, 1):
        d = {(i, j): apart(written, chosen[i], chosen[j], 2)[k] for i in range(len(chosen)) for j in range(len(chosen))}
        assert all(d[i, j] == d[j, i] and d[i, i] == 0 for i, j in d)
        assert all(d[i, j] <= d[i, k2] + d[k2, j] for i, j in d for k2 in range(len(chosen)))
        assert max(float(x) for x in d.values()) <= policy.check().worst_case * (1 + 1e-12)
    assert policy.metric.permitted == pytest.approx(policy.check().worst_case)


def test_a_row_gets_its_part_of_every_distance_of_every_kind(tmp_path):
    (tmp_path / "places.csv").write_text(
        "id,latitude,longitude\n" + "".join(f"p{k},{40 + k / 7},{-3 * k}\n" for k in range(5))
    )
    (tmp_path / "plane.csv").write_text("id,x,y\na,0,0\nb,3,4\nc,10,0\n")
    (tmp_path / "friends.csv").write_text("from,to,length\na,b,0.5\nb,c,2\nd,e,1\n")
    kinds = [
        'values = ["x", "y", "z"]\nepsilon = 0.7',
        'values = ["x", "y"]\nepsilon = 0.7\nother = { epsilon = 0.1 }',
        'values = ["x", "y", "z"]\nepsilon = { x = 0.1, y = 2.0, z = 0.4 }',
        'values = ["x", "y", "z"]\nepsilon = { x = 0.1, y = 2.0, z = 0.4 }\nbetween = "sum"',
        "integers = [0, 5]\nepsilon = 0.5\nper = 3\nmax_epsilon = 0.6",
        "numbers = [0, 10]\nstep = 2\nepsilon = 0.5\nper = 3",
        'dates = ["2026-01-01", "2026-01-09"]\nepsilon = 0.5\nper = "7 days"',
        'weekdays = true\nepsilon = 0.5\nper = "1 day"',
        'hours = [0, 24]\nstep = "6 hours"\ncircle = true\nepsilon = 0.5\nper = "1 hour"',
        'points = "places.csv"\nepsilon = 1.0\nper = "100 km"',
        'points = "places.csv"\nepsilon = 1.0\nmetric = "smooth"\nthreshold = "200 km"',
        'points = "plane.csv"\nepsilon = 1.0\nmetric = "blowfish"\nthreshold = 6',
        'points = "plane.csv"\nepsilon = 1.0\nmetric = "manhattan"\nper = 2\nmax_epsilon = 3',
        'graph = "friends.csv"\nepsilon = 0.5',
        'columns = ["p", "q"]\nintegers = [0, 2]\nepsilon = 0.4\nper = 1',
    ]
    head = 'title = "T"\ndataset = "t"\n'
    for kind in kinds:
        one = dx.Policy.parse(f"{head}[attributes.a]\n{kind}\n", folder=tmp_path)
        text = f'{head}[people]\nkey = "who"\nmax_rows = 7\n[attributes.a]\n{kind}\n'
        several = dx.Policy.parse(text, folder=tmp_path)
        n = one.universe.size
        # Irrational distances are rounded down to a grid: they may differ by less than that is wide.
        for i, j in itertools.combinations(range(n), 2):
            whole, mine = one.metric.exact(i, j), several.metric.exact(i, j) * 7
            assert mine <= whole * (1 + Fraction(1, 10**12))
            assert float(mine) == pytest.approx(float(whole), rel=1e-9)
            assert several.of_people.exact(i, j) == whole
        far = max(one.metric.exact(i, j) for i, j in itertools.combinations(range(n), 2))
        assert float(several.of_people.radius) == pytest.approx(float(far), rel=1e-9)
        assert not several.metric.tightens


def test_absent_is_as_far_away_as_nothing_else_and_public_differences_become_twice_that():
    text = (
        'title = "T"\ndataset = "t"\n[people]\nkey = "who"\nmax_rows = 4\n'
        '[attributes.a]\nvalues = ["x", "y"]\nepsilon = 0.7\n[attributes.wave]\nvalues = ["1", "2"]\nepsilon = inf\n'
    )
    policy = dx.Policy.parse(text)
    i, j = policy.universe.index([{"a": "x", "wave": "1"}, {"a": "x", "wave": "2"}]).tolist()
    assert policy.of_people.exact(i, j) == Fraction(14, 10)
    assert policy.of_people.exact(i, policy.universe.absent) == Fraction(7, 10)
    plan = dx.plan(["count by wave"], policy.metric, n_records=100)
    assert all(scale > 0 for scale in plan.scales)  # a row may be absent: how many there are in a wave is not public
    said = str(policy.check())
    assert "you wrote ∞, the policy keeps 1.4" in said
    assert "one row alone has 1/4 of it" in said
    closer = dx.Policy.parse(text.replace("[people]", "epsilon_presence = 0.2\n[people]"))
    assert closer.of_people.exact(i, j) == Fraction(4, 10)


def test_with_one_epsilon_for_all_it_is_user_level_privacy():
    people = '[people]\nkey = "who"\nmax_rows = 5\n'
    policy = dx.Policy.parse(
        f'title = "T"\ndataset = "t"\n{people}[attributes.a]\nvalues = ["x", "y"]\nepsilon = 1.0\n'
    )
    plan = dx.plan(["count by a"], policy.metric, budget="100%", n_records=100)
    assert plan.scales == (10.0, 10.0)  # five rows, each of which changes two counts
    assert plan.worst_epsilon == pytest.approx(1.0)
    assert plan.gains == pytest.approx((1.0,))
    assert plan.baselines.queries[0].epsilon == pytest.approx(1.0)


def test_rows_are_chosen_without_favor():
    """Of two rows one stays: each in half of all people, and none more often for its value or its place."""
    first = sum(0 in kept_by_hand(f"person {k}", [0, 1], 1) for k in range(4_000))
    assert abs(first - 2_000) < 5 * math.sqrt(1_000)
    often = sum(kept_by_hand(f"person {k}", [0] * 9 + [1], 1)[1] for k in range(4_000))
    assert abs(often - 400) < 5 * math.sqrt(360)  # one in ten, though it is one of two values
    assert digest_of_key("").startswith("e3b0c44298fc1c149afbf4c8996fb924")
