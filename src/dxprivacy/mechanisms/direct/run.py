"""Direct fit: a non-negative histogram from the noisy answers of an ordinary certified plan.

The plan is released as always, and everything here is post-processing of the released integers.  For small universes
this is far better than MWEM, because a plan measures everything at once where MWEM pays anew in every round.
"""

from collections.abc import Sequence

import numpy as np

from dxprivacy.accounting.costs import SumCost
from dxprivacy.errors import QuestionError, UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.numbers import is_whole
from dxprivacy.mechanisms.direct.fitting import fit
from dxprivacy.mechanisms.laplace.plan import Plan
from dxprivacy.mechanisms.synthesis.projection import Projection
from dxprivacy.mechanisms.synthesis.synthetic import Measurement, Synthetic
from dxprivacy.model.universe import Universe
from dxprivacy.release.release import Release
from dxprivacy.wording import digits, plural

MOST_CELLS = 1 << 24  # held a few times over, in floats
_HARD = 1e-3  # an exact answer counts as noise of this part of the least other variance


def fit_histogram(plan: Plan, noisy: object, *, records: int | None = None) -> Synthetic:
    """The histogram that fits a plan's noisy counts best, by weighted least squares: costs nothing more.

    `noisy` is a release of the plan, or its noisy integers.  `records` is the public number of records; it is taken
    from the release or the plan where these know it.

    >>> from dxprivacy import metrics
    >>> from dxprivacy.mechanisms.laplace.planner import make_plan
    >>> plan = make_plan([[1, 0, 0], [0, 1, 0]], metrics.constant(3, 1), method="same-scale", rows=100)
    >>> fit_histogram(plan, [70, -4]).histogram.round(2).tolist()
    [70.0, 0.0, 30.0]
    """
    if not isinstance(plan, Plan):
        raise UsageError(f"a plan is needed, not {type(plan).__name__}", hints=["dx.plan(Q, d)"])
    released = _released(plan, noisy)
    universe = plan.metric.universe
    require_room_to_fit(universe.cells)
    free = universe.absent is not None
    if free and universe.max_records is not None:
        total = universe.max_records
    else:
        known = _known(noisy, universe) if isinstance(noisy, Release) else None
        total = next((x for x in (records, known, plan.records) if x is not None), -1)
        if not is_whole(total) or total < 0:
            raise UsageError("how many records are there? The number is public", hints=["records=20000"])
        if total == 0:
            raise UsageError("there are no records: nothing to fit a histogram to")
    counted = plan.counted
    found = fit(Projection(counted), released, variances_of(plan.measured.noises(plan.scales)), float(total), free=free)
    labels = {recipe.row: a.label for a in counted.answers if hasattr(recipe := a.recipe, "row")}
    measurements = tuple(
        Measurement(k, labels.get(k, f"row {k + 1}"), int(z), s)
        for k, (z, s) in enumerate(zip(released.tolist(), plan.scales, strict=True))
    )
    words = (
        f"fitted to {plural(len(released), 'noisy count')} of plan {plan.name}; "
        f"misfit {digits(2 * found.misfit / max(len(released), 1))} per count (far above 1 it would not fit)",
    )
    return Synthetic(
        universe=universe,
        histogram=found.y,
        questions=plan.questions,
        workload=plan.workload,
        records=None if free else int(total),
        method="direct",
        measurements=measurements,
        cost=SumCost(universe, [plan.cost]),
        words=words,
    )


def require_room_to_fit(cells: int) -> None:
    """Refuse universes whose cells cannot all be held."""
    if cells > MOST_CELLS:
        raise QuestionError(
            f"{cells:,} possible records are too many to fit a histogram to; at most {MOST_CELLS:,}",
            hints=["a policy with fewer attributes, or wider steps"],
        )


def variances_of(noises: Sequence[float]) -> Floats:
    """The variance of each count's noise; an exact count is harder than any other, but not infinitely so."""
    least = min((v for v in noises if v > 0), default=1.0)
    return np.array([v if v > 0 else min(least * _HARD, 1e-2) for v in noises])


def _known(release: Release, universe: Universe) -> int | None:
    """How many records a release is about, or can be: as many as its people can have."""
    people = release.facts.get("people")
    return release.records if people is None else people * universe.rows_each


def _released(plan: Plan, noisy: object) -> Floats:
    """The noisy integers of a plan's release."""
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
