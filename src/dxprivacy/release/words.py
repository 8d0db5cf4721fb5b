"""A release on the screen."""

from dxprivacy.release.release import Release, Row
from dxprivacy.wording import columns, short, tag, wrap

SHOWN = 12


def number(value: float, low: float, high: float) -> str:
    """As many digits as the interval's width makes worth reading."""
    width = high - low
    if width <= 0:
        text = f"{value:,.0f}" if value == int(value) else f"{value:,.10g}"
    else:
        places = 0 if width >= 10 else 1 if width >= 1 else max(0, len(f"{1 / width:.0f}") + 1)
        text = f"{value:,.{places}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-")


def release_lines(release: Release, *, everything: bool = False, file: str = "") -> list[str]:
    """Answers with intervals, then the promise; `file` is where all answers stand."""
    shown = release.answers if everything or len(release.answers) <= SHOWN + 3 else release.answers[:SHOWN]
    table = [[tag("dim", t) for t in ("", "released", "95 % interval")]]
    table += [[short(r.label, 48), tag("accent", _value(r)), _interval(r)] for r in shown]
    lines = columns(table, "lrl")
    hidden = len(release.answers) - len(shown)
    more = f"{hidden:,} more in {file or 'release.rows()'}. " if hidden else ""
    lines.append(tag("dim", f"  {more}Intervals cover privacy noise, not sampling error."))
    lines += ["", tag("bold", "Promise")]
    for k, sentence in enumerate(release.promise, 1):
        lines += [f"  {line}" for line in wrap(f"{k}. {sentence}", 94, "   ")]
    return lines


def _value(row: Row) -> str:
    return number(row.value, row.low, row.high) + (f" {row.unit}" if row.unit else "")


def _interval(row: Row) -> str:
    if row.exact:
        return "exact: the policy calls this public, or it is the same for all records"
    return f"{number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)}"
