"""A release as one page (`dxp release --html`): promise, answers, what they cost, and how to check it.

Pictures are drawn into the page as SVG and tables are text: no script, nothing to load, and it prints.  The page holds
what the release and its plan say, and nothing else: never a true answer.
"""

import html
import math
from collections.abc import Sequence

from dxprivacy.planning import Plan
from dxprivacy.plots.answers import release_picture
from dxprivacy.plots.by_distance import trade_picture
from dxprivacy.release import Release
from dxprivacy.release.words import number
from dxprivacy.wording import UNPRINTABLE, digits, percent, plural


def release_page(release: Release, plan: Plan) -> str:
    """The whole page as text (needs the extra `plots`)."""
    title = plan.title or f"Release {release.name}"
    worst = plan.baselines.worst_epsilon
    case = f"worst case ε {digits(worst)} in plain-DP terms" if math.isfinite(worst) else "no limit in plain-DP terms"
    answers = [
        [r.label, "too few to say" if r.vague else number(r.value, r.low, r.high), _interval(r.low, r.high), r.unit]
        for r in release.answers
    ]
    notes = [str(note) for note in release.facts.get("notes", ())]
    checks = [
        ["release", release.name],
        ["request", plan.request],
        ["policy", plan.metric.digest],
        ["certified", f"{percent(float(plan.certificate.ratio))} of the policy at most, by {plan.certificate.rule}"],
        ["made by", str(release.facts.get("software", ""))],
        ["to check it", f"dxp verify release-{release.name}.json"],
    ]
    parts = [
        f"<h1>{_text(title)}</h1>",
        f"<p>Release {_text(release.name)}: {plural(len(release.answers), 'answer')}, {case}.</p>",
        "<h2>Promise</h2>",
        "<ol>" + "".join(f"<li>{_text(sentence)}</li>" for sentence in release.promise) + "</ol>",
        "<h2>Answers</h2>",
        release_picture(release).to_svg(),
        *(f"<p>{_text(note[:1].upper() + note[1:])}.</p>" for note in notes),
        _table(["answer", "released", "95 % interval", "unit"], answers),
        "<h2>What it costs</h2>",
        trade_picture(plan).to_svg(),
        "<h2>How to check it</h2>",
        _table([], checks),
    ]
    return _PAGE.format(title=_text(title), body="\n".join(parts))


def _interval(low: float, high: float) -> str:
    return "exact" if low == high else f"{number(low, low, high)} – {number(high, low, high)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = f"<thead><tr>{''.join(f'<th>{_text(h)}</th>' for h in head)}</tr></thead>" if head else ""
    body = "\n".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{top}<tbody>\n{body}\n</tbody></table>"


def _text(text: str) -> str:
    return html.escape(UNPRINTABLE.sub("\ufffd", text))


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.45 "Liberation Sans", Helvetica, Arial, sans-serif; color: #222222;
  max-width: 50em; margin: 2em auto; padding: 0 1em; }}
svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; margin: 1em 0; }}
th {{ text-align: left; color: #767676; font-weight: normal; }}
td, th {{ padding: 0.15em 1.2em 0.15em 0; border-bottom: 1px solid #ececec; overflow-wrap: anywhere; }}
tr, svg {{ break-inside: avoid; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""
