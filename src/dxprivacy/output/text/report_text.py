"""A report of synthetic records on the screen: released answers beside those of the records."""

import math

from dxprivacy.mechanisms.direct.run import fit_words
from dxprivacy.output.text.headings import under_headings
from dxprivacy.output.text.release_text import number
from dxprivacy.releases.answer_names import names
from dxprivacy.releases.release import TOO_FEW
from dxprivacy.synthetic.synthesis_report import Compared, Report
from dxprivacy.wording import columns, plural, short, tag, wrap

SHOWN = 12


def report_lines(report: Report, *, everything: bool = False, file: str = "") -> list[str]:
    """Some answers, those that lie outside among them, and the sentence at the end; `file` has them all."""
    shown = list(report.answers)
    called = [short(name, 48) for name in names(shown)]
    if not everything and len(shown) > SHOWN + 3:
        # What does not fit comes first, then what can be compared at all; shown in the order of the questions.
        ranked = sorted(range(len(shown)), key=lambda k: (-shown[k].beyond, shown[k].released is None, k))
        misfits = [k for k in ranked if shown[k].beyond > 0][: SHOWN // 2]
        others = [k for k in ranked if not shown[k].beyond]
        kept = sorted([*misfits, *others[: SHOWN - len(misfits)]])
        shown, called = [shown[k] for k in kept], [called[k] for k in kept]
    table = [[tag("dim", t) for t in ("", "released", "95 % interval", "synthetic", "")]]
    table += under_headings([(a.question, name, _cells(a)) for a, name in zip(shown, called, strict=True)])
    lines = columns(table, "lrlrl")
    hidden = len(report.answers) - len(shown)
    if hidden:
        lines.append(tag("dim", f"  {hidden:,} more in {file or 'report.answers'}."))
    # A released interval misses the truth in 5 of 100 cases, and then a good synthetic answer lies outside.
    sign = tag("good", "✓") if report.inside >= 0.9 * len(report.compared) else tag("warn", "!")
    fit = report.facts.get("fit")
    if fit and not fit["converged"]:
        sign = tag("warn", "!")
    sentence = report.summary[0].upper() + report.summary[1:]
    lines += ["", f"{sign} {tag('bold', sentence)}."]
    if fit:
        lines += [
            f"  {tag('dim', line)}" for words in fit_words(fit) for line in wrap(words[0].upper() + words[1:] + ".", 94)
        ]
    unreleased = len(report.answers) - len(report.compared)
    if unreleased and report.compared:
        further = plural(unreleased, "further answer")
        about = f"{further} had no noisy answer of {'its' if unreleased == 1 else 'their'} own to compare with."
        lines += [f"  {tag('dim', line)}" for line in wrap(about, 94)]
    return lines


def _cells(answer: Compared) -> list[str]:
    """What was released beside the synthetic answer."""
    row = answer.released
    unit = f" {answer.unit}" if answer.unit else ""
    if row is None:
        return [tag("dim", "–"), "", _plain(answer.synthetic) + unit, ""]
    if row.vague:
        return [TOO_FEW, "", _plain(answer.synthetic) + unit, ""]
    ends = "exact" if row.exact else f"{number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)}"
    value = number(row.value, row.low, row.high) + unit
    synthetic = number(answer.synthetic, row.low, row.high) if row.high > row.low else _plain(answer.synthetic)
    return [value, ends, tag("accent", synthetic + unit), "" if answer.inside else tag("warn", "! outside")]


def _plain(value: float) -> str:
    """A number without an interval to say how many digits are worth reading.

    >>> _plain(1234.0), _plain(0.123456), _plain(-2.0)
    ('1,234', '0.1235', '−2')
    """
    text = f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.{_places(value)}f}"
    return text.replace("-", "−")


def _places(value: float) -> int:
    return max(0, 3 - math.floor(math.log10(abs(value))))
