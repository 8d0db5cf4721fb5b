import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_csv("people.csv"),
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=1.0),
    split_evenly_over=1,
)
towns = pl.LazyFrame({"town": ["Aldon", "Berry", "Corin", "Dale", "Elm"]})
query = context.query().group_by("town").agg(dp.len()).with_keys(towns)
print(query.summarize(alpha=0.05))
print(query.release().collect().sort("town"))
