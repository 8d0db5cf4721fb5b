"""An attribute of every kind, as policies write them; and a universe of them, as we and the verifier read it."""

import json
from dataclasses import replace

import dxprivacy as dx
from dxprivacy.verify.universe import Universe as Read

ATTRIBUTES = {
    "region": 'values = ["North", "South", "it\'s"]\nepsilon = 1',
    "sex": 'values = ["F", "M", "X"]\nepsilon = 1',
    "code": 'values = [">50K", "a(b)", "or", "not"]\nepsilon = 1',
    "age": "integers = [0, 99]\nepsilon = 1\nper = 10",
    "years": 'integers = [10, 20]\noutside = "clamp"\nepsilon = 1\nper = 10',
    "income": "numbers = [0, 100]\nstep = 10\nepsilon = 1\nper = 10",
    "weight": 'numbers = [40, 60]\nstep = 5\noutside = "clamp"\nepsilon = 1\nper = 10',
    "visit": 'dates = ["2026-01-01", "2026-03-31"]\nepsilon = 1\nper = "7 days"',
    "birth": 'dates = ["2000-01-01", "2003-12-31"]\nstep = "1 month"\noutside = "clamp"\nepsilon = 1\nper = "1 year"',
    "hour": 'hours = [6, 18]\nstep = "1 hour"\nepsilon = 1\nper = "1 hour"',
    "scores": 'columns = ["maths", "physics"]\nintegers = [0, 4]\nepsilon = 1\nper = 1',
    "load": 'columns = ["early", "late"]\nnumbers = [0, 6]\nstep = 2\nepsilon = 1\nper = 2',
}


def written(*names):
    """A policy of some of them."""
    tables = [f"[attributes.{name}]\n{ATTRIBUTES[name]}\n" for name in names]
    return 'title = "T"\ndataset = "t"\n' + "".join(tables)


POLICY = dx.Policy.parse(written(*(name for name in ATTRIBUTES if name != "region")))
UNIVERSE = dx.Universe([replace(a, has_other=a.name != "code") for a in POLICY.universe.attributes])
READ = Read(json.loads(json.dumps(UNIVERSE.to_dict())))
