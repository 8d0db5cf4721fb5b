"""All errors that users can meet: what is wrong, where, and what to do next.

The messages depend on public inputs only (the policy, the query, the schema), never on a record, a count or a true
answer.  Each class has the exit code that the command line uses.

>>> print(QueryError("no attribute “gender”", hints=[("sex", "did you mean this?")]))
no attribute “gender”
  → sex   did you mean this?
"""

import re
from collections.abc import Iterable, Sequence

__all__ = [
    "BudgetExceeded",
    "DataError",
    "DxError",
    "LedgerError",
    "MetricError",
    "NotCertified",
    "NotVerified",
    "PolicyError",
    "QueryError",
    "SeparatesIdentical",
    "TooLarge",
    "Undecided",
    "Unexpected",
    "UsageError",
]

Hint = tuple[str, str]
# Characters that break a line, control a terminal or change the reading direction.  Names in some scripts legitimately
# contain direction marks, so these are replaced in output only.  Lone surrogates come from file names that are not
# text.
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]")


def one_line(text: str) -> str:
    """Replace characters that break a line or control a terminal, in text from a file or a person.

    >>> one_line("a\\nb \\u202ec")
    'a�b �c'
    """
    return STEERING.sub("\ufffd", text)


class DxError(Exception):
    """The base class of all errors: `where · what`, then details, then hints (command, why).

    >>> import dxprivacy as dx
    >>> try:
    ...     dx.Policy.parse('title = "Survey"')
    ... except DxError as error:
    ...     print(error.headline, error.exit_code)
    policy.toml · a policy needs a dataset 3
    """

    exit_code = 1
    title = "error"

    def __init__(
        self, what: str, *, where: str = "", details: Sequence[str] = (), hints: Iterable[Hint | str] = ()
    ) -> None:
        self.what = what
        self.where = where
        self.details = tuple(details)
        self.hints: tuple[Hint, ...] = tuple(h if isinstance(h, tuple) else (h, "") for h in hints)
        super().__init__(self.message())

    @property
    def headline(self) -> str:
        """The message `where · what`, on one line."""
        return one_line(f"{self.where} · {self.what}" if self.where else self.what)

    def message(self) -> str:
        """Return the whole error as plain text."""
        width = max((len(command) for command, _ in self.hints), default=0)
        hints = [f"→ {command.ljust(width)}   {why}".rstrip() for command, why in self.hints]
        return "\n  ".join([self.headline, *map(one_line, (*self.details, *hints))])

    def to_dict(self) -> dict[str, object]:
        """Return the fields of the error for JSON output (`--json`)."""
        return {
            "error": type(self).__name__,
            "where": self.where,
            "what": self.what,
            "details": list(self.details),
            "hints": [{"do": command, "why": why} for command, why in self.hints],
            "exit_code": self.exit_code,
        }


class UsageError(DxError):
    """A call that cannot be understood: an unknown option, a wrong type, a value outside its range.

    >>> import dxprivacy as dx
    >>> dx.metrics.line(0, 1)
    Traceback (most recent call last):
        ...
    dxprivacy.errors.UsageError: a universe, or its number of elements, is needed; got 0
    """

    exit_code = 2


class PolicyError(DxError):
    """A policy, universe or metric that is not valid.

    >>> import dxprivacy as dx
    >>> dx.Policy.parse('title = "Survey"')
    Traceback (most recent call last):
        ...
    dxprivacy.errors.PolicyError: policy.toml · a policy needs a dataset
      → dataset = "household-2026"
    """

    exit_code = 3


class MetricError(PolicyError):
    """A function that is not a metric, or that cannot be used as one.

    >>> import dxprivacy as dx
    >>> dx.metrics.euclidean([[float("nan")]], epsilon_per_unit=1)
    Traceback (most recent call last):
        ...
    dxprivacy.errors.MetricError: coordinates must be finite numbers
    """


class QueryError(DxError):
    """A query that is not valid for this universe.

    >>> import dxprivacy as dx
    >>> dx.plan("count by age", dx.metrics.constant(2, 1))
    Traceback (most recent call last):
        ...
    dxprivacy.errors.QueryError: no attribute “age”
      there are: element
    """

    exit_code = 4


class SeparatesIdentical(QueryError):
    """A query separates two records that the policy calls identical: no noise is enough.

    >>> import dxprivacy as dx
    >>> dx.plan([[1, 0]], dx.metrics.constant(2, 0))
    Traceback (most recent call last):
        ...
    dxprivacy.errors.SeparatesIdentical: query “1 explicit rows” · separates records the policy calls identical
      element 0 and element 1 have ε 0: no noise is enough.
      → group them together, or give the pair an ε above 0
    """


