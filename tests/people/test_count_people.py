"""Counting people instead of rows: the right numbers, never more than was guaranteed, and files that can be checked."""

import itertools
import json
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from people_cases import AGE, NoNoise, apart, every_row, kept_by_hand, policy_text, visits

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, DxError, NotVerified, QueryError
from dxprivacy.formats.canonical import sealed
from dxprivacy.privacy.people_costs import best_scales, least_distances, part_of_people
from dxprivacy.privacy.proportional_costs import ProportionalCost
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.verify import verify

POLICY = visits(AGE, max_rows=3, wards='"A", "B", "C"')
PEOPLE = (
    *("count people", "count people by a", "count people where a=x", "count people where a=0", "count people by b"),
    *("count people by a, b", "count people where b=x", "count people where a=other", "count people by a where b=y"),
)
ROWS = ("count", "count by a", "sum a", "count where b=x")


def rows():
    rng = np.random.default_rng(4)
    who = [f"p{k}" for k in range(200) for _ in range(k % 7)] + [""] * 5
    return [(p, str(rng.choice(["A", "B", "C", "?"])), int(rng.integers(0, 11))) for p in who]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("patient,ward,age\n" + "".join(f"{p},{w},{a}\n" for p, w, a in rows()))
    return path


def some(rng, texts, metric, most):
    """Queries that this policy can answer."""
    out = []
    for text in rng.sample(texts, len(texts)):
        try:
            parse(text).on(metric.universe)
        except DxError:
            continue
        out.append(text)
        if len(out) == most:
            break
    return out


@pytest.mark.parametrize("seed", range(120))
def test_no_two_people_are_told_apart_by_more_than_was_guaranteed(seed):
    rng = random.Random(seed)
    m = rng.choice([1, 2, 2, 3])
    policy = dx.Policy.parse(policy_text(rng, m))
    universe, written = policy.universe, policy.of_people
    asked = some(rng, PEOPLE, policy.metric, rng.choice([1, 1, 2, 3]))
    asked += some(rng, ROWS, policy.metric, 1) if rng.random() < 0.5 else []
    plan = dx.plan(asked, policy.metric, budget=rng.choice(["20%", "100%"]), n_records=10)
    workload, scales = plan.workload, [Fraction(s) for s in plan.scales]
    rows_ = every_row(universe)
    cells = [int(universe.index([dict(zip(universe.names, row, strict=True))])[0]) for row in rows_]
    people = [p for n in range(m + 1) for p in itertools.combinations_with_replacement(cells, n)]
    people = people if len(people) <= 40 else rng.sample(people, 40)
    columns = np.vstack([b.columns(np.arange(universe.cells)) for b in workload.blocks])
    told = workload.in_proportional

    def answers(kept):
        total = sum((n * columns[:, c] for c, n in kept.items()), np.zeros(len(columns), dtype=np.int64))
        return np.where(told, np.minimum(total, 1), total)

    kept = [Counter(p) for p in people]
    every = [answers(x) for x in kept]
    for (x, ax), (y, ay) in itertools.combinations(zip(kept, every, strict=True), 2):
        loss = sum((Fraction(abs(int(d))) / s for d, s in zip(ax - ay, scales, strict=True) if d), Fraction(0))
        assert loss <= plan.budget * apart(written, x, y, m)[1]
        assert float(loss) <= plan.worst_epsilon * (1 + 1e-9)
    assert plan.certificate.ratio <= plan.budget
    assert (
        plan.certificate.ratio >= plan.budget * Fraction(99, 100)
        or any("within" in q for q in asked)
        or not any(scales)
    )


@pytest.mark.parametrize("seed", range(60))
def test_how_far_groups_are_apart_is_that_of_all_pairs(seed):
    rng = random.Random(seed)
    policy = dx.Policy.parse(policy_text(rng, 2))
    for text in some(rng, PEOPLE, policy.metric, 3):
        ((block, _),) = parse(text).on(policy.universe).proportional
        columns = block.columns(np.arange(policy.universe.size))
        for inside, found in zip(columns, least_distances(block, policy.metric), strict=True):
            here, there = np.flatnonzero(inside), np.flatnonzero(inside == 0)
            pairs = [policy.metric.exact(i, j) * 2 for i in here.tolist() for j in there.tolist()]
            if not pairs:
                assert found is None
                continue
            assert found <= min(pairs)
            assert float(found) == pytest.approx(float(min(pairs)), rel=1e-9)


def test_a_table_of_people_changes_by_two_for_each_row_and_no_more_than_it_has_groups():
    policy = dx.Policy.parse(POLICY)
    ((table, _),) = parse("count people by ward").on(policy.universe).proportional
    assert part_of_people(table, np.full(3, 3.0), policy.metric) == pytest.approx(1.0)  # three groups, six at most
    ((many, _),) = parse("count people by age").on(policy.universe).proportional
    assert part_of_people(many, np.full(10, 12.0), policy.metric) == pytest.approx(1.0)  # six of ten, half apart
    ((one, _),) = parse("count people where age=0..4").on(policy.universe).proportional
    assert part_of_people(one, np.array([2.0]), policy.metric) == pytest.approx(1.0)


