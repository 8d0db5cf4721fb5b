"""The notebook display of values: a headline, a picture and a table, as HTML without external resources.

Notebooks ignore our style sheet and may drop SVG, so styles are written into the elements and pictures are inline PNG
images.  No script.  Without the extra `plots` there are tables only.
"""

import base64
import re

from dxprivacy.ledger import Ledger
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.mechanisms.linear.planning.limiting_pairs import limits
from dxprivacy.mechanisms.selection.plan import Selection
from dxprivacy.mechanisms.selection.selection_release import SelectionRelease
from dxprivacy.output.charts.guarantees.budget_picture import budget_picture
from dxprivacy.output.charts.guarantees.plan_error import plan_picture
from dxprivacy.output.charts.guarantees.policy_picture import policy_picture
from dxprivacy.output.charts.guarantees.selection_chances import selection_picture
from dxprivacy.output.charts.picture import Picture, can_render
from dxprivacy.output.charts.released.released_answers import release_picture
from dxprivacy.output.charts.released.synthetic_answers import synthesis_picture
from dxprivacy.output.charts.shades import SHADES
from dxprivacy.output.pages.answers_part import answers_part
from dxprivacy.output.pages.check_page import pairs_table
from dxprivacy.output.pages.ledger_page import entries_table
from dxprivacy.output.pages.page import escaped, limit_words, listed, permitted, section, table, warning_list, words
from dxprivacy.output.pages.plan_page import errors_table
from dxprivacy.output.text.release_text import number
from dxprivacy.output.text.remedies_text import remedies
from dxprivacy.output.text.selection_text import selection_rows
from dxprivacy.policy import Policy
from dxprivacy.policy.policy_check import check
from dxprivacy.releases.release import Release
from dxprivacy.synthetic.synthesis_report import ComparedAnswer, Report
from dxprivacy.wording import digits, plain, plural

ROWS = 24  # rows shown of a value; the file or `.rows()` has them all
_WIDE = 760  # pixels
_LOOKS = {
    "wide": "overflow-x:auto",
    "heat": "border-collapse:collapse",
    "note": "color:#5c5c5c",
    "x": "white-space:nowrap",
    "lead": "font-size:1.05em",
    "r": "text-align:right;white-space:nowrap",
    "n": "text-align:left;white-space:nowrap",
    "p": "text-align:left;min-width:11em",
    "c": "text-align:left;overflow-wrap:anywhere",
}
_INK = dict.fromkeys(SHADES[:3], "#ffffff")
_LOOKS |= {
    f"r h{k}": f"{_LOOKS['r']};background:{shade};color:{_INK.get(shade, '#222222')}"
    for k, shade in enumerate(SHADES[::-1])
}


def plan_display(plan: Plan) -> str:
    """Return the display of a plan: errors of its answers, and remedies for missed targets."""
    head = f"Plan {plan.name}, {plural(len(plan.workload.answers), 'answer')}: nothing spent, no data read"
    shown = section("What would meet the targets", listed(remedies(plan)))
    return _bundle(head, _image(plan_picture(plan)), errors_table(plan, limits(plan), ROWS), shown)


def release_display(release: Release) -> str:
    """Return the display of a release: its answers by query, and the guarantee."""
    head = f"Release {release.name}: {plural(len(release.answers), 'answer')}"
    covered = words(f"Each interval covers {release.covered}, 95 % of the time.", "note")
    answers = answers_part(release, pictures=0, most=ROWS)
    guarantee = section("Guarantee", listed(release.guarantee, numbered=True))
    return _bundle(head, _image(release_picture(release)), answers, covered, guarantee)


def policy_display(policy: Policy) -> str:
    """Return the display of a policy: its strictest and loosest pairs, and warnings."""
    found = check(policy)
    head = f"{policy.title}: {plural(found.cells, 'possible record')}"
    return _bundle(head, _image(policy_picture(policy)), pairs_table(found), warning_list(found))


def ledger_display(ledger: Ledger) -> str:
    """Return the display of a ledger: its releases, and the used budget by attribute."""
    so_far = f"{plural(len(ledger.entries()), 'release')} so far, {limit_words(ledger.worst_case())}"
    head = f"Ledger {ledger.path.name}: {so_far}; the policy permits {permitted(ledger.metric)}"
    return _bundle(head, _image(budget_picture(ledger)), entries_table(ledger))


def selection_display(selection: Selection) -> str:
    """Return the display of a planned selection: how far it may fall short of the best candidate."""
    head = f"Selection {selection.name}, {selection.pick}: nothing spent, no data read"
    rows = [[plain(cell) for cell in row] for row in selection_rows(selection)]
    return _bundle(head, _image(selection_picture(selection)), table([], rows, "nrp"))


def selection_release_display(release: SelectionRelease) -> str:
    """Return the display of a released selection: the selected candidate, and the guarantee."""
    off = float(release.facts["short_by_at_most_95"])
    bound = f"at most {digits(off)} {release.facts['short_in']}, 95 % of the time" if off else "the best, exactly"
    made = table(["", "chosen", "short of the best by"], [[release.title, release.chosen, bound]], "nnp")
    return _bundle(f"Selection {release.name}", made, section("Guarantee", listed(release.guarantee, numbered=True)))


def report_display(report: Report) -> str:
    """Return the display of a synthesis report: released answers next to those of the synthetic records."""
    head = f"{plural(report.records, 'synthetic record')}: {report.summary}"
    rows = [[a.query, a.label, *_released(a), number(a.synthetic, 0, 0)] for a in report.answers[: ROWS + 1]]
    left = len(report.answers) - ROWS
    more = words(f"{left:,} more in report.answers.", "note") if left > 0 else ""
    head_row = ["query", "answer", "released", "95 % interval", "synthetic"]
    picture = _image(synthesis_picture(report)) if report.compared else ""
    return _bundle(head, picture, table(head_row, rows[:ROWS], "pprnr"), more)


def line_display(value: object) -> str:
    """Return the display of any other value: its `repr`."""
    return f"<p>{escaped(repr(value))}</p>"


def _released(answer: ComparedAnswer) -> list[str]:
    row = answer.released
    if row is None:
        return ["–", ""]
    ends = f"{number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)}"
    return [number(row.value, row.low, row.high), "exact" if row.exact else ends]


def _bundle(head: str, *parts: str) -> str:
    made = "\n".join([f"<p><b>{escaped(head)}.</b></p>", *(part for part in parts if part)])
    return f"<div>{inlined(made)}</div>"


def inlined(markup: str) -> str:
    """Replace class attributes by style attributes; texts are not affected, because their quotes are escaped.

    >>> inlined('<td class="r">1</td><p>class=&quot;r&quot;</p>')
    '<td style="text-align:right;white-space:nowrap">1</td><p>class=&quot;r&quot;</p>'
    """
    looked = re.sub(r' class="([a-z0-9 ]+)"', lambda found: f' style="{_LOOKS.get(found[1], "")}"', markup)
    return looked.replace("<td>", '<td style="text-align:left">').replace("<th>", '<th style="text-align:left">')


def _image(picture: Picture) -> str:
    """Return a picture as an inline PNG image; empty without vl-convert."""
    if not can_render():
        return ""
    data = base64.b64encode(picture.to_png()).decode("ascii")
    style = f"max-width:min(100%,{_WIDE}px)"
    return f'<img alt="{escaped(picture.title)}" style="{style}" src="data:image/png;base64,{data}">'
