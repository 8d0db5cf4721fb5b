"""Every past bug that touched a guarantee, by name."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, DxError, LedgerError, NotCertified, QueryError, TooLarge, UsageError
from dxprivacy.formats.canonical import sealed
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.ledger_budget import used_by_attribute
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.sampling import SystemNoise
from dxprivacy.metrics import attribute_metrics
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost
from dxprivacy.queries.asking import gather
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse

POLICY = """
title = "Bugs"
dataset = "bugs"
[attributes.sex]
values = ["M", "F"]
epsilon = 1
[attributes.age]
integers = [0, 120]
epsilon = 1
per = 1
"""


@pytest.fixture
def session(tmp_path):
    (tmp_path / "people.csv").write_text("sex,age\n" + "M,50\nF,51\n" * 50)
    with dx.Session(
        dx.Policy.parse(POLICY), tmp_path / "people.csv", ledger=tmp_path / "l.db", new_ledger=True
    ) as opened:
        yield opened


def test_two_conditions_on_one_attribute_are_both_remembered(session):
    """Stored as a dictionary, the second replaced the first: the ledger charged another query."""
    asked = parse("count where age=0..50 and age=40..120")
    assert from_dict(json.loads(json.dumps(asked.to_dict()))) == asked
    plan = session.plan("count where age=0..50 and age=40..120", budget="100%")
    assert plan.request != session.plan("count where age=40..120").request
    session.release(plan)
    with pytest.raises(BudgetExceeded):
        session.release(session.plan("count where age=0..50"))


def test_a_cost_that_its_queries_do_not_describe_is_never_reserved(tmp_path):
    d = dx.metrics.constant(3, 1)
    strict, harmless = make_plan([[5, 0, 0]], d), gather([[1, 0, 0]])
    with Ledger.open(tmp_path / "l.db", d, dataset="x", new_ledger=True) as ledger:
        with pytest.raises(LedgerError, match="do not describe"):
            ledger.reserve(strict.cost, harmless, request="r")
        assert ledger.entries() == []


def test_a_public_attribute_with_many_values_neither_fails_nor_burns_budget(tmp_path):
    """An infinite total became a fraction after the reservation."""
    many = ", ".join(f'"{k}"' for k in range(3_000))
    policy = dx.Policy.parse(POLICY + f"[attributes.zip]\nvalues = [{many}]\nepsilon = inf\n")
    (tmp_path / "p.csv").write_text("sex,age,zip\nM,1,7\n")
    with dx.Session(policy, tmp_path / "p.csv", ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(session.plan("count by zip"))
        assert release.rows()[7]["value"] == 1
        session.release(session.plan("count by sex", budget="25%"), anyway=True)
        assert session.ledger.worst_case() == float("inf")


def test_unnamed_attributes_count_with_their_worst_value(tmp_path):
    """With native unnamed, `between` looked at the first value only and said that nothing was spent."""
    policy = dx.Policy.parse(POLICY + '[attributes.native]\nvalues = ["Y", "N"]\nepsilon = 1\n')
    (tmp_path / "p.csv").write_text("sex,age,native\nM,1,N\n")
    with dx.Session(policy, tmp_path / "p.csv", ledger=tmp_path / "l.db", new_ledger=True) as session:
        session.release(session.plan("count where sex=M and native=N", method="optimal", budget="100%"), anyway=True)
        told = session.ledger.between({"sex": "M"}, {"sex": "F"})
        assert (told.spent, told.left) == (1.0, 0.0)


def test_too_many_rows_for_64_bits_are_refused_before_anything_is_spent(tmp_path):
    (tmp_path / "p.csv").write_text("sex,age\n" + "M,1\n" * 5)
    policy = dx.Policy.parse(POLICY)
    with dx.Session(policy, tmp_path / "p.csv", ledger=tmp_path / "l.db", new_ledger=True) as session:
        row = np.zeros(policy.universe.size)
        row[0], row[1] = 2.0**39 + 1, 1
        plan = dx.plan(row, policy.metric, dataset="bugs")
        session._n_records = 1 << 40
        with pytest.raises(TooLarge):
            session.release(plan)
        assert session.ledger.entries() == []


def test_a_plan_file_with_noise_beyond_the_sampler_is_refused_before_anything_is_spent():
    d = dx.metrics.constant(2, 1)
    data = make_plan([[1, 0]], d).to_dict()
    with pytest.raises(NotCertified):
        load_plan(sealed(data | {"scales": [(2.0**60).hex()]}), d)


@pytest.mark.parametrize(
    "damage",
    [
        {"scales": ["0x1p+99999"]},
        {"rows": 10**400},
        {"queries": [{"ask": "count", "by": [5]}]},
        {"queries": [{"ask": "sum", "of": 1.0}]},
        {"queries": [{"ask": "count", "where": [["a", []]]}]},
        {"queries": [{"ask": "count", "where": {"a": []}}]},
        {"queries": [{"ask": "?"}]},
        {"queries": 7},
        {"budget": "1/0"},
    ],
)
def test_a_damaged_plan_file_gives_our_error(damage):
    d = dx.metrics.constant(2, 1)
    with pytest.raises(DxError):
        load_plan(sealed(make_plan([[1, 0]], d).to_dict() | damage), d)


def test_the_mean_of_a_group_of_invalid_rows_is_inside_its_interval(tmp_path):
    """A declared value for `other` outside the range was clipped away."""

    class Silence:
        def laplace(self, scales):
            return np.zeros(len(scales), dtype=np.int64)

        def together(self, family):
            return np.zeros(family.size, dtype=np.int64)

    text = POLICY.replace("integers = [0, 120]", "integers = [18, 65]\nother = { value = 0 }")
    (tmp_path / "p.csv").write_text("sex,age\n" + "M,none\n" * 1000)
    policy = dx.Policy.parse(text)
    with dx.Session(policy, tmp_path / "p.csv", ledger=tmp_path / "l.db", noise=Silence(), new_ledger=True) as session:
        old = from_dict({"ask": "mean", "of": "age", "by": ["sex"]})  # as 0.1.0 asked, counting what is missing too
        row = session.release(session.plan(old, budget="50%")).rows()[0]
        assert row["low"] <= 0 <= row["high"]
        row = session.release(session.plan("mean age by sex", budget="50%")).answers[0]
        assert row.vague
        assert (row.low, row.high) == (18, 65)


def test_another_column_is_another_universe():
    one, two = (dx.Universe([dx.Values(name="sex", values=("M", "F"), column=c)]) for c in ("sex", "gender"))
    assert one.digest != two.digest
    ends = [dx.Universe([dx.Integers(name="a", low=0, high=9, other_value=v)]) for v in (None, 3)]
    assert ends[0].digest != ends[1].digest


def test_sparse_duplicates_add_up():
    """The unsummed entries were written over the summed ones: another matrix was answered."""
    from scipy.sparse import csr_array

    twice = csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 2]), np.array([0, 3])), shape=(1, 3))
    assert dx.matrix(twice).on(dx.Universe.listed("abc")).dense().tolist() == [[3, 0, 5]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: dx.plan([[2**2000, 0]], dx.metrics.constant(2, 1)),
        lambda: dx.plan([[1, 0]], None),
        lambda: dx.laplace(None, [1, 2]),
        lambda: dx.plan(np.array([[1j, 0]]), dx.metrics.constant(2, 1)),
        lambda: dx.plan(np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"), dx.metrics.constant(2, 1)),
        lambda: dx.metrics.line(3, 1e300, per=1e-300),
        lambda: dx.metrics.constant(3, 10**400),
        lambda: dx.metrics.from_matrix(np.array([[0, "x"], ["x", 0]], dtype=object)),
        lambda: dx.metrics.attributes(dx.Universe([dx.Integers(name="a", low=0, high=3)]), {"a": {"per": 10}}),
        lambda: dx.laplace(
            dx.plan([[1, 0]], dx.metrics.constant(2, 1)), dx.Histogram.of(dx.Universe.listed("xy"), [1, 2])
        ),
    ],
)
def test_odd_inputs_give_our_errors(call):
    with pytest.raises(DxError):
        call()


def test_numpy_integers_are_integers():
    d = dx.metrics.constant(2, 1)
    assert dx.plan([np.int64(1), np.int64(0)], d, n_records=np.int64(5)).to_dict()["rows"] == 5


def test_a_tiny_epsilon_elsewhere_does_not_break_the_printed_baseline():
    u = dx.Universe([dx.Values(name="sex", values=("M", "F")), dx.Integers(name="age", low=0, high=9)])
    assert "answer" in str(dx.plan(dx.count(age=(1, 2)), dx.metrics.attributes(u, {"sex": "1e-120", "age": 1})))


def test_a_target_comes_before_queries_without_one():
    d = dx.metrics.constant(4, 1)
    plan = dx.plan([dx.matrix([[1, 0, 0, 0]], within=5), dx.matrix([[0, 1, 1, 0]])], d)
    assert plan.errors[0].half_width <= 5


def test_other_at_distance_zero_leaves_nothing_apart():
    from fractions import Fraction

    age = dx.Integers(name="age", low=0, high=3)
    d = attribute_metrics.stepped(dx.Universe([age]), age, Fraction(9), Fraction(0))
    assert d.farthest is None
    assert d.closest is None


def test_usage_errors_are_what_they_say():
    assert issubclass(UsageError, DxError)


def test_explicit_rows_whose_pairs_can_only_be_bounded_are_not_taken_for_exact():
    from dxprivacy.privacy.search import generating_pairs

    u = dx.Universe([dx.Integers(name=n, low=0, high=3) for n in "abc"])
    d = dx.metrics.attributes(u, {n: {"epsilon": 1, "per": 1} for n in "abc"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating_pairs, "MAX_PAIRS", 0)
        plan = dx.plan(np.arange(u.size) % 3, d)
    assert plan.scales[0] > 0
    assert plan.certificate.ratio <= 1


def test_the_ledger_computes_what_a_cost_takes_and_takes_nobodys_word_for_it(tmp_path):
    """The caller used to say which fraction of the policy a cost takes; a small lie passed the fast path."""
    from dxprivacy.privacy.costs import LaplaceCost

    d = dx.metrics.constant(3, 1)
    asked = gather([[1, 0, 0]])
    with Ledger.open(tmp_path / "l.db", d, dataset="x", new_ledger=True) as ledger:
        for scale in (0.5, 0.0):  # twice what is allowed, and an exact answer
            with pytest.raises(BudgetExceeded):
                ledger.reserve(LaplaceCost(asked.on(d.universe), [scale]), asked, request="r")
        assert ledger.entries() == []


@pytest.mark.parametrize("kind", [LaplaceCost, SelectionCost])
@pytest.mark.parametrize("scale", [-0.0, -1.0, math.inf, math.nan])
def test_no_cost_is_made_of_what_is_no_scale(kind, scale):
    rows = dx.table("element").on(dx.metrics.constant(2, 1).universe)
    with pytest.raises(QueryError, match="finite and not negative"):
        kind(rows, [1.0, scale])


def test_a_scale_of_minus_zero_is_no_scale(session, tmp_path):
    """-0.0 >= 0, but 1 / -0.0 is minus infinity: the certificate said 0, and the answers were exact."""
    plan = session.plan("count by sex")
    forged = replace(plan, scales=(-0.0,) * len(plan.scales))
    with pytest.raises(DxError):
        session.release(forged)
    with pytest.raises(DxError):
        dx.laplace(forged, [1] * plan.metric.universe.size)
    data = plan.to_dict() | {"scales": ["-0x0.0p+0"] * len(plan.scales)}
    with pytest.raises(DxError):
        load_plan(sealed(data), plan.metric, dataset="bugs")
    with pytest.raises(UsageError):
        SystemNoise().laplace(np.array([-0.0]))


@pytest.mark.parametrize("entry", [-(2**63), 2**63 - 1, 2**53, 1.5, True])
def test_a_matrix_entry_beyond_exact_arithmetic_is_refused(session, entry):
    """The absolute value of -2^63 is negative in 64 bits: parities of counts were released for nothing."""
    n = session.policy.universe.size
    query = gather(dx.matrix(np.ones((1, n)))).queries[0].to_dict()
    query["entries"][0] = entry
    with pytest.raises(DxError):
        make_plan(from_dict(query), session.policy.metric)


def test_a_matrix_entry_given_twice_is_refused(session):
    n = session.policy.universe.size
    query = gather(dx.matrix(np.ones((1, n)))).queries[0].to_dict()
    for key in ("rows", "columns", "entries"):
        query[key].append(query[key][0])
    with pytest.raises(DxError):
        from_dict(query)


def test_what_is_left_of_a_single_attribute_is_not_said_to_be_everything(tmp_path):
    """The ledger's page looked only at moves of products: a policy of one attribute had 100 % left for ever."""
    policy = dx.Policy.parse(
        POLICY.partition("[attributes.sex]")[0] + "[attributes.age]" + POLICY.partition("[attributes.age]")[2]
    )
    with Ledger.open(tmp_path / "l.db", policy, new_ledger=True) as ledger:
        plan = make_plan("count by age", policy.metric)
        ledger.reserve(plan.cost, plan.queries, request="x")
        assert used_by_attribute(ledger.spent, policy.metric)["age"][0].fraction == pytest.approx(1)


def test_a_query_with_another_title_is_the_same_request(session):
    """Its stored release came back as an error: the title was part of what a request means."""
    plans = [session.plan(replace(parse("count by sex"), title=title)) for title in ("One", "Two")]
    assert plans[0].request == plans[1].request
    assert session.release(plans[0]) == session.release(plans[1])
