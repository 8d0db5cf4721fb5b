"""Pictures of a plan and of its release, for the simulated survey of `dxp demo`: error, trade, answers.

python examples/pictures.py [FOLDER]    draws them as PNG, in the folder `pictures` unless another one is named
"""

import sys
import tempfile
from pathlib import Path

import dxprivacy as dx
from dxprivacy.demo.survey import write_survey


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        survey = Path(place) / "survey"
        write_survey(survey)
        with dx.Session(survey / "policy.toml", survey / "people.parquet", ledger=survey / "ledger.db") as session:
            plan = session.plan("mean elevation within 2 m", "count by state within 10")
            release = session.release(plan)
    pictures = {"plan": dx.plots.plan(plan), "trade": dx.plots.trade(plan), "release": dx.plots.release(release)}
    for name, picture in pictures.items():
        print(f"{picture.save(folder / f'{name}.png', scale=1.4)}  {picture.title}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "pictures"))
