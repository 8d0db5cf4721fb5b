"""`dx.baselines`: what others do where records have budgets of their own, to compare with.

    baselines.stretching(Q, budgets)     Alaggan, Gambs, Kermarrec, *Heterogeneous Differential Privacy* (2015)
    baselines.sampling(Q, budgets)       Jorgensen, Yu, Cormode, *Conservative or Liberal? Personalized DP* (2015)

Both are for linear queries and one budget for each cell, eps_i for whoever has value i.  Both keep
`d(i, j) = eps_i + eps_j` where one record is replaced and n is public (`dx.metrics.per_element`), and even eps_i where
a record of value i is added or removed; proofs are in docs/theorems.md.  Both are biased: part of what strictly
protected records count is lost, whatever the noise.

No ledger takes part: every call of `release` spends again, and nobody counts what.

In reading order: `baseline`, `sampled`, `stretched`.
"""

from dxprivacy.paper.baselines.baseline import Baseline
from dxprivacy.paper.baselines.sampled import Sampled, sampling
from dxprivacy.paper.baselines.stretched import Stretched, stretching

__all__ = ["Baseline", "Sampled", "Stretched", "sampling", "stretching"]
