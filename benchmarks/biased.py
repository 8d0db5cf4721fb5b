"""Biased plans against the unbiased optimum: the ratio of errors by number of records, for points in the plane."""

import time

import numpy as np
from scipy.sparse import csr_array

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.biased import Biased, many
from dxprivacy.optimize.pair_constraints import SparsePairs

SCALES = (1.0, 0.05)  # epsilon for one unit of distance, in a square of 100 by 100
RECORDS = (10, 100, 1000, 10_000)
KINDS = ("uniform", "binary")


def run(size: int = 16, rows: int = 3, repeats: int = 4) -> list[dict[str, object]]:
    """One line for each scale, number of records and kind of rows: medians over random universes."""
    lines = []
    for scale in SCALES:
        for n in RECORDS:
            for kind in KINDS:
                found = [_case(np.random.default_rng(k), size, rows, scale, n, kind) for k in range(repeats)]
                ratio, seconds, names = zip(*found, strict=True)
                lines.append(
                    {
                        "scale": scale,
                        "n": n,
                        "rows": kind,
                        "ratio": float(np.median(ratio)),
                        "least": min(ratio),
                        "seconds": float(np.median(seconds)),
                        "by": ", ".join(sorted(set(names))),
                    }
                )
    return lines


def _case(rng: np.random.Generator, size: int, rows: int, scale: float, n: int, kind: str) -> tuple[float, float, str]:
    at = rng.uniform(0, 100, (size, 2))
    i, j = np.triu_indices(size, 1)
    d = np.hypot(*(at[i] - at[j]).T) * scale
    Q = rng.uniform(0, 1, (rows, size)) if kind == "uniform" else rng.integers(0, 2, (rows, size)).astype(float)
    start = time.perf_counter()
    found, plain = solve(Q, i, j, d, n)
    return (found.loss / plain) ** 0.5, time.perf_counter() - start, found.name


def solve(Q: Floats, i: Ints, j: Ints, d: Floats, n: int) -> tuple[Biased, float]:
    """The biased plan and the loss of the unbiased optimum that it starts from."""
    pairs = SparsePairs(csr_array(np.abs(Q[:, i] - Q[:, j]).T), d)
    scales = (1 + 1e-12) / optimize(pairs, np.ones(len(Q)), 2, np.full(len(Q), np.inf)).w
    return many(Q, i, j, d, n, np.ones(len(Q)), scales), float(2 * scales @ scales)


if __name__ == "__main__":
    print("| ε per unit | n | rows | RMSE / unbiased, median | least | seconds | by |")
    print("|---|---|---|---|---|---|---|")
    for line in run():
        print(
            f"| {line['scale']} | {line['n']:,} | {line['rows']} | {line['ratio']:.4f} | {line['least']:.4f}"
            f" | {line['seconds']:.1f} | {line['by']} |",
            flush=True,
        )
