"""`dxp check`: a policy explained, fit for a lawyer to sign, with everything worth a second look."""

import math
from dataclasses import dataclass
from typing import Any

from dxprivacy.model.attributes import Attribute, Integers
from dxprivacy.model.metrics import Matrix, Metric, WithOther
from dxprivacy.model.universe import Universe
from dxprivacy.policy.policy import Policy
from dxprivacy.wording import columns, digits, plain, plural, tag, wrap


@dataclass(frozen=True)
class Row:
    """One attribute: its strictest and loosest pair among the listed values."""

    attribute: str
    strictest: str
    strictest_epsilon: float
    loosest: str
    loosest_epsilon: float
    public: bool
    tightened: bool


@dataclass(frozen=True)
class Notice:
    """Something worth a second look."""

    kind: str
    text: str


@dataclass(frozen=True)
class Check:
    """The whole page."""

    title: str
    dataset: str
    digest: str
    cells: int
    sizes: tuple[tuple[str, int], ...]
    rows: tuple[Row, ...]
    worst_case: float
    public: bool
    warnings: tuple[Notice, ...]
    identical: tuple[tuple[str, str], ...]
    tightened: tuple[tuple[str, str, float, float], ...]

    def __str__(self) -> str:
        return "\n".join(plain(line) for line in check_lines(self))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite numbers as null."""
        return {
            "valid": True,
            "title": self.title,
            "dataset": self.dataset,
            "metric": self.digest,
            "possible_records": self.cells,
            "attributes": [
                {
                    "name": r.attribute,
                    "values": size,
                    "strictest_pair": r.strictest,
                    "strictest_epsilon": _finite(r.strictest_epsilon),
                    "loosest_pair": r.loosest,
                    "loosest_epsilon": _finite(r.loosest_epsilon),
                    "public": r.public,
                    "tightened": r.tightened,
                }
                for r, (_, size) in zip(self.rows, self.sizes, strict=True)
            ],
            "worst_case_epsilon": _finite(self.worst_case),
            "warnings": [{"kind": w.kind, "text": w.text} for w in self.warnings],
        }


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def check(policy: Policy) -> Check:
    """Look at every attribute."""
    axes = policy.metric.axes or (policy.metric,)
    rows, warnings, identical, tightened = [], [], [], []
    for attribute, metric in zip(policy.universe.attributes, axes, strict=True):
        row, found = _row(attribute, metric), _tightened(attribute, metric)
        rows.append(row)
        tightened += found
        same = [(attribute.label(i), attribute.label(j)) for i, j in metric.identical]
        identical += same
        if found:
            warnings.append(_tightened_warning(attribute, metric, found))
        if row.public:
            warnings.append(_public_warning(attribute, metric))
        if same:
            text = f"{plural(len(same), 'pair')} of {attribute.name} have ε 0: no question may separate them."
            warnings.append(Notice("identical", f"{text} --list identical"))
    if len(rows) > 1:
        warnings += _correlation(rows)
    far = policy.metric.farthest
    return Check(
        policy.title,
        policy.dataset,
        policy.digest,
        math.prod(a.listed for a in policy.universe.attributes),
        tuple((a.name, a.listed) for a in policy.universe.attributes),
        tuple(rows),
        far.distance if far else 0.0,
        policy.metric.has_infinite,
        tuple(warnings),
        tuple(identical),
        tuple(tightened),
    )


def _row(attribute: Attribute, metric: Metric) -> Row:
    listed = _listed(metric)
    near, far = listed.closest, listed.farthest
    if isinstance(attribute, Integers) and near is not None:
        strictest = f"neighbouring {attribute.unit or 'values'}"
    else:
        strictest = _pair(attribute, near.pair if near else None)
    return Row(
        attribute.name,
        strictest,
        near.distance if near else (math.inf if listed.has_infinite else 0.0),
        _pair(attribute, far.pair if far else None),
        far.distance if far else (math.inf if listed.has_infinite else 0.0),
        listed.has_infinite,
        bool(_tightened(attribute, metric)),
    )


def _listed(metric: Metric) -> Metric:
    """The metric among listed values: `other` is explained apart."""
    if isinstance(metric, WithOther) and not metric.tightens:
        return metric.base
    if isinstance(metric, Matrix) and metric.universe.attributes[0].has_other:
        inner = Universe.listed(range(metric.universe.size - 1))
        return Matrix(inner, metric._table[:-1, :-1], metric._tick)
    return metric


def _pair(attribute: Attribute, pair: tuple[int, int] | None) -> str:
    if pair is None:
        pair = (0, 1) if attribute.listed > 1 else None
    return f"{attribute.label(pair[0])} – {attribute.label(pair[1])}" if pair else "–"


def _tightened(attribute: Attribute, metric: Metric) -> list[tuple[str, str, float, float]]:
    if not isinstance(metric, Matrix):
        return []
    listed = [t for t in metric.tightened if max(t.pair) < attribute.listed]
    return [(*_labels(attribute, t.pair), float(t.written), float(t.kept)) for t in listed]


def _labels(attribute: Attribute, pair: tuple[int, int]) -> tuple[str, str]:
    return attribute.label(pair[0]), attribute.label(pair[1])


def _tightened_warning(attribute: Attribute, metric: Metric, found: list[tuple[str, str, float, float]]) -> Notice:
    first = next(t for t in getattr(metric, "tightened", ()) if max(t.pair) < attribute.listed)
    a, b, written, kept = found[0]
    via = attribute.label(first.via)
    legs = [float(metric.exact(first.pair[0], first.via)), float(metric.exact(first.via, first.pair[1]))]
    wants = "" if math.isinf(written) else f" To keep {digits(written)}, raise {via} to {digits(written / 2)}."
    more = "" if len(found) == 1 else f" {plural(len(found) - 1, 'more pair')}: --list tightened"
    text = (
        f"{a} – {b}: you wrote {digits(written)}, the policy keeps {digits(kept)}. {a} is {digits(legs[0])} from "
        f"{via}, {b} is {digits(legs[1])}, and {digits(legs[0])} + {digits(legs[1])} already links them.{wants}{more}"
    )
    return Notice("tightened", text)


def _public_warning(attribute: Attribute, metric: Metric) -> Notice:
    listed = _listed(metric)
    if listed.closest is None:
        return Notice("public", f"{attribute.name}: answers may reveal anyone’s {attribute.name} exactly.")
    return Notice("public", f"{attribute.name}: some differences are public; answers may reveal them exactly.")


def _correlation(rows: list[Row]) -> list[Notice]:
    """The strictest and the loosest attribute, if they are ten times apart."""
    strict = min(rows, key=lambda r: r.strictest_epsilon)
    loose = max(rows, key=lambda r: r.strictest_epsilon)
    if strict is loose or loose.strictest_epsilon < 10 * strict.strictest_epsilon:
        return []
    return [
        Notice(
            "correlation",
            f"If {loose.attribute} predicts {strict.attribute} in your data, answers about {loose.attribute} hint at "
            f"{strict.attribute}. ε {digits(strict.strictest_epsilon)} does not cover that. Give linked attributes "
            "similar ε.",
        )
    ]


def check_lines(page: Check, listing: str = "") -> list[str]:
    """The page as lines; `listing` adds all identical, tightened or public entries."""
    product = " × ".join(f"{name} {size:,}" for name, size in page.sizes)
    shape = f"{page.cells:,} possible records" + (f" = {product}" if len(page.sizes) > 1 else "")
    lines = [
        f"{tag('good', '✓')} valid · {tag('bold', page.title)} · one record replaced, n public",
        f"  {shape}",
        tag("dim", "  every attribute also has “other”, for missing and invalid entries"),
        "",
    ]
    head = [tag("dim", t) for t in ("alike except", "strictest pair", "ε", "loosest pair", "ε")]
    table = [head]
    for r in page.rows:
        strict = digits(r.strictest_epsilon) + (" " + tag("warn", "!") if math.isinf(r.strictest_epsilon) else "")
        loose = "public" if r.public else digits(r.loosest_epsilon) + (" " + tag("warn", "!") if r.tightened else "")
        table.append([r.attribute, r.strictest, strict, "" if r.public else r.loosest, loose])
    lines += columns(table, "llrlr")
    worst = f"ε {digits(page.worst_case)}" if page.worst_case else "none"
    tail = "; no limit on public differences." if page.public else "."
    lines += [
        "",
        f"  Worst case in plain-DP terms: {tag('bold', worst)}, over all releases ever{tail}",
        "  One plan usually uses far less; dxp plan says how much.",
    ]
    if page.warnings:
        lines.append("")
        for w in page.warnings:
            text = wrap(w.text, 82)
            lines.append(f"{tag('warn', '! ' + w.kind.ljust(13))}{text[0]}")
            lines += [" " * 15 + more for more in text[1:]]
    if listing == "identical":
        lines += ["", *(f"  {a} – {b}: ε 0" for a, b in page.identical)]
    elif listing == "tightened":
        lines += ["", *(f"  {a} – {b}: wrote {digits(w)}, keeps {digits(k)}" for a, b, w, k in page.tightened)]
    elif listing == "public":
        lines += ["", *(f"  {r.attribute}" for r in page.rows if r.public)]
    return lines
