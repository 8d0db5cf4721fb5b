"""What d_X-privacy does not protect: a loosely protected attribute that gives a strictly protected one away.

The paper's own example (Discussion, "Correlated data"): sex, native, age above or below 18.  Telling a native apart may
cost only 0.1, anything else 2.  It is known that nine in ten men above 18 are native.
"""

import math

import numpy as np

import dxprivacy as dx

STRICT, LOOSE = 0.1, 2.0
NATIVE = {"MA": 0.9}  # the part of each group that is native; of the other groups, so that half of all people are
ELSEWHERE = (0.5 - 0.25 * 0.9) / 0.75
GROUPS = ("MA", "MB", "FA", "FB")  # equally many people in each

people = dx.Universe(
    [
        dx.Values(name="sex", values=("M", "F"), has_other=False),
        dx.Values(name="native", values=("Y", "N"), has_other=False),
        dx.Values(name="age", values=("A", "B"), has_other=False),
    ]
)


def policy(loose: float = LOOSE) -> dx.metrics.Metric:
    """The policy, with another budget for sex and age."""
    return dx.metrics.attributes(people, {"sex": loose, "native": STRICT, "age": loose})


def errors() -> tuple[float, float]:
    """Two ways to the number of native men above 18: asked for, and guessed from a harmless count."""
    asked = dx.plan(dx.count(sex="M", native="Y", age="A"), policy(), method="optimal")
    harmless = dx.plan(dx.count(sex="M", age="A"), policy(), method="optimal")
    return float(asked.expected_rmse[0]), 0.9 * float(harmless.expected_rmse[0])


def worst_factor(loose: float, native: dict[str, float]) -> float:
    """How far the odds of one person being native can move, over all outcomes that the policy allows.

    An outcome has a likelihood for each of the eight records; those of i and j differ by at most e^d(i, j).  Weighed
    by how records and groups go together, P(outcome | native) / P(outcome | not native) is largest at a corner: a
    linear programme in eight variables.
    """
    from scipy.optimize import linprog

    records = ["".join(r.values()) for r in people.records(range(8))]
    given = {"Y": np.zeros(8), "N": np.zeros(8)}
    for k, (sex, is_native, age) in enumerate(records):
        part = native.get(sex + age, ELSEWHERE)
        given[is_native][k] = part if is_native == "Y" else 1 - part
    yes, no = (g / g.sum() for g in given.values())
    d = policy(loose)
    rows = []
    for i in range(8):
        for j in range(8):
            if i != j:
                row = np.zeros(8)
                row[i], row[j] = 1.0, -math.exp(float(d.exact(i, j)))
                rows.append(row)
    found = linprog(-yes, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=[no], b_eq=[1.0])
    return float(-found.fun)


def main() -> None:
    asked, guessed = errors()
    print("the number of native men above 18, root mean square error of the noise")
    print(f"  asked for                       {asked:6.2f}")
    print(f"  0.9 × the number of such men    {guessed:6.2f}   as far as the nine in ten is right")
    print("\nby which factor may all answers together move the odds that somebody is native?")
    print(f"  guaranteed, all else being equal  {math.exp(STRICT):6.2f}")
    independent = dict.fromkeys(GROUPS, 0.5)
    print(f"  native as likely in all groups  {worst_factor(LOOSE, independent):6.2f}")
    print(f"  nine in ten men above 18        {worst_factor(LOOSE, NATIVE):6.2f}")
    print("\nand with other budgets for sex and age?")
    for loose in (1.0, 0.5, 0.1):
        print(f"  ε {loose:<4g}                          {worst_factor(loose, NATIVE):6.2f}")


if __name__ == "__main__":
    main()
