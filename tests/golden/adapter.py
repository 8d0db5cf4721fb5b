"""Translate models to calls of the library, and read the numbers that must not change.

The only file of the golden test that names the library: renames are followed here, and the golden file stays.
"""

import hashlib
import math
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dxprivacy as dx
from dxprivacy.errors import DxError
from dxprivacy.mechanisms.sampling.discrete_laplace import _sample
from dxprivacy.mechanisms.sampling.exact_selection import permute_and_flip, sample_exponential
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.search.max_ratio import largest_loss
from golden.models import Model

_FIRST = 16  # of a long list; all are summed up in one more number
_PAIRS = 5


class RepeatableEntropy:
    """Bytes of a hash in counter mode: the same for a seed on every machine."""

    def __init__(self, seed: int) -> None:
        self.seed, self.block, self.left = seed, 0, b""

    def __call__(self, count: int) -> bytes:
        while len(self.left) < count:
            self.left += hashlib.sha512(f"{self.seed} {self.block}".encode()).digest()
            self.block += 1
        out, self.left = self.left[:count], self.left[count:]
        return out


class RepeatableNoise:
    """The library's exact samplers, with entropy that is the same in every run."""

    def __init__(self, seed: int) -> None:
        self.entropy = RepeatableEntropy(seed)

    def laplace(self, scales):
        out = np.zeros(len(scales), dtype=np.int64)
        out[scales > 0] = _sample(scales[scales > 0], self.entropy)
        return out

    def together(self, family):
        return family.draw(self.entropy)

    def select(self, scores, scales, *, flip=False):
        return (permute_and_flip if flip else sample_exponential)(scores, scales, self.entropy)


def numbers_of(model: Model, folder: Path) -> dict[str, Any]:
    """All numbers of a model: distances, the ratio of its workload, scales, errors, worst case, a release."""
    metric, policy = _metric(model, folder)
    out: dict[str, Any] = {"size": metric.universe.size, "distances": _distances(metric)}
    if metric.universe.people is not None:
        return {**out, **_of_people(model, policy, folder)}
    try:
        planned = _plan(model, metric if policy is None else policy)
    except DxError as error:
        return {**out, "refused": error.exit_code}
    out |= _known_before(model, planned, metric)
    counts = _counts(model, metric.universe)
    if counts is None:
        return out
    try:
        released = planned.by_hand(counts, noise=RepeatableNoise(model["seed"]))
    except DxError as error:
        return {**out, "release_refused": error.exit_code}
    return {**out, "released": _released(model, released)}


def _known_before(model: Model, planned: Any, metric: Any) -> dict[str, Any]:
    out = {"ratio": _exact(planned.certificate.ratio)}
    if "synthesis" in model:
        cost = planned.whole_cost
        return out if cost is None else {**out, "worst_case_epsilon": _float(largest_loss(cost)[0])}
    out["worst_case_epsilon"] = _float(planned.worst_epsilon)
    return out if "selection" in model else out | _linear(planned, metric)


