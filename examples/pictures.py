"""Pictures for the simulated survey of `dxp demo`: a plan's errors and trade, its release, synthetic records from it.

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
            questions = ("mean elevation within 2 m", "count by state within 10")
            plan = session.plan(*questions)
            release = session.release(plan)
            # The same answers, released above: the records cost nothing more.
            synthesis = session.synthesize(session.plan_synthesis(*questions, method="direct"))
    pictures = {
        "plan": dx.plots.plan(plan),
        "trade": dx.plots.trade(plan),
        "release": dx.plots.release(release),
        "synthesis": dx.plots.synthesis(synthesis.report),
    }
    for name, picture in pictures.items():
        print(f"{picture.save(folder / f'{name}.png', scale=1.4)}  {picture.title}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "pictures"))
