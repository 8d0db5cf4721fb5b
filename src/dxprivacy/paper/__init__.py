"""The paper's experiments, run with this package: `dxp reproduce`.

Kamalaruban, Perrier, Asghar, Kaafar, *Not All Attributes are Created Equal: d_X-Private Mechanisms for Linear Queries*
(PoPETs 2020), section "Experiments", and further experiments.  Each experiment is a module that measures numbers in
independent pieces and draws them.  Universes and queries are drawn from a seed: allowed here, and only here, because
no private data is involved.

In reading order: `figures`, `experiment`, `figure_drawing`, `kernels`, `bias_at_small_n`, `universes`,
`metric_families`, `mwem_errors`, `baselines`, `personal`, `range_strategies`, `us_places`, `figure_folder`,
`reproducing`, `strategies_by_k`, `standard_comparison`, `statistical_queries`, `thresholds`.
"""
