"""How the time of a certified Lipschitz constant grows with the number of points: measured, and drawn."""

import math
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.trees import all_pairs, constant, points_of, rough, smooth
from dxprivacy.output.charts.chart_style import ACCENT, CONFIG, GRAY, INK, Spec
from dxprivacy.output.charts.picture import Picture

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "growth.png"
SIZES = (3_000, 10_000, 30_000, 100_000, 300_000)
BRUTE = ((1_000, 1), (3_000, 1), (10_000, 1), (30_000, 10))
Point = dict[str, float | str]


def run() -> list[Figure]:
    """Draw, and tell the exponents between the ends of each line."""
    lines = measure()
    draw(lines)
    figures = []
    for name, points in lines.items():
        first, last = points[0], points[-1]
        exponent = math.log(last[1] / first[1]) / math.log(last[0] / first[0])
        target = "none" if name == "all pairs" else "≤ 1.15"
        what = f"growth exponent, {name}, {first[0]:,} to {last[0]:,} points"
        figures.append(Figure(what, last[1], first[1], exponent, target))
    return figures


def measure() -> dict[str, list[tuple[int, float]]]:
    """Processor seconds by number of points."""
    constant(points_of(2_000), smooth(points_of(2_000)))  # loads what is loaded once
    lines: dict[str, list[tuple[int, float]]] = {}
    for name, query in (("smooth row", smooth), ("rough row", rough)):
        for n in SIZES:
            points = points_of(n)
            values = query(points)
            lines.setdefault(name, []).append((n, min(constant(points, values) for _ in range(3 if n < 1e5 else 2))))
    for n, part in BRUTE:
        points = points_of(n)
        lines.setdefault("all pairs", []).append((n, all_pairs(points, smooth(points), part)))
    return lines


def draw(lines: dict[str, list[tuple[int, float]]], path: Path = PICTURE) -> Path:
    """Both axes logarithmic: a straight line is a power, its slope the exponent."""
    return Picture.of(spec(lines)).save(path)


def spec(lines: dict[str, list[tuple[int, float]]]) -> Spec:
    """The picture as Vega-Lite."""
    rows: list[Point] = [{"n": n, "s": s, "line": name} for name, points in lines.items() for n, s in points]
    ends: list[Point] = [{"n": p[-1][0], "s": p[-1][1], "line": name} for name, p in lines.items()]
    names = list(lines)
    shades = [ACCENT, INK, GRAY][: len(names)]
    color = {"field": "line", "type": "nominal", "scale": {"domain": names, "range": shades}}
    x = {"field": "n", "type": "quantitative", "scale": {"type": "log"}}
    y = {"field": "s", "type": "quantitative", "scale": {"type": "log"}}
    x["axis"] = {"title": "points (log)", "format": ",d", "values": [1_000, 10_000, 100_000]}
    y["axis"] = {"title": "processor seconds (log)", "values": [0.001, 0.01, 0.1, 1, 10], "format": "~g"}
    mark = {"type": "line", "point": {"size": 40, "filled": True}, "strokeWidth": 2}
    text = {"type": "text", "align": "left", "dx": 8}
    return {
        "title": {
            "text": "A certified constant takes time in step with the points, not with their pairs",
            "subtitle": "A row's largest change for its distance, with its pair; beside it all pairs in numpy",
        },
        "width": 520,
        "height": 300,
        "padding": {"left": 5, "top": 5, "right": 90, "bottom": 5},
        "config": CONFIG,
        "layer": [
            {"data": {"values": rows}, "mark": mark, "encoding": {"x": x, "y": y, "color": color}},
            {
                "data": {"values": ends},
                "mark": text,
                "encoding": {"x": x, "y": y, "color": color, "text": {"field": "line"}},
            },
        ],
    }


if __name__ == "__main__":
    for figure in run():
        print(figure)
