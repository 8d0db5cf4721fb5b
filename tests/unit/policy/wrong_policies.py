"""What the tests of wrong policies budget: texts to be spoilt, and the form that every error has."""

import pytest

from dxprivacy.errors import DxError, PolicyError
from dxprivacy.policy import Policy

HEAD = 'title = "T"\ndataset = "d"\n'
PLACES = "id,name,latitude,longitude,elevation\n1,Hoboken,40.7,-74.0,9\n2,New York,40.8,-74.1,10\n3,Derby,41,-73,2\n"
VALUES = 'values = ["a", "b"]\n'
AGES = "integers = [0, 9]\nper = 1\n"


def refusal(text, folder="."):
    """The error of a policy, checked for the form that all of them have."""
    with pytest.raises(DxError) as caught:
        Policy.parse(text, folder=folder)
    error = caught.value
    assert type(error) is PolicyError
    assert error.exit_code == 3
    assert error.where.startswith("policy.toml")
    assert error.what.strip()
    assert str(error)
    assert error.__cause__ is None
    return error


def attribute(body, name="x"):
    return f"{HEAD}[attributes.{name}]\n{body}\n"