def test_counts_that_different_rows_change_add_up():
    """Two people are 1 apart, each of two counts changes by one: no pair of rows shows both, and both are lost."""
    policy = dx.Policy.parse(POLICY)
    asked = dx.plan(
        ["count people where ward=A", "count people where age=0"], policy.metric, budget="100%", n_records=10
    )
    x, y = Counter([0, 12]), Counter([11, 13])  # A,0 and B,1 against B,0 and B,2
    assert apart(policy.of_people, x, y, 3)[1] == 1
    assert float(asked.certificate.ratio) == pytest.approx(1.0)
    assert sum(1 / s for s in asked.scales) <= 1.0 + 1e-9


def test_groups_far_apart_have_less_noise_than_close_ones(tmp_path):
    (tmp_path / "places.csv").write_text("id,x,y\na,0,0\nb,1,0\nc,10,0\n")
    text = POLICY.partition("[attributes.age]")[0].replace('values = ["A", "B", "C"]', 'points = "places.csv"\nper = 1')
    policy = dx.Policy.parse(text, folder=tmp_path)
    ((table, _),) = parse("count people by ward").on(policy.universe).proportional
    near, close, far = best_scales(table, policy.metric)
    assert near == pytest.approx(close)
    assert near > 5 * far
    plan = dx.plan(["count people by ward"], policy.metric, budget="100%", n_records=100)
    assert plan.gains[0] > 1.2
    assert plan.scales == pytest.approx((2.0, 2.0, 0.25), rel=1e-3)  # 1 apart, 1 apart, 5 to somewhere else


