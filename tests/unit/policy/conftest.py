"""Fixtures of the tests of policies."""

import pytest
from wrong_policies import PLACES


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of places."""
    (tmp_path / "cities.csv").write_text(PLACES, encoding="utf-8")
    return tmp_path