class TooLarge(QueryError):
    """A problem too large to store or compute exactly, known from public numbers alone.

    >>> import dxprivacy as dx
    >>> dx.plan_smalldb([[1, 0] * 200], dx.metrics.constant(400, 1), n_records=10**6, alpha=0.01)
    Traceback (most recent call last):
        ...
    dxprivacy.errors.TooLarge: smalldb · 6.65e+555 small databases are too many to choose among exactly
      3,466 records are too many for a small database.
      Nothing spent, no data read.
      → alpha=0.5   a larger alpha makes them fewer
      → mwem        answers many queries over many possible records
    """


class NotCertified(QueryError):
    """A plan whose certificate does not hold; nothing may be released under it.

    >>> import dxprivacy as dx
    >>> from fractions import Fraction
    >>> dx.plan([[1, 0]], dx.metrics.constant(2, 1)).certificate.require(Fraction(1, 2))
    Traceback (most recent call last):
        ...
    dxprivacy.errors.NotCertified: the plan would use 1 of the policy, but only 0.5 is granted
      → plan again: the scales were changed after planning
    """


class BudgetExceeded(DxError):
    """The ledger has too little left for some pair. Nothing was spent.

    >>> import tempfile, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> with tempfile.TemporaryDirectory() as here:
    ...     ledger = dx.Ledger.open(f"{here}/ledger.db", policy, new_ledger=True)
    ...     for query in ("count where sex=F", "count where sex=M"):
    ...         plan = dx.plan(query, policy.metric)
    ...         _ = ledger.reserve(plan.cost, plan.queries, request=plan.request)
    Traceback (most recent call last):
        ...
    dxprivacy.errors.BudgetExceeded: budget exceeded · nothing spent, no data read
      F – M has 0 left of 1; this plan needs 1.
      → a new dataset   this ledger has nothing left for these queries
    """

    exit_code = 5


class DataError(DxError):
    """Data that cannot be read, or whose schema does not fit the policy; never about a single row.

    >>> import pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> dx.Session(policy, pandas.DataFrame({"age": [17]}), ledger="ledger.db", new_ledger=True)
    Traceback (most recent call last):
        ...
    dxprivacy.errors.DataError: a pandas DataFrame · no column “sex”
      a pandas DataFrame has: age
    """

    exit_code = 6


class LedgerError(DxError):
    """A ledger that cannot be trusted or used: corrupt, edited, of another dataset, locked, unwritable.

    >>> import dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> dx.Ledger.open("no/such/folder/ledger.db", policy, new_ledger=True)
    Traceback (most recent call last):
        ...
    dxprivacy.errors.LedgerError: no/such/folder/ledger.db · no such file or directory
      → make the directory, or correct the path
    """

    exit_code = 7


class NotVerified(DxError):
    """A plan, release or ledger file that contradicts itself: edited, damaged, or never correct.

    >>> from dxprivacy import verify
    >>> list(verify.verify_data({"format": "made up"}))
    Traceback (most recent call last):
        ...
    dxprivacy.errors.NotVerified: format · neither a plan nor a release of this version
    """

    exit_code = 8


class Undecided(DxError):
    """A file that cannot be verified completely here, which does not mean that it is wrong.

    >>> print(Undecided("too large for the memory of this machine", where="verify"))
    verify · too large for the memory of this machine
    """

    exit_code = 9


class Unexpected(DxError):
    """A bug in this package; the text of the original exception is withheld, because it may quote data.

    >>> print(Unexpected("this is a bug", hints=[("dxp --debug …", "shows where")]))
    this is a bug
      → dxp --debug …   shows where
    """


def listed_instead(word: str, known: Iterable[str], most: int = 8) -> list[Hint]:
    """Suggest the most similar name, or else the first few names of a public list.

    >>> listed_instead("femal", ["female", "male"]), listed_instead("X", ["female", "male"])
    ([('female', 'did you mean this?')], [('female, male', 'are listed')])
    """
    known = list(known)
    few = ", ".join(known[:most]) + (", …" if len(known) > most else "")
    return did_you_mean(word, known) or ([(few, "is listed" if len(known) == 1 else "are listed")] if known else [])


def did_you_mean(word: str, known: Iterable[str]) -> list[Hint]:
    """Suggest at most one name for a misspelled one.

    >>> did_you_mean("gendre", ["gender", "age"])
    [('gender', 'did you mean this?')]
    """
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return [(close[0], "did you mean this?")] if close else []
