"""Places that are wrong, in the policy or in their file: each error names both, and how to mend it."""

import pytest
from wrong_policies import attribute, refusal


@pytest.mark.parametrize(
    ("per", "what"),
    [
        ("100", "per is '100'; a distance with its unit is needed"),
        ('"100"', "per is '100'; a distance with its unit is needed"),
        ('"km"', "per is 'km'; a distance with its unit is needed"),
        ('"100 parsecs"', "per is '100 parsecs'; a distance with its unit is needed"),
        ('"-1 km"', "per is '-1 km'; a distance with its unit is needed"),
        ('"1.2.3 km"', "per is '1.2.3 km'; a distance with its unit is needed"),
        ('"1e9999 km"', "per is '1e9999 km'; a distance with its unit is needed"),
        ('"0 km"', "per is 0; it must be positive"),
        ('"0.0 m"', "per is 0.0; it must be positive"),
        ('"99999999999999999999 km"', "per is 99999999999999999999; it must be from 1e-15 to 1e15"),
        ("[100]", "per is '[100]'; a distance with its unit is needed"),
    ],
)
def test_per_for_places_is_a_distance_with_its_unit(per, what, folder):
    error = refusal(attribute(f'points = "cities.csv"\nepsilon = 1\nper = {per}'), folder)
    assert (error.where, error.what) == ("policy.toml:6", what)
    assert 'per = "100 km"' in str(error)


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        ("points = 5\nepsilon = 1", 4, "points must be a name"),
        ("points = []\nepsilon = 1", 4, "points must be a name"),
        ('points = "p\\u0000.csv"\nepsilon = 1', 4, "points must be a name"),
        ('points = "cities.csv"\nepsilon = 1', 5, "x has a distance but no unit"),
        ('points = "cities.csv"\nepsilon = 0\nper = "1 km"', 5, "x: epsilon must be positive and finite"),
        ('points = "cities.csv"\nepsilon = inf\nper = "1 km"', 5, "x: epsilon must be positive and finite"),
        ('points = "cities.csv"\nepsilon = { 1 = 1 }\nper = "1 km"', 5, "epsilon is one number here"),
        (
            'points = "cities.csv"\nepsilon = 1\nper = "1 km"\nmetric = "hexagonal"',
            7,
            "no metric “hexagonal” for points",
        ),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nmetric = ["x"]', 7, "no metric “['x']” for points"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nid = "code"', 4, "no column “code”"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nid = ["id"]', 7, "id must be a name"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nunits = "m"', 7, "units is a table"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nunits = { elevation = 1 }', 7, "units is a table"),
        ('points = "cities.csv"\nepsilon = 1\nper = "1 km"\nunits = { elevatoin = "m" }', 4, "no property “elevatoin”"),
        (
            'points = "cities.csv"\nepsilon = 1\nper = "1 km"\nother = { value = 0 }',
            7,
            "only integers and numbers have",
        ),
    ],
)
def test_the_keys_of_points_are_checked(body, line, what, folder):
    error = refusal(attribute(body), folder)
    assert error.where == f"policy.toml:{line}"
    assert error.what.startswith(what)
    assert error.hints or error.details[1:]


@pytest.mark.parametrize(
    ("content", "place", "what", "mend"),
    [
        (None, "p.csv", "no such file", "paths are relative to the policy file"),
        (b"", "p.csv", "needs a header line and at least one point", "id,latitude,longitude"),
        (b"id,latitude,longitude\n", "p.csv", "needs a header line and at least one point", "id,latitude,longitude"),
        (b"id,name\n1,a\n", "p.csv:1", "no coordinates", "columns latitude and longitude, or x and y, are needed"),
        (b"id,latitude\n1,5\n", "p.csv:1", "no coordinates", "columns latitude and longitude"),
        (b"id,id,x\n1,2,3\n", "p.csv:1", "column names must be different and not empty", "rename"),
        (b"id,,x\n1,2,3\n", "p.csv:1", "column names must be different and not empty", "name"),
        (b"id,x,y\na,0,0\nb,1\n", "p.csv:3", "2 fields instead of 3", "quote fields that contain commas"),
        (b"id,x,y\na,0,0\nb,1,2,3\n", "p.csv:3", "4 fields instead of 3", "quote fields that contain commas"),
        (b"id,x\na,0\nb,nan\n", "p.csv:3", "x is not a number", "correct"),
        (b"id,x\na,0\n\nb,inf\n", "p.csv:4", "x is not a number", "correct"),
        (b"id,x\na,0\nb,\n", "p.csv:3", "x is empty", "correct"),
        (b"id,x\na,0\nb,12km\n", "p.csv:3", "x is not a number", "correct"),
        (b"id,lat,lon\na,0,0\nb,91,0\n", "p.csv:3", "lat does not lie between -90 and 90 degrees", "swapped"),
        (b"id,lat,lon\na,0,0\nb,0,-361\n", "p.csv:3", "lon does not lie between -360 and 360", "swapped"),
        (b"id,x\na,0\na,1\n", "p.csv:3", "a point's id is listed twice, first in line 2", "leave one of them out"),
        (b"id,x\n,0\na,1\n", "p.csv:2", "id is empty", "give every point an id"),
        (b"id,x\nother,0\na,1\n", "p.csv:2", "id is “other”, reserved", "another id"),
        (b"id,x\n\xff\xfea,0\n", "p.csv", "not a CSV file in UTF-8", "save it as UTF-8"),
        ("id,x\na,0\n".encode("utf-16"), "p.csv", "not a CSV file in UTF-8", "save it as UTF-8"),
        (b'id,x\n"a,0\n', "p.csv", "not a CSV file in UTF-8", "save it as UTF-8"),
        (b"PAR1\x15\x04\x15\x00\x80\x90", "p.csv", "not a CSV file in UTF-8", "save it as UTF-8"),
        (b'{"type": "FeatureCollection"}', "p.csv", "needs a header line and at least one point", "for example"),
        (b"id,x\na,1e300\nb,0\n", "", "coordinates must be 0 or between 1e-250 and 1e150 in size", ""),
    ],
)
def test_a_points_file_that_does_not_fit_is_named_with_its_line(content, place, what, mend, tmp_path):
    if content is not None:
        (tmp_path / "p.csv").write_bytes(content)
    error = refusal(attribute('points = "p.csv"\nepsilon = 1\nper = 1'), tmp_path)
    assert error.where == "policy.toml:4"
    assert error.what.startswith(what)
    assert any(line == f"in {tmp_path / place}" for line in error.details) or not place
    assert mend in str(error)


def test_a_directory_is_no_points_file(tmp_path):
    (tmp_path / "p.csv").mkdir()
    error = refusal(attribute('points = "p.csv"\nepsilon = 1\nper = 1'), tmp_path)
    assert error.what == "cannot be read: Is a directory"


def test_great_circles_need_latitude_and_longitude(tmp_path):
    (tmp_path / "p.csv").write_text("id,x,y\na,0,0\nb,1,1\n")
    error = refusal(attribute('points = "p.csv"\nepsilon = 1\nper = "1 km"\nmetric = "great-circle"'), tmp_path)
    assert error.what == "great-circle distance needs columns latitude and longitude"
