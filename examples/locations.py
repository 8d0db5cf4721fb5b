"""A researcher's view: arrays in, arrays out.  Points in the plane, one query, and the gain over standard DP."""

import numpy as np

import dxprivacy as dx


def main() -> None:
    rng = np.random.default_rng(7)
    points = rng.uniform(0, 100, (50, 2))
    d = dx.metrics.euclidean(points, epsilon_per_unit="0.1")
    Q = rng.uniform(0, 1, (3, 50))

    bound = dx.sensitivity(Q, d)
    print(f"sensitivity {float(bound.upper):.4g}, attained at {bound.witness}, rule: {bound.rule}")

    plan = dx.plan(Q, d)
    print("scales   ", [f"{c * float(u):.3g}" for c, u in zip(plan.scales, plan.workload.units, strict=True)])
    print("certified", float(plan.certificate.ratio), "of the policy, by", plan.certificate.rule)
    print("gain     ", np.round(plan.improvement, 2))

    counts = rng.integers(0, 100, 50)
    print("answers  ", np.round(dx.laplace(plan, counts), 2))


if __name__ == "__main__":
    main()
