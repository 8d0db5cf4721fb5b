"""Building a release from noisy integers: post-processing only."""

import importlib.metadata
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.laplace.notes import notes
from dxprivacy.mechanisms.laplace.plan import Plan
from dxprivacy.metrics import Metric
from dxprivacy.model.workload import Ratio
from dxprivacy.release.release import CARRYING, FORMAT, Release, Row
from dxprivacy.wording import digits

_FAR_TAIL = 1000  # scales; noise beyond it has probability e^-1000
_FARTHEST = 2.0**61  # what counts may reach, see `require_room`; with as much again for the noise they stay in 64 bits


def build_release(
    plan: Plan, z: Ints, records: int, *, ledger: str, entry: int, at: str, request: str, so_far: float
) -> Release:
    """Answers, intervals and the promise.

    `request` is the name of the ledger's entry; `so_far` the worst case of everything in the ledger, this release
    included.
    """
    noisy = [int(v) for v in z]
    estimated = plan.estimate(z, records)
    rows = []
    for answer in plan.workload.answers:
        value, low, high = plan.interval(answer, estimated, records)
        exact = plan.is_exact(answer)
        recipe = answer.recipe
        vague = isinstance(recipe, Ratio) and low <= float(recipe.low) and high >= float(recipe.high)
        title = plan.workload.titles[answer.question]
        rows.append(Row(answer.label, title, value, low, high, answer.unit, exact, vague, answer.groups))
    facts: dict[str, Any] = {
        **{key: value for key, value in plan.essence().items() if key != "name"},
        "noisy": noisy,
        "ledger": {
            "file": ledger,
            "entry": entry,
            "at": at,
            "request": request,
            "worst_case_epsilon": _finite(so_far),
        },
        "notes": notes(plan),
        "software": f"dxprivacy {importlib.metadata.version('dxprivacy')}",
    }
    public = records if plan.metric.universe.absent is None else None
    version = FORMAT if plan.reconstruction is None else CARRYING
    return Release(plan.name, tuple(rows), promise(plan, records, ledger, so_far), public, facts, version)


def rehearse(plan: Plan, records: int, *, ledger: str, request: str, so_far: float) -> None:
    """Make the whole text of a release from invented counts: whatever can fail from public numbers fails here.

    First the counts of a table in which all records are the first possible one: they agree with one another.  Then
    counts as high and as low as no table and no noise will ever make them; rows without noise stay as they are.
    """
    counts = plan.counted.columns(np.zeros(1, dtype=np.int64))[:, 0] * records
    scales = np.array(plan.scales)
    most = plan.counted.largest * max(records, 1)
    far = np.where(scales > 0, np.minimum(most + _FAR_TAIL * scales, _FARTHEST), 0).astype(np.int64)
    now = "2000-01-01T00:00:00.000+00:00"
    for z in (counts, counts + far, counts - far):
        made = build_release(plan, z, records, ledger=ledger, entry=1, at=now, request=request, so_far=so_far)
        made.to_json()
        made.to_csv()


def promise(plan: Plan, records: int, ledger: str, so_far: float) -> tuple[str, ...]:
    """The three sentences printed on every release of a plan."""
    return promise_of(plan.metric, plan.worst_epsilon, records, ledger, so_far)


def promise_of(metric: Metric, worst: float, records: int, ledger: str, so_far: float) -> tuple[str, ...]:
    """The three sentences printed on every release; `worst` is its plain-DP reading."""
    n = metric.universe.size
    far = metric.farthest
    permits = "no limit" if metric.has_infinite else f"up to ε = {digits(far.distance if far else 0.0)}"
    what, number = "replaced by another record j", f"({records:,}) is treated as public"
    if metric.universe.absent is not None:
        what, number = "replaced by another record j, added or removed (j = absent)", "is private"
    return (
        f"If any one record i is {what}, the probability of any set of outputs of this release "
        f"changes by at most the factor e^L(i,j); the number of records {number}.",
        f"Added over every release in {ledger}, L(i,j) stays at or below the policy's ε for each of the "
        f"{n * (n - 1) // 2:,} pairs; pairs that the policy sets far apart are protected weakly, and public ones not "
        "at all.",
        f"In plain differential-privacy terms this release is ε = {digits(worst)}, all releases "
        f"so far ε = {digits(so_far)}, and the policy permits {permits}; someone with several records, or with "
        "attributes that reveal one another, is protected less than this says.",
    )


def _finite(x: float) -> float | None:
    return x if x < float("inf") else None
