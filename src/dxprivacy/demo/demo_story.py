"""The demo's comparison of true answers (known, because simulated), standard DP and this policy, and its trade-off."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dxprivacy.demo.demo_survey import LEFT_OUT, RESPONDENTS, write_survey
from dxprivacy.engines import open_source
from dxprivacy.mechanisms.linear.noise.noise_distributions import laplace_distributions
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.sampling import SystemNoise
from dxprivacy.output.text.plan_text import apart
from dxprivacy.releases.release import Release
from dxprivacy.session import Session
from dxprivacy.wording import columns, digits, quoted, tag, times, wrap

QUERIES = ("mean elevation within 2 m", "count by state within 10")
STATES = ("California", "Texas", "New Jersey")
PAIRS = (("Hoboken", "New York City"), ("Chicago", "Milwaukee"))


@dataclass(frozen=True)
class DemoLine:
    """One answer three times: true, from standard DP at the strictest ε, and from the release."""

    label: str
    unit: str
    truth: float
    standard_epsilon: float
    plain: float
    standard_width: float
    ours: float
    our_width: float
    gain: float
    worst_case_width: float


@dataclass(frozen=True)
class Price:
    """One pair of homes: its name, its distance in words, its ε in the policy, and the privacy loss of the release."""

    pair: str
    apart: str
    allowed: float
    used: float


@dataclass(frozen=True)
class Story:
    """All results of the demo."""

    plan: Plan
    release: Release
    lines: tuple[DemoLine, ...]
    prices: tuple[Price, ...]
    folder: Path | None

    def to_dict(self) -> dict[str, Any]:
        """Return the results for JSON."""
        return {
            "respondents": RESPONDENTS,
            "worst_case_epsilon": self.plan.worst_epsilon,
            "answers": [vars(line) for line in self.lines],
            "pairs": [vars(price) for price in self.prices],
            "folder": str(self.folder) if self.folder else None,
        }


def tell(folder: Path | None, *, overwrite: bool = False) -> Story:
    """Simulate data, plan, execute the release, and compare; without a folder, files are temporary."""
    if folder is None:
        with tempfile.TemporaryDirectory() as hidden:
            return _tell(Path(hidden) / "demo", None, overwrite=True)
    return _tell(folder, folder, overwrite=overwrite)


def _tell(place: Path, shown: Path | None, *, overwrite: bool) -> Story:
    write_survey(place, overwrite=overwrite)
    with Session(
        place / "policy.toml", place / "people.parquet", ledger=place / "ledger.db", new_ledger=True
    ) as session:
        plan = session.plan(*QUERIES, budget="100%")  # a demo has no later releases
        release = session.release(plan)
        if shown is not None:
            plan.save(place / f"plan-{plan.name}.json")
            release.save(place / f"release-{plan.name}.json")
            release.save(place / f"release-{plan.name}.csv")
        # The records are simulated: only here is a true answer shown, to illustrate the effect of the noise.
        counts = open_source(place / "people.parquet").count(session.policy.universe).counts
    exact = plan.workload.answer(counts)
    both = plan.baselines
    strict = np.zeros(len(exact))
    for query in both.queries:
        strict[list(query.rows)] = query.scales
    standard_noise = exact + SystemNoise().laplace(strict)
    wanted = ["mean elevation", *STATES]
    lines = []
    for k, answer in enumerate(plan.workload.answers):
        if answer.label in wanted:
            truth = answer.recipe.interval(exact.tolist(), laplace_distributions([0.0] * len(exact)), RESPONDENTS, 0.0)[
                0
            ]
            plain = answer.recipe.interval(
                standard_noise.tolist(), laplace_distributions(strict.tolist()), RESPONDENTS, 0.0
            )[0]
            row = release.answers[k]
            theirs, worst = both.strict[k], both.worst[k]
            if theirs is None or worst is None:
                raise AssertionError("the demo's policy limits every answer")
            lines.append(
                DemoLine(
                    answer.label, answer.unit, truth, both.queries[answer.query].epsilon, plain, theirs.half_width,
                    row.value, plan.errors[k].half_width, float(plan.improvement[k]), worst.half_width,
                )
            )  # fmt: skip
    lines.sort(key=lambda line: wanted.index(line.label))
    return Story(plan, release, tuple(lines), _prices(plan), shown)


def _prices(plan: Plan) -> tuple[Price, ...]:
    home = plan.metric.universe.attributes[0]
    near, far = plan.metric.closest, plan.metric.farthest
    pairs = [near.pair] if near else []
    pairs += [(home.find(a), home.find(b)) for a, b in PAIRS]
    pairs += [far.pair] if far else []
    return tuple(
        Price(
            f"{home.label(i)} – {home.label(j)}",
            apart(plan.metric, (i, j)),
            float(plan.metric.exact(i, j)),
            float(plan.cost.exact(i, j)),
        )
        for i, j in pairs
    )


def story_lines(story: Story) -> list[str]:
    """Return the lines of the terminal output."""
    plan = story.plan
    worst = plan.worst_epsilon
    places = plan.metric.universe.attributes[0].listed
    lines = [
        f"{RESPONDENTS:,} simulated survey respondents in {places} US places; none of your files is read.",
        f"Policy: two homes are distinguishable with privacy loss at most {tag('accent', 'ε = 1 per 100 km')}.",
        "",
    ]
    names = ("", "truth*", "this policy", "standard DP, strictest", "noise ratio", f"standard DP, ε {digits(worst)}")
    table = [[tag("dim", t) for t in names]]
    theirs = max(len(digits(line.standard_width)) for line in story.lines)
    ours = max(len(digits(line.our_width)) for line in story.lines)
    for k, line in enumerate(story.lines):
        label = (
            "mean elevation of a home" if not k else f"{'respondents in' if k == 1 else ' ' * 11 + 'in'} {line.label}"
        )
        wins = line.worst_case_width < line.our_width
        mine = f"{_value(line.ours, line.unit)}  ± {digits(line.our_width):>{ours}}"
        table.append(
            [
                label,
                _value(line.truth, line.unit),
                mine if wins else tag("accent", mine),
                f"{_value(line.plain, line.unit)}  ± {digits(line.standard_width):>{theirs}}",
                times(line.gain),
                tag("bold" if wins else "dim", f"± {digits(line.worst_case_width)}"),
            ]
        )
    lines += columns(table, "lrrrrr")
    mean, counts = story.lines[0].standard_epsilon, story.lines[1].standard_epsilon
    note = (
        f"* simulated, so known. ± covers 95 % of the noise. Strictest: one ε for all pairs, {digits(mean)} for the "
        f"mean and {digits(counts)} for the counts, the smallest of a pair that the query separates. "
        f"ε {digits(worst)}: our worst-case ε."
    )
    lines += [tag("dim", f"  {line}") for line in [*wrap(note, 94), LEFT_OUT]]
    lines += ["", tag("bold", "The trade-off")]
    head = [
        tag("dim", t)
        for t in ("two homes", "apart", "policy allows", "release used", f"standard DP, ε {digits(worst)}")
    ]
    rows = [[p.pair, p.apart, digits(p.allowed), digits(p.used), digits(worst)] for p in story.prices]
    lines += columns([head, *rows], "lrrrr")
    lines += [f"  {line}" for line in wrap(_verdict(story), 94)]
    if story.folder is not None:
        lines += ["", f"{tag('good', '✓')} written  {story.folder}: policy, places, people, plan, release, ledger"]
        lines.append(tag("dim", "  A first release creates the ledger: dxp release … --policy FILE --new-ledger"))
        lines.append(f"{tag('dim', 'Next:')} dxp check {quoted(story.folder / 'policy.toml')}")
    else:
        lines += [
            "",
            f"{tag('dim', 'Next:')} dxp demo --write demo/   {tag('dim', 'then')}   dxp check demo/policy.toml",
        ]
    return lines


def _verdict(story: Story) -> str:
    plan = story.plan
    worst = plan.worst_epsilon
    mean, count = story.lines[0].worst_case_width, story.lines[-1].worst_case_width
    hoboken = story.prices[1]
    return (
        f"ε {digits(worst)} is the worst-case ε of our release. Standard DP at {digits(worst)} answers ± "
        f"{digits(mean)} m and ± {digits(count)}, but allows a privacy loss between Hoboken and New York City that is "
        f"{worst / hoboken.allowed:.0f} times larger. Our policy protects homes up to {100 * worst:.0f} km apart more "
        "than standard DP, and farther ones less."
    )


def _value(x: float, unit: str) -> str:
    return (f"{x:,.1f} {unit}" if unit else f"{x:,.0f}").replace("-", "−")
