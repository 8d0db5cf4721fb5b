"""Ten ranges and one marginal over 100,000 rows, in an open session, against the same counts by OpenDP's Context."""

import tempfile
from pathlib import Path

import numpy as np

import dxprivacy as dx
from benchmarks import peers
from benchmarks.figures import Figure, seconds, skipped, within

ROWS = 100_000
NAME = "ten ranges and a marginal over 100,000 rows, warm plan and release"
RANGES = [(5 * k, 5 * k + 30) for k in range(10)]


def run() -> list[Figure]:
    return [*ours_and_opendp(), *others()]


def ours_and_opendp() -> list[Figure]:
    """Warm: the session is open and has answered before; and so has OpenDP."""
    ours = warm()
    against = f"{NAME}, against OpenDP's Context for the same counts"
    figures = [within(NAME, ours, 0.3)]
    try:
        theirs = float(peers.told(peers.OPENDP, _OPENDP, ROWS, RANGES))
    except peers.Unavailable as error:
        return [*figures, skipped(against, f"OpenDP {error}", "≤ 0.05")]
    return [*figures, Figure(against, ours, theirs, ours / theirs, "≤ 0.05")]


def warm(repeats: int = 5) -> float:
    """Processor seconds of `plan` and `release`, the least of several, other queries each time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.integers(0, 100, ROWS), "sex": rng.choice(["F", "M"], ROWS)})
    policy_text = (
        'title = "t"\ndataset = "t"\n[attributes.age]\nintegers = [0, 99]\nepsilon = 100.0\nper = 10\n'
        '[attributes.sex]\nvalues = ["F", "M"]\nepsilon = 100.0\n'
    )
    with tempfile.TemporaryDirectory() as here:
        policy, data = Path(here) / "policy.toml", Path(here) / "people.parquet"
        policy.write_text(policy_text)
        pq.write_table(table, data)
        session = dx.Session(policy, data, ledger=Path(here) / "ledger.db", new_ledger=True)
        numbers = iter(range(repeats + 1))

        def work() -> None:
            k = next(numbers)  # other ranges each time: nothing that an earlier plan worked out is asked again
            queries = [*(dx.count(age=(low + k, high + k)) for low, high in RANGES), dx.table("sex")]
            session.release(session.plan(*queries, budget="1%"), request=f"r{k}")

        work()
        took = seconds(work, repeats)
        session.ledger.close()
        return took


_OPENDP = """
import json, sys, warnings
from benchmarks.figures import seconds
warnings.filterwarnings("ignore")
import numpy as np, polars as pl, opendp.prelude as dp
dp.enable_features("contrib")
rows, ranges = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
people = pl.LazyFrame({"age": rng.integers(0, 100, rows), "sex": rng.choice(["F", "M"], rows)})
def work():
    context = dp.Context.compositor(
        data=people, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.objective_of(epsilon=1.0),
        split_evenly_over=len(ranges) + 1,
        margins=[dp.polars.Margin(by=["sex"], invariant="keys")],
    )
    for low, high in ranges:
        context.query().filter((pl.col("age") >= low) & (pl.col("age") <= high)).select(dp.len()).release().collect()
    context.query().group_by("sex").agg(dp.len()).release().collect()
work()
print(json.dumps(seconds(work, 3)))
"""


def others() -> list[Figure]:
    """Counts by age with diffprivlib, in floats; and whether Tumult can be had."""
    from dxprivacy.mechanisms.sampling.discrete_laplace import discrete_laplace

    figures = []
    scales = np.full(100_000, 3.3)
    discrete_laplace(scales)
    what = "discrete Laplace noise, 100,000 samples, against diffprivlib's geometric mechanism"
    try:
        theirs = float(peers.told(peers.DIFFPRIVLIB, _DIFFPRIVLIB, 100_000))
        ours = seconds(lambda: discrete_laplace(scales), 5)
        figures.append(Figure(what, ours, theirs, theirs / ours, "none"))
    except peers.Unavailable as error:
        figures.append(skipped(what, f"diffprivlib {error}"))
    what = f"{NAME}, against Tumult Analytics for the same counts, Spark's processes included"
    try:
        theirs = float(peers.told(peers.TUMULT, _TUMULT, ROWS, RANGES))
        ours = warm()
        figures.append(Figure(what, ours, theirs, ours / theirs, "none"))
    except peers.Unavailable as error:
        figures.append(skipped(what, f"Tumult {error}"))
    return figures


_TUMULT = """
import json, sys, warnings
warnings.filterwarnings("ignore")
from benchmarks.figures import seconds
import numpy as np, pandas as pd
import os; os.environ["PYSPARK_PYTHON"] = sys.executable  # for its workers
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session
rows, ranges = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
people = spark.createDataFrame(pd.DataFrame({"age": rng.integers(0, 100, rows), "sex": rng.choice(["F", "M"], rows)}))
keys = KeySet.from_dict({"sex": ["F", "M"]})
def work():
    session = Session.from_dataframe(PureDPBudget(1), "people", people, protected_change=AddOneRow())
    each = PureDPBudget(1 / (len(ranges) + 1.001))
    for low, high in ranges:
        query = QueryBuilder("people").filter(f"age >= {low} and age <= {high}").count()
        session.evaluate(query, privacy_budget=each).collect()
    session.evaluate(QueryBuilder("people").groupby(keys).count(), privacy_budget=each).collect()
work()
print(json.dumps(seconds(work)))
"""


_DIFFPRIVLIB = """
import json, sys, warnings
from benchmarks.figures import seconds
warnings.filterwarnings("ignore")
from diffprivlib.mechanisms import Geometric
(n,) = json.loads(sys.argv[1])
mechanism = Geometric(epsilon=1 / 3.3, sensitivity=1)
def work():
    for _ in range(n):
        mechanism.randomize(0)
print(json.dumps(seconds(work, 2)))
"""


if __name__ == "__main__":
    for figure in run():
        print(figure)
