"""Very many answers: what is worked out once for many of them is what is worked out for each."""

import copy
import hashlib
import json
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy.errors import NotVerified
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import noise, reading, verify, verify_data
from dxprivacy.verify.journal import Row
from dxprivacy.verify.measured import Itself
from dxprivacy.verify.queries import ask
from dxprivacy.verify.stated import Stated
from dxprivacy.verify.universe import Universe as Read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(JSON, st.integers(1, 3))
def test_the_digest_of_the_pieces_is_that_of_the_whole(data, at_once):
    with pytest.MonkeyPatch.context() as pieces:
        pieces.setattr(reading, "_AT_ONCE", at_once)
        assert reading.digest(data) == hashlib.sha256(reading.canonical(data).encode()).hexdigest()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=9), st.integers(1, 4))
def test_the_digest_of_a_row_and_of_a_text_in_pieces_is_that_of_the_whole(content, piece):
    row = Row(7, "finish", "r", "b", content, "2026", "p", "")
    fields = [row.seq, row.kind, row.request, row.body, row.content, row.at, row.previous]
    with pytest.MonkeyPatch.context() as pieces:
        pieces.setattr("dxprivacy.verify.journal._PIECE", piece)
        pieces.setattr(reading, "_PIECE", piece)
        assert row.digest() == hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()
        assert reading.text_digest(content) == hashlib.sha256(content.encode()).hexdigest()


@pytest.mark.parametrize(
    "text",
    [r'{"a": "\ud800"}', r'["\uDC00x"]', r'{"\udfff": 1}', '"\ud800"', f"[{1 << 4097}]", f"[-{1 << 4097}]", "[1e999]"],
)
def test_half_characters_and_numbers_beyond_all_measure_are_refused(text):
    with pytest.raises(NotVerified):
        reading.parse(text)


def test_whole_characters_and_long_numbers_are_read():
    assert reading.parse(r'["\ud83d\ude00", "\\ud800"]') == ["\U0001f600", "\\ud800"]
    assert reading.parse(f"[{1 << 4096}]") == [1 << 4096]


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whole_numbers_say_what_fractions_say(rng):
    metric = random_metric(rng, places=True)
    queries = random_queries(rng, metric.universe)
    scales = random_scales(rng, queries.on(metric.universe))
    universe = Read(reading.parse(json.dumps(metric.universe.to_dict())))
    asked = ask(reading.parse(json.dumps(queries.to_dict())), universe)
    distributions = Itself(asked, asked, universe, list(scales), 3).distributions()
    shifts = [rng.choice([0.0, 0.0, 0.5]) for _ in scales]
    records = rng.choice([0, 1, 1000, 1 << 60])
    rows = [rng.choice([rng.randint(-50, 2000), (1 << 53) + 1, Fraction(1, 3), 2.5]) for _ in scales]
    stated = Stated(distributions, shifts, records, 3)
    for answer in asked.answers:
        options = stated.options(answer, rows)
        assert options == noise.released(answer, distributions, rows, records, shifts[answer.row])
        assert all(type(x) is float for option in options for x in option[:3])
        silent = all(distributions[row].variance == 0 and not shifts[row] for row in answer.rows)
        assert stated.exact(answer) == (
            silent and not any((answer.recipe.below, answer.recipe.above, answer.recipe.bias))
        )


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """More than 10,000 answers of two kinds: a table, and sums."""
    folder = tmp_path_factory.mktemp("many")
    universe = Universe([Integers(name=name, low=0, high=101, has_other=False) for name in "ab"])
    metric = dx.metrics.attributes(universe, {"a": {"epsilon": 1, "per": 1}, "b": {"epsilon": 1, "per": 2}})
    plan = make_plan([dx.table("a", "b"), dx.sum_of("a", by="b")], metric, n_records=500, method="equal-split")
    plan.save(folder / "plan.json")
    return json.loads((folder / "plan.json").read_text(encoding="utf-8"))


def sealed(data):
    return {**data, "seal": reading.seal_of(data)}


def test_very_many_planned_answers_are_verified(many):
    assert sum(facts["answers"] for facts in many["answers"]) == 10_506
    assert "10,506 answers" in " ".join(check.found for check in verify_data(many))


@pytest.mark.parametrize("name", ["rmse", "typical_error", "half_width_95", "exact", "unit", "query", "within"])
def test_a_wrong_fact_in_any_run_of_many_answers_is_refused(many, name):
    for k in range(len(many["answers"])):
        data = copy.deepcopy(many)
        wrong = {"exact": True, "unit": "km", "query": "count", "within": "5"}
        facts = data["answers"][k]
        facts[name] = wrong[name] if name in wrong else facts[name] * 1.001
        with pytest.raises(NotVerified, match=name.replace("_", ".")):
            list(verify_data(sealed(data)))


def test_facts_that_reach_into_the_next_query_are_refused(many):
    data = copy.deepcopy(many)
    first = next(k for k, facts in enumerate(data["answers"][1:]) if facts["query"] != many["answers"][k]["query"])
    data["answers"][first]["answers"] += 1
    data["answers"][first + 1]["answers"] -= 1
    with pytest.raises(NotVerified, match="query is not"):
        list(verify_data(sealed(data)))


@pytest.mark.parametrize("change", [-1, 1])
def test_facts_for_too_few_or_too_many_answers_are_refused(many, change):
    data = copy.deepcopy(many)
    data["answers"][-1]["answers"] += change
    with pytest.raises(NotVerified, match=r"instead of|out of range"):
        list(verify_data(sealed(data)))


def test_a_release_is_the_stored_one_by_its_text_or_by_its_content(files, tmp_path):
    text = files.release.read_text(encoding="utf-8")
    for name, written in (("same.json", text), ("spaced.json", text.replace("{", "{ "))):
        (tmp_path / name).write_text(written, encoding="utf-8")
        assert "entry" in [check.name for check in verify(tmp_path / name, files.ledger)]
    repeated = {**json.loads(text), "repeated": True}
    assert "entry" in [check.name for check in verify_data(repeated, files.ledger)]
    software = {**json.loads(text), "software": "another"}
    (tmp_path / "other.json").write_text(json.dumps(sealed(software)), encoding="utf-8")
    with pytest.raises(NotVerified, match="holds another release"):
        list(verify(tmp_path / "other.json", files.ledger))


def test_no_order_of_wrong_answers_slips_through(files):
    rng, data = random.Random(5), files.read("release")
    for _ in range(30):
        changed = copy.deepcopy(data)
        answer = rng.choice(changed["answers"])
        name = rng.choice(["value", "low", "high", "label", "unit", "query", "exact", "vague", "groups"])
        old = answer[name]
        answer[name] = (
            int(not old)
            if isinstance(old, bool)
            else old + 1
            if isinstance(old, float)
            else {"x": "y"}
            if name == "groups"
            else old + "x"
        )
        with pytest.raises(NotVerified):
            list(verify_data(sealed(changed)))
