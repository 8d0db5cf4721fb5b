import dxprivacy as dx

for policy in ("plain", "plain-replace"):
    with dx.Session(f"{policy}.toml", "people.csv", ledger=f"median-{policy}.db", new_ledger=True) as session:
        selection = session.select(session.plan_selection(dx.median_of("age"), budget="100%"))
    (row,) = selection.to_pandas().to_dict("records")
    print(f"{policy}: {row['chosen']}, at most {row['short_by_at_most_95']:.1f} {row['short_in']} (95 %)")
