"""How much noise each method needs for the same guarantee: ranges on a line, tables, smooth queries about places.

python examples/least_noise.py [PICTURE]    prints the root mean square error of an answer, and draws it if asked to
"""

import sys

import numpy as np

import dxprivacy as dx

METHODS = {
    "equal-split": "strategy 1: equal split",
    "same-scale": "strategy 2: one scale",
    "psa": "strategy 3: PSA, repaired",
    "optimal": "optimal scales",
    "auto": "other rows counted",
}


def workloads() -> dict[str, tuple[list[object], dx.metrics.Metric]]:
    """Queries and the policy they are asked under."""
    ages = dx.Universe([dx.Integers(name="age", low=0, high=31)])
    names = "abcd"
    table = dx.Universe([dx.Values(name=n, values=("1", "2", "3", "4"), has_other=False) for n in names])
    rng = np.random.default_rng(4)
    places = rng.uniform(0, 100, (60, 2))
    waves = np.cos(places @ rng.normal(0, 0.05, (2, 20)) + rng.uniform(0, 6, 20)).T
    return {
        "all ranges of 32 ages": ([dx.ranges("age")], dx.metrics.attributes(ages, {"age": {"epsilon": 1, "per": 1}})),
        "2-way tables of 4×4×4×4": (
            [dx.marginals(2)],
            dx.metrics.attributes(table, dict(zip(names, (1, 0.5, 0.25, 0.1), strict=True))),
        ),
        "20 smooth queries, 60 places": ([dx.matrix(waves)], dx.metrics.euclidean(places, epsilon_per_unit="0.01")),
    }


def errors() -> list[dict[str, object]]:
    """The root mean square error of an answer, by workload and method."""
    out: list[dict[str, object]] = []
    for what, (queries, metric) in workloads().items():
        for method, words in METHODS.items():
            plan = dx.plan(queries, metric, method=method)
            if method == "auto" and plan.measured is None:
                continue  # nothing else is worth counting
            out.append({"what": what, "method": words, "error": float(np.sqrt((plan.expected_rmse**2).mean()))})
    return out


def picture(rows: list[dict[str, object]]) -> dx.plots.Picture:
    """Bars on a logarithmic axis, a panel for each workload."""
    order = list(METHODS.values())
    across = {"field": "error", "type": "quantitative", "scale": {"type": "log", "domainMin": 1}, "title": None}
    shared = {"x": across, "y": {"field": "method", "type": "nominal", "sort": order, "title": None}}
    bars = {
        "mark": {"type": "bar", "color": "#0b5fa5", "height": 13},
        "encoding": {**shared, "x2": {"datum": 1}},
    }
    labels = {
        "mark": {"type": "text", "align": "left", "dx": 4, "color": "#222"},
        "encoding": {**shared, "text": {"field": "error", "format": ",.3~r"}},
    }
    return dx.plots.Picture.of(
        {
            "title": {
                "text": "The same guarantee, less and less noise",
                "subtitle": "root mean square error of an answer, logarithmic; each bar is a certified plan",
                "anchor": "start",
            },
            "data": {"values": rows},
            "facet": {
                "row": {
                    "field": "what",
                    "title": None,
                    "sort": list(workloads()),
                    "header": {"labelAngle": 0, "labelAlign": "left"},
                }
            },
            "spec": {"layer": [bars, labels], "width": 380, "height": {"step": 20}},
            "resolve": {"scale": {"x": "independent"}},
            "config": {"view": {"stroke": None}, "axis": {"grid": False}},
        }
    )


def main(target: str) -> None:
    rows = errors()
    for row in rows:
        print(f"{row['what']:32s}{row['method']:28s}{row['error']:10.4g}")
    if target:
        print(picture(rows).save(target, scale=1.4))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
