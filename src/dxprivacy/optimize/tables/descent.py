"""Downhill to a local optimum of the tables' precisions, by majorizing and minimizing.

`1/m_S`, with m_S a sum of squares, is at most `sum_T share_ST^2 / (gain_ST w_T^2)` for any shares that add up to 1,
with equality at the present shares.  Minimizing that instead, `sum_T a_T / w_T^2` under one linear constraint per
attribute, is convex and separable, hence a concave problem in one multiplier per attribute: a few Newton steps.
Every step lowers the error; stretched steps are tried first.  A precision that is 0 stays 0, so the start decides which
tables are in play, and a table that fades away is dropped.

Invariant: every point that is returned keeps all constraints (`fill` makes it so, whatever the steps did).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.tables.table_components import System

_NEWTON = 60
_FADED = 1e-10  # the largest share of a component that a table may have to be dropped
_STRETCH = (1.0, 3.0, 12.0)


@dataclass(frozen=True, eq=False)
class Point:
    """Precisions of all tables, their error, and what a unit of load is worth along each attribute."""

    w: Floats
    error: float
    prices: Floats


def descend(
    system: System, start: Floats, *, tolerance: float = 1e-8, steps: int = 1000, watch: Watch | None = None
) -> Point | None:
    """The local optimum below a start, or None where the start leaves a component unmeasured."""
    kept = np.flatnonzero(start > 0)
    gains, loads, c = system.gains[:, kept].tocsc(), system.loads[:, kept], system.importance
    w = fill(loads, start[kept])
    error = _error(gains, c, w)
    if not np.isfinite(error):
        return None
    multipliers = np.full(len(loads), 2.0 / len(loads))
    least, stretch, most = _STRETCH
    stalled = 0
    for _ in range(steps):
        measured = gains @ (w * w)
        half = float((c / measured).sum())
        pull = gains.T @ (c / measured**2)
        ratio, multipliers = separable(loads * w, w * w * pull / half, multipliers, 1e-9)
        further = fill(loads, w * ratio**stretch)
        there = _error(gains, c, further)
        if there < error:
            stretch = min(stretch * 1.15, most)
        else:
            stretch = max(stretch * 0.6, least)
            further = fill(loads, w * ratio)
            there = _error(gains, c, further)
        stalled = 0 if there < error * (1 - tolerance) else stalled + 1
        if there < error:
            w, error = further, there
        if stalled >= 4 or (watch is not None and watch.over):
            break
        large = _largest_shares(gains, w) > _FADED
        if not large.all():
            kept, w, loads = kept[large], w[large], loads[:, large]
            gains = gains[:, large].tocsc()
            w = fill(loads, w)
            error = _error(gains, c, w)
    full = np.zeros(len(start))
    full[kept] = w
    return Point(full, error, multipliers * error)


def separable(loads: Floats, a: Floats, multipliers: Floats, slack: float) -> tuple[Floats, Floats]:
    """Nearly minimize `sum a / w^2` under `loads @ w <= 1`, for a sum of about 1; returns w and the multipliers.

    The dual, `sum 3 a^(1/3) (u/2)^(2/3) - sum multipliers` with `u = loads' multipliers`, is concave.  A barrier of
    `slack * log` keeps the multipliers positive: then w is finite and off the optimum by at most attributes * slack.
    """
    root = np.cbrt(2 * a)
    for _ in range(_NEWTON):
        u = loads.T @ multipliers
        w = root / np.cbrt(u)
        slope = loads @ w - 1 + slack / multipliers
        bend = (loads * (w / (3 * u))) @ loads.T
        bend[np.diag_indices(len(bend))] += slack / multipliers**2
        scale = 1 / np.sqrt(np.diag(bend))
        system = bend * scale[:, None] * scale
        system[np.diag_indices(len(bend))] += 1e-13
        step = scale * np.linalg.solve(system, slope * scale)
        down = step < 0
        length = min(1.0, 0.9 * float((multipliers[down] / -step[down]).min())) if down.any() else 1.0
        multipliers = multipliers + length * step
        if length == 1.0 and float(slope @ step) < 1e-9:
            break
    return root / np.cbrt(loads.T @ multipliers), multipliers


def fill(loads: Floats, w: Floats) -> Floats:
    """Divide every precision by the largest load of its attributes: keeps all constraints, and wastes less of them.

    The new load of attribute a is at most `sum w / load_a = 1`; a table is raised where all its attributes have room.
    """
    touched = loads > 0
    for _ in range(3):
        w = w / np.where(touched, (loads @ w)[:, None], 0.0).max(axis=0)
    return w


def _error(gains: Any, c: Floats, w: Floats) -> float:
    measured = gains @ (w * w)
    return 2 * float((c / measured).sum()) if (measured > 0).all() else np.inf


def _largest_shares(gains: Any, w: Floats) -> Floats:
    """Of each table, the largest part that it has in what is known of a component."""
    measured = gains @ (w * w)
    by_entry = gains.data / measured[gains.indices]
    return np.asarray(w * w * np.maximum.reduceat(by_entry, gains.indptr[:-1]))
