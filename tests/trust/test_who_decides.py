"""Who decides over a release: the curator's policy and ledger, whatever an analyst wrote into a plan (docs/trust.md).

Where the tests run as root, curator and analyst are two real users of the machine.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import dxprivacy as dx
from contracts.long_forms import slow
from contracts.unused_ledger import unused_ledger
from dxprivacy.errors import LedgerError
from dxprivacy.formats.canonical import sealed
from dxprivacy.ledger import Ledger

POLICY = """
title = "Survey"
dataset = "survey-1"
[attributes.sex]
values = ["M", "F"]
epsilon = {epsilon}
other = {{ epsilon = {epsilon} }}
[attributes.age]
integers = [0, 9]
unit = "years"
epsilon = 0.5
per = 1
"""
MALES = 7_357
PEOPLE = "sex,age\n" + "".join(f"{'M' if k < MALES else 'F'},{k % 10}\n" for k in range(10_000))
ANALYST, CURATOR = 65_534, 65_533

FORGE = Path(__file__).with_name("forge.py")

two_users = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")


@pytest.fixture(scope="session")
def forge():
    """A process that calls `dxp` as any user; None where that cannot be."""
    if os.geteuid() != 0:
        yield None
        return
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"}
    command = [sys.executable, FORGE]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def as_user(forge):
    """Call `dxp` as a user, in a folder; as ourselves where we cannot be anybody else."""

    def call(uid, *arguments, cwd):
        words = [str(word) for word in arguments]
        if forge is None:
            return subprocess.run(
                [Path(sys.executable).with_name("dxp"), *words], cwd=cwd, capture_output=True, text=True
            )
        forge.stdin.write(json.dumps({"uid": uid, "arguments": words, "cwd": str(cwd)}) + "\n")
        forge.stdin.flush()
        return SimpleNamespace(**json.loads(forge.stdout.readline()))

    return call


@pytest.fixture
def house(tmp_path):
    """A curator's folder that nobody else may even enter, an analyst's own one, and a place to hand over plans."""
    curator, analyst, desk = (tmp_path / name for name in ("curator", "analyst", "desk"))
    for folder in (curator, analyst, desk):
        folder.mkdir()
    (curator / "policy.toml").write_text(POLICY.format(epsilon="1.0"))
    (curator / "people.csv").write_text(PEOPLE)
    (analyst / "policy.toml").write_text(POLICY.format(epsilon="inf"))
    (analyst / "honest.toml").write_text(POLICY.format(epsilon="1.0"))
    if os.geteuid() == 0:
        for path in (curator, *curator.iterdir()):
            os.chown(path, CURATOR, CURATOR)
        for path in (analyst, desk, *analyst.iterdir()):
            os.chown(path, ANALYST, ANALYST)
        curator.chmod(0o700)
        (curator / "people.csv").chmod(0o600)
        for path in (tmp_path, *tmp_path.parents[:-1]):  # pytest's folders are closed to others
            if path.stat().st_uid == 0 and path != Path("/tmp"):
                path.chmod(path.stat().st_mode | 0o011)
    return curator, analyst, desk


def planned(policy, *queries, **options):
    loaded = dx.Policy.load(policy)
    return make(loaded, *queries, **options).to_dict()


def make(policy, *queries, budget="50%"):
    from dxprivacy.mechanisms.linear.planning.planner import make_plan

    return make_plan(list(queries), policy.metric, budget=budget, title=policy.title, dataset=policy.dataset)


def hand_over(desk, data, name="plan.json"):
    """A plan on the desk, resealed by whoever wrote it: the seal is no signature."""
    text = json.dumps(sealed({k: v for k, v in data.items() if k != "seal"}))
    (desk / name).write_text(text)
    return desk / name


def pointed_at(data, policy):
    data["policy"]["file"] = str(policy)
    return data


@pytest.fixture
def release(as_user):
    """The curator releases a plan."""

    def call(curator, plan, *options):
        return as_user(CURATOR, "release", plan, "--data", "people.csv", *options, cwd=curator)

    return call


# -- the plan's own policy and ledger ----------------------------------------------------------------------------------


# Not made small: this attack went through once, by the command line.
def test_a_plan_that_names_a_policy_of_its_own_is_not_followed(house, release):
    """The attack that went through: ε = inf, a ledger beside it, and the exact count."""
    curator, analyst, desk = house
    evil = hand_over(desk, pointed_at(planned(analyst / "policy.toml", "count by sex"), analyst / "policy.toml"))
    refused = release(curator, evil)
    assert refused.returncode == 2, refused.stderr
    assert "name the policy and the ledger" in refused.stderr
    for word in ("--policy policy.toml", "--ledger LEDGER.db"):  # the command to type, with what stands here
        assert f"dxp release {evil} --data people.csv {word}" in refused.stderr
    assert str(analyst) not in refused.stderr  # what the plan says is not even proposed
    refused = release(curator, evil, "--policy", "policy.toml", "--new-ledger")
    assert refused.returncode == 2
    assert "the plan was made for another policy" in refused.stderr
    assert str(MALES) not in refused.stdout + refused.stderr
    assert not list(analyst.glob("ledger.db*"))
    assert not list(curator.glob("release-*"))


def test_an_honest_plan_that_names_another_place_is_released_by_the_curators_policy(house, release):
    curator, analyst, desk = house
    data = pointed_at(planned(analyst / "honest.toml", "count by sex"), analyst / "policy.toml")
    done = release(curator, hand_over(desk, data), "--policy", "policy.toml", "--new-ledger")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("✓ policy    policy.toml · ")
    assert (curator / "ledger.db").exists()
    assert not list(analyst.glob("ledger.db*"))
    with Ledger.open(curator / "ledger.db", dx.Policy.load(curator / "policy.toml")) as ledger:
        assert len(ledger.entries()) == 1


@pytest.mark.parametrize("member", ["ledger", "policy_file", "data"])
def test_no_member_of_a_plan_chooses_a_file(house, member, release):
    curator, analyst, desk = house
    data = planned(analyst / "honest.toml", "count by sex") | {member: str(analyst / "x")}
    data["policy"][member] = str(analyst / "x")
    done = release(curator, hand_over(desk, data), "--policy", "policy.toml", "--new-ledger")
    assert done.returncode in (0, 2), done.stderr  # ignored, or refused
    assert not (analyst / "x").exists()


def test_a_plan_that_claims_the_curators_digest_for_other_distances_is_recomputed(house, release):
    """The digests match, the queries are honest, the noise is what the analyst would like: none."""
    curator, analyst, desk = house
    data = planned(analyst / "honest.toml", "count by sex")
    data["scales"] = [(0.0).hex() for _ in data["scales"]]
    data["certificate"] = data["certificate"] | {"ratio": "0"}
    refused = release(curator, hand_over(desk, data), "--policy", "policy.toml", "--new-ledger")
    assert refused.returncode in (2, 4), refused.stderr
    assert str(MALES) not in refused.stdout + refused.stderr


def test_a_plan_of_another_dataset_is_refused(house, release):
    curator, analyst, desk = house
    other = analyst / "other.toml"
    other.write_text(POLICY.format(epsilon="1.0").replace("survey-1", "survey-2"))
    refused = release(
        curator, hand_over(desk, planned(other, "count by sex")), "--policy", "policy.toml", "--new-ledger"
    )
    assert refused.returncode == 2
    assert "another policy" in refused.stderr


# -- by ledger alone ---------------------------------------------------------------------------------------------------


def test_a_ledger_alone_brings_the_version_of_the_policy_that_it_holds(house, release):
    curator, analyst, desk = house
    first = hand_over(desk, planned(analyst / "honest.toml", "count by sex", budget="25%"))
    assert release(curator, first, "--policy", "policy.toml", "--new-ledger").returncode == 0
    (curator / "policy.toml").unlink()
    second = hand_over(desk, planned(analyst / "honest.toml", "count by age", budget="25%"), "second.json")
    done = release(curator, second, "--ledger", "ledger.db")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("✓ policy    as ledger.db holds it · ")
    evil = hand_over(desk, planned(analyst / "policy.toml", "count by sex"), "evil.json")
    refused = release(curator, evil, "--ledger", "ledger.db")
    assert refused.returncode == 2
    assert "another policy" in refused.stderr


def test_a_ledger_alone_that_is_not_there_is_not_started(house, release):
    curator, analyst, desk = house
    plan = hand_over(desk, planned(analyst / "honest.toml", "count by sex"))
    for more in ((), ("--new-ledger",)):
        refused = release(curator, plan, "--ledger", "none.db", *more)
        assert refused.returncode == 7
        assert "--policy POLICY.toml --new-ledger" in refused.stderr
    assert not (curator / "none.db").exists()


def test_a_ledger_keeps_units_and_points_so_that_it_needs_no_other_file(tmp_path):
    (tmp_path / "places.csv").write_text("id,x,height\na,0,1\nb,3,2\nc,9,4\n")
    text = 'title = "T"\ndataset = "t"\n[attributes.home]\npoints = "places.csv"\nepsilon = 1\nper = 1\n'
    text += 'units = { height = "m" }\n[attributes.age]\nintegers = [0, 3]\nepsilon = 1\nper = 1\nunit = "years"\n'
    (tmp_path / "policy.toml").write_text(text)
    policy = dx.Policy.load(tmp_path / "policy.toml")
    unused_ledger(tmp_path / "ledger.db", policy).close()
    (tmp_path / "places.csv").unlink()
    from dxprivacy.ledger.adoption import stored_policy

    back = stored_policy(tmp_path / "ledger.db")
    assert (back.title, back.dataset, back.version, back.digest) == ("T", "t", policy.version, policy.digest)
    assert back.universe.units() == policy.universe.units() == {"age": "years", "home.height": "m"}
    Ledger.open(tmp_path / "ledger.db", back).close()


def test_a_ledger_without_the_units_of_a_plan_asks_for_the_policy(house, monkeypatch, release):
    curator, analyst, desk = house
    from dxprivacy.ledger.policy_versions import Version

    written = Version.content

    def without_units(self, budgets):
        return json.dumps(json.loads(written(self, budgets)) | {"units": {}})

    with monkeypatch.context() as earlier:
        earlier.setattr(Version, "content", without_units)
        unused_ledger(curator / "ledger.db", dx.Policy.load(curator / "policy.toml")).close()
    if os.geteuid() == 0:
        for path in curator.iterdir():
            os.chown(path, CURATOR, CURATOR)
    plan = hand_over(desk, planned(analyst / "honest.toml", "count by sex"))
    refused = release(curator, plan, "--ledger", "ledger.db")
    assert refused.returncode == 7
    assert "does not hold the units of the plan" in refused.stderr
    assert "--policy FILE" in refused.stderr
    assert release(curator, plan, "--policy", "policy.toml").returncode == 0


def test_a_ledger_that_does_not_hold_its_distances_is_refused_with_the_remedy(tmp_path):
    from dxprivacy.ledger.adoption import stored_policy

    cut = dx.metrics.restricted(dx.metrics.line(5, 1), [0, 2, 4])
    unused_ledger(tmp_path / "ledger.db", cut, dataset="t").close()
    with pytest.raises(LedgerError, match="cannot be read by themselves") as caught:
        stored_policy(tmp_path / "ledger.db")
    assert "--policy FILE" in str(caught.value)


# -- new ledgers -------------------------------------------------------------------------------------------------------


def test_a_new_ledger_needs_a_word_and_is_announced_before_anything_is_counted(house, release):
    curator, analyst, desk = house
    plan = hand_over(desk, planned(analyst / "honest.toml", "count by sex"))
    refused = release(curator, plan, "--policy", "policy.toml")
    assert refused.returncode == 7
    assert "there is no ledger yet; nothing spent, no data read" in refused.stderr
    assert f"dxp release {plan} --data people.csv --policy policy.toml --new-ledger" in refused.stderr
    assert not list(curator.glob("ledger.db*"))
    done = release(curator, plan, "--policy", "policy.toml", "--new-ledger")
    assert f"! new ledger  {curator.resolve() / 'ledger.db'}: what was spent elsewhere" in done.stderr
    again = release(curator, plan, "--policy", "policy.toml")
    assert (again.returncode, again.stderr) == (0, "")


def test_an_announcement_comes_before_the_count(house, monkeypatch, capsys):
    from dxprivacy.cli.options import CountOptions
    from dxprivacy.cli.policy_and_ledger import decide
    from dxprivacy.engines.files import csv_lines

    curator, _, _ = house
    monkeypatch.chdir(curator)
    monkeypatch.setattr(csv_lines.CsvFile, "count", lambda *_: pytest.fail("counted"))
    deciding = decide(Path("policy.toml"), None, new_ledger=True)
    with deciding.open(("people.csv",), CountOptions(None, spill=True)) as session:
        assert session.ledger.is_new
    assert "! new ledger" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["select", "policy.toml", "most common sex"], ["synth", "policy.toml", "count by sex"]]
)
def test_choices_and_synthetic_records_need_the_same_word(house, command, as_user):
    curator, _, _ = house
    refused = as_user(CURATOR, *command, "--data", "people.csv", cwd=curator)
    assert refused.returncode == 7
    assert "--new-ledger" in refused.stderr
    assert not list(curator.glob("ledger.db*"))
    done = as_user(CURATOR, *command, "--data", "people.csv", "--new-ledger", cwd=curator)
    assert done.returncode == 0, done.stderr
    assert "! new ledger" in done.stderr


@pytest.mark.parametrize("content", [b"", None])
def test_an_empty_file_is_no_ledger_that_somebody_started(house, content, release, as_user):
    """`touch ledger.db` must not stand for the word."""
    curator, analyst, desk = house
    plan = hand_over(desk, planned(analyst / "honest.toml", "count by sex"))
    if content is not None:
        (curator / "ledger.db").write_bytes(content)
        if os.geteuid() == 0:
            os.chown(curator / "ledger.db", CURATOR, CURATOR)
    refused = release(curator, plan, "--policy", "policy.toml")
    assert refused.returncode == 7, refused.stderr
    assert "--new-ledger" in refused.stderr
    for command in (["ledger", "ledger.db"], ["plan", "policy.toml", "count", "--ledger", "ledger.db"]):
        assert as_user(CURATOR, *command, cwd=curator).returncode == 7
    assert not (curator / "ledger.db.witness").exists()


def test_a_lost_ledger_is_told_from_one_that_never_was(house, release):
    curator, analyst, desk = house
    plan = hand_over(desk, planned(analyst / "honest.toml", "count by sex"))
    assert release(curator, plan, "--policy", "policy.toml", "--new-ledger").returncode == 0
    for path in curator.glob("ledger.db*"):
        if path.suffix != ".witness":
            path.unlink()
    for more in ((), ("--new-ledger",)):
        refused = release(curator, plan, "--policy", "policy.toml", *more)
        assert refused.returncode == 7
        assert "its witness knows row" in refused.stderr


def test_in_python_a_missing_ledger_is_refused_with_the_argument_that_starts_one(tmp_path):
    (tmp_path / "people.csv").write_text("sex,age\nM,1\nF,2\n")
    policy = dx.Policy.parse(POLICY.format(epsilon="1.0"))
    for content in (None, b""):  # an empty file is not a ledger
        if content is not None:
            (tmp_path / "new.db").write_bytes(content)
        with pytest.raises(LedgerError, match="there is no ledger yet; nothing spent, no data read") as refused:
            dx.Session(policy, tmp_path / "no-such-data.csv", ledger=tmp_path / "new.db")
        assert "→ new_ledger=True   starts one" in str(refused.value)
        assert not (tmp_path / "new.db.witness").exists()
    with pytest.raises(LedgerError, match="new_ledger=True"):
        Ledger.open(tmp_path / "new.db", policy)
    with dx.Session(policy, tmp_path / "people.csv", ledger=tmp_path / "new.db", new_ledger=True) as session:
        assert session.ledger.is_new
        session.release(session.plan("count by sex", budget="50%"), anyway=True)
    with dx.Session(policy, tmp_path / "people.csv", ledger=tmp_path / "new.db") as session:
        assert not session.ledger.is_new
        assert len(session.ledger.entries()) == 1


@two_users
def test_a_ledger_that_somebody_else_put_beside_the_policy_is_not_taken_unnamed(house, release, as_user):
    """In a folder that both may write, the analyst starts the ledger first."""
    curator, analyst, desk = house
    shutil.copy(curator / "policy.toml", desk / "policy.toml")
    desk.chmod(0o777)
    plan = hand_over(desk, planned(analyst / "honest.toml", "count by sex"))
    (analyst / "people.csv").write_text("sex,age\nM,1\n")
    started = as_user(
        ANALYST, "release", plan, "--data", analyst / "people.csv", "--policy", desk / "policy.toml", "--new-ledger",
        "--anyway", cwd=analyst,
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    assert (desk / "ledger.db").stat().st_uid == ANALYST
    (desk / "ledger.db").chmod(0o666)
    (desk / "ledger.db.witness").chmod(0o666)
    refused = release(curator, plan, "--policy", desk / "policy.toml")
    assert refused.returncode == 7, refused.stderr
    assert "belongs to another user; nothing spent, no data read" in refused.stderr
    assert f"--ledger {desk / 'ledger.db'}" in refused.stderr


@two_users
def test_the_analyst_cannot_read_what_the_curator_keeps(house, release, as_user):
    curator, analyst, desk = house
    plan = hand_over(desk, planned(analyst / "honest.toml", "count by sex"))
    desk.chmod(0o777)
    assert release(curator, plan, "--policy", "policy.toml", "--new-ledger", "--out", desk).returncode == 0
    for name in ("ledger.db", "ledger.db.witness"):
        assert (curator / name).stat().st_mode & 0o077 == 0
    refused = as_user(ANALYST, "ledger", curator / "ledger.db", cwd=analyst)
    assert refused.returncode == 7
    (published,) = desk.glob("release-*.json")
    assert published.stat().st_mode & 0o777 == 0o644  # meant for everybody
    checked = as_user(ANALYST, "verify", published, cwd=analyst)
    assert checked.returncode == 0, checked.stderr


# -- looser versions ---------------------------------------------------------------------------------------------------


def loosened_by(before, after, tmp_path):
    """In what a version is looser, or nothing; and that nothing is written without the word."""
    path = tmp_path / "ledger.db"
    head = 'title = "T"\ndataset = "t"\n'
    old = dx.Policy.parse(head + before)
    new = dx.Policy.parse(head + 'version = "2"\nwas_version = "1"\n' * ("was =" in after) + after)
    with unused_ledger(path, old) as ledger:
        adoption = ledger.adopt(new, dry_run=True)
        if adoption.looser:
            with pytest.raises(LedgerError, match="is looser than"):
                ledger.adopt(new)
            assert len(ledger.versions) == 1
        assert ledger.adopt(new, looser=bool(adoption.looser)).written or old.digest == new.digest
    return adoption.looser


SEX = '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = {}\n'
AGE = "[attributes.age]\nintegers = [{}]\nepsilon = {}\nper = 1\n"
BOTH = SEX.format(1) + AGE.format("0, 9", 1)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (SEX.format(1), SEX.format(2), "M – F have ε 2 now, and had 1"),
        (SEX.format(1), SEX.format("inf"), "M – F have ε ∞ now, and had 1"),
        (SEX.format(0), SEX.format(1), "have ε 1 now, and had 0"),
        (SEX.format(1), SEX.format(1) + "other = { epsilon = 3 }\n", "have ε 3 now"),
        (SEX.format(1), BOTH, "age is new"),
        (AGE.format("0, 9", 1), AGE.format("0, 12", 1), "10 – other were one value"),
        (AGE.format("0, 9", 1), AGE.format("0, 9", "1.000001"), "age: 0 – other have ε 4.5 now, and had 4.5"),
        (AGE.format("0, 9", 1) + "max_epsilon = 3\n", AGE.format("0, 9", 1), "and had 3"),
        (BOTH + '[combine]\nhow = "max"\n', BOTH, "add up now"),
        (SEX.format("{ M = 1, F = 1 }"), SEX.format("{ M = 1, F = 4 }") + 'between = "sum"\n', "F – other have ε 8"),
        ('[attributes.x]\nvalues = ["A", "B"]\nepsilon = 1\n',
         '[attributes.x]\nvalues = ["A1", "A2", "B"]\nepsilon = 1\nwas = { A1 = "A", A2 = "A" }\n', "A1 – A2 were one"),
    ],
)  # fmt: skip
def test_a_version_that_lets_anybody_be_told_apart_more_easily_needs_a_word(before, after, words, tmp_path):
    found = loosened_by(before, after, tmp_path)
    assert any(words in text for text in found), found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SEX.format(1), SEX.format(1)),
        (SEX.format(2), SEX.format(1)),
        (SEX.format("inf"), SEX.format(1)),
        (BOTH, SEX.format(1)),
        (BOTH, BOTH + '[combine]\nhow = "max"\n'),
        (AGE.format("0, 9", 1), AGE.format("0, 9", "0.5")),
        (AGE.format("0, 9", 1), AGE.format("0, 9", 1) + "max_epsilon = 3\n"),
        (SEX.format(1), SEX.format(1).replace("attributes.sex", "attributes.gender") + 'column = "sex"\n'),
        (SEX.format(1), SEX.format(1).replace('["M", "F"]', '["F", "M"]')),
    ],
)
def test_a_version_that_is_nowhere_looser_needs_none(before, after, tmp_path):
    assert loosened_by(before, after, tmp_path) == ()


@pytest.mark.parametrize("rounds", [20, slow(40)])
def test_what_counts_as_looser_agrees_with_all_pairs_of_records(rounds, tmp_path):
    """Against the distances of all pairs, over random changes of one policy."""
    import random

    rng = random.Random(7)
    seen = set()
    for _ in range(rounds):
        texts = []
        for _ in range(2):
            cap = "" if rng.random() < 0.5 else f"max_epsilon = {rng.choice([2, 5])}\n"
            other = f"other = {{ epsilon = {rng.choice([1, 2, 9])} }}\n"
            texts.append(SEX.format(rng.choice([1, 2])) + other + AGE.format("0, 4", rng.choice([1, 2])) + cap)
        old, new = (dx.Policy.parse(f'title = "T"\ndataset = "t"\n{text}') for text in texts)
        cells = range(old.universe.size)
        truly = any(new.metric.exact(i, j) > old.metric.exact(i, j) for i in cells for j in cells)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        with unused_ledger(path, old) as ledger:
            assert bool(ledger.adopt(new, dry_run=True).looser) == truly, texts
        seen.add(truly)
    assert seen == {True, False}


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_page_on_trust_names_tests_that_exist():
    root = Path(__file__).parents[2]
    named = set(re.findall(r"`(test_\w+)`", (root / "docs" / "trust.md").read_text(encoding="utf-8")))
    sources = "\n".join(p.read_text(encoding="utf-8") for p in (root / "tests").rglob("test_*.py"))
    assert named
    assert not [name for name in named if f"def {name}(" not in sources]
