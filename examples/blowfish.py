"""Blowfish with public counts: what a policy still guarantees to those who know sums of the data beforehand.

Blowfish (He, Machanavajjhala, Ding 2014) has secrets, pairs of values that must be indistinguishable, and constraints,
counts that everybody knows.  Secrets are a metric here.  Of constraints, the number of records is one that every
guarantee takes into account.  Others are not: who knows how many people live in each region also knows that nobody can
have moved alone.  Two data sets that agree on what is known differ by several people, and their losses add up.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import permutations, product

import dxprivacy as dx

Move = tuple[int, int]  # somebody's record: from one cell to another

REGIONS, ILL = ("north", "south", "west"), ("yes", "no")
people = dx.Universe(
    [
        dx.Values(name="region", values=REGIONS, has_other=False),
        dx.Values(name="ill", values=ILL, has_other=False),
    ]
)
CELLS = [(r, i) for r in REGIONS for i in ILL]
BY_REGION = [[int(r == region) for r, _ in CELLS] for region in REGIONS]
NUMBER_ILL = [[int(i == "yes") for _, i in CELLS]]


def indecomposable(changes: Sequence[tuple[int, ...]], most: int = 12) -> list[tuple[int, ...]]:
    """All ways to take each change so often that they cancel, and no part of them does: by Contejean and Devie (1994).

    These are the least solutions of a homogeneous system; there are finitely many, however many records there are.
    """
    zero = (0,) * len(changes[0])
    units = [tuple(int(k == at) for k in range(len(changes))) for at in range(len(changes))]
    found: list[tuple[int, ...]] = []
    open_ = dict(zip(units, changes, strict=True))
    for _ in range(most):
        found += [often for often, total in open_.items() if total == zero]
        longer: dict[tuple[int, ...], tuple[int, ...]] = {}
        for often, total in open_.items():
            if total == zero:
                continue
            for unit, change in zip(units, changes, strict=True):
                # A step away from where the sum points can be left for later: some order of steps has none of these.
                if sum(a * b for a, b in zip(total, change, strict=True)) < 0:
                    more = tuple(a + b for a, b in zip(often, unit, strict=True))
                    if not any(all(f <= m for f, m in zip(least, more, strict=True)) for least in found):
                        longer[more] = tuple(a + b for a, b in zip(total, change, strict=True))
        if not longer:
            return found
        open_ = longer
    raise ValueError(f"more than {most} people may have to move together")


def together(known: Sequence[Sequence[int]], moves: Iterable[Move]) -> tuple[int, list[list[Move]]]:
    """How many people have to move together at most, so that the known counts stay; and all such groups of moves."""
    by_change: dict[tuple[int, ...], list[Move]] = {}
    for i, j in moves:
        by_change.setdefault(tuple(row[j] - row[i] for row in known), []).append((i, j))
    if not known:
        return 1, [[move] for move in by_change[()]]
    changes = list(by_change)
    ways = indecomposable(changes)
    groups = []
    for often in ways:
        each = [by_change[change] for change, n in zip(changes, often, strict=True) for _ in range(n)]
        groups += [list(group) for group in product(*each)]
    return max(map(sum, ways)), groups


def told(loss: object, group: Iterable[Move]) -> dx.GroupLoss:
    """What is lost between a data set and the one after all these moves: the cost of transport."""
    group = list(group)
    size = loss.universe.size  # type: ignore[attr-defined]
    before, after = [0] * size, [0] * size
    for i, j in group:
        before[i] += 1
        after[j] += 1
    return dx.group_loss(loss, before, after)  # type: ignore[arg-type]


def line(words: str, known: Sequence[Sequence[int]], d: dx.metrics.Metric, cost: object) -> None:
    """One line of the table: the largest group, and the largest loss of any group in a release."""
    moves = [(i, j) for i, j in permutations(range(d.universe.size), 2) if d.exact(i, j) < float("inf")]
    size, groups = together(known, moves)
    worst = max(told(cost, group).upper for group in groups)  # people who exchange their records change nothing
    print(f"  {words:<42}{size:>8}{float(worst):>14.2f}")


def main() -> None:
    d = dx.metrics.constant(people, 1)
    table = dx.plan(dx.table("region", "ill"), d, method="optimal")
    print("a table by region and ill, ε 1 for every two records:")
    print(f"  {'what everybody knows':<42}{'move':>8}{'lost, up to':>14}")
    line("the number of records", [], d, table.cost)
    line("and how many are ill", NUMBER_ILL, d, table.cost)
    line("and how many live in each region", BY_REGION, d, table.cost)
    line("and both", BY_REGION + NUMBER_ILL, d, table.cost)
    inside = dx.metrics.attributes(people, {"region": float("inf"), "ill": 1})
    public = dx.plan(dx.table("region", "ill"), inside, method="optimal")
    line("in which region everybody lives", BY_REGION, inside, public.cost)

    print("\nso with known regions, a third of the policy for all releases together:")
    third = dx.plan(dx.table("region", "ill"), d, budget=Fraction(1, 3), method="optimal")
    group = [(0, 3), (2, 5), (4, 1)]  # north → south, south → west, west → north; three ill people get well
    for words, plan in (("the whole policy", table), ("a third of it", third)):
        lost = float(told(plan.cost, group).upper)
        print(f"  {words:<20} loss {lost:.2f}, noise ± {plan.errors[0].half_width:.0f} a cell (95 %)")

    print("\nages 0 to k, and their sum is known:")
    for k in (1, 2, 3, 4):
        size, _ = together([list(range(k + 1))], permutations(range(k + 1), 2))
        print(f"  k = {k}   {size} move together")

    print("\nno part of the policy is small enough:")
    some = dx.metrics.from_matrix([[0, 1, "inf", "inf"], [1, 0, "inf", "inf"], ["inf"] * 2 + [0, "inf"],
                                   ["inf"] * 3 + [0]])  # fmt: skip
    plan = dx.plan([[1, 0, 0, 0], [0, 0, 1, 0]], some)  # north ill, south ill
    swap = told(some, [(0, 1), (3, 2)])  # one ill person less in the north, one more in the south
    print(
        f"  the ill of the south are public   noise {plan.scales[0]:g} and {plan.scales[1]:g}, loss {float(swap.upper)}"
    )
    print("                                    known total − exact south = exact north")
    alike = [float(told(dx.metrics.constant(2, 1), [(0, 1)] * n).upper) for n in (10, 100, 1000)]
    print(f"  all are ill, or nobody is         loss {', '.join(f'{x:g}' for x in alike)} for 10, 100, 1,000 records")


if __name__ == "__main__":
    main()
