import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_csv("people.csv"),
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=1.0),
    margins=[dp.polars.Margin(max_length=100_000)],
)
towns = pl.LazyFrame({"town": ["Aldon", "Berry", "Corin", "Dale", "Elm"]})
age = pl.col("age").fill_null(50)
context.query(epsilon=0.5).group_by("town").agg(dp.len()).with_keys(towns).release()
print("left:", context.remaining_privacy_loss())
context.query(epsilon=0.3).select(age.dp.mean((0, 100))).release()
print("left:", context.remaining_privacy_loss())
for epsilon in (0.3, 0.1):
    try:
        context.query(epsilon=epsilon).select(age.dp.median(candidates=list(range(101)))).release()
    except dp.OpenDPException as error:
        print(epsilon, "refused:", error)
