"""Draw random models: a policy or a metric of arrays, a workload, and how to plan it.

A model is plain JSON in the standard vocabulary and names nothing of the library: `adapter.py` translates it. So the
golden file keeps its models when names, modules or file formats change.
"""

import random
from datetime import date, timedelta
from typing import Any

Model = dict[str, Any]
Random = random.Random

GROUPS = {
    "policy": 6,
    "people": 3,
    "add-remove": 2,
    "maps": 2,
    "arrays": 3,
    "methods": 1,
    "objectives": 1,
    "selection": 1,
    "synthesis": 1,
}
"""How many of 20 models are of which kind."""
_ORDER = [group for group, times in GROUPS.items() for _ in range(times)]

QUERY_KINDS = (
    *("count", "table", "table", "count where", "sum", "mean", "proportion", "ratio", "quantile", "variance"),
    *("prefixes", "ranges", "marginals", "density", "blur", "two"),
)
METHODS = (*["auto"] * 10, *["optimal", "psa", "same-scale", "equal-split"] * 2, "matrix", "biased")
OBJECTIVES = ("squared", "absolute", "max", "geometric")


def random_model(seed: int) -> Model:
    """The model of a seed."""
    rng = random.Random(seed)
    group = _ORDER[seed % len(_ORDER)]
    model: Model = {"seed": seed, "group": group, "n_records": rng.choice([50, 400, 3000])}
    if group == "arrays":
        return {**model, **_arrays(rng), **_planning(rng)}
    if group == "objectives":
        rows = _rows(rng, 6, rng.randint(2, 4))
        metric = rng.choice([["line", 6, _epsilon(rng)], ["constant", 6, _epsilon(rng)]])
        return {**model, "metric": metric, "rows": rows, "method": "optimal", "objective": rng.choice(OBJECTIVES)}
    if group == "methods":
        return {**model, **_workload_of_methods(rng)}
    attributes = _attributes(rng, group)
    policy: Model = {"title": "Golden", "dataset": f"g{seed}"}
    if group == "add-remove":
        policy |= {"neighbors": "add-remove", "epsilon_presence": _epsilon(rng), "max_records": 5000}
    if group == "people":
        policy["people"] = {"key": "who", "max_rows": rng.choice([1, 2, 3])}
        if rng.random() < 0.4:
            policy["epsilon_presence"] = _epsilon(rng)
    if len(attributes) > 1 and rng.random() < 0.15:
        policy["combine"] = {"how": "max"}
    policy["attributes"] = {name: fields for name, (fields, _) in attributes.items()}
    files = {name: facts["file"] for name, (_, facts) in attributes.items() if "file" in facts}
    known = {name: facts for name, (_, facts) in attributes.items()}
    model |= {"policy": policy, "files": files}
    if group == "selection":
        return {**model, "selection": _selection(rng, known), "budget": _budget(rng), "flip": rng.random() < 0.3}
    if group == "synthesis":
        method = rng.choice(["direct", "mwem", "smalldb"])
        rows = [f"count by {next(iter(known))}"] if method == "smalldb" else [f"marginals {min(2, len(known))}"]
        return {**model, "synthesis": method, "queries": rows, "budget": _budget(rng), "n_records": 60}
    queries = [_query(rng, known, group) for _ in range(rng.choice([1, 1, 2, 3]))]
    if group == "maps":
        queries = [_map_query(rng, known)]
    return {**model, "queries": queries, **_planning(rng, among=METHODS if group == "policy" else ("auto",))}


def _epsilon(rng: Random) -> float:
    return rng.choice([0.1, 0.25, 0.5, 1, 1.5, 2, 0.7])


def _budget(rng: Random) -> str:
    return rng.choice(["1", "1/4", "1/2", "3/10"])


def _planning(rng: Random, among: tuple[str, ...] = METHODS) -> Model:
    return {"method": rng.choice(among), "budget": _budget(rng)}


# -- attributes: the fields of a policy, and what queries may say of them ----------------------------------------------


