"""Asking one thing after the other: the ledger counts pair by pair, so each query leaves the others' budget."""

import tempfile
from pathlib import Path

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded

HERE = Path(__file__).parent / "household"


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        dx.Session(
            HERE / "policy.toml", HERE / "people.csv", ledger=Path(folder) / "ledger.db", new_ledger=True
        ) as session,
    ):
        session.release(session.plan("count by sex"))
        print("sex     ", session.ledger.between({"sex": "M"}, {"sex": "F"}))
        session.release(session.plan("count by age/20"))
        print("age     ", session.ledger.between({"age": 39}, {"age": 40}))
        print("children", session.ledger.between({"children": 0}, {"children": 1}))
        try:
            session.release(session.plan("count where sex=F", budget="10%"))
        except BudgetExceeded as refused:
            print(refused)


if __name__ == "__main__":
    main()
