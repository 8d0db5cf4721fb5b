"""The error of a strategy that asks every cell and a few rows more, with its gradient, without an N x N inverse.

The strategy is A = [diag(a); F] with q rows in F, so that M = diag(a^2) + F'F, and M^-1 is a diagonal minus a matrix
of rank q (Woodbury).  Where the all-ones direction is free, Z = M^-1 - k k'/(1'k) with k = M^-1 1 takes its place.
Value and gradient of tr(G Z) cost one product of a (q+1) x N by an N x N matrix: this is what makes searches over
strategies quick.  dZ = -Z dM Z gives the gradients -2 a diag(ZGZ) and -2 F ZGZ.
"""

import numpy as np

from dxprivacy.exact.arrays import Floats


def cells_and_rows(a: Floats, F: Floats, G: Floats, *, free: bool) -> tuple[float, Floats, Floats]:
    """tr(G Z), and its derivatives by a and by F.

    >>> cells_and_rows(np.array([1.0, 2.0]), np.zeros((0, 2)), np.eye(2), free=False)[0]
    1.25
    """
    q = len(F)
    s = 1 / a
    Y = F * s
    back = np.linalg.inv(np.linalg.cholesky(np.eye(q) + Y @ Y.T))
    B = (back @ Y) * s
    if free:
        k = s * s - B.T @ B.sum(axis=1)
        root = np.sqrt(k.sum())
        B = np.vstack([B, k / root])
    BG = B @ G
    crossed = (B * BG).sum(axis=0)
    g = np.diagonal(G)
    value = float((s * s * g - crossed).sum())
    bent = s**4 * g - 2 * s * s * crossed + (B * ((BG @ B.T) @ B)).sum(axis=0)
    P = back.T @ BG[:q]
    if free:
        P = P - np.outer(F @ k / root, BG[q])
    PZ = P * (s * s) - (P @ B.T) @ B
    return value, -2 * a * bent, -2 * PZ