def _attributes(rng: Random, group: str) -> dict[str, tuple[Model, Model]]:
    few = group in ("selection", "synthesis", "people")
    kinds = [*_ATTRIBUTE_KINDS, "values", "integers", "integers", "numbers", "numbers"]
    if few:
        kinds = ["values", "own", "order", "integers", "integers"]
    out = {}
    if group == "maps":
        out["home"] = _places(rng) if rng.random() < 0.5 else _grid(rng)
    elif group == "policy" and rng.random() < 0.2:
        out["home"] = _places(rng)
    for k in range(rng.choice([1, 2, 2, 3]) if group != "maps" else rng.choice([0, 0, 1])):
        name = "abc"[k]
        out[name] = _ATTRIBUTE_KINDS[rng.choice(kinds)](rng, name)
    return out


def _values(rng: Random, name: str) -> tuple[Model, Model]:
    listed = [f"{name}{k}" for k in range(rng.randint(2, 4))]
    fields: Model = {"values": listed, "epsilon": _epsilon(rng)}
    if rng.random() < 0.2:
        fields["other"] = {"epsilon": _epsilon(rng)}
    return fields, {"listed": listed}


def _own_budgets(rng: Random, name: str) -> tuple[Model, Model]:
    listed = [f"{name}{k}" for k in range(rng.randint(2, 4))]
    fields: Model = {"values": listed, "epsilon": {value: _epsilon(rng) for value in listed}}
    if rng.random() < 0.3:
        fields["between"] = "sum"
    return fields, {"listed": listed}


def _order(rng: Random, name: str) -> tuple[Model, Model]:
    listed = [f"{name}{k}" for k in range(rng.randint(2, 5))]
    fields: Model = {"order": listed, "epsilon": _epsilon(rng), "per": 1}
    places = rng.random() < 0.4
    if places:
        fields["places"] = [k * k for k in range(len(listed))]
    return fields, {"listed": listed, "ordered": True, "numeric": places}


def _integers(rng: Random, name: str) -> tuple[Model, Model]:
    low, size = rng.randint(-3, 30), rng.randint(2, 12)
    fields: Model = {"integers": [low, low + size - 1], "epsilon": _epsilon(rng), "per": rng.choice([1, 2, 10])}
    if rng.random() < 0.2:
        fields["max_epsilon"] = 2 * fields["epsilon"]
    if rng.random() < 0.2:
        fields["outside"] = "clamp"
    if rng.random() < 0.2:
        fields["complete"] = True
    first = rng.randint(0, size - 1)
    between = f"{low + first}..{low + rng.randint(first, size - 1)}"
    return fields, {"between": between, "ordered": True, "numeric": True, "groups": ["/2", "/3"], "span": size}


def _numbers(rng: Random, name: str) -> tuple[Model, Model]:
    step, bins = rng.choice([0.5, 2, 10]), rng.randint(2, 8)
    fields: Model = {"numbers": [0, step * bins], "step": step, "epsilon": _epsilon(rng), "per": step}
    if rng.random() < 0.3:
        fields["outside"] = "clamp"
    first = rng.randint(0, bins - 1)
    between = f"{first * step}..{rng.randint(first + 1, bins) * step}"
    return fields, {"between": between, "ordered": True, "numeric": True, "groups": [f"/{step}"], "span": step * bins}


def _dates(rng: Random, name: str) -> tuple[Model, Model]:
    first = date(2026, 2, 1)
    if rng.random() < 0.3:
        fields: Model = {"dates": ["2026-01-01", "2026-08-31"], "step": "1 month", "epsilon": _epsilon(rng)}
        fields["per"] = "1 month"
        return fields, {"between": "2026-02..2026-05", "ordered": True, "groups": ["/2", "/quarter"]}
    days = rng.randint(3, 15)
    last = first + timedelta(days=days - 1)
    fields = {"dates": [str(first), str(last)], "epsilon": _epsilon(rng), "per": rng.choice(["1 day", "7 days"])}
    between = f"{first + timedelta(days=1)}..{first + timedelta(days=rng.randint(1, days - 1))}"
    return fields, {"between": between, "ordered": True, "groups": ["/week", "/2", "/weekday"]}


def _weekdays(rng: Random, name: str) -> tuple[Model, Model]:
    fields: Model = {"column": f"{name}day", "weekdays": True, "epsilon": _epsilon(rng)}
    if rng.random() < 0.5:
        fields["per"] = "1 day"
    return fields, {"listed": ["Monday", "Tuesday", "Sunday"]}


