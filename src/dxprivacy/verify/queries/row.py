"""One row of another query."""

from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.queries.answers import Asked
from dxprivacy.verify.queries.base import Query, by_recipe, each_row
from dxprivacy.verify.queries.kinds import KINDS, read_query
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe


class OneRow(Query):
    """`row`."""

    needed = ("of", "row")

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        of = self.data["of"]
        if not isinstance(of, dict) or of.get("ask") == "row" or {"within", "unit", "weight", "title"} & set(of):
            raise refuse("is a row of something with a target, a weight or a title, or of a row", where)
        self.whole = read_query(of, universe, where, KINDS, edition=edition, units=units)

    def words(self, *, goals: bool = True) -> str:  # noqa: ARG002
        return f"row {self.data['row'] + 1} of {self.whole.words()}"

    def bound(self) -> Asked:
        """The row, called like the answer that it is, if it is one by itself."""
        whole = self.whole.bound()
        k = reading.whole(self.data["row"], self.where, 0, whole.rows - 1)
        start = 0
        for block in whole.blocks:
            if k < start + block.rows:
                break
            start += block.rows
        one = block.row(k - start)
        alone = next((a for a in whole.answers if a.rows == (k,)), None)
        if alone is None:
            return self.asked([one], [f"row {k + 1}"], [()], each_row(one))
        return self.asked([one], [alone.label], [alone.named], by_recipe(alone.recipe, 1), unit=alone.unit)
