"""The promise: the three sentences that go with everything that is released."""

from dxprivacy.metrics import Metric
from dxprivacy.wording import digits


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