def _hours(rng: Random, name: str) -> tuple[Model, Model]:
    fields: Model = {"column": f"{name}time", "hours": [0, 24], "step": rng.choice(["3 hours", "6 hours"])}
    fields |= {"epsilon": _epsilon(rng), "per": "3 hours"}
    if rng.random() < 0.5:
        fields["circle"] = True
    return fields, {"between": rng.choice(["06:00..12:00", "00:00..18:00"]), "ordered": "circle" not in fields}


def _listed(rng: Random, name: str) -> tuple[Model, Model]:
    zones = [rng.choice("xyz") for _ in range(rng.randint(2, 6))]
    lines = [f"{name}id,zone,size", *(f"z{k},{zone},{rng.randint(1, 9)}" for k, zone in enumerate(zones))]
    fields: Model = {"values": f"{name}.csv", "id": f"{name}id", "epsilon": _epsilon(rng)}
    return fields, {"file": [f"{name}.csv", "\n".join(lines) + "\n"], "facts": ["zone"], "sums": ["size"]}


def _series(rng: Random, name: str) -> tuple[Model, Model]:
    columns = [f"{name}{k}" for k in range(rng.randint(1, 3))]
    fields: Model = {"columns": columns, "integers": [0, rng.randint(1, 3)], "epsilon": _epsilon(rng), "per": 1}
    return fields, {"facts": columns, "sums": [*columns, "total"]}


def _graph(rng: Random, name: str) -> tuple[Model, Model]:
    nodes = [f"n{k}" for k in range(rng.randint(2, 6))]
    edges = [(nodes[rng.randrange(k)], nodes[k]) for k in range(1, len(nodes))] + [(nodes[0], nodes[-1])]
    lines = ["one,two,length", *(f"{u},{v},{rng.randint(1, 5)}" for u, v in dict.fromkeys(edges) if u != v)]
    fields: Model = {"graph": f"{name}.csv", "epsilon": _epsilon(rng)}
    return fields, {"file": [f"{name}.csv", "\n".join(lines) + "\n"], "listed": nodes}


def _places(rng: Random) -> tuple[Model, Model]:
    flat = rng.random() < 0.4
    head = "id,x,y,zone" if flat else "id,latitude,longitude,zone"
    lines = [head]
    for k in range(rng.randint(3, 9)):
        one, two = round(rng.uniform(0, 5), 3), round(rng.uniform(0, 5), 3)
        lines.append(f"p{k},{one},{two},{rng.choice('xyz')}")
    fields: Model = {"points": "home.csv", "id": "id", "epsilon": _epsilon(rng), "per": 1 if flat else "100 km"}
    if flat:
        fields["metric"] = rng.choice(["euclidean", "manhattan", "chebyshev"])
    draw = rng.random()
    if draw < 0.15:
        del fields["per"]
        fields |= {"metric": "blowfish", "threshold": 3 if flat else "300 km"}
    elif draw < 0.3:
        del fields["per"]
        fields |= {"metric": "smooth", "threshold": 2 if flat else "200 km"}
    elif draw < 0.45:
        fields["max_epsilon"] = 3
    facts = {"file": ["home.csv", "\n".join(lines) + "\n"], "facts": ["zone"], "flat": flat, "map": True}
    return fields, facts


def _grid(rng: Random) -> tuple[Model, Model]:
    flat = rng.random() < 0.5
    side = rng.randint(2, 6)
    fields: Model = {"grid": 1 if flat else "20 km", "box": [0, 0, side, side] if flat else [0, 0, side / 5, side / 5]}
    fields |= {"coordinates": ["y", "x"], "epsilon": _epsilon(rng), "per": 2 if flat else "40 km"}
    if flat:
        fields["metric"] = "euclidean"
    return fields, {"flat": flat, "map": True, "grid": True}


_ATTRIBUTE_KINDS = {
    "values": _values,
    "own": _own_budgets,
    "order": _order,
    "integers": _integers,
    "numbers": _numbers,
    "dates": _dates,
    "weekdays": _weekdays,
    "hours": _hours,
    "listed": _listed,
    "series": _series,
    "graph": _graph,
}


# -- queries -----------------------------------------------------------------------------------------------------------


def _by(rng: Random, name: str, facts: Model) -> str:
    forms = [f"{name}.{fact}" for fact in facts.get("facts", ())]
    if not facts.get("map") or not forms:
        forms.append(name)
    forms += [f"{name}{group}" for group in facts.get("groups", ())]
    return rng.choice(forms)


