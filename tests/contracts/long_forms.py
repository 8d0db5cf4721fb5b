"""Two forms of one test: a short one for `make test`, and a long one, marked `slow`, for `make test-slow`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from hypothesis import given, settings

SHORT = pytest.StashKey[dict[str, bool]]()
"""Of each collected test: whether it has a form that is not slow."""


def slow(*values: Any, id: str | None = None) -> Any:
    """The values of one parameter set that only `make test-slow` runs."""
    return pytest.param(*values, id=id, marks=pytest.mark.slow)


def mostly_slow(values: Iterable[Any], fast: int | slice | Collection[Any] = 2, *, one: bool = False) -> list[Any]:
    """All parameter sets, marked slow except the first `fast` ones, those of a slice, or those listed in `fast`.

    With `one` each value is that of one parameter, also if it is a tuple.
    """
    every = list(values)
    short = every[fast] if isinstance(fast, slice) else every[:fast] if isinstance(fast, int) else list(fast)
    if not short or not all(value in every for value in short):
        raise ValueError(f"mostly_slow: no short form for {[v for v in short if v not in every]} among {every}")
    return [_set(value, one=one, marked=value not in short) for value in every]


def seeds(number: int, fast: int = 2) -> list[Any]:
    """The seeds 0 to number - 1, marked slow except the first `fast` ones."""
    return mostly_slow(range(number), fast)


def drawn(*strategies: Any, fast: int, full: int, suppress: Collection[Any] = (), **named: Any) -> Callable[..., Any]:
    """Turn a function into a property test with `fast` examples, and one with `full` examples, marked slow.

    Stands for `@settings(max_examples=..., deadline=None)` and `@given(...)`.  Only `@example` may stand below it.
    """

    def forms(test: Callable[..., None]) -> Callable[..., None]:
        runs = {
            number: settings(max_examples=number, deadline=None, suppress_health_check=list(suppress))(
                given(*strategies, **named)(test)
            )
            for number in (fast, full)
        }

        @pytest.mark.parametrize("examples", [fast, slow(full)])
        @functools.wraps(test, updated=())  # not the mark of @example, which `given` has read
        def one(examples: int, **fixtures: Any) -> None:
            runs[examples](**fixtures)

        del one.__wrapped__  # type: ignore[attr-defined]  # pytest reads the names of fixtures from the signature below
        keyword = inspect.Parameter.KEYWORD_ONLY
        rest = [p.replace(kind=keyword) for p in inspect.signature(runs[fast]).parameters.values()]
        one.__signature__ = inspect.Signature([inspect.Parameter("examples", keyword), *rest])  # type: ignore[attr-defined]
        return one

    return forms


def _set(value: Any, *, one: bool, marked: bool) -> Any:
    marks = [pytest.mark.slow] if marked else []
    if hasattr(value, "marks"):  # a pytest.param
        return pytest.param(*value.values, id=value.id, marks=[*value.marks, *marks])
    return pytest.param(*((value,) if one or not isinstance(value, tuple) else value), marks=marks)
