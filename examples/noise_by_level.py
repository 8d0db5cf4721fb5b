"""Where noise that agrees gains: 64 values that are alike, all ranges asked; errors of ranges by their length.

python examples/noise_by_level.py [PICTURE]    prints root mean square errors, and draws them if asked to
"""

import sys

import numpy as np

import dxprivacy as dx

CELLS = 64
METHODS = {
    "matrix": "other counts, independent noise",
    "k-norm": "nested counts, noise that agrees",
}


def errors() -> list[dict[str, object]]:
    """By the length of a range: the root mean square error of all ranges so long."""
    place = np.arange(CELLS)
    ends = [(a, a + length) for length in range(1, CELLS) for a in range(CELLS - length + 1)]
    asked = np.array([(a <= place) & (place < b) for a, b in ends], dtype=int)
    lengths = asked.sum(axis=1)
    out: list[dict[str, object]] = []
    for method, words in METHODS.items():
        plan = dx.plan(asked, dx.metrics.constant(CELLS, 1), method=method)
        squares = plan.expected_rmse**2
        for length in (2**k for k in range(6)):
            mean = float(np.sqrt(squares[lengths == length].mean()))
            out.append({"method": words, "length": length, "error": mean})
        out.append(
            {"method": words, "length": CELLS - 1, "error": float(np.sqrt(squares[lengths == CELLS - 1].mean()))}
        )
    return out


def picture(rows: list[dict[str, object]]) -> dx.plots.Picture:
    """A line for each method, both axes logarithmic; named at its end."""
    length = {
        "field": "length",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2},
        "axis": {"values": [1, 2, 4, 8, 16, 32, 63], "title": "values in the range", "grid": False},
    }
    error = {
        "field": "error",
        "type": "quantitative",
        "scale": {"type": "log", "domain": [3.5, 11]},
        "axis": {"title": "root mean square error", "grid": False, "values": [4, 5, 6, 7, 8, 9, 10]},
    }
    color = {
        "field": "method",
        "type": "nominal",
        "scale": {"domain": list(METHODS.values()), "range": ["#c46a1b", "#0b5fa5"]},
        "legend": None,
    }
    line = {"mark": {"type": "line", "point": True}, "encoding": {"x": length, "y": error, "color": color}}
    above, below = METHODS.values()
    names = [
        {
            "transform": [{"filter": f"datum.length == 8 && datum.method == '{words}'"}],
            "mark": {"type": "text", **at},
            "encoding": {"x": length, "y": error, "text": {"field": "method"}, "color": color},
        }
        for words, at in (
            (above, {"align": "right", "dx": -8, "dy": -10}),
            (below, {"align": "left", "dx": 8, "dy": 12}),
        )
    ]
    return dx.plots.Picture.of(
        {
            "title": {
                "text": "Noise that agrees, by the length of a range",
                "subtitle": "64 values, one ε for all pairs; each line is a certified plan of the same cost",
                "anchor": "start",
            },
            "data": {"values": rows},
            "layer": [line, *names],
            "width": 460,
            "height": 260,
            "config": {"view": {"stroke": None}},
        }
    )


def main(target: str) -> None:
    rows = errors()
    for row in rows:
        print(f"{row['method']:36s}{row['length']:4d}{row['error']:10.4g}")
    if target:
        print(picture(rows).save(target, scale=1.4))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
