"""Direct fit: a nonnegative histogram from the noisy answers of an ordinary certified plan.

The plan is released as usual, and everything here is post-processing of the released integers. For small universes this
is far better than MWEM, because a plan measures everything at once, while MWEM spends again in every round.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import is_whole
from dxprivacy.mechanisms.direct.weighted_fit import fit
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection, asked_universe, require_all_cells
from dxprivacy.mechanisms.synthesis.synthetic_data import Measurement, Synthetic
from dxprivacy.privacy.costs import SumCost
from dxprivacy.releases.release import Release
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import digits, plural

MOST_CELLS = 1 << 24  # several float arrays of this size fit into memory
_HARD = 1e-3  # a noise-free answer gets this fraction of the least other variance


def fit_histogram(plan: Plan, noisy: object, *, n_records: int | None = None) -> Synthetic:
    """Fit the best histogram to a plan's noisy counts by weighted least squares; spends nothing further.

    `noisy` is a release of the plan, or its noisy integers. `n_records` is the public number of records; it is taken
    from the release or the plan if they know it.

    >>> from dxprivacy import metrics
    >>> from dxprivacy.mechanisms.linear.planning.planner import make_plan
    >>> plan = make_plan([[1, 0, 0], [0, 1, 0]], metrics.constant(3, 1), method="same-scale", n_records=100)
    >>> fit_histogram(plan, [70, -4]).histogram.round(2).tolist()
    [70.0, 0.0, 30.0]
    """
    if not isinstance(plan, Plan):
        raise UsageError(f"a plan is needed, not {type(plan).__name__}", hints=["dx.plan(Q, d)"])
    released = _released(plan, noisy)
    universe = plan.metric.universe
    asked, counted = over_asked(plan)
    require_room_to_fit(universe, asked)
    free = universe.absent is not None
    if free and universe.max_records is not None:
        total = universe.max_records
    else:
        known = _known(noisy, universe) if isinstance(noisy, Release) else None
        total = next((x for x in (n_records, known, plan.records) if x is not None), -1)
        if not is_whole(total) or total < 0:
            raise UsageError("how many records are there? The number is public", hints=["records=20000"])
        if total == 0:
            raise UsageError("there are no records: nothing to fit a histogram to")
    found = fit(Projection(counted), released, variances_of(plan.measured.noises(plan.scales)), float(total), free=free)
    labels = {recipe.row: a.label for a in counted.answers if hasattr(recipe := a.recipe, "row")}
    measurements = tuple(
        Measurement(k, labels.get(k, f"row {k + 1}"), int(z), s)
        for k, (z, s) in enumerate(zip(released.tolist(), plan.scales, strict=True))
    )
    return Synthetic(
        universe=asked,
        histogram=found.y,
        queries=plan.queries,
        workload=plan.workload if asked is universe else plan.queries.on(asked),
        records=None if free else int(total),
        method="direct",
        measurements=measurements,
        cost=SumCost(universe, [plan.cost]),
        words=(f"fitted to {plural(len(released), 'noisy count')} of plan {plan.name}", *fit_words(found.to_dict())),
        fit=found.to_dict(),
    )


def over_asked(plan: Plan) -> tuple[Universe, Workload]:
    """Return the universe of the attributes that are asked about, and the measured rows over it."""
    universe, asked = plan.metric.universe, asked_universe(plan.workload)
    if asked is not universe:
        try:
            counted = plan.counted_queries.on(asked)
        except QueryError:  # matrices over all possible records, used in small universes only
            return universe, plan.counted
        if counted.rows == plan.counted.rows:
            return asked, counted
    return universe, plan.counted


def fit_words(fit: Mapping[str, Any]) -> tuple[str, ...]:
    """Describe how well a histogram fits its noisy counts, and whether a longer fit could do better.

    >>> fit_words({"misfit": 30.2, "gap": 29.9, "steps": 500, "converged": False})[1]
    'the fit did not converge in 500 steps: answers may be far off, and up to 29.9 of the misfit is left to gain'
    """
    misfit = f"misfit {digits(fit['misfit'])} per noisy count (about 1 or less is what the noise explains)"
    if fit["converged"]:
        return (f"{misfit}; at most {digits(fit['gap'])} of it is left to gain",)
    left = f"answers may be far off, and up to {digits(fit['gap'])} of the misfit is left to gain"
    return misfit, f"the fit did not converge in {fit['steps']:,} steps: {left}"


def require_room_to_fit(universe: Universe, asked: Universe) -> None:
    """Refuse universes with too many possible records, counting only the attributes that are asked about."""
    require_all_cells(universe, "a fit", asked=asked, most=MOST_CELLS)


def variances_of(noises: Sequence[float]) -> Floats:
    """Return the noise variance of each count; a noise-free count gets a small positive one."""
    least = min((v for v in noises if v > 0), default=1.0)
    return np.array([v if v > 0 else min(least * _HARD, 1e-2) for v in noises])


def _known(release: Release, universe: Universe) -> int | None:
    """The number of records of a release; for people, the largest number of rows that they can have."""
    people = release.facts.get("people")
    return release.records if people is None else people * universe.rows_each


def _released(plan: Plan, noisy: object) -> Floats:
    """Return the noisy integers of a plan's release."""
    if isinstance(noisy, Release):
        if noisy.facts.get("request") != plan.request:
            raise UsageError("the release is of another plan")
        noisy = noisy.facts["noisy"]
    try:
        given = np.array(noisy)
        whole = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError("noisy counts are whole numbers") from None
    rows = plan.counted.rows
    if whole.shape != (rows,):
        raise UsageError(f"the plan counts {plural(rows, 'row')}, and noisy counts are needed for these")
    if given.dtype.kind not in "iuf" or not (np.isfinite(whole).all() and (whole == np.rint(whole)).all()):
        raise UsageError("noisy counts are whole numbers", hints=["a release, or the noisy rows of the plan"])
    return whole
