"""Every repr works on half-built objects: a traceback that shows locals must not fail on them."""

import importlib
import inspect
import pkgutil

import pytest

import dxprivacy as dx
from dxprivacy.wording import Displayed, OneLine


def classes_with_a_repr():
    """Return all public classes, and all others of the package with a repr that was not made by `dataclass`."""
    found = {getattr(dx, name) for name in dx.__all__ if inspect.isclass(getattr(dx, name))}
    for module in pkgutil.walk_packages(dx.__path__, "dxprivacy."):
        if not module.name.endswith("__main__"):
            found |= {
                k for k in vars(importlib.import_module(module.name)).values() if inspect.isclass(k) and is_written(k)
            }
    named = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in found}
    return dict(sorted(named.items()))


def is_written(kind):
    code = getattr(inspect.unwrap(kind.__repr__), "__code__", None)
    return code is not None and "/dxprivacy/" in code.co_filename


CLASSES = classes_with_a_repr()


@pytest.mark.parametrize("name", CLASSES)
def test_the_repr_of_an_object_without_any_attribute_works(name):
    kind = CLASSES[name]
    shown = repr(object.__new__(concrete(kind)))
    assert shown
    assert "\n" not in shown


def concrete(kind):
    """Return the class, or a subclass without abstract methods."""
    if not inspect.isabstract(kind):
        return kind
    made = type(kind.__name__, (kind,), dict.fromkeys(kind.__abstractmethods__, None))
    made.__abstractmethods__ = frozenset()
    return made


def test_public_classes_are_among_them():
    public = {
        dx.Session,
        dx.Ledger,
        dx.Policy,
        dx.Plan,
        dx.Release,
        dx.Selection,
        dx.Universe,
        dx.Records,
        dx.Histogram,
    }
    assert public <= set(CLASSES.values())
    assert {dx.Certificate, dx.Bound, type(dx.metrics.line(3, 1)), OneLine} <= set(CLASSES.values())


def test_a_session_whose_data_cannot_be_read_has_a_repr(tmp_path):
    policy = dx.Policy.parse('title = "S"\ndataset = "s"\n[attributes.sex]\nvalues = ["F", "M"]\nepsilon = 1')
    session = object.__new__(dx.Session)
    with pytest.raises(dx.errors.DataError):
        session.__init__(policy, tmp_path / "none.csv", ledger=tmp_path / "l.db", new_ledger=True)
    assert repr(session) == "Session(not complete)"


@pytest.mark.parametrize(
    "kind",
    [k for k in CLASSES.values() if Displayed in k.__mro__[1:] and not inspect.isabstract(k)],
    ids=lambda k: k.__name__,
)
def test_half_built_objects_have_no_html_and_fall_back_to_their_line(kind):
    half = object.__new__(concrete(kind))
    assert half._repr_html_() is None
    assert half._repr_mimebundle_() == {"text/plain": repr(half)}


def test_html_is_there_beside_the_bundle():
    policy = dx.Policy.parse('title = "S"\ndataset = "s"\n[attributes.sex]\nvalues = ["F", "M"]\nepsilon = 1')
    assert policy._repr_html_() == policy._repr_mimebundle_()["text/html"]


def test_a_closed_ledger_shows_its_line(tmp_path):
    policy = dx.Policy.parse('title = "S"\ndataset = "s"\n[attributes.sex]\nvalues = ["F", "M"]\nepsilon = 1')
    with dx.Ledger.open(tmp_path / "l.db", policy, new_ledger=True) as ledger:
        ledger.reserve((plan := dx.plan("count by sex", policy)).cost, plan.counted_queries, request="r")
    assert ledger._repr_html_() is None
    assert ledger._repr_mimebundle_() == {"text/plain": repr(ledger)}