def _where(rng: Random, name: str, facts: Model) -> str:
    if "between" in facts:
        return f"{name}={facts['between']}"
    if facts.get("facts") == ["zone"]:
        return f"{name}.zone={rng.choice('xyz')}"
    if "listed" not in facts:
        return f"{name}=other"
    one, two = rng.choice(facts["listed"]), rng.choice(facts["listed"])
    return rng.choice([f"{name}={one}", f"{name}={one}|{two}", f"not {name}={one}"])


def _query(rng: Random, known: dict[str, Model], group: str) -> str:
    names = list(known)
    numeric = [name for name in names if known[name].get("numeric")]
    numeric += [f"{name}.{fact}" for name in names for fact in known[name].get("sums", ())]
    some = rng.sample(names, rng.randint(1, min(2, len(names))))
    by = ", ".join(_by(rng, name, known[name]) for name in some)
    rest = [name for name in names if name not in some]
    where = f" where {_where(rng, rest[0], known[rest[0]])}" if rest and rng.random() < 0.5 else ""
    one = names[0]
    kind = rng.choice(QUERY_KINDS)
    if group == "people" and rng.random() < 0.4:
        return rng.choice(
            [f"count people by {by}{where}", "count people", f"count people where {_where(rng, one, known[one])}"]
        )
    if kind in ("sum", "mean", "ratio", "quantile", "variance", "density", "two") and not numeric:
        kind = "table"
    of = rng.choice(numeric) if numeric else ""
    root = of.partition(".")[0]
    groups = [name for name in names if name != root]
    grouped = f" by {_by(rng, groups[0], known[groups[0]])}" if groups and rng.random() < 0.5 else ""
    target = f" within {rng.choice([5, 20, 100])}" if rng.random() < 0.2 else ""
    span = known[root].get("span") if root else None
    match kind:
        case "count":
            return "count" + target
        case "count where":
            return f"count where {_where(rng, one, known[one])}" + target
        case "sum":
            return f"sum {of}{grouped}" + target
        case "mean":
            return f"mean {of}{grouped}"
        case "proportion":
            return f"proportion where {_where(rng, one, known[one])}"
        case "ratio":
            return f"ratio of sum {of} to count{grouped}"
        case "quantile" if known[root].get("numeric"):
            return rng.choice([f"median {of}{grouped}", f"quantile 0.25, 0.75 of {of}"])
        case "variance" if known[root].get("numeric"):
            return rng.choice([f"variance {of}{grouped}", f"sd {of}"])
        case "two" if len(numeric) > 1:
            return f"{rng.choice(['covariance', 'correlation'])} {numeric[0]}, {numeric[1]}"
        case "density" if span:
            return f"density {of} width {span / 2:g}"
        case "blur" if span:
            return f"count by {of}{rng.choice(known[root]['groups'])} blur {span / 4:g}"
        case "prefixes" | "ranges" if known[one].get("ordered"):
            return f"{kind} {one}"
        case "marginals":
            return f"marginals {rng.randint(1, len(names))}"
    return f"count by {by}{where}" + target


def _map_query(rng: Random, known: dict[str, Model]) -> str:
    home = known["home"]
    unit = "" if home["flat"] else " km"
    width = rng.choice([0.5, 1, 1.5]) if home["flat"] else rng.choice([5, 10, 30])
    if home.get("grid"):
        return rng.choice(
            [f"density home width {width}{unit}", f"density home width {width}{unit} every {width}{unit}"]
        )
    forms = [f"density home width {width}{unit} every {width}{unit}", f"count by home.zone blur {width}{unit}"]
    return rng.choice([*forms, "count by home.zone", "count by home"])


def _selection(rng: Random, known: dict[str, Model]) -> str:
    names = list(known)
    numeric = [name for name in names if known[name].get("numeric")]
    listed = [name for name in names if "listed" in known[name]]
    forms = [f"median {name}" for name in numeric] + [f"quantile 0.9 of {name}" for name in numeric]
    forms += [f"most common {name}" for name in listed] + [f"3 bins of {name}" for name in numeric]
    return rng.choice(forms)


# -- arrays ------------------------------------------------------------------------------------------------------------


