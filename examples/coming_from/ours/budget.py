import dxprivacy as dx

with dx.Session("plain.toml", "people.csv", ledger="budget.db", new_ledger=True) as session:
    session.release(session.plan(dx.table("town"), budget="50%"))
    print(f"left: {session.left:.2f}")
    mean = session.plan(dx.mean_of("age"), budget="30%", n_records=1000)
    session.release(mean)
    print(f"left: {session.left:.2f}")
    try:
        session.select(session.plan_selection(dx.median_of("age"), budget="30%"))
    except dx.errors.BudgetExceeded as error:
        print("refused:", error)
    session.select(session.plan_selection(dx.median_of("age"), budget="20%"))
    print(f"left: {session.left:.2f}")

with dx.Session("plain.toml", "people.csv", ledger="budget.db") as later:
    later.release(mean)  # the same again, in another program too: the stored one, at no cost
    print(f"left: {later.left:.2f}, {len(later.ledger.entries())} entries")
