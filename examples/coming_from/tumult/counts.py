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
counts = session.evaluate(QueryBuilder("people").groupby(towns).count(), PureDPBudget(1))
counts.sort("town").show()
