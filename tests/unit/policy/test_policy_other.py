"""`dxp check` and `other`: the listed values have the columns, what lies beyond them has a line."""

import math

import pytest

import dxprivacy as dx


def page(body):
    return dx.Policy.parse(f'title = "T"\ndataset = "t"\n[attributes.x]\n{body}\n').check()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("values = ['p', 'q']\nepsilon = 1", []),
        ("values = ['p']\nepsilon = 1\nother = { epsilon = 9 }", []),  # there it has the columns
        ("integers = [0, 9]\nepsilon = 1\nper = 1", []),
        ("values = ['p', 'q']\nepsilon = 1\nother = { epsilon = 5 }", [("any x – other", 5.0, "looser")]),
        ("values = ['p', 'q']\nepsilon = 1\nother = { epsilon = 0.6 }", [("any x – other", 0.6, "stricter")]),
        ("values = ['p', 'q']\nepsilon = 1\nother = { epsilon = inf }", [("any x – other", math.inf, "looser")]),
        ("values = ['p', 'q']\nepsilon = inf", []),
        ("values = ['p', 'q']\nepsilon = 0\nother = { epsilon = 1 }", [("any x – other", 1.0, "looser")]),
        ("values = ['p', 'q']\nepsilon = { p = 0.5, q = 2 }", [("q – other", 1.0, "looser")]),
        (
            "values = ['p', 'q']\nepsilon = { p = 1, q = 2 }\nother = { epsilon = 0.75 }",
            [("p – other", 0.75, "stricter")],
        ),
        ("integers = [0, 9]\nepsilon = 1\nper = 1\nother = { epsilon = 20 }", [("any x – other", 20.0, "looser")]),
    ],
)
def test_distances_to_other_beyond_the_listed_pairs_are_named(body, told):
    (row,) = page(body).rows
    assert [(b.pair, b.epsilon, b.way) for b in row.other] == told
    lines = [line for line in str(page(body)).splitlines() if line.endswith("than every listed pair")]
    assert len(lines) == len(told)


def test_the_line_stands_below_the_table_and_in_the_json():
    check = page("values = ['p', 'q']\nepsilon = { p = 0.5, q = 2 }")
    assert "  x: q – other has ε 1, looser than every listed pair" in str(check).splitlines()
    assert check.to_dict()["attributes"][0]["other"] == [{"pair": "q – other", "epsilon": 1.0, "than_listed": "looser"}]
    assert (check.rows[0].strictest, check.rows[0].loosest) == ("p – q", "p – q")
