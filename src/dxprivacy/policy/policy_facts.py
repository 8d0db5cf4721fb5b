"""The facts of a compiled policy, from which policies are explained and compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dxprivacy.formats.file_access import is_address
from dxprivacy.metrics import Metric, scaled
from dxprivacy.metrics.with_other import WithAbsent
from dxprivacy.policy.toml_file import PolicyFile
from dxprivacy.universe.attribute_matching import Recoding
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import OneLine, plural


@dataclass(frozen=True, eq=False)
class PolicyFacts(OneLine):
    """The universe and the distances of all records; `file` is the text it was compiled from."""

    title: str
    dataset: str
    version: str
    universe: Universe
    metric: Metric
    file: PolicyFile
    recoded: Mapping[str, Recoding] = field(default_factory=dict)
    was_version: str = ""

    @property
    def digest(self) -> str:
        """Identifies the universe and every distance."""
        return self.metric.digest

    @property
    def of_people(self) -> Metric:
        """The distances of whole people, as the file gives them, for people with several rows.

        Plans and ledgers use `metric`, the distances of single rows, where each row has its part.
        """
        each = self.universe.rows_each
        if each == 1 or not isinstance(self.metric, WithAbsent):
            return self.metric
        return WithAbsent(self.universe, scaled(self.metric.base, each), self.metric.radius * each)

    @property
    def people_data(self) -> Path | str | None:
        """The path of the table of people, if the file names one; it does not affect the guarantee."""
        table = self.file.tables.get("people", {})
        second = table.get("table", {}) if isinstance(table, dict) else {}
        if "data" not in second:
            return None
        data = str(second["data"])
        if is_address(data):
            return data
        return (self.file.path.parent if self.file.path else Path()) / data

    @property
    def declared_public(self) -> tuple[str, ...]:
        """The attributes whose list of values was read from the data (`dxp init --public`)."""
        tables = self.file.tables["attributes"].items()
        return tuple(name for name, table in tables if table.get("declared_public"))

    def in_short(self) -> str:
        records = plural(self.universe.cells, "possible record")
        return f"{self.title!r}, dataset {self.dataset!r}, {records}"
