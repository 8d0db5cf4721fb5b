"""Building blocks of pages: single HTML files with inline SVG pictures and tables.

Pages have no script and no external resources, so that they can be mailed, printed on A4 and archived.  All text from
files and people is escaped; characters that break a line or change the reading direction are replaced by U+FFFD.
"""

import hashlib
import html
import importlib.metadata
import math
import platform
import re
from collections.abc import Iterable, Sequence

from dxprivacy.errors import STEERING, one_line
from dxprivacy.ledger.ledger_budget import Used, used_by_attribute
from dxprivacy.metrics import Metric
from dxprivacy.output.charts.guarantees.budget_picture import used_picture
from dxprivacy.output.charts.picture import Picture
from dxprivacy.output.charts.shades import SHADES
from dxprivacy.output.pages.document import document
from dxprivacy.output.text.plan_text import pair_words
from dxprivacy.policy import Policy
from dxprivacy.policy.policy_check import Check, check
from dxprivacy.privacy.costs import SumCost
from dxprivacy.wording import digits, percent, short_pair, tied

ROWS = 2_000
_EXPONENT = re.compile(r"\d+(\.\d+)?e-\d+")
_STEERING_BUT_LINES = re.compile(STEERING.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def page(title: str, parts: Iterable[str]) -> str:
    """Return the whole page as text; parts are HTML, made by the functions below."""
    return document(title, _STYLE, "\n".join(part for part in parts if part))


def escaped(text: str) -> str:
    """Escape text for HTML.

    >>> escaped("<b> & \\u202eb")
    '&lt;b&gt; &amp; �b'
    """
    return html.escape(one_line(text))


def prose(text: str) -> str:
    """Escape text for HTML and keep numbers on one line: a browser would break 8.53e-08 after its hyphen.

    >>> prose("ε < 8.53e-08")
    'ε &lt; <span class="x">8.53e-08</span>'
    """
    return _EXPONENT.sub(r'<span class="x">\g<0></span>', escaped(text))


def section(title: str, *parts: str) -> str:
    """Return a heading and its parts; empty if all parts are empty."""
    inner = [part for part in parts if part]
    return "\n".join([f"<h2>{escaped(title)}</h2>", *inner]) if inner else ""


def subsection(title: str, *parts: str) -> str:
    """Return a smaller heading and its parts; only the parts without a title."""
    inner = [part for part in parts if part]
    return "\n".join([*([f"<h3>{escaped(title)}</h3>"] if title else []), *inner]) if inner else ""


def words(text: str, kind: str = "") -> str:
    """Return a paragraph; `kind` is `lead` for a headline, `note` for a remark."""
    start = f'<p class="{kind}">' if kind else "<p>"
    return f"{start}{prose(tied(text))}</p>" if text else ""


def listed(sentences: Iterable[str], *, numbered: bool = False) -> str:
    """Return a list of sentences; empty without sentences."""
    items = "".join(f"<li>{prose(tied(sentence))}</li>" for sentence in sentences)
    name = "ol" if numbered else "ul"
    return f"<{name}>{items}</{name}>" if items else ""


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], align: str = "", *, rest: str = "", most: int = ROWS
) -> str:
    """Return a table of texts with at most `most` rows; `rest` says where the other rows are.

    `align` has a letter for each column: `r` for numbers, `n` for other text that stays on one line, `p` for phrases,
    which get a minimum width, and `c` for codes, which may break anywhere.
    """
    if not rows:
        return ""
    sides = [f' class="{side}"' if side in "rnpc" else "" for side in align.ljust(len(rows[0]), "l")]
    top = "".join(f"<th{s}>{prose(_tied(h))}</th>" for h, s in zip(head, sides, strict=False))
    body = "\n".join(
        f"<tr>{''.join(f'<td{s}>{prose(cell)}</td>' for cell, s in zip(row, sides, strict=True))}</tr>"
        for row in rows[:most]
    )
    more = words(f"{len(rows) - most:,} more rows{f': {rest}' if rest else ''}.", "note") if len(rows) > most else ""
    made = f"<table>{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>\n{body}\n</tbody></table>"
    return wide(made) + more


def _tied(title: str) -> str:
    # The title of a column breaks between words only.
    return tied(title).replace(" %", "\u00a0%")


def wide(part: str) -> str:
    """Make a part scroll sideways if it is wider than the page, so that no word or number is broken."""
    return f'<div class="wide">{part}</div>'


def verbatim(text: str) -> str:
    """Return the text of a file, line by line."""
    return f"<pre>{html.escape(_STEERING_BUT_LINES.sub(chr(0xFFFD), text))}</pre>"


def drawn(picture: Picture) -> str:
    """Return a picture as inline SVG (needs the extra `plots`)."""
    own = f"p{hashlib.sha256(picture.text.encode('utf-8', 'replace')).hexdigest()[:8]}"
    svg = with_own_names(picture.to_svg(), own)
    return f'<figure role="img" aria-label="{escaped(picture.title)}">{svg}</figure>'


