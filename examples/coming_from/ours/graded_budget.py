import dxprivacy as dx

with dx.Session("graded.toml", "people.csv", ledger="graded-budget.db", new_ledger=True) as session:
    session.release(session.plan(dx.table("town"), budget="100%"))
    session.release(session.plan(dx.mean_of("age"), budget="100%"))  # ages have a budget of their own
    print(f"worst case so far: ε {session.ledger.worst_case():.3g}")
    try:
        session.release(session.plan(dx.sum_of("age"), budget="10%"))
    except dx.errors.BudgetExceeded as error:
        print("refused:", error)
