"""`dxp check` where records may be absent: no pair is further apart than twice the presence, and the page says so."""

import dxprivacy as dx


def page(*bodies, presence="0.5"):
    named = "".join(f"[attributes.{name}]\n{body}\n" for name, body in bodies)
    head = f'title = "T"\ndataset = "t"\nneighbors = "add-remove"\nepsilon_presence = {presence}\nmax_records = 100\n'
    return dx.Policy.parse(head + named).check()


SEX = ("sex", 'values = ["M", "F"]\nepsilon = inf')
AGE = ("age", "integers = [0, 9]\nepsilon = 0.3\nper = 1")


def test_nothing_is_called_public_where_presence_caps_it():
    told = page(SEX, AGE)
    assert "public" not in {w.kind for w in told.warnings}
    assert "may reveal" not in str(told)
    assert not any(r.public for r in told.rows)
    assert not told.public
    assert told.to_dict()["worst_case_epsilon"] == 1.0


def test_the_pair_named_in_the_presence_warning_is_the_public_one():
    told = page(AGE, SEX)  # the first two records differ in sex, ...
    assert told.tightened[-1] == ("M", "F", float("inf"), 1.0)
    told = page(SEX, AGE)  # ... and here in age, which is not public
    assert told.tightened[-1] == ("M", "F", float("inf"), 1.0)
    assert any(w.text.startswith("M – F: you wrote ∞, the policy keeps 1") for w in told.warnings)


def test_rows_are_capped_at_twice_the_presence_and_marked():
    sex, age = page(SEX, AGE).rows
    assert (sex.strictest_epsilon, sex.loosest, sex.loosest_epsilon, sex.tightened) == (1.0, "M – F", 1.0, True)
    assert (age.strictest_epsilon, age.loosest, age.loosest_epsilon, age.tightened) == (0.3, "0 – 9", 1.0, True)
    assert "0 – 9            1 !" in str(page(SEX, AGE))


def test_rows_below_twice_the_presence_stay_as_written():
    (age,) = page(AGE, presence="1.35").rows  # twice that is exactly the distance of 0 and 9
    assert (age.loosest_epsilon, age.tightened) == (2.7, False)
    (age,) = page(AGE, presence="1.34").rows
    assert (age.loosest_epsilon, age.tightened) == (2.68, True)


def test_distances_to_other_are_capped_as_well():
    (sex,) = page(("sex", 'values = ["M", "F"]\nepsilon = 0.4\nother = { epsilon = inf }')).rows
    assert [(b.epsilon, b.way) for b in sex.other] == [(1.0, "looser")] * len(sex.other)
    assert sex.other


def test_what_presence_binds_is_not_said_to_be_bound_by_another_value():
    each = ("status", "values = ['a', 'b', 'c']\nepsilon = { a = 1, b = 9, c = 9 }")
    loose, strict = page(each, presence="4"), page(each, presence="0.5")
    assert [t[2:] for t in loose.tightened] == [(9.0, 2.0)]  # over a
    assert [t[3] for t in strict.tightened] == [1.0]
    assert [w.text for w in strict.warnings if "links them" in w.text and "absent" not in w.text] == []


def test_of_a_network_in_pieces_the_pair_that_other_caps_is_a_public_one(tmp_path):
    (tmp_path / "friends.csv").write_text("from,to\na,b\nc,d\n")  # a – b is the first pair, and not public
    text = 'title = "T"\ndataset = "t"\n[attributes.who]\ngraph = "friends.csv"\nepsilon = 1\nother = { epsilon = 3 }\n'
    told = dx.Policy.parse(text, folder=tmp_path).check()
    ((a, b, written, kept),) = told.tightened
    assert {a, b} not in ({"a", "b"}, {"c", "d"})
    assert (written, kept) == (float("inf"), 6.0)
    assert told.rows[0].loosest == f"{a} – {b}"
