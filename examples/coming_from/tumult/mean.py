from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, PureDPBudget, QueryBuilder, Session

spark = SparkSession.builder.getOrCreate()
people = spark.read.csv("people.csv", header=True, inferSchema=True)
session = Session.from_dataframe(
    privacy_budget=PureDPBudget(1),
    source_id="people",
    dataframe=people,
    protected_change=AddOneRow(),
)
mean = QueryBuilder("people").average("age", low=0, high=100)
session.evaluate(mean, PureDPBudget(1)).show()
