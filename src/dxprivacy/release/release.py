"""A release: what leaves the house.  Answers with intervals and the promise; never a true answer."""

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.model.canonical import UNSEALED, sealed

FORMAT = "dxprivacy-release/2"


@dataclass(frozen=True)
class Row:
    """One released answer with its 95 % interval (of the privacy noise)."""

    label: str
    question: str
    value: float
    low: float
    high: float
    unit: str
    exact: bool
    vague: bool = False  # the interval is the whole range: too few records to say anything


@dataclass(frozen=True)
class Release:
    """All answers of a plan, the promise that goes with them, and what is needed to check both."""

    name: str
    answers: tuple[Row, ...]
    promise: tuple[str, ...]
    records: int
    facts: Mapping[str, Any]

    def rows(self) -> list[dict[str, Any]]:
        """The answers as plain dictionaries."""
        return [
            {"label": r.label, "value": r.value, "low": r.low, "high": r.high, "unit": r.unit, "question": r.question}
            for r in self.answers
        ]

    def to_pandas(self) -> Any:
        """The answers as a DataFrame (needs pandas)."""
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise UsageError("pandas is not installed", hints=["pip install pandas", "release.rows()"]) from None
        return pandas.DataFrame(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """For JSON, sealed."""
        return sealed(
            {
                "format": FORMAT,
                "name": self.name,
                "records": self.records,
                "answers": [
                    row | {"exact": r.exact, "vague": r.vague} for row, r in zip(self.rows(), self.answers, strict=True)
                ],
                "promise": list(self.promise),
                **self.facts,
            }
        )

    def to_json(self) -> str:
        """The whole release as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def to_csv(self) -> str:
        """The answers as CSV text."""
        out = io.StringIO()
        writer = csv.DictWriter(out, ["label", "value", "low", "high", "unit", "question"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return out.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write to a .json or .csv file."""
        target = Path(path)
        if target.suffix not in (".json", ".csv"):
            raise UsageError(f"cannot write {target.name}", hints=["use a name that ends in .json or .csv"])
        try:
            target.write_text(self.to_csv() if target.suffix == ".csv" else self.to_json(), encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"cannot write {target}: {error.strerror}",
                details=["The release is kept in the ledger; the same plan returns it again, at no cost."],
            ) from None
        return target

    def __str__(self) -> str:
        from dxprivacy.release.words import release_lines
        from dxprivacy.wording import plain

        return "\n".join(plain(line) for line in release_lines(self))


def from_json(text: str) -> Release:
    """A release back from its JSON text."""
    data = json.loads(text)
    known = {"format", "name", "records", "answers", "promise", *UNSEALED}
    answers = tuple(
        Row(r["label"], r["question"], r["value"], r["low"], r["high"], r["unit"], r["exact"], r["vague"])
        for r in data["answers"]
    )
    facts = {key: value for key, value in data.items() if key not in known}
    return Release(data["name"], answers, tuple(data["promise"]), data["records"], facts)
