import dxprivacy as dx

with dx.Session("plain.toml", "people.csv", ledger="counts.db", new_ledger=True) as session:
    plan = session.plan(dx.table("town"), budget="100%")
    release = session.release(plan)
print("scale of the noise:", plan.scales[0])
print(release.to_pandas()[["town", "value", "low", "high"]].round().to_string(index=False))