def _of_people(model: Model, policy: Any, folder: Path) -> dict[str, Any]:
    """Plan and release through a session, so that rows are kept and a ledger decides."""
    frame = _frame(model, policy.universe)
    with dx.Session(policy, frame, ledger=folder / "l.db", new_ledger=True) as session:
        session._noise = RepeatableNoise(model["seed"])
        queries = list(model["queries"])
        try:
            planned = session.plan(queries, budget=Fraction(model["budget"]))
        except DxError as error:
            return {"refused": error.exit_code}
        out = _known_before(model, planned, policy.metric)
        released = _released(model, session.release(planned, anyway=True))
        last = policy.universe.cells - 1
        left = [session.ledger.remaining(0, last), session.ledger.remaining(0, last // 2)]
        return {**out, "released": released, "spent": _float(session.ledger.worst_case()), "left": _list(left)}


def _frame(model: Model, universe: Any) -> Any:
    """Rows of people, some of them with more rows than count; every entry is a label."""
    entropy, n = RepeatableEntropy(-model["seed"]), model["n_records"]
    draws = np.frombuffer(entropy(2 * n * (1 + len(universe.attributes))), dtype="<u2").astype(int).reshape(n, -1)
    columns = {"who": [f"p{k % max(n // 3, 1)}" for k in draws[:, 0].tolist()]}
    for column, attribute in enumerate(universe.attributes, start=1):
        columns[attribute.name] = [attribute.label(k % attribute.listed) for k in draws[:, column].tolist()]
    return pd.DataFrame(columns)


def _plan(model: Model, target: Any) -> Any:
    if "selection" in model:
        budget, flip = Fraction(model["budget"]), model["flip"]
        return dx.plan_selection(model["selection"], target, budget=budget, flip=flip, n_records=model["n_records"])
    queries = model.get("rows") or list(model["queries"])
    budget = Fraction(model.get("budget", 1))
    if model.get("synthesis") == "smalldb":
        return dx.plan_smalldb(queries, target, n_records=model["n_records"], budget=budget)
    if "synthesis" in model:
        rounds = 3 if model["synthesis"] == "mwem" else None
        records, method = model["n_records"], model["synthesis"]
        plan = dx.plan_synthesis(queries, target, n_records=records, method=method, budget=budget, rounds=rounds)
        return plan.made
    method, objective = model["method"], model.get("objective", "squared")
    return dx.plan(queries, target, method=method, objective=objective, budget=budget, n_records=model["n_records"])


def _linear(plan: Any, metric: Any) -> dict[str, Any]:
    asked = plan.workload
    out: dict[str, Any] = {}
    if not asked.proportional:
        bound = dx.max_ratio(LaplaceCost(asked, [1.0] * asked.rows), metric)
        out = {
            "workload_ratio": _exact(bound.upper),
            "workload_witness": None if bound.witness is None else [*bound.witness],
        }
    errors, strict, worst = plan.errors, plan.baselines.strict, plan.baselines.worst
    return {
        **out,
        "scales": _list(plan.scales),
        "rmse": _list(error.rmse for error in errors),
        "half_width": _list(error.half_width for error in errors),
        "standard_strict": _list(None if error is None else error.half_width for error in strict),
        "standard_worst": _list(None if error is None else error.half_width for error in worst),
    }


def _released(model: Model, released: Any) -> Any:
    if "selection" in model:
        return released.index
    if "synthesis" in model:
        made = released.synthetic
        return {"noisy": _list(m.noisy for m in made.measurements), "counts": _list(made.histogram.tolist())}
    return _list(answer.value for answer in released.answers)


def _counts(model: Model, universe: Any) -> Any:
    if universe.cells > 5000:
        return None
    entropy = RepeatableEntropy(-model["seed"])
    total, cells = model["n_records"], universe.cells
    counts = np.zeros(cells, dtype=np.int64)
    for k in np.frombuffer(entropy(8 * total), dtype="<u8"):
        counts[int(k) % cells] += 1
    return counts if universe.absent is None else np.append(counts, 0)


# -- policies and metrics ----------------------------------------------------------------------------------------------


def _metric(model: Model, folder: Path) -> tuple[Any, Any]:
    if "metric" in model:
        return _of_arrays(model["metric"]), None
    for name, text in model["files"].values():
        (folder / name).write_text(text)
    policy = dx.Policy.parse(toml(model["policy"]), folder=folder)
    return policy.metric, policy


def toml(table: Model) -> str:
    """A policy as TOML, with the keys of the library."""
    lines = [f"{key} = {_toml_value(value)}" for key, value in table.items() if key not in _TABLES]
    for key in _TABLES[:2]:
        if key in table:
            lines += [f"[{key}]", *(f"{k} = {_toml_value(v)}" for k, v in table[key].items())]
    for name, fields in table.get("attributes", {}).items():
        lines += [f"[attributes.{name}]", *(f"{k} = {_toml_value(v)}" for k, v in fields.items())]
    return "\n".join(lines) + "\n"


_TABLES = ("people", "combine", "attributes")


def _toml_value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case list():
            return "[" + ", ".join(map(_toml_value, value)) + "]"
        case dict():
            return "{ " + ", ".join(f"{k} = {_toml_value(v)}" for k, v in value.items()) + " }"
    return repr(value)


def _of_arrays(given: list[Any]) -> Any:
    m = dx.metrics
    match given:
        case ["constant" | "line" as kind, n, epsilon]:
            return getattr(m, kind)(n, _decimal(epsilon))
        case ["euclidean" | "manhattan" | "chebyshev" as kind, points, epsilon]:
            return getattr(m, kind)(points, epsilon_per_unit=_decimal(epsilon))
        case ["minkowski", points, p, epsilon]:
            return m.minkowski(points, p, epsilon_per_unit=_decimal(epsilon))
        case ["great_circle", points, epsilon]:
            return m.great_circle(points, epsilon_per_km=_decimal(epsilon))
        case ["graph", edges]:
            return m.graph([(u, v, _decimal(w)) for u, v, w in edges])
        case ["blowfish" | "smooth" as kind, points, epsilon, threshold]:
            return getattr(m, kind)(points, _decimal(epsilon), threshold=threshold)
        case ["per_element", budgets]:
            return m.per_element(map(_decimal, budgets))
        case ["from_matrix", table]:
            return m.from_matrix([[_decimal(x) for x in row] for row in table])
        case ["scaled", inner, factor]:
            return m.scaled(_of_arrays(inner), Fraction(factor))
        case ["capped", inner, epsilon]:
            return m.capped(_of_arrays(inner), _decimal(epsilon))
        case ["summed" | "maximum" as kind, one, two]:
            return getattr(m, kind)(_of_arrays(one), _of_arrays(two))
        case ["restricted", inner, cells]:
            return m.restricted(_of_arrays(inner), cells)
        case ["with_absent", inner, epsilon, most]:
            return m.with_absent(_of_arrays(inner), _decimal(epsilon), max_records=most)
    raise ValueError(given)


def _decimal(number: float) -> Fraction:
    return Fraction(str(number))


# -- numbers as text ---------------------------------------------------------------------------------------------------


def _distances(metric: Any) -> list[str]:
    n = metric.universe.size
    pairs = [((7 * k + 1) % n, (11 * k + 3) % n) for k in range(_PAIRS)]
    return [_exact(metric.exact(i, j)) for i, j in pairs]


def _exact(number: Any) -> str:
    return str(number) if isinstance(number, Fraction) else repr(number)


def _float(number: Any) -> str | None:
    if number is None:
        return None
    if isinstance(number, Fraction):
        return str(number)
    return repr(int(number)) if isinstance(number, int | np.integer) else float(number).hex()


def _list(numbers: Iterable[Any]) -> list[Any]:
    """The first of many numbers, and the sum of all."""
    every = list(numbers)
    if len(every) <= _FIRST:
        return [_float(x) for x in every]
    total = math.fsum(float(x) for x in every if x is not None and math.isfinite(x))
    return [*(_float(x) for x in every[:_FIRST]), len(every), total.hex()]
