"""`dxp check`: explain a policy, so that a lawyer can sign it, with warnings about everything unusual."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.metrics import Extreme, Metric, Tightened
from dxprivacy.metrics.closed_forms import Constant, Matrix
from dxprivacy.metrics.derived_metrics import Capped
from dxprivacy.metrics.place_metrics import Places
from dxprivacy.metrics.with_other import WithAbsent, WithOther, public_pair
from dxprivacy.policy.policy_facts import PolicyFacts
from dxprivacy.trees import second_nearest
from dxprivacy.universe.attributes.attribute import OTHER, Attribute
from dxprivacy.universe.people import ONE, People
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import digits, plural, short_pair, shown

# -- Places so close to one another that no query should separate them -------------------------------------------------
# The criterion depends on the policy alone: two places *nearly coincide* if their distance is less than a twentieth of
# the median distance from a place to its second nearest.  The second nearest is used so that the median is also
# meaningful for a list where most places occur twice.  Places with equal coordinates have a warning of their own.


PART = 20


def nearly_coinciding(places: Places) -> list[tuple[tuple[int, int], float]]:
    """Return the pairs that nearly coincide and their distances, closest first; empty for fewer than three places.

    >>> from dxprivacy import metrics
    >>> nearly_coinciding(metrics.euclidean([[0, 0], [0, 1], [50, 0], [0, 60]], epsilon_per_unit=1))
    [((0, 1), 1.0)]
    """
    n = places.universe.size
    if n < 3 or not places.embedding.tame:
        return []
    nearest, second = second_nearest(places.embedding)
    every = np.arange(n, dtype=np.int64)
    usual = float(np.median(places.lengths(every, second))) / PART
    lengths = places.lengths(every, nearest)
    near = np.flatnonzero((lengths > 0) & (lengths < usual))
    pairs = zip(every[near].tolist(), nearest[near].tolist(), lengths[near].tolist(), strict=True)
    found = {(min(i, j), max(i, j)): length for i, j, length in pairs}
    return sorted(found.items(), key=lambda item: (item[1], item[0]))


# -- `dxp check` -------------------------------------------------------------------------------------------------------


_MOST_NAMED = 4  # attributes in one sentence


@dataclass(frozen=True)
class Beyond:
    """A value whose distance to `other` is looser, or stricter, than that of every listed pair."""

    pair: str
    epsilon: float
    way: str


@dataclass(frozen=True)
class CheckRow:
    """One attribute: its strictest and loosest pair among the listed values."""

    attribute: str
    strictest: str
    strictest_epsilon: float
    loosest: str
    loosest_epsilon: float
    public: bool
    tightened: bool
    other: tuple[Beyond, ...] = ()


@dataclass(frozen=True)
class Notice:
    """A warning of `dxp check`."""

    kind: str
    text: str


@dataclass(frozen=True)
class Check:
    """The whole page of `dxp check`."""

    title: str
    dataset: str
    digest: str
    cells: int
    sizes: tuple[tuple[str, int], ...]
    rows: tuple[CheckRow, ...]
    worst_case: float
    public: bool
    presence: float | None
    warnings: tuple[Notice, ...]
    identical: tuple[tuple[str, str], ...]
    tightened: tuple[tuple[str, str, float, float], ...]
    people: People | None = None

    def __str__(self) -> str:
        return shown(self)

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
                    "strictest_epsilon": finite(r.strictest_epsilon),
                    "loosest_pair": r.loosest,
                    "loosest_epsilon": finite(r.loosest_epsilon),
                    "public": r.public,
                    "tightened": r.tightened,
                    "other": [{"pair": b.pair, "epsilon": finite(b.epsilon), "than_listed": b.way} for b in r.other],
                }
                for r, (_, size) in zip(self.rows, self.sizes, strict=True)
            ],
            "worst_case_epsilon": None if self.public else self.worst_case,
            "largest_finite_epsilon": self.worst_case,
            "presence_epsilon": self.presence,
            **({} if self.people is None else {"people": self.people.spec()}),
            "identical": [list(pair) for pair in self.identical],
            "tightened": [
                {"pair": [a, b], "written": finite(written), "kept": kept} for a, b, written, kept in self.tightened
            ],
            "warnings": [{"kind": w.kind, "text": w.text} for w in self.warnings],
        }


def finite(x: float) -> float | None:
    """Return a number for JSON: None if it is infinite."""
    return x if math.isfinite(x) else None


def check(policy: PolicyFacts) -> Check:
    """Check every attribute of a policy.

    If records may be absent, every distance is at most twice the presence, so nothing is public.  For people with
    several rows, every ε is that of a whole person.
    """
    whole = policy.of_people
    presence = float(whole.radius) if isinstance(whole, WithAbsent) else None
    most = math.inf if presence is None else 2 * presence
    axes = whole.by_attribute or (whole,)
    rows, warnings, identical, tightened = [], [], [], []
    for attribute, metric in zip(policy.universe.attributes, axes, strict=True):
        found = _tightened(attribute, metric, most)
        row = _row(attribute, metric, bool(found), most)
        rows.append(row)
        tightened += found
        same = [_labels(attribute, pair) for pair in metric.identical]
        identical += same
        if found:
            warnings.append(_tightened_warning(attribute, metric, found, most))
        if metric.has_infinite and math.isinf(most):
            warnings.append(_public_warning(attribute, metric, row))
        if same:
            warnings.append(_identical_warning(attribute, metric, len(same)))
        warnings += _near_warning(attribute, metric)
        if attribute.name in policy.declared_public:
            warnings.append(_declared_notice(attribute))
    if isinstance(whole, WithAbsent) and whole.tightens:
        tightened.append((*_farthest(whole), 2 * float(whole.radius)))
        warnings.append(_presence_warning(whole))
    if policy.universe.people is not None:
        warnings.append(_kept_notice(policy.universe.people))
    if policy.universe.file.quoted_line_breaks:
        warnings.append(_line_breaks_notice())
    if policy.universe.file.rows_are_records:
        warnings.append(_records_notice())
    if role := policy.universe.file.row_security_role:
        warnings.append(_role_notice(role))
    if len(rows) > 1:
        warnings += _correlation(rows)
    far = whole.farthest
    return Check(
        policy.title,
        policy.dataset,
        policy.digest,
        math.prod(a.listed for a in policy.universe.attributes),
        tuple((a.name, a.listed) for a in policy.universe.attributes),
        tuple(rows),
        far.distance if far else 0.0,
        whole.has_infinite,
        presence,
        tuple(warnings),
        tuple(identical),
        tuple(tightened),
        policy.universe.people,
    )


@dataclass(frozen=True)
class _Listed:
    """The extreme pairs among the listed values; `other` is explained separately."""

    near: Extreme | None
    far: Extreme | None
    among: Metric  # the metric in which a public pair is searched
    public: bool

    @classmethod
    def of(cls, metric: Metric) -> "_Listed":
        return cls(metric.closest, metric.farthest, metric, metric.has_infinite)


def _listed(attribute: Attribute, metric: Metric) -> _Listed:
    if attribute.listed == 1 or not attribute.has_other:
        return _Listed.of(metric)
    if isinstance(metric, WithOther):
        return _capped(_Listed.of(metric.base), 2 * float(metric.radius))  # any pair may detour over `other`
    if isinstance(metric, Matrix):
        inner = Universe.listed(range(attribute.listed))
        metric = Matrix(inner, metric._table[:-1, :-1], metric._tick)
    return _Listed.of(metric)


def _capped(listed: _Listed, most: float) -> _Listed:
    """Cap the extremes at `most`; a public pair, if there is one, is then the farthest."""
    if math.isinf(most):
        return listed
    capped = [Extreme(min(x.distance, most), x.pair) for x in (listed.near, listed.far) if x and most > 0]
    if listed.public:
        capped.append(Extreme(most, public_pair(listed.among)))
    near, far = (capped[0], capped[-1]) if capped else (None, None)
    return _Listed(near, far, listed.among, public=False)


def _row(attribute: Attribute, metric: Metric, tightened: bool, cap: float) -> CheckRow:
    written = _listed(attribute, metric)
    listed = _capped(written, cap)
    tightened = tightened or written.public != listed.public or written.far != listed.far
    near, far = listed.near, listed.far
    none = math.inf if listed.public else 0.0
    if attribute.neighbors and attribute.listed > 1 and near is not None:
        strictest = f"neighboring {attribute.neighbors}"
    else:
        strictest = _pair(attribute, near)
    least, most = near.distance if near else none, math.inf if listed.public else far.distance if far else none
    return CheckRow(
        attribute.name,
        strictest,
        least,
        _pair(attribute, far),
        far.distance if far else none,
        listed.public,
        tightened,
        _beyond(attribute, metric, least, most, cap),
    )


def _beyond(attribute: Attribute, metric: Metric, least: float, most: float, cap: float) -> tuple[Beyond, ...]:
    """Return the distances to `other` that lie outside the range of the listed pairs."""
    if not attribute.has_other or attribute.listed == 1:
        return ()
    listed = 1 if isinstance(metric, (WithOther, Constant)) else attribute.listed  # these have equal distances
    each = np.arange(listed, dtype=np.int64)
    d = np.minimum(metric.pairwise(each, np.full(listed, attribute.listed)), cap)
    found = []
    for k, way in ((int(d.argmax()), "looser"), (int(d.argmin()), "stricter")):
        epsilon = float(d[k])
        if epsilon > most * (1 + 1e-9) if way == "looser" else epsilon < least * (1 - 1e-9):
            value = f"any {attribute.name}" if listed == 1 else attribute.label(k)
            found.append(Beyond(f"{value} – {OTHER}", epsilon, way))
    return tuple(found)


def _pair(attribute: Attribute, at: Extreme | None) -> str:
    return " – ".join(_labels(attribute, at.pair if at else (0, 1)))


def _labels(attribute: Attribute, pair: tuple[int, int]) -> tuple[str, str]:
    return attribute.label(pair[0]), attribute.label(pair[1])


def _tightened(attribute: Attribute, metric: Metric, most: float) -> list[tuple[str, str, float, float]]:
    """Return listed pairs with a smaller distance than written; the farthest represents all that `other` caps.

    Pairs with a distance above `most` are left out: presence tightens them.
    """
    if isinstance(metric, WithOther) and metric.tightens and attribute.listed > 1:
        far = metric.base.farthest
        written = math.inf if metric.base.has_infinite or far is None else far.distance
        pair = public_pair(metric.base) if metric.base.has_infinite or far is None else far.pair
        kept = 2 * float(metric.radius)
        return [(*_labels(attribute, pair), written, kept)] if kept <= most else []
    if not isinstance(metric, Matrix):
        return []
    listed = _closed(attribute, metric, most)
    return [(*_labels(attribute, t.pair), float(t.written), float(t.kept)) for t in listed]


def _closed(attribute: Attribute, metric: Matrix, most: float) -> list[Tightened]:
    """Return the listed pairs that a detour over a third value brings closer, to at most `most`."""
    return [t for t in metric.tightened if max(t.pair) < attribute.listed and t.kept <= most]


def _tightened_warning(
    attribute: Attribute, metric: Metric, found: list[tuple[str, str, float, float]], most: float
) -> Notice:
    a, b, written, kept = found[0]
    if not isinstance(metric, Matrix):
        radius = kept / 2  # only `other` caps
        via, legs = OTHER, [radius, radius]
        links, more = f" links them, like every pair of {attribute.name} beyond {digits(kept)}.", ""
    else:
        first = _closed(attribute, metric, most)[0]
        via = attribute.label(first.via)
        legs = [float(metric.exact(first.pair[0], first.via)), float(metric.exact(first.via, first.pair[1]))]
        more = "" if len(found) == 1 else f" {plural(len(found) - 1, 'more pair')}: --list tightened"
        links = " links them."
    wants = "" if math.isinf(written) else f" To keep {digits(written)}, raise {via} to {digits(written / 2)}."
    near = (
        f"Each is {digits(legs[0])} from {via}"
        if legs[0] == legs[1]
        else f"{a} is {digits(legs[0])} from {via}, {b} is {digits(legs[1])}"
    )
    return Notice(
        "tightened",
        f"{a} – {b}: you wrote {digits(written)}, the policy keeps {digits(kept)}. {near}, and {digits(legs[0])} + "
        f"{digits(legs[1])} already{links}{wants}{more}",
    )


def _farthest(metric: WithAbsent) -> tuple[str, str, float]:
    """Return a pair that the detour over `absent` brings closer, and its written distance."""
    far = metric.base.farthest
    if metric.base.has_infinite or far is None:
        return *metric.universe.describe(*public_pair(metric.base)), math.inf
    return *metric.universe.describe(*far.pair), far.distance


def _presence_warning(metric: WithAbsent) -> Notice:
    a, b, written = _farthest(metric)
    p = digits(float(metric.radius))
    return Notice(
        "tightened",
        f"{a} – {b}: you wrote {digits(written)}, the policy keeps {digits(2 * float(metric.radius))}, like every pair "
        f"beyond that. Each may be absent at {p}, and {p} + {p} already links them. To keep more, raise "
        "epsilon_presence.",
    )


def _kept_notice(people: People) -> Notice:
    """Return the notice about contribution bounding."""
    rows = "row" if people.max_rows == 1 else f"{people.max_rows:,} rows"
    keyless = "are those of one person together" if people.no_key == ONE else "are each a person of their own"
    return Notice(
        "kept rows",
        f"at most {rows} of each {_and(people.key)} count, selected by a hash that favors no value; how many were left "
        f"out is private. Rows without {_and(people.key)} {keyless}.",
    )


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(names)


def _public_warning(attribute: Attribute, metric: Metric, row: CheckRow) -> Notice:
    name = attribute.name
    if not row.public:
        return Notice("public", f"{name}: answers may reveal exactly whether anyone’s {name} is missing or invalid.")
    if metric.closest is None:
        return Notice("public", f"{name}: answers may reveal anyone’s {name} exactly.")
    return Notice("public", f"{name}: some differences are public; answers may reveal them exactly.")


def _identical_warning(attribute: Attribute, metric: Metric, count: int) -> Notice:
    """Return the warning about places that share coordinates, or values whose epsilon is 0."""
    base = metric.base if isinstance(metric, WithOther) else metric
    which = f"{plural(count, 'pair')} of {attribute.name}" + (" or more" if count >= 1000 else "")
    have = "shares its coordinates" if count == 1 else "share their coordinates"
    why = f"{have} (ε 0)" if isinstance(base, Places) else "has ε 0" if count == 1 else "have ε 0"
    return Notice("identical", f"{which} {why}: no query may separate them. --list identical")


def _near_warning(attribute: Attribute, metric: Metric) -> list[Notice]:
    """Return the warning about places that nearly coincide: their tiny ε forces much noise on queries between them."""
    base = metric.base if isinstance(metric, WithOther) else metric
    base = base.base if isinstance(base, Capped) else base  # a cap leaves what is near as it is
    found = nearly_coinciding(base) if isinstance(base, Places) else []
    if not isinstance(base, Places) or not found:
        return []
    (i, j), length = found[0]
    unit = f" {base.unit}" if base.unit else ""
    pair = short_pair(f"{attribute.label(i)} – {attribute.label(j)}", 60)
    more = "" if len(found) == 1 else f", and {plural(len(found) - 1, 'more pair')} of {attribute.name}"
    return [
        Notice(
            "near",
            f"{pair}: {digits(length)}{unit} apart, ε {digits(float(base.exact(i, j)))}{more}. Places nearly coincide, "
            "and a query that separates them drowns in noise. Merge them into one line of the points file, or set a "
            'floor: metric = "smooth" with threshold = a distance protects all nearer pairs alike: less than now, if '
            "epsilon is what that distance has now. Today’s epsilon for a longer distance protects everybody more, and "
            "noise, also of maps, grows by the factor threshold / per: 45 times for 45 km instead of 1 km. "
            f"A map (density {attribute.name} width …) needs no floor: close places do not add to its noise.",
        )
    ]


def _declared_notice(attribute: Attribute) -> Notice:
    return Notice(
        "declared",
        f"declared public: the list of values of {attribute.name} was read from the data; that they occur is outside "
        "the guarantee.",
    )


def _line_breaks_notice() -> Notice:
    return Notice(
        "line breaks",
        "quoted_line_breaks: a CSV file that is not quoted properly is refused, and that may depend on one row. You "
        "must ensure that the program which writes it quotes all entries of people; docs/data.md says how.",
    )


def _records_notice() -> Notice:
    return Notice(
        "views",
        "rows_are_records: rows of views, foreign tables and generated columns are counted as if they were stored. You "
        "must ensure that each of them comes from one record, and from it alone.",
    )


def _role_notice(role: str) -> Notice:
    return Notice(
        "row security",
        f"row_security_role: only rows that role {role} sees are counted, also where row-level security hides others. "
        "You must ensure that whether the role sees a row depends on that row alone, and not on other rows, settings "
        "or the time.",
    )


def _correlation(rows: list[CheckRow]) -> list[Notice]:
    """Warn about attributes with ten times the ε of the best protected one, which may predict it; largest first."""
    strict = min(rows, key=lambda r: r.loosest_epsilon)

    def reach(row: CheckRow) -> float:
        return math.inf if row.public else row.loosest_epsilon

    loose = sorted((r for r in rows if r is not strict and reach(r) >= 10 * strict.loosest_epsilon), key=reach)[::-1]
    if not loose or math.isinf(strict.strictest_epsilon):
        return []
    named = [r.attribute for r in loose[:_MOST_NAMED]] + ["another one"] * (len(loose) > _MOST_NAMED)
    which = " or ".join(filter(None, (", ".join(named[:-1]), named[-1])))
    them = loose[0].attribute if len(loose) == 1 else "it"
    return [
        Notice(
            "correlation",
            f"If {which} predicts {strict.attribute} in your data, answers about {them} hint at "
            f"{strict.attribute}. ε {digits(strict.strictest_epsilon)} does not cover that. Give linked attributes "
            "similar ε; docs/correlation.md works an example out.",
        )
    ]
