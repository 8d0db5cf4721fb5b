"""Fig. 2: US places with more than 50,000 residents, Euclidean distance on degrees as in the paper.

The places are GeoNames data (CC BY 4.0).  Two of the 908 are near-duplicates of others.  The improvement factor depends
on the closest pair, so it is shown with both, with one of them dropped, and with neither.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.metrics import euclidean
from dxprivacy.output.charts.chart_style import ACCENT, GRAY, INK, Spec
from dxprivacy.output.charts.layers import LogScale, Straight, bordered, several, written
from dxprivacy.paper.experiment import Experiment, ExperimentOutcome, ResultTable, Settings
from dxprivacy.paper.figure_drawing import dots, histogram, panel, upright
from dxprivacy.paper.kernels import Reach, improvement
from dxprivacy.paper.universes import BINS, closest
from dxprivacy.wording import digits, times

ATTRIBUTION = "Places: GeoNames, CC BY 4.0."
DROPPED = ("Carol City", "City of Milford (balance)")  # near Miami Gardens and Milford
VARIANTS = (0, 1, 2)  # how many of them are dropped
_WIDE = 600


@dataclass(frozen=True, eq=False)
class UsPlaces:
    """Names, (latitude, longitude) in degrees, elevations in meters."""

    names: tuple[str, ...]
    degrees: Floats
    elevations: Floats

    def without(self, dropped: Sequence[str]) -> "UsPlaces":
        """Return the places without those with these names."""
        keep = [k for k, name in enumerate(self.names) if name not in dropped]
        return UsPlaces(tuple(self.names[k] for k in keep), self.degrees[keep], self.elevations[keep])


def places() -> UsPlaces:
    """Return all 908 places: those of the demo, and the two near-duplicates that the demo leaves out."""
    rows: list[dict[str, str]] = []
    for package, name in (("dxprivacy.demo", "places.csv"), ("dxprivacy.paper", "near_duplicates.csv")):
        rows += csv.DictReader(files(package).joinpath(name).read_text("utf-8").splitlines())
    degrees = np.array([[float(row["latitude"]), float(row["longitude"])] for row in rows])
    return UsPlaces(tuple(r["name"] for r in rows), degrees, np.array([float(r["elevation"]) for r in rows]))


@dataclass(frozen=True)
class MeasuredPlaces:
    """One variant: its closest pair, the factors of random queries, and that of mean elevation."""

    dropped: int
    size: int
    pair: tuple[str, str]
    at: tuple[tuple[float, float], tuple[float, float]]
    closest: float
    mean: float
    middle: float
    most: float
    elevation: float
    counts: tuple[int, ...]


def measure(settings: Settings, dropped: int) -> MeasuredPlaces:
    """Measure one variant."""
    full = places()
    kept = full.without(DROPPED[:dropped])
    metric = euclidean(kept.degrees, epsilon_per_unit=1)
    near = closest(metric)
    reach = Reach.of(metric)
    # The same coefficients for a place in every variant.
    queries = settings.random(0, 1000).uniform(0, 1, (settings.queries, len(full.names)))
    queries = queries[:, [k for k, name in enumerate(full.names) if name not in DROPPED[:dropped]]]
    factors = improvement(queries, reach, near.distance)
    elevation = improvement(kept.elevations[None, :], reach, near.distance)[0]
    counts = np.histogram(np.minimum(factors, BINS[-1] * 0.999), BINS)[0]
    i, j = near.pair
    (a, b), (c, d) = kept.degrees[[i, j]].tolist()
    return MeasuredPlaces(
        dropped,
        len(kept.names),
        (kept.names[i], kept.names[j]),
        ((a, b), (c, d)),
        near.distance,
        float(factors.mean()),
        float(np.median(factors)),
        float(factors.max()),
        float(elevation),
        tuple(int(n) for n in counts),
    )


def _conclude(settings: Settings, pieces: Sequence[MeasuredPlaces]) -> ExperimentOutcome:
    rows: list[tuple[Any, ...]] = []
    for m in pieces:
        known = (m.size, " – ".join(m.pair), m.closest)
        rows += [("factors", *known, m.mean, m.middle, m.most, m.elevation, None, None, None, None, None, None)]
    for m in pieces:
        bars = zip(BINS, BINS[1:], m.counts, strict=False)
        rows += [("histogram", m.size, *(None,) * 6, a, b, n, None, None, None) for a, b, n in bars if n]
    full = places()
    for name, (latitude, longitude) in zip(full.names, full.degrees.tolist(), strict=True):
        rows.append(("map", None, *(None,) * 9, name, latitude, longitude))
    names = ["panel", "places", "closest_pair", "degrees_apart", "mean", "median", "most", "mean_elevation",
             "from", "to", "queries", "place", "latitude", "longitude"]  # fmt: skip
    one = pieces[1]
    title = (
        f"Random queries gain {times(one.mean)}, mean elevation {times(one.elevation)}; both depend on the closest pair"
    )
    subtitle = (
        "Noise of standard DP (ε of the closest pair) ÷ noise under the Euclidean metric on degrees; "
        f"{settings.queries:,} uniform random "
        f"queries and “mean elevation of a resident”, with and without near-duplicates. {ATTRIBUTION}"
    )
    x = LogScale(1.0, 1000.0, _WIDE)
    panels = [_map(full, pieces), *(_variant(m, x, last=m is pieces[-1]) for m in pieces)]
    found = (
        " ".join(
            f"{m.size} places (closest: {' – '.join(m.pair)}, {digits(m.closest)}°): mean factor {digits(m.mean)}, "
            "largest "
            f"{digits(m.most)}, mean elevation {digits(m.elevation)}."
            for m in pieces
        )
        + " The paper's 741 cities and its 202 cannot be recovered: it prints neither its list of cities nor its "
        "elevations "
        "(from an online service). These are the places in public data."
    )
    facts = {f"{what}_{m.size}": getattr(m, what) for m in pieces for what in ("mean", "elevation", "closest")}
    return ExperimentOutcome(ResultTable.of(names, rows), several(panels, title, subtitle, spacing=22), found, facts)


def _map(full: UsPlaces, pieces: Sequence[MeasuredPlaces]) -> Spec:
    x = Straight(-162, -66, _WIDE, values=(-160, -140, -120, -100, -80), style="d")
    y = Straight(18, 63, 270, values=(20, 30, 40, 50, 60), style="d")
    spot = {"x": x.channel("longitude, degrees", "x"), "y": y.channel("latitude, degrees", "y")}
    marks = [(m.at[0][1], m.at[0][0]) for m in pieces]
    layers = [
        dots([(b, a) for a, b in full.degrees.tolist()], spot, color=GRAY, size=7),
        dots(marks, spot, color=ACCENT, size=200, filled=False, stroke=ACCENT, strokeWidth=1.6),
    ]
    places_for = {0: ("right", -12, 0), 1: ("right", 42, -36), 2: ("right", -14, 0)}
    for k, m in enumerate(pieces):
        align, dx, dy = places_for[m.dropped]
        text = {"t": f"{k + 1}: {' – '.join(m.pair)}", "x": marks[k][0], "y": marks[k][1]}
        look = {"align": align, "dx": dx, "dy": dy, "fontWeight": "bold", "color": ACCENT}
        layers += bordered([text], look, width=4, **spot)
    title = f"{len(full.names)} places; ringed: the closest pairs of the three variants"
    return panel(title, x.pixels, y.pixels, layers)


def _variant(m: MeasuredPlaces, x: LogScale, *, last: bool) -> Spec:
    total = sum(m.counts)
    fractions = [(a, b, 100 * n / total) for a, b, n in zip(BINS, BINS[1:], m.counts, strict=False)]
    y = Straight(0, max(n for *_, n in fractions) * 1.15, 84, 2, "~r")
    dropped = f"without {' and '.join(DROPPED[: m.dropped])}" if m.dropped else "all"
    name = f"{m.dropped + 1}. {m.size} places, {dropped}: closest pair {digits(m.closest)}° apart"
    rule = upright(x, x.at(m.elevation), color=ACCENT, strokeWidth=2.5)
    at, bold = x.pixel(m.elevation) - 6, {"color": ACCENT, "fontWeight": "bold"}
    words = written(f"mean elevation: {times(m.elevation)}", at, 12, align="right", **bold)
    mean = written(f"mean {times(m.mean)}, largest {times(m.most)}", x.pixel(m.most) + 12, 62, color=INK)
    bars = histogram(fractions, x, y, x_title="improvement factor (log)" if last else None, y_title="% of queries")
    return panel(name, x.pixels, y.pixels, [bars, rule, words, mean])


EXPERIMENTS = (
    Experiment(
        "fig2",
        "Fig. 2: US places",
        "How large is the factor on a real universe, for random queries and for one that varies smoothly in space?",
        "741 US cities: mean factor between 2 and 3, some queries above 7.5; mean elevation 202.",
        lambda settings: VARIANTS,  # noqa: ARG005
        measure,
        _conclude,
    ),
)
