"""Discrete Laplace noise against OpenDP's, sample for sample, at the same scale and in the same run."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dxprivacy.mechanisms.sampling.discrete_laplace import discrete_laplace

SCALE = 3.3


def run() -> list[dict[str, Any]]:
    """One row per size: our seconds, OpenDP's, and how many times faster ours is (target: at least)."""
    peer = opendp_laplace()
    discrete_laplace(np.ones(1))  # builds the table that a process builds once
    rows = []
    for size, repeats in [(10_000, 5), (1_000_000, 1)]:
        scales, zeros = np.full(size, SCALE), [0] * size
        ours = best(lambda scales=scales: discrete_laplace(scales), 5)
        theirs = best(lambda zeros=zeros: peer(zeros), repeats)
        what = f"discrete Laplace noise, {size:,} samples, against OpenDP"
        rows.append({"what": what, "ours_s": ours, "peer_s": theirs, "ratio": theirs / ours, "target": "≥ 40"})
    return rows


def opendp_laplace() -> Callable[[list[int]], list[int]]:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=SCALE)


def best(work: Callable[[], object], repeats: int) -> float:
    """The least seconds of several runs: the one that was disturbed least."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    for row in run():
        print(f"{row['what']}: {row['ours_s']:.4f} s against {row['peer_s']:.4f} s, {row['ratio']:.0f} times faster")
