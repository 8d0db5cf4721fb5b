"""From the metric's spec to a distance (docs/formats.md, section 3); what is not exactly as specified is refused."""

import math
from collections.abc import Callable
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.combined import Joined, Product, Restricted, Scaled, WithAbsent, WithOther
from dxprivacy.verify.distances import Constant, Distance, Graph, Line, Places, Table
from dxprivacy.verify.reading import refuse


def distance(spec: Any, size: int, where: str = "metric", depth: int = 0) -> Distance:
    """A distance on `size` cells from its spec; whatever does not fit is refused."""
    kind = spec.get("kind") if isinstance(spec, dict) else None
    if not isinstance(kind, str) or kind not in _BUILD or depth > 40:
        raise refuse(f"of unknown kind {str(kind)[:40]!r}", where)
    needed, build = _BUILD[kind]
    optional = ("range", "positions") if kind == "line" else ()
    made = build(reading.members(spec, where, ("kind", *needed), optional), size, where, depth + 1)
    if made.size != size:
        raise refuse(f"{kind} is over {made.size:,} cells instead of {size:,}", where)
    return made


def _constant(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:  # noqa: ARG001
    return Constant(size, reading.budget(spec["epsilon"], where))


def _line(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:  # noqa: ARG001
    if ("range" in spec) == ("positions" in spec):
        raise refuse("a line has a range or positions", where)
    per_unit = reading.budget(spec["per_unit"], where)
    if "positions" in spec:
        return Line(reading.each(spec["positions"], where, reading.whole), per_unit)
    ends = reading.each(spec["range"], where, reading.whole)
    if len(ends) != 2:
        raise refuse("a range has two ends", where)
    return Line(range(ends[0], ends[1] + 1), per_unit)


def _table(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:  # noqa: ARG001
    rows = []
    for k, row in enumerate(reading.each(spec["table"], where, reading.text)):
        entries = row.split(" ")
        if len(entries) != size - 1 - k or not all(
            e == "-" or (e.isascii() and e.isdigit() and len(e) < 40) for e in entries
        ):
            raise refuse(f"row {k + 1} of the table is damaged", where)
        rows.append([-1 if e == "-" else int(e) for e in entries])
    return Table(rows, reading.positive(spec["tick"], where))


def _graph(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:  # noqa: ARG001
    edges: dict[tuple[int, int], int] = {}
    for edge in reading.items(spec["edges"], where):
        given = reading.each(edge, where, lambda x, w: reading.whole(x, w, 0))
        if len(given) != 3 or not given[0] < given[1] < size or (given[0], given[1]) in edges:
            raise refuse("an edge is damaged", where)
        edges[given[0], given[1]] = given[2]
    return Graph(size, edges, reading.positive(spec["tick"], where))


def _places(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:  # noqa: ARG001
    rows = reading.coordinates(spec["coordinates"], where)
    if len({len(row) for row in rows}) != 1 or not rows[0] or len(rows[0]) > 1000:
        raise refuse("coordinates are damaged", where)
    kind, p = spec["kind"], 2.0
    if kind == "great-circle" and (len(rows[0]) != 2 or any(abs(a) > 90 or abs(b) > 360 for a, b in rows)):
        raise refuse("coordinates are no latitude and longitude", where)
    if kind == "minkowski":
        written = reading.text(spec["p"], where)
        if written not in ("inf", *map(str, range(1, 65))):
            raise refuse(f"p is {written[:20]!r}", where)
        p = float(written)
    return Places(rows, reading.positive(spec["per_unit"], where), None if kind == "great-circle" else p)


def _with_other(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:
    return WithOther(distance(spec["base"], size - 1, where, depth), reading.budget(spec["radius"], where))


def _with_absent(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:
    return WithAbsent(distance(spec["base"], size - 1, where, depth), reading.positive(spec["radius"], where))


def _scaled(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:
    return Scaled(distance(spec["base"], size, where, depth), reading.positive(spec["factor"], where))


def _capped(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:
    cap = Constant(size, reading.positive(spec["cap"], where))
    return Joined("min", [distance(spec["base"], size, where, depth), cap])


def _together(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:
    parts = [distance(part, size, where, depth) for part in reading.items(spec["parts"], where)]
    if spec["how"] not in ("sum", "max") or not parts:
        raise refuse("put together in an unknown way", where)
    return Joined(spec["how"], parts)


def _product(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:  # noqa: ARG001
    shape = reading.each(spec["shape"], where, lambda x, w: reading.whole(x, w, 1))
    axes = reading.items(spec["axes"], where)
    if not axes or len(axes) != len(shape):
        raise refuse("needs one axis per attribute", where)
    parts = [
        distance(axis, n, f"{where}, axis {k + 1}", depth) for k, (axis, n) in enumerate(zip(axes, shape, strict=True))
    ]
    return Product("sum" if spec["kind"] == "attribute-sum" else "max", parts)


def _restricted(spec: dict[str, Any], size: int, where: str, depth: int) -> Distance:  # noqa: ARG001
    cells = reading.each(spec["records"], where, reading.whole)
    shape = reading.each(spec["shape"], where, lambda x, w: reading.whole(x, w, 1, 1 << 28))
    total = math.prod(shape)
    if total > 1 << 28 or len(set(cells)) < len(cells) or not all(0 <= c < total for c in cells):
        raise refuse("records are damaged", where)
    return Restricted(distance(spec["base"], total, where, depth), cells)


_BUILD: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any], int, str, int], Distance]]] = {
    "constant": (("epsilon",), _constant),
    "line": (("per_unit",), _line),
    "matrix": (("tick", "table"), _table),
    "graph": (("tick", "edges"), _graph),
    "euclidean": (("per_unit", "coordinates"), _places),
    "great-circle": (("per_unit", "coordinates"), _places),
    "minkowski": (("per_unit", "coordinates", "p"), _places),
    "with-other": (("base", "radius"), _with_other),
    "with-absent": (("base", "radius"), _with_absent),
    "scaled": (("base", "factor"), _scaled),
    "capped": (("base", "cap"), _capped),
    "combined": (("how", "parts"), _together),
    "attribute-sum": (("shape", "axes"), _product),
    "attribute-max": (("shape", "axes"), _product),
    "restricted": (("base", "shape", "records"), _restricted),
}