def with_own_names(svg: str, own: str) -> str:
    """Prefix the ids inside an SVG: with equal ids, a browser would apply the first picture's clipping to all."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{own}-", svg)


_SHADED = "\n".join(
    f".heat td.h{k} {{ background: {shade};{' color: #ffffff;' if shade in SHADES[:3] else ''} }}"
    for k, shade in enumerate(SHADES[::-1])
)
_STYLE = (
    """
@page { size: A4; margin: 16mm; }
body { font: 15px/1.45 "Liberation Sans", Helvetica, Arial, sans-serif; color: #222222;
  max-width: 50em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin-bottom: 0.2em; }
h2 { font-size: 1.15em; margin-top: 2em; break-after: avoid; }
h3 { font-size: 1em; margin: 1.6em 0 0.4em; break-after: avoid; }
h1, h2, h3, p, li { overflow-wrap: break-word; }
.lead { font-size: 1.1em; }
.note { color: #5c5c5c; }
figure { margin: 1em 0; break-inside: avoid; overflow-x: auto; }
svg { display: block; max-width: max(100%, 34em); height: auto; overflow: visible; }
.wide { overflow-x: auto; margin: 1em 0; width: fit-content; max-width: 100%; }
@media screen and (min-width: 60em) { .wide { max-width: calc(50vw + 23em); } }
table { border-collapse: collapse; }
thead { display: table-header-group; }
th { text-align: left; color: #5c5c5c; font-weight: normal; vertical-align: bottom; }
td, th { padding: 0.15em 1.2em 0.15em 0; border-bottom: 1px solid #ececec; }
td { vertical-align: top; }
td.p { min-width: 11em; }
.r { text-align: right; }
td.r, td.n { white-space: nowrap; font-variant-numeric: tabular-nums; }
.x { white-space: nowrap; }
td.c { overflow-wrap: anywhere; min-width: 12em; }
.heat td, .heat th { padding: 0.25em 0.6em; border: 1px solid #ececec; }
"""
    + _SHADED
    + """
tr, li { break-inside: avoid; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85em; background: #f6f6f6; padding: 0.8em; }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; }
  svg { max-width: 100%; }
  .heat td { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  pre { background: none; border: 1px solid #d4d4d4; }
}
"""
)


# -- Parts of several pages: the policy, the used budget, and how to check the page ------------------------------------


def policy_part(policy: Policy | None) -> str:
    """Return the text of the policy and its warnings; empty without a policy."""
    if policy is None:
        return ""
    warnings = warning_list(check(policy))
    head = section("The policy", words(f"Dataset {policy.dataset}, version {policy.version}."), warnings)
    return head + ("\n" + verbatim(policy.file.text) if policy.file.text else "")  # a ledger does not store the text


def warning_list(page: Check) -> str:
    """Return the warnings about a policy."""
    return listed(f"{notice.kind}: {notice.text}" for notice in page.warnings)


def proof_part(rows: Sequence[tuple[str, str]], command: str = "") -> str:
    """Return digests, versions and the command that repeats the page; empty entries are left out."""
    software = f"dxprivacy {importlib.metadata.version('dxprivacy')}, Python {platform.python_version()}"
    every = [*rows, ("made by", software), ("to repeat it", command)]
    return section("How to check it", table([], [list(row) for row in every if row[1]], "nc"))


def limit_words(epsilon: float) -> str:
    """Return a worst-case ε in words."""
    if math.isinf(epsilon):
        return "no limit in standard-DP terms"
    return f"worst-case ε {digits(epsilon)} in standard-DP terms"


def permitted(metric: Metric) -> str:
    """Return the largest worst-case ε that a policy permits, in words."""
    return "no limit" if metric.has_infinite else f"up to ε = {digits(metric.permitted)}"


def used_rows(before: SumCost | None, after: SumCost, metric: Metric) -> tuple[list[str], list[list[str]]]:
    """Return head and rows: for each attribute the used fraction of its most used pair, before (if given) and after."""
    now = used_by_attribute(after, metric)
    fractions = ["used"] if before is None else ["used before", "used after"]
    head = ["alike except", *fractions, "left, worst pair", "worst pair"]
    earlier = {} if before is None else used_by_attribute(before, metric)
    rows = []
    for name, used in now.items():
        first = _largest_fraction(used)
        was = [] if before is None else [percent(_largest_fraction(earlier.get(name, [])))]
        pair = short_pair(pair_words(metric, used[0].pair), 72) if used else "–"
        rows.append([name, *was, percent(first), percent(used[0].left if used else 1.0), pair])
    return head, rows


def _largest_fraction(used: Sequence[Used]) -> float:
    return min(max(one.fraction for one in used), 1.0) if used else 0.0


def budget_part(title: str, before: SumCost | None, after: SumCost, metric: Metric, note: str) -> str:
    """Return a section with the used fraction of each pair's ε, as a table and as a picture."""
    head, rows = used_rows(before, after, metric)
    align = "nrrp" if before is None else "nrrrp"
    return section(title, words(note), table(head, rows, align), drawn(used_picture(after, metric)))
