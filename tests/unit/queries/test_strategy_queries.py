"""Queries that plans put to the data in place of the user's: rows, JSON, bad input."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from contracts.check_workload import check_workload
from dxprivacy.errors import DxError, QueryError
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import marginals, matrix, mean_of, ranges, table
from dxprivacy.queries.query import Query
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.strategy_rows import Groups, Picked, Steps, Tally, pick
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

UNIVERSE = Universe([Values(name="sex", values=("M", "F"), has_other=False), Integers(name="age", low=0, high=3)])


def _again(query: object) -> object:
    return from_dict(json.loads(json.dumps(query.to_dict())))  # type: ignore[attr-defined]


def test_a_tally_of_all_values_is_the_table() -> None:
    tally = Tally((Groups("sex", (0, 1), (1, 1)), Groups("age", (0, 1, 2, 3, -1), (1, 1, 1, 1, 1))))
    assert (tally.on(UNIVERSE).dense() == table("sex", "age").on(UNIVERSE).dense()).all()
    assert _again(tally) == tally
    assert str(tally) == "tally of sex, age"


def test_a_tally_with_signs_is_a_difference() -> None:
    tally = Tally((Groups("sex", (0, 0), (1, -1)), Groups("age", (0, 0, 1, 1, 1), (1,) * 5)))
    counts = np.arange(UNIVERSE.size, dtype=np.int64)
    cube = counts.reshape(2, 5)
    wanted = [cube[0, :2].sum() - cube[1, :2].sum(), cube[0, 2:].sum() - cube[1, 2:].sum()]
    assert tally.on(UNIVERSE).answer(counts).tolist() == wanted
    assert str(tally) == "tally of ±sex, age"


def test_steps_are_rows_along_one_attribute() -> None:
    rows = np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 3, 7, 7, -2]], dtype=np.int64)
    steps = Steps.from_rows("age", rows)
    assert (steps.on(UNIVERSE).dense() == np.tile(rows, 2)).all()
    again = _again(steps)
    assert isinstance(again, Steps)
    assert (again.jumps == steps.jumps).all()
    assert (again.of, again.factor) == (steps.of, steps.factor)
    assert again.on(UNIVERSE).digest == steps.on(UNIVERSE).digest


def test_they_stack_with_other_queries() -> None:
    both = Stack((table("sex"), Steps.from_rows("age", np.eye(5, dtype=np.int64))))
    assert both.on(UNIVERSE).rows == 7


PICKABLE = [
    table("sex", "age"),
    marginals(1),
    ranges("age"),
    mean_of("age", by="sex"),
    matrix(np.arange(30).reshape(3, 10) % 4),
    matrix(csr_array(np.arange(30).reshape(3, 10) % 2)),
    Tally((Groups("sex", (0, 0), (1, -1)), Groups("age", (0, 0, 1, 1, 1), (1,) * 5))),
    Steps.from_rows("age", np.array([[0, 3, 7, 7, -2], [1, 0, 0, 0, 0]])),
]


@pytest.mark.parametrize("whole", PICKABLE, ids=str)
def test_a_picked_row_is_that_row_also_from_json(whole: Query) -> None:
    bound = whole.on(UNIVERSE)
    for k in range(bound.rows):
        row = Picked(whole, k)
        assert (row.on(UNIVERSE).dense() == bound.dense()[k : k + 1]).all()
        check_workload(row.on(UNIVERSE))
        assert _again(row).on(UNIVERSE).digest == row.on(UNIVERSE).digest  # type: ignore[attr-defined]
        assert str(row) == row.name == f"row {k + 1} of {whole}"


def test_a_picked_row_is_called_like_its_answer_and_has_no_target_of_its_own() -> None:
    (answer,) = Picked(table("sex", "age", within=2, weight=3), 7).on(UNIVERSE).answers
    assert (answer.label, answer.groups) == ("F, 3", (("sex", "F"), ("age", "3")))
    assert (answer.within, answer.weight) == (None, 1)
    assert Picked(table("sex", within=2, weight=3), 0) == Picked(table("sex"), 0)
    (part,) = Picked(mean_of("age", by="sex"), 3).on(UNIVERSE).answers  # a count that only serves a mean
    assert (part.label, part.recipe) == ("row 4", Linear(0, Fraction(1)))


def test_rows_of_several_queries_are_counted_through() -> None:
    several = Stack((table("sex"), Picked(ranges("age"), 3), table("age")))
    bound = several.on(UNIVERSE)
    for k in range(bound.rows):
        assert (pick(several, k, UNIVERSE).on(UNIVERSE).dense() == bound.dense()[k : k + 1]).all()
    for k in (-1, bound.rows):
        with pytest.raises(QueryError):
            pick(several, k, UNIVERSE)


def test_a_query_asked_again_is_not_bound_anew_but_another_universe_is() -> None:
    twin = Universe(UNIVERSE.attributes)
    assert table("sex").on(UNIVERSE) is table("sex").on(UNIVERSE)
    assert table("sex").on(twin).universe is twin


@pytest.mark.parametrize("row", [-1, True, 1.0, "0", None], ids=str)
def test_a_row_is_a_whole_number(row: object) -> None:
    with pytest.raises(QueryError):
        Picked(table("sex"), row)  # type: ignore[arg-type]
    with pytest.raises(QueryError):
        from_dict({"ask": "row", "of": table("sex").to_dict(), "row": row})


def test_a_row_beyond_the_query_is_refused() -> None:
    with pytest.raises(QueryError):
        Picked(table("sex"), 2).on(UNIVERSE)
    with pytest.raises(QueryError):
        Picked(Stack((table("sex"),)), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tally",
    [
        Tally((Groups("sex", (0, 1, 2), (1, 1, 1)),)),
        Tally((Groups("sex", (-1, -1), (1, 1)),)),
        Tally((Groups("sex", (0, 1), (1, 1)), Groups("sex", (0, 1), (1, 1)))),
        Tally((Groups("height", (0, 1), (1, 1)),)),
    ],
)
def test_a_tally_that_does_not_fit_is_refused(tally: Tally) -> None:
    with pytest.raises(DxError):
        tally.on(UNIVERSE)


TALLY = Tally((Groups("sex", (0, 1), (1, 1)),)).to_dict()
STEPS = Steps.from_rows("age", np.eye(5, dtype=np.int64)).to_dict()


@pytest.mark.parametrize(
    "data",
    [
        {**TALLY, "over": []},
        {**TALLY, "over": [{"of": "sex", "groups": [], "weights": []}]},
        {**TALLY, "over": [{"of": "sex", "groups": [0, -2], "weights": [1, 1]}]},
        {**TALLY, "over": [{"of": "sex", "groups": [0, True], "weights": [1, 1]}]},
        {**TALLY, "over": [{"of": "sex", "groups": [0, 1], "weights": [1, 2**60]}]},
        {**TALLY, "over": [{"of": 7, "groups": [0, 1], "weights": [1, 1]}]},
        {**STEPS, "shape": [5, 4]},
        {**STEPS, "shape": [0, 5]},
        {**STEPS, "shape": [10**6, 10**6]},
        {**STEPS, "rows": [*STEPS["rows"][:-1], 99]},
        {**STEPS, "jumps": STEPS["jumps"][:-1]},
        {**STEPS, "jumps": [*STEPS["jumps"][:-1], 1.5]},
        {**STEPS, "jumps": [*STEPS["jumps"][:-1], 2**53]},
        {**STEPS, "rows": [0, 0], "values": [1, 1], "jumps": [1, 2]},
        {**STEPS, "factor": "0"},
        {**STEPS, "factor": "-1/2"},
        {**STEPS, "factor": "1e9"},
        {"ask": "row", "of": {"ask": "row", "of": TALLY, "row": 0}, "row": 0},
        {"ask": "row", "of": [TALLY], "row": 0},
        {"ask": "row", "of": "count", "row": 0},
        {"ask": "row", "of": TALLY},
    ],
    ids=str,
)
def test_damaged_json_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(QueryError):
        from_dict(data)
