"""Averages over few records under a strict policy: when is it better to move the records than to add noise?

Prints the figures of docs/statistical.md.
"""

import dxprivacy as dx


def main() -> None:
    people = dx.Universe(
        [
            dx.Integers(name="age", low=0, high=99, has_other=False),
            dx.Values(name="vote", values=("no", "yes"), has_other=False),
        ]
    )
    policy = dx.metrics.attributes(people, {"age": {"epsilon": 1, "per": 100}, "vote": "0.05"})
    asked = {"age": None, "vote": [-1, 1]}
    print("   n  query    typical error: noise alone   moved   root mean square: noise alone   moved")
    for n in (1, 4, 20, 100):
        least = [
            dx.statistical(policy, n=n, values=asked, objective=loss).plan.errors for loss in ("absolute", "squared")
        ]
        alone = dx.plan(
            dx.statistical(policy, n=n, values=asked).plan.queries, policy, n_records=n, method="optimal"
        ).errors
        for k, name in enumerate(asked):
            absolute = f"{alone[k].typical:>14.4g}{least[0][k].typical:>8.4g}"
            square = f"{alone[k].rmse:>18.4g}{least[1][k].rmse:>8.4g}"
            print(f"{n:>4}  mean {name:<5}{absolute:>38}{square:>32}")
    print()
    towns = dx.metrics.from_matrix([[0, 1, 9], [1, 0, 9], [9, 9, 0]])
    found = dx.statistical(towns, n=1, values=[0, 40, 100])
    print("three places at distances 1, 9, 9, with the numbers 0, 40, 100; one record")
    print("averaged instead ", [round(float(x), 2) for x in found.parts[0].counted[0]])
    print("mapped           ", [round(float(x), 2) for x in found.parts[0].mapped[0]])
    print(found)


if __name__ == "__main__":
    main()
