import dxprivacy as dx

with dx.Session("plain.toml", "people.csv", ledger="mean.db", new_ledger=True) as session:
    added = session.release(session.plan(dx.mean_of("age"), budget="100%", n_records=1000))
with dx.Session("plain-replace.toml", "people.csv", ledger="mean-replace.db", new_ledger=True) as session:
    replaced = session.release(session.plan(dx.mean_of("age"), budget="100%"))
for neighbors, release in (("added or removed", added), ("replaced", replaced)):
    (row,) = release.rows()
    print(f"one record {neighbors}: {row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})")
