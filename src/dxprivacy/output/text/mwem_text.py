"""A planned run of MWEM on the screen."""

import numpy as np

from dxprivacy.mechanisms.mwem.plan import MwemPlan
from dxprivacy.wording import digits, percent, plural


def mwem_lines(plan: MwemPlan) -> list[str]:
    """The plan in words; depends on nothing private."""
    rows = len(plan.candidates)
    noise = plan.scales[plan.candidates] * np.array([float(u) for u in plan.workload.units])[plan.candidates]
    spread = sorted({digits(float(x)) for x in (noise.min(initial=np.inf), noise.max(initial=0.0))}) if rows else []
    steps = plural(2 * plan.rounds, "step")
    out = [
        f"MWEM plan {plan.name} · {plural(plan.rounds, 'round')} ({plan.why}) · nothing spent, no data read",
        f"{steps} of at most {percent(float(plan.part))} of the policy each; noise scale of a measurement "
        + (" to ".join(spread) or "0"),
    ]
    if plan.passes:
        out.append(f"after each round {plural(plan.passes, 'pass')} over all measurements so far")
    if plan.bound is not None:
        out.append(str(plan.bound))
    return out
