"""The answers of a release on its page: a picture and a table for each query; two-way tables are shaded."""

from collections.abc import Sequence
from dataclasses import replace

from dxprivacy.output.charts.released.answer_map import maps_of
from dxprivacy.output.charts.released.answer_panels import AnswerPanel, classes, heat_of, panels_of
from dxprivacy.output.charts.released.released_answers import along_a_line, panel_pictures
from dxprivacy.output.pages.page import ROWS, drawn, escaped, subsection, table, wide, words
from dxprivacy.output.text.release_text import number, widths
from dxprivacy.releases.geojson import clear_cells, fullest_first, is_map
from dxprivacy.releases.release import MISSED, TOO_FEW, Release, Row
from dxprivacy.wording import plural

PICTURES, TABLES = 40, 200  # on one page
_FEW, _FULLEST = 50, 20
_NUMBERS = ["released", "95 % interval", "unit"]


def answers_part(release: Release, *, pictures: int | None = None, most: int = ROWS) -> str:
    """Return the HTML of all queries, with groups in columns: at most `pictures` pictures and about `most` rows."""
    every = panels_of(release.answers)
    few = max(min(_FEW, most), most // max(len(every), 1))
    drawings = PICTURES if pictures is None else pictures
    parts = [_panel(release, panel, pictured=k < drawings, most=few) for k, panel in enumerate(every[:TABLES])]
    left = len(every) - TABLES
    more = words(f"{plural(left, 'more table')}: in release-{release.name}.csv.", "note") if left > 0 else ""
    return "\n".join([*parts, more])


def _panel(release: Release, panel: AnswerPanel, *, pictured: bool, most: int) -> str:
    title = panel.name or ("One number each" if len(panel.rows) > 1 else "")
    if heat_of(panel) is not None and not maps_of(panel) and not along_a_line(panel):
        return subsection(title, _crosstab(panel))
    pictures = [drawn(picture) for picture in panel_pictures(release, panel)] if pictured else []
    return subsection(title, *pictures, _listed(panel, most, f"in release-{release.name}.csv"))


def _listed(panel: AnswerPanel, most: int, rest: str) -> str:
    """Return a table with a row for each answer; for a map, only the fullest grid cells."""
    if panel.table is not None and is_map(panel.table):
        fullest = fullest_first(panel.table)
        panel, most = replace(panel, table=fullest, rows=fullest.answers), min(most, _FULLEST, clear_cells(fullest))
        if not most:
            return words(f"No grid cell stands out of the noise of all of them; they are {rest}.", "note")
    columns = ("query",) if panel.table is None else panel.table.columns
    groups: Sequence[tuple[str, ...]]
    groups = [(label,) for label in panel.labels] if panel.table is None else panel.table.groups
    unit = any(row.unit for row in panel.rows)
    head = [*columns, *(_NUMBERS if unit else _NUMBERS[:-1])]
    rows = [
        [*texts, _value(r), interval_words(r), *([r.unit] if unit else [])]
        for texts, r in zip(groups, panel.rows, strict=True)
    ]
    return table(head, rows, "l" * len(columns) + "rn", rest=rest, most=most)


def _crosstab(panel: AnswerPanel) -> str:
    """Return a shaded two-way table, darker for larger numbers, with the half-widths of its intervals below."""
    crosstab = heat_of(panel)
    if panel.table is None or crosstab is None:
        return ""
    turned = panel.table.crosstab is not None and crosstab.down != panel.table.crosstab.down
    columns = panel.table.columns[::-1] if turned else panel.table.columns
    shade = iter(classes([row for line in crosstab.cells for row in line]))
    head = "".join(f'<th class="r">{escaped(text)}</th>' for text in crosstab.across)
    body = "\n".join(
        f"<tr><th>{escaped(text)}</th>{''.join(_cell(row, next(shade)) for row in line)}</tr>"
        for text, line in zip(crosstab.down, crosstab.cells, strict=True)
    )
    corner = escaped(f"{columns[0]} \\ {columns[1]}")
    unit = next((row.unit for row in panel.rows if row.unit), "")
    note = f"{widths(panel.rows)}, 95 %" + (f"; in {unit}" if unit else "")
    made = f'<table class="heat"><thead><tr><th>{corner}</th>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'
    return wide(made) + words(f"{note}. Darker for larger numbers.", "note")


def _cell(row: Row, shade: int | None) -> str:
    kind = "r" if shade is None else f"r h{shade}"
    return f'<td class="{kind}">{escaped(_value(row))}</td>'


def _value(row: Row) -> str:
    if row.exact and row.vague:
        return "–"
    return TOO_FEW if row.vague else number(row.value, row.low, row.high)


def interval_words(row: Row) -> str:
    """Return both ends of an interval, rounded to its width; or why there is none."""
    if row.exact:
        return "this group is empty" if row.vague else "noise-free"
    missed = f" ({MISSED})" if row.missed else ""
    return f"{number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)}{missed}"
