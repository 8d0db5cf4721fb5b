"""Caps, thresholds, graphs and the maximum in policies; and a table over several attributes gets scales of its own."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from contracts.check_metric import check_metric
from dxprivacy.errors import PolicyError
from dxprivacy.mechanisms.sampling import SystemNoise

HEAD = 'title = "T"\ndataset = "d"\n'
PLACES = "id,x,y,zone\na,0,0,n\nb,3,4,n\nc,6,8,s\nd,100,0,s\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "places.csv").write_text(PLACES)
    (tmp_path / "friends.csv").write_text("who,whom,far\nann,bob,1\nbob,cem,0.5\neve,fay,2\n")
    return tmp_path


def policy(body, folder):
    return dx.Policy.parse(HEAD + body, folder=folder)


def test_a_cap_limits_far_ages_and_other_stays_half_the_reach_away(folder):
    d = policy("[attributes.age]\nintegers = [0, 50]\nepsilon = 1\nper = 10\nmax_epsilon = 3\n", folder).metric
    assert (d.exact(0, 10), d.exact(0, 50), d.exact(0, 51)) == (1, 3, F(3, 2))
    check_metric(d)


def test_a_cap_limits_far_places(folder):
    body = '[attributes.home]\npoints = "places.csv"\nepsilon = 1\nper = 5\nmax_epsilon = 1.5\n'
    d = policy(body, folder).metric
    assert (d.exact(0, 1), d.exact(0, 2), d.exact(0, 3)) == (1, F(3, 2), F(3, 2))
    check_metric(d)


def test_blowfish_protects_pairs_within_reach_and_sums_along_the_way(folder):
    body = '[attributes.home]\npoints = "places.csv"\nmetric = "blowfish"\nepsilon = 1\nthreshold = 5\n'
    loaded = policy(body, folder)
    assert loaded.metric.exact(0, 1) == 1
    assert loaded.metric.exact(0, 2) == 2
    assert loaded.metric.exact(0, 3) == 2  # unreachable, but `other` is half the reach away: 2 * 1
    assert dx.plan("count by zone", loaded.metric).certificate.ratio <= 1


def test_smooth_grows_beyond_the_threshold(folder):
    body = '[attributes.home]\npoints = "places.csv"\nmetric = "smooth"\nepsilon = 1\nthreshold = 5\n'
    d = policy(body, folder).metric
    assert (d.exact(0, 1), d.exact(0, 2), d.exact(0, 3)) == (1, 2, 20)
    check_metric(d)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_other_distances_of_points(metric, folder):
    body = f'[attributes.home]\npoints = "places.csv"\nmetric = "{metric}"\nepsilon = 1\nper = 1\n'
    assert policy(body, folder).metric.exact(0, 1) == {"manhattan": 7, "chebyshev": 4}[metric]


def test_a_social_graph_with_its_lengths(folder):
    loaded = policy('[attributes.person]\ngraph = "friends.csv"\nepsilon = 1\nother = { epsilon = inf }\n', folder)
    assert loaded.universe.attributes[0].values == ("ann", "bob", "cem", "eve", "fay")
    assert loaded.metric.exact(0, 2) == F(3, 2)
    assert loaded.metric.exact(0, 3) == math.inf
    assert "public" in str(loaded.check())


def test_attributes_combined_by_their_maximum(folder):
    body = "[attributes.a]\nintegers = [0, 2]\nepsilon = 1\nper = 1\n[attributes.b]\nvalues = [1, 2]\nepsilon = 1.5\n"
    loaded = policy(body + '[combine]\nhow = "max"\n', folder)
    i, j = loaded.universe.index([{"a": 0, "b": 1}, {"a": 2, "b": 2}]).tolist()
    assert loaded.metric.exact(i, j) == 2
    check_metric(loaded.metric)
    assert "loosest" in str(loaded.check())
    assert dx.plan(["count by a", "count by b"], loaded.metric).certificate.ratio <= 1


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("integers = [0, 9]\nepsilon = 1\nper = 1\nmax_epsilon = 0", "max_epsilon must be positive"),
        ("integers = [0, 9]\nepsilon = 1\nper = 1\nmax_epsilon = inf", "max_epsilon must be positive"),
        ('points = "places.csv"\nepsilon = 1\nmetric = "blowfish"', "needs a threshold"),
        ('points = "places.csv"\nepsilon = 1\nmetric = "smooth"\nper = 1', "takes threshold, not per"),
        ('points = "places.csv"\nepsilon = 1\nmetric = "smooth"\nthreshold = "4 km"', "threshold"),
        ('points = "places.csv"\nepsilon = 1\nper = 1\nthreshold = 4', "threshold means nothing"),
        ('graph = "nobody.csv"\nepsilon = 1', "no such file"),
        ('graph = "places.csv"\nepsilon = 1', "two columns of nodes, or three"),
        ("graph = 5\nepsilon = 1", "graph must be a name"),
    ],
)
def test_what_is_wrong_with_them_is_said_with_its_line(body, what, folder):
    with pytest.raises(PolicyError, match=what) as caught:
        policy(f"[attributes.x]\n{body}\n", folder)
    assert caught.value.where.startswith("policy.toml:")


@pytest.mark.parametrize(
    "edges", ["a,b\nann,ann\n", "a,b,c\nann,bob,-1\n", "a,b,c\nann,bob,x\n", "a,b\nann\n", "a,b\n"]
)
def test_bad_edges_are_refused(edges, folder):
    (folder / "bad.csv").write_text(edges)
    with pytest.raises(PolicyError):
        policy('[attributes.x]\ngraph = "bad.csv"\nepsilon = 1\n', folder)


def test_a_table_in_a_policy_of_several_attributes_gets_a_scale_per_row(folder):
    """Counting by place must not cost every place the noise of the closest two, whatever else the policy names."""
    home = '[attributes.home]\npoints = "places.csv"\nepsilon = 1\nper = 5\n'
    alone = dx.plan("count by home", policy(home, folder).metric)
    both = dx.plan("count by home", policy(home + "[attributes.sex]\nvalues = [1, 2]\nepsilon = 1\n", folder).metric)
    assert both.scales == pytest.approx(alone.scales)
    assert max(both.scales) > 2 * min(both.scales)


def test_plans_and_releases_say_how_missing_numbers_count(tmp_path):
    (tmp_path / "p.csv").write_text("age\n" + "none\n" * 50 + "20\n" * 50)
    loaded = policy('[attributes.age]\nintegers = [0, 50]\nunit = "years"\nepsilon = 9\nper = 1\n', tmp_path)
    with dx.Session(loaded, tmp_path / "p.csv", ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan("mean age", budget="50%")
        note = "records whose age is missing or invalid are left out of means of age"
        assert note in str(plan)
        release = session.release(plan)
        assert note in str(release)
        assert abs(release.rows()[0]["value"] - 20) < 2
        assert "a missing or invalid age counts as 0 years in sums" in str(session.plan("sum age", budget="10%"))
        only = session.plan("mean age where age=0..50", budget="50%")
        assert note not in str(only)
        assert abs(session.release(only).rows()[0]["value"] - 20) < 2


class Silence(SystemNoise):
    """A count that real noise could make large by chance stays as small as it is."""

    def laplace(self, scales):
        return np.zeros(len(scales), dtype=np.int64)

    def together(self, family):
        return np.zeros(family.size, dtype=np.int64)


def test_a_mean_over_too_few_records_says_so(tmp_path):
    (tmp_path / "p.csv").write_text("age\n20\n")
    loaded = policy("[attributes.age]\nintegers = [0, 50]\nepsilon = 0.01\nper = 10\n", tmp_path)
    with dx.Session(loaded, tmp_path / "p.csv", ledger=tmp_path / "l.db", noise=Silence(), new_ledger=True) as session:
        assert "too few to say" in str(session.release(session.plan("mean age where age=0..30"), anyway=True))


def test_groups_that_no_record_can_be_in_are_left_out():
    u = dx.Universe([dx.Integers(name="income", low=20, high=60)])
    assert [a.label for a in dx.table("income[0,40,61,90]").on(u).answers] == ["20–39", "40–60"]
