from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

spark = SparkSession.builder.getOrCreate()
people = spark.read.csv("people.csv", header=True, inferSchema=True)
session = Session.from_dataframe(
    privacy_budget=PureDPBudget(1),
    source_id="people",
    dataframe=people,
    protected_change=AddOneRow(),
)
towns = KeySet.from_dict({"town": ["Aldon", "Berry", "Corin", "Dale", "Elm"]})
session.evaluate(QueryBuilder("people").groupby(towns).count(), PureDPBudget(0.5))
print("left:", session.remaining_privacy_budget)
session.evaluate(QueryBuilder("people").average("age", low=0, high=100), PureDPBudget(0.3))
print("left:", session.remaining_privacy_budget)
median = QueryBuilder("people").median("age", low=0, high=100)
try:
    session.evaluate(median, PureDPBudget(0.3))
except RuntimeError as error:
    print("refused:", error)
session.evaluate(median, session.remaining_privacy_budget)
print("left:", session.remaining_privacy_budget)
