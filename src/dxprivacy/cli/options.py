"""Options that several commands share: timing quantization, spilling, file formats, SQL, `--solve` and `--ledger`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dxprivacy.errors import UsageError

if TYPE_CHECKING:
    from dxprivacy.mechanisms.linear.plan import Plan
    from dxprivacy.mechanisms.linear.planning.budget_remedies import Solved
    from dxprivacy.mechanisms.planned import Planned
    from dxprivacy.metrics import Metric
    from dxprivacy.policy import Policy
    from dxprivacy.policy.skeleton import WrittenPolicy
    from dxprivacy.releases.release_base import Released
    from dxprivacy.universe.universe import Universe


@dataclass(frozen=True)
class CountOptions:
    """What was said of it."""

    quantize_time: str | None
    spill: bool


def counting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--quantize-time` and `--no-spill`."""
    quantize_time = click.option(
        "--quantize-time",
        "quantize_time",
        metavar="PERIOD",
        help="Answers leave at whole multiples of this period (1s, 500ms, or auto: from public numbers), so that the "
        "time of counting tells little.",
    )
    spill = click.option(
        "--no-spill", is_flag=True, help="Never write rows to disk while counting; what needs more memory then fails."
    )
    return quantize_time(spill(command))


def people_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--people`."""
    people = click.option(
        "--people",
        type=click.IntRange(min=1),
        help="Under [people]: the number of people; errors are then for as many rows as can be kept of them.",
    )
    return people(command)


def assumed_records(universe: "Universe", n_records: int | None, people: int | None) -> int | None:
    """Return the number of records for which errors are planned, without data."""
    from dxprivacy.errors import UsageError

    if people is None:
        return n_records
    if universe.people is None:
        hints = [
            ("--n-records N", "the number of records"),
            ('[people] key = "patient"', "in the policy: several rows each"),
        ]
        raise UsageError("--people is for policies of people with several rows", hints=hints)
    return people * universe.people.max_rows if n_records is None else n_records


def number_words(release: "Released") -> str:
    """Return the public number of records or people as text."""
    from dxprivacy.releases.guarantee import without_key

    people = release.facts.get("people")
    if people is not None:
        return f"{people:,} people (public{without_key(release.facts)}); how many rows is private"
    return "n is private" if release.records is None else f"n = {release.records:,} (public)"


# -- Options of `dxp init` that declare the format of a file; they go into the policy, and nothing is guessed ----------


_OPTIONS = (
    click.option("--delimiter", metavar="CHARACTER", help='The separator of fields: ";", "|", or "tab".'),
    click.option(
        "--encoding", metavar="NAME", help="The character encoding: cp1252, latin-1, utf-16 …; otherwise UTF-8."
    ),
    click.option("--decimal-comma", is_flag=True, help="Numbers are written like 1.234,5; the policy declares it."),
    click.option("--date-format", metavar="FORMAT", help='The format of dates, such as "%d.%m.%Y".'),
    click.option("--no-header", is_flag=True, help="The first line is a record; needs --columns, as no row is read."),
    click.option("--columns", metavar="NAMES", help="The names of the columns, in order: name,age,city."),
    click.option("--line-breaks", is_flag=True, help="Quoted fields may contain line breaks."),
    click.option("--rows-are-records", is_flag=True, help="For a view of a server: each row comes from one record."),
    click.option(
        "--row-security-role", metavar="ROLE", help="For a server: this role defines which rows are the records."
    ),
)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--delimiter`, `--encoding`, `--decimal-comma`, `--date-format`, `--no-header`, `--columns`, `--line-breaks`,
    `--rows-are-records`, `--row-security-role`.
    """
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def written(
    *,
    delimiter: str | None,
    encoding: str | None,
    decimal_comma: bool,
    date_format: str | None,
    no_header: bool,
    columns: str | None,
    line_breaks: bool,
    rows_are_records: bool,
    row_security_role: str | None,
) -> "WrittenPolicy":
    """Return the file format that the options declare."""
    from dxprivacy.errors import PolicyError, UsageError
    from dxprivacy.policy.skeleton import WrittenPolicy
    from dxprivacy.policy.tables.file_table import known_encoding, why_no_delimiter
    from dxprivacy.universe.file_format import CODECS, FileFormat, is_role
    from dxprivacy.universe.reading.text_formats import DateFormat

    mark = {"tab": "\t", r"\t": "\t"}.get(delimiter or "", delimiter or "")
    if delimiter is not None and (why := why_no_delimiter(mark)):
        raise UsageError(f"--delimiter: {why}", hints=['--delimiter ";"', "--delimiter tab"])
    name = known_encoding(encoding or "utf-8")
    if not name:
        raise UsageError(f"no encoding “{(encoding or '')[:40]}”", hints=[f"known: {', '.join(CODECS)}"])
    names = tuple(part.strip() for part in columns.split(",")) if columns is not None else ()
    if no_header and not names:
        raise UsageError(
            "where no header names the columns, you do",
            details=["No row is read to find out how many columns there are."],
            hints=[("--no-header --columns name,age,city", "in their order")],
        )
    if names and not no_header:
        raise UsageError("columns are named by the header", hints=[("--no-header", "if the first line is a record")])
    if "" in names or len(set(names)) < len(names):
        raise UsageError("--columns needs a name of its own for each column", hints=["--columns name,age,city"])
    if date_format is not None:
        try:
            DateFormat.of(date_format)
        except PolicyError as error:
            raise UsageError(f"--date-format: {error.what}", hints=['--date-format "%d.%m.%Y"']) from None
    if row_security_role is not None and not (row_security_role and is_role(row_security_role)):
        raise UsageError("--row-security-role needs the name of a role", hints=["--row-security-role anna"])
    file = FileFormat(mark, name, names, line_breaks, rows_are_records, row_security_role or "")
    return WrittenPolicy(file, "1.234,5" if decimal_comma else "", date_format or "")


# -- `--sql`: queries as they stand on the command line, or in files ---------------------------------------------------


_MARK = "@"


def sql_files(queries: Iterable[str]) -> list[Path]:
    """Return the files that queries name with @.

    >>> [str(path) for path in sql_files(["SELECT COUNT(*) FROM people", "@query.sql"])]
    ['query.sql']
    """
    return [Path(text.removeprefix(_MARK)) for text in queries if text.startswith(_MARK)]


def sql_texts(queries: Iterable[str]) -> list[str]:
    """Return the texts of the queries.

    >>> sql_texts(["SELECT COUNT(*) FROM people"])
    ['SELECT COUNT(*) FROM people']
    """
    return [_read(Path(text.removeprefix(_MARK))) if text.startswith(_MARK) else text for text in queries]


def _read(path: Path) -> str:
    from dxprivacy.formats.file_access import read_text

    try:
        return read_text(path).removeprefix("\ufeff")
    except UnicodeDecodeError:
        what = "not UTF-8 text"
    except FileNotFoundError:
        what = "no such file"
    except (OSError, ValueError):
        what = "cannot be read"
    raise UsageError(what, where=str(path)[:60], hints=[("--sql @query.sql", "a file with one SELECT")])


# -- `dxp plan --solve`: which budget meets the targets, or by how much every ε would have to grow ---------------------


@dataclass(frozen=True)
class SolvedOption:
    """The result of a search, and the plan that is shown and written; it is under the unchanged policy."""

    of: str
    solved: "Solved[Plan]"
    plan: "Plan"

    @property
    def line(self) -> str:
        """In words."""
        from dxprivacy.output.text.remedies_text import solved_budget_line, solved_epsilon_line

        return (solved_budget_line if self.of == "budget" else solved_epsilon_line)(self.solved)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        short = self.solved.too_little
        return {
            "of": self.of,
            "amount": str(self.solved.amount),
            "too_little": None if short is None else str(short),
            "met": self.solved.met,
            "targets": self.solved.targets,
        }


def require_solvable(solve: str, *, compare: bool) -> None:
    """Refuse options that contradict --solve."""
    from dxprivacy.errors import UsageError

    given = click.get_current_context().get_parameter_source("budget")
    if compare:
        raise UsageError("--solve makes one plan, --compare shows all methods", hints=["leave one of them out"])
    if solve == "budget" and given is not click.core.ParameterSource.DEFAULT:
        raise UsageError("--solve budget finds the budget", hints=["leave --budget out"])


def solution(solve: str, make: "Callable[[Metric, object], Plan]", metric: "Metric", budget: object) -> SolvedOption:
    """Search by planning repeatedly; the policy is never changed."""
    from dxprivacy.mechanisms.linear.planning.budget_remedies import least_budget, least_factor
    from dxprivacy.metrics import scaled

    if solve == "budget":
        solved = least_budget(lambda part: make(metric, part))
        return SolvedOption(solve, solved, solved.plan)
    now = make(metric, budget)
    solved = least_factor(lambda factor: now if factor == 1 else make(scaled(metric, factor), budget))
    return SolvedOption(solve, solved, now)


# -- `--ledger` without data: the largest budget that still fits -------------------------------------------------------


T = TypeVar("T")


def fitting(
    make: Callable[[Fraction], T], planned: "Callable[[T], Planned[Any]]", budget: str, policy: "Policy", ledger: Path
) -> T:
    """Plan with the largest budget, up to the given one, that fits the ledger; creates no ledger."""
    from dxprivacy.ledger import Ledger
    from dxprivacy.mechanisms.fit_budget import largest_fitting_plan
    from dxprivacy.privacy.repair import parse_budget

    with Ledger.open(ledger, policy) as opened:
        spent = opened.spent
    return largest_fitting_plan(make, planned, parse_budget(budget), spent)


def budget_text(budget: Fraction) -> str:
    """Return a budget as the command line takes it.

    >>> budget_text(Fraction(123, 10000)), budget_text(Fraction(1, 10))
    ('1.23%', '10%')
    """
    return f"{float(budget * 100):.10g}%"


def fits_line(planned: "Planned[Any]", budget: str, ledger: Path) -> str:
    """State that a plan fits, and whether its budget was reduced."""
    from dxprivacy.privacy.repair import parse_budget
    from dxprivacy.wording import percent, tag

    text = f"fits what {ledger.name} has left on every pair"
    if planned.budget < parse_budget(budget):
        text += f", with a budget of {percent(float(planned.budget))}: {budget} does not"
    return tag("dim", text)
