"""`dx.baselines`: published mechanisms for records with individual ε, for comparison.

    baselines.stretching(Q, budgets)     Alaggan, Gambs, Kermarrec, *Heterogeneous Differential Privacy* (2015)
    baselines.sampling(Q, budgets)       Jorgensen, Yu, Cormode, *Conservative or Liberal? Personalized DP* (2015)

Both answer linear queries with one budget eps_i for each possible record i.  Both keep `d(i, j) = eps_i + eps_j` under
replace neighbors, with n public (`dx.metrics.per_element`), and even eps_i if a record of value i is added or removed;
proofs are in docs/theorems.md.  Both are biased: they count strictly protected records only in part.

They use no ledger: every call of `release` spends again, and no cost is recorded.

In reading order: `baseline`, `sampled`, `stretched`.
"""

from dxprivacy.paper.baselines.baseline import Baseline
from dxprivacy.paper.baselines.sampled import Sampled, sampling
from dxprivacy.paper.baselines.stretched import Stretched, stretching

__all__ = ["Baseline", "Sampled", "Stretched", "sampling", "stretching"]
