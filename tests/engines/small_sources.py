"""A small table in every kind of file, and what tests of sources ask of it."""

from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

UNIVERSE = Universe([Values(name="sex", values=("M", "F")), Integers(name="age", low=0, high=2)])


def counts(data):
    source = open_source(data)
    source.check(UNIVERSE)
    histogram = source.count(UNIVERSE)
    assert source.rows() == histogram.total
    return histogram.counts.reshape(3, 4).tolist()


def csv(path, *rows, header="sex,age"):
    path.write_text("".join(line + "\n" for line in (header, *rows)))
    return path
