"""Whatever users can reach says what it does: exported names and their methods, by themselves or by their base."""

import inspect

import pytest

import dxprivacy as dx


@pytest.mark.parametrize("name", [n for n in dx.__all__ if not inspect.ismodule(getattr(dx, n))])
def test_exported_names_and_their_methods_explain_themselves(name):
    thing = getattr(dx, name)
    assert inspect.getdoc(thing)
    if inspect.isclass(thing):
        public = [n for n, value in inspect.getmembers(thing) if not n.startswith("_") and _is_ours(thing, n, value)]
        assert [n for n in public if not inspect.getdoc(getattr(thing, n))] == []


def _is_ours(thing, name, value):
    """A method or property that the class or a base of it defines; fields are explained where they are declared."""
    owner = next(c for c in thing.__mro__ if name in vars(c))
    return owner.__module__.startswith("dxprivacy") and (callable(value) or isinstance(value, property))
