"""Questions that plans put to the data in place of the user's: rows, JSON, bad input."""

import json

import numpy as np
import pytest

from dxprivacy.errors import DxError, QuestionError
from dxprivacy.model.attributes import Integers, Values
from dxprivacy.model.question_json import from_dict
from dxprivacy.model.questions import Stack, table
from dxprivacy.model.strategy import Groups, Steps, Tally
from dxprivacy.model.universe import Universe

UNIVERSE = Universe([Values(name="sex", values=("M", "F"), has_other=False), Integers(name="age", low=0, high=3)])


def _again(question: object) -> object:
    return from_dict(json.loads(json.dumps(question.to_dict())))  # type: ignore[attr-defined]


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


def test_they_stack_with_other_questions() -> None:
    both = Stack((table("sex"), Steps.from_rows("age", np.eye(5, dtype=np.int64))))
    assert both.on(UNIVERSE).rows == 7


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
    ],
    ids=str,
)
def test_damaged_json_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(QuestionError):
        from_dict(data)
