"""Nothing that is printed or written holds a true answer or a record.

The data has counts that are large primes, so that an exact answer would be recognized anywhere, and texts that could
come from nowhere else.  The noise is replaced by a known offset: so what is released is known, too, and must be there.
"""

import json
import re
from itertools import combinations

import pytest

from contracts.curator import CURATOR

COUNTS = {"1": 10007, "2": 20011, "3": 30011, "4": 40009}  # primes, by home
STRANGERS = 1009
PLANTED = "Planted-Person-4711"
OFFSET = 977
NOTES = ["Mallory Q. Planted", "planted@example.org"]


@pytest.fixture
def secret(town):
    """The town with planted people; the names of all files that are public."""
    rows = [f"{'MF'[k % 3 == 0]},{k % 7},{home},{NOTES[k % 2]}\n" for home, n in COUNTS.items() for k in range(n)]
    rows += [f"M,3,{PLANTED},x\n"] * STRANGERS
    (town / "people.csv").write_text("sex,age,home,note\n" + "".join(rows), encoding="utf-8")
    return rows


def truths(rows):
    """Every count that a query about the town could have as its answer."""
    fields = [row.split(",") for row in rows]
    found = set(COUNTS.values()) | {STRANGERS}
    found |= {sum(COUNTS[h] for h in chosen) for r in (2, 3) for chosen in combinations(COUNTS, r)}
    for column in (0, 1):
        kinds = {f[column] for f in fields}
        found |= {sum(f[column] == kind for f in fields) for kind in kinds}
    return found


def occurs(number, text):
    """Whether a number stands in a text by itself, with or without thousands separated."""
    bare = rf"(?<![\w.]){number}(?!\w)(?!\.\d*[1-9])"
    separated = rf"(?<![\w.,]){number:,}(?![\w,])(?!\.\d*[1-9])"
    return bool(re.search(f"{bare}|{separated}", text))


def test_the_search_for_true_answers_would_find_them():
    for text in ("10007", "x = 10,007.", '"value": 10007.0,', "[10007]", "a,10007,b", "New York,10007.0,9,1", "-10007"):
        assert occurs(10007, text), text
    for text in ("110007", "100071", "ab10007", "10007.5", "1.10007", "5,10,007", "10,007,5"):
        assert not occurs(10007, text), text


# Not made small: every command is called once.
def test_no_output_and_no_file_holds_a_true_answer_or_a_record(town, secret, dxp, known_noise):
    said = []

    def run(*arguments, code=0):
        called = dxp(*arguments)
        assert called.code == code, called
        said.append(called.out + called.err)
        return called

    queries = ("count by home", "count by state", "table sex by age", "sum elevation")
    run("check", "policy.toml")
    plan = run("plan", "policy.toml", *queries, "--budget", "90%", "--method", "optimal").lines[-1].split()[3]
    run("plan", "policy.toml", *queries, "--budget", "90%", "--method", "optimal", "--json")
    run("release", plan, "--data", "people.csv", *CURATOR, "--all", "--out", "public")
    release = run("release", plan, "--data", "people.csv", *CURATOR, "--json")
    run("ledger", "ledger.db")
    run("ledger", "ledger.db", "--json")
    run("ledger", "ledger.db", "--between", "home=1", "home=2")
    run("release", plan, "--data", "people.csv", *CURATOR, "--request", "again", code=5)
    (town / "wrong.toml").write_text(
        (town / "policy.toml").read_text().replace("[attributes.age]", "[attributes.note]")
    )
    wrong = run("plan", "wrong.toml", "count by note").lines[-1].split()[3]
    by = ("--policy", "wrong.toml", "--ledger", "wrong.db", "--new-ledger")
    run("release", wrong, "--data", "people.csv", *by)  # every note is `other`
    run("release", plan, "--data", "places.csv", *CURATOR, code=6)

    written = {p.name: p.read_bytes().decode("utf-8", "replace") for p in town.rglob("*") if p.is_file()}
    for public in ("policy.toml", "wrong.toml", "places.csv", "people.csv"):
        written.pop(public)
    assert {"ledger.db", "ledger.db.witness", plan} <= set(written)
    assert sum(name.startswith("release-") for name in written) >= 2
    everything = said + list(written.values())

    answers = {a["label"]: a["value"] for a in json.loads(release.out)["answers"]}
    assert (
        answers["Hoboken"] == COUNTS["1"] + OFFSET
    )  # the noisy ones are there: the search below looks at the right texts
    assert any(occurs(COUNTS["1"] + OFFSET, text) for text in everything)
    for text in everything:
        for number in truths(secret):
            assert not occurs(number, text), number
        for record in (PLANTED, *NOTES, "Planted", "Mallory"):
            assert record not in text
    elevation = sum(COUNTS[h] * e for h, e in {"1": 9, "2": 10, "3": 45, "4": 15}.items())
    assert not any(str(elevation) in text for text in everything)


def test_a_crash_leaves_nothing_of_the_data_behind(town, secret, dxp, monkeypatch):
    plan = dxp("plan", "policy.toml", "count by home").fine().lines[-1].split()[3]
    monkeypatch.setattr("dxprivacy.mechanisms.linear.plan.build_release", None)
    called = dxp("release", plan, "--data", "people.csv", *CURATOR)
    assert called.code == 1
    texts = [called.out + called.err]
    texts += [p.read_bytes().decode("utf-8", "replace") for p in town.iterdir() if p.name != "people.csv"]
    for text in texts:
        assert not any(occurs(number, text) for number in truths(secret))
        assert "Planted" not in text


def test_what_is_planned_does_not_depend_on_the_data(town, dxp):
    before = dxp("plan", "policy.toml", "count by home", "mean age", "--n-records", 400, "--json").fine().out
    (town / "people.csv").write_text("sex,age,home,note\n" + "F,1,1,x\n" * 400)
    assert dxp("plan", "policy.toml", "count by home", "mean age", "--n-records", 400, "--json").fine().out == before


def test_the_screen_of_a_release_depends_on_the_data_only_through_the_answers(town, dxp, known_noise):
    plan = dxp("plan", "policy.toml", "count by sex", "--method", "optimal").fine().lines[-1].split()[3]
    screens = []
    for k, rows in enumerate((["M,1,1,x\n"] * 400, ["F,99,nowhere,y\n"] * 400)):
        (town / "people.csv").write_text("sex,age,home,note\n" + "".join(rows))
        called = dxp("release", plan, "--data", "people.csv", *CURATOR, "--ledger", f"{k}.db").fine()
        text = re.sub(r"[\d,]{3,}", "#", called.out.replace(f"{k}.db", "#.db"))
        screens.append([" ".join(line.split()) for line in text.splitlines()])
    assert screens[0] == screens[1]