@pytest.mark.parametrize("no_key", ["one", "own"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_release_counts_people_with_at_least_one_kept_row(no_key, ending, data, tmp_path):
    if ending == "parquet":
        import polars

        polars.read_csv(data, schema_overrides={"patient": polars.String}).write_parquet(tmp_path / "v.parquet")
        data = tmp_path / "v.parquet"
    policy = dx.Policy.parse(POLICY.replace("max_rows = 3", f'max_rows = 3\nno_key = "{no_key}"'))
    with dx.Session(policy, data, ledger=tmp_path / "l.db", noise=NoNoise(), new_ledger=True) as session:
        plan = session.plan(
            "count people", "count people by ward", "count", "count people where age=0..4", budget="50%"
        )
        release = session.release(plan)
    cells = policy.universe.index([{"ward": w, "age": a} for _, w, a in rows()]).tolist()
    mine = {}
    for k, ((who, *_), cell) in enumerate(zip(rows(), cells, strict=True)):
        mine.setdefault(who or ("" if no_key == "one" else k), []).append(cell)
    kept = [kept_by_hand(who, own, 3) if isinstance(who, str) else Counter(own) for who, own in mine.items()]
    found = [row.value for row in release.answers]
    wards = [sum(any(c // 11 == ward for c in k) for k in kept) for ward in range(3)]
    young = sum(any(c % 11 <= 4 for c in k) for k in kept)
    assert found == [len(kept), *wards, sum(k.total() for k in kept), young]


def test_files_and_ledger_are_verified_and_forged_ones_are_not(data, tmp_path):
    policy = dx.Policy.parse(POLICY)
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        mixed = session.plan("count people by ward", "mean age by ward", "count people where age=0..4", budget="40%")
        session.release(mixed, anyway=True).save(tmp_path / "mixed.json")
        alone = session.plan("count people", budget="30%")
        session.release(alone).save(tmp_path / "alone.json")
        with pytest.raises(BudgetExceeded):
            session.release(session.plan("count people by age", budget="40%"), anyway=True)
        inside = session.plan("count people by age", "count by ward", budget="100%", inside_ledger=True)
        assert Fraction(3, 10) - Fraction(1, 10**9) < inside.certificate.ratio
        session.release(inside, anyway=True).save(tmp_path / "inside.json")
        told = session.ledger.between({"ward": "A"}, {"ward": "B"})
        assert told.allowed == 1
        assert told.left == pytest.approx(1 - told.charged, abs=1e-6)
        assert told.spent <= min(told.charged, session.ledger.worst_case())
        assert told.left < 0.2
        assert session.ledger.worst_case() >= mixed.worst_epsilon + alone.worst_epsilon
    mixed.save(tmp_path / "plan.json")
    assert list(verify(tmp_path / "plan.json"))
    for name in ("mixed", "alone", "inside"):
        assert list(verify(tmp_path / f"{name}.json", ledger=tmp_path / "l.db"))
    given = json.loads((tmp_path / "mixed.json").read_text())
    less = [float.hex(float.fromhex(s) / (2 if k == 0 else 1)) for k, s in enumerate(given["scales"])]
    rows_only = json.loads(json.dumps(given).replace('"ask": "people"', '"ask": "count"'))
    forged = [{**given, "scales": less}, {**given, "worst_case_epsilon": given["worst_case_epsilon"] * 0.9}, rows_only]
    for k, data_ in enumerate(forged):
        path = tmp_path / f"forged-{k}.json"
        path.write_text(json.dumps(sealed({key: value for key, value in data_.items() if key != "seal"})))
        with pytest.raises(NotVerified):
            list(verify(path))


def test_a_new_version_of_the_policy_counts_people_by_its_own_distances(data, tmp_path):
    policy = dx.Policy.parse(POLICY)
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        session.release(session.plan("count people by ward", budget="40%"))
        stricter = dx.Policy.parse(POLICY.replace("epsilon = 1.0", "epsilon = 0.5").replace('"visits"', '"visits"'))
        adopted = session.ledger.adopt(stricter)
        assert float(adopted.used) == pytest.approx(0.8, rel=1e-6)
        (entry,) = session.ledger.entries()
        assert isinstance(entry.cost, ProportionalCost)
        assert float(entry.budget) == pytest.approx(0.8, rel=1e-6)
        with pytest.raises(BudgetExceeded):
            session.ledger.adopt(dx.Policy.parse(POLICY.replace("epsilon = 1.0", "epsilon = 0.3")))


def test_targets_of_people_leave_the_rest_to_rows():
    policy = dx.Policy.parse(POLICY)
    plain = dx.plan(["count people by ward", "count by ward"], policy.metric, budget="100%", n_records=600)
    eased = dx.plan(["count people by ward within 60", "count by ward"], policy.metric, budget="100%", n_records=600)
    assert all(e.half_width <= 60 for e in eased.errors[:3])
    assert eased.errors[3].half_width < plain.errors[3].half_width


def test_the_same_in_words_in_fields_and_in_python(tmp_path):
    asked = parse("count people by ward where age=0..4 within 10")
    assert asked == dx.count_people(by="ward", age=(0, 4), within=10)
    assert str(asked) == "count people by ward where age=0..4 within 10"
    (tmp_path / "q.toml").write_text('[[query]]\npeople = true\nby = "ward"\nwhere = { age = "0..4" }\nwithin = 10\n')
    assert dx.load_queries(tmp_path / "q.toml").queries == (asked,)


@pytest.mark.parametrize("other", ["count people of ward", "people by ward", "count people age", "sum people"])
def test_what_means_nothing_is_refused(other):
    policy = dx.Policy.parse(POLICY)
    with pytest.raises(DxError):
        dx.plan([other], policy.metric, n_records=10)


def test_people_are_counted_under_people_only(tmp_path, data):
    plain = dx.Policy.parse(POLICY.replace('[people]\nkey = "patient"\nmax_rows = 3\n', ""))
    with pytest.raises(QueryError, match=r"count people needs .people. in the policy"):
        dx.plan(["count people"], plain.metric, n_records=10)
    policy = dx.Policy.parse(POLICY)
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session, pytest.raises(DxError):
        session.plan_synthesis("count people by ward", "count by age")


def test_every_screen_and_page_knows_about_people(data, tmp_path):
    from dxprivacy.output import charts
    from dxprivacy.output.text.ledger_text import ledger_lines, ledger_to_dict

    policy = dx.Policy.parse(POLICY)
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan("count people by ward within 10", "mean age by ward", budget="40%")
        assert "count people by ward" in str(plan)
        assert charts.plan_page(plan, policy=policy)
        release = session.release(plan, anyway=True)
        assert "of the largest ε between two matched rows" in release.guarantee[0]
        assert charts.release_page(release, plan, policy=policy)
        only = session.plan("count people where age=0..4", budget="20%")
        charts.trade(only), charts.plan(only)
        session.release(only)
        lines = "\n".join(ledger_lines(session.ledger))
        told = ledger_to_dict(session.ledger)
        assert told["used_by_attribute"]["age"]["used"] >= 0.2  # counts of people take a part of every pair
        assert "people" in lines
        assert charts.budget(session.ledger)
        assert charts.ledger_page(session.ledger, policy=policy)
        assert charts.check_page(policy)


def test_a_ledger_of_people_alone_shows_what_they_took(data, tmp_path):
    from dxprivacy.output.text.ledger_text import ledger_to_dict

    for text in (POLICY, POLICY.partition("[attributes.age]")[0]):
        with dx.Session(dx.Policy.parse(text), data, ledger=tmp_path / f"{len(text)}.db", new_ledger=True) as session:
            session.release(session.plan("count people by ward", budget="25%"))
            used = ledger_to_dict(session.ledger)["used_by_attribute"]
            assert all(u["used"] == pytest.approx(0.25) for name, u in used.items() if name != "presence")
            assert session.ledger.remaining(0, 1) == pytest.approx(0.75 * session.ledger.metric.exact(0, 1) * 3)
