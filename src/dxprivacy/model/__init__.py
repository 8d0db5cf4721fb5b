"""The model: universes, metrics, questions, workloads and costs.  numpy only; no data."""
