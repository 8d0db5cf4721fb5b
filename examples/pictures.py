"""Pictures for the simulated survey of `dxp demo` and the household one: policy, plan, release, records, budget.

python examples/pictures.py [FOLDER]    draws them as PNG, in the folder `pictures` unless another one is named
"""

import sys
import tempfile
from pathlib import Path

import dxprivacy as dx
from dxprivacy.demo.demo_survey import write_survey

HOUSEHOLD = Path(__file__).parent / "household"


def places(folder: Path) -> dict[str, dx.plots.Picture]:
    """One attribute, 906 places: distance decides everything."""
    write_survey(folder)
    with dx.Session(
        folder / "policy.toml", folder / "people.parquet", ledger=folder / "ledger.db", new_ledger=True
    ) as session:
        queries = ("mean elevation within 2 m", "count by state within 10")
        plan = session.plan(*queries)
        release = session.release(plan)
        # The same answers, released above: the records cost nothing more.
        synthesis = session.synthesize(session.plan_synthesis(*queries, method="direct"))
        return {
            "policy_map": dx.plots.policy(session.policy),
            "plan": dx.plots.plan(plan),
            "trade": dx.plots.trade(plan),
            "release": dx.plots.release(release),
            "synthesis": dx.plots.synthesis(synthesis.report),
            "budget_by_distance": dx.plots.budget(session.ledger),
        }


def household(folder: Path) -> dict[str, dx.plots.Picture]:
    """Four attributes: each has a panel of its own."""
    data = HOUSEHOLD / "people.csv"
    with dx.Session(HOUSEHOLD / "policy.toml", data, ledger=folder / "household.db", new_ledger=True) as session:
        session.release(session.plan("count by sex", budget="25%"))
        session.release(session.plan("count by age/10", budget="30%"))
        session.release(session.plan("count where age=65..100", budget="60%"))
        return {"policy": dx.plots.policy(session.policy), "budget": dx.plots.budget(session.ledger)}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        pictures = places(Path(place) / "survey") | household(Path(place))
    for name, picture in pictures.items():
        print(f"{picture.save(folder / f'{name}.png', scale=1.4)}  {picture.title}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "pictures"))