def _rows(rng: Random, n: int, k: int) -> list[list[float]]:
    kind = rng.choice(["01", "small", "prefix", "real"])
    if kind == "prefix":
        return [[1] * (j + 1) + [0] * (n - j - 1) for j in range(min(k, n - 1))]
    entries = {"01": [0, 1], "small": [0, 0, 1, -2, 3], "real": [0, 0.5, 0.25, 1, 2.75]}[kind]
    return [[rng.choice(entries) for _ in range(n - 1)] + [1] for _ in range(k)]


def _points(rng: Random, n: int, top: int = 9) -> list[list[float]]:
    seen = [[k % 4, k // 4] for k in range(n)]
    return [[x + round(rng.random(), 2) * 0.5, y + rng.randint(0, top) / 20] for x, y in seen]


def _arrays(rng: Random) -> Model:
    n = rng.randint(3, 9)
    metric = _base_metric(rng, n)
    derived = rng.choice(["", "", "", "scaled", "capped", "maximum", "summed", "restricted", "with_absent"])
    on_points = metric[0] in ("euclidean", "manhattan", "chebyshev")
    match derived:
        case "scaled":
            metric = ["scaled", metric, rng.choice(["1/3", "2", "5/7"])]
        case "capped":
            metric = ["capped", metric, _epsilon(rng)]
        case "maximum" if on_points:
            metric = ["maximum", metric, ["chebyshev", metric[1], 0.4]]
        case "summed" if on_points:
            metric = ["summed", metric, ["manhattan", metric[1], 0.2]]
        case "restricted":
            metric, n = ["restricted", metric, sorted(rng.sample(range(n), 3))], 3
        case "with_absent":
            metric = ["with_absent", metric, _epsilon(rng), 5000]
    return {"metric": metric, "rows": _rows(rng, n, rng.randint(1, 5))}


def _base_metric(rng: Random, n: int) -> list[Any]:
    match rng.choice(["constant", "line", "points", "points", "minkowski", "earth", "graph", "near", "each", "matrix"]):
        case "constant":
            return ["constant", n, _epsilon(rng)]
        case "line":
            return ["line", n, _epsilon(rng)]
        case "points":
            return [rng.choice(["euclidean", "manhattan", "chebyshev"]), _points(rng, n), rng.choice([0.3, 1, 0.05])]
        case "minkowski":
            return ["minkowski", _points(rng, n), rng.choice([1, 2, 3]), 0.3]
        case "earth":
            return [
                "great_circle",
                [[round(rng.uniform(-60, 60), 3), round(rng.uniform(-180, 180), 3)] for _ in range(n)],
                0.001,
            ]
        case "graph":
            edges = [[f"v{rng.randrange(k)}", f"v{k}", rng.choice([1, 0.5, 2])] for k in range(1, n)]
            return ["graph", edges]
        case "near":
            return [rng.choice(["blowfish", "smooth"]), [[k, rng.randint(0, 2)] for k in range(n)], _epsilon(rng), 2]
        case "each":
            return ["per_element", [_epsilon(rng) for _ in range(n)]]
    table = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            table[i][j] = table[j][i] = _epsilon(rng)
    return ["from_matrix", table]


def _workload_of_methods(rng: Random) -> Model:
    """Ranges, prefixes and tables that other strategies answer with less noise."""
    size = rng.choice([6, 8, 12, 16])
    attribute: Model = {"integers": [0, size - 1], "epsilon": _epsilon(rng), "per": 1}
    if rng.random() < 0.5:
        attribute["max_epsilon"] = attribute["epsilon"] * rng.choice([1.5, 2, 4])
    policy: Model = {"title": "Golden", "dataset": "m", "attributes": {"a": attribute}}
    query = rng.choice(["ranges a", "prefixes a", "count by a"])
    if rng.random() < 0.5:
        tables = [f"v{k}" for k in range(rng.choice([2, 3, 4]))]
        policy["attributes"] = {
            name: {"values": tables, "epsilon": rng.choice([0.1, 0.5, 1])} for name in "abcd"[: rng.choice([2, 3])]
        }
        query = "marginals 2"
    queries = [query] if rng.random() < 0.7 else [query, "count by a"]
    return {
        "policy": policy,
        "files": {},
        "queries": queries,
        "method": rng.choice(["auto", "matrix", "k-norm", "optimal"]),
        "budget": _budget(rng),
    }
