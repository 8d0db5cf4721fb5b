"""Memory of a plan with very many answers, of its terminal output and its release: a gigabyte at most."""

import random
import subprocess
import sys

import pytest

from contracts.long_forms import slow

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of /proc/self/status")
POLICY = 'title = "T"\ndataset = "t"\n{}[attributes.i]\nintegers = [0, {}]\nepsilon = 0.1\nper = 1\n'
ABSENT = 'neighbors = "add-remove"\nepsilon_presence = 1\nmax_records = 1000\n'
PEOPLE = '[people]\nkey = "who"\nmax_rows = 2\n'
PEAK = """
import sys
from dxprivacy.cli import main
try:
    main()
finally:  # unlike the peak of `getrusage`, this one does not begin with that of the process that started it
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(peak.split()[1], file=sys.stderr)
"""


def megabytes(folder, *words):
    """The most memory that a command needed."""
    run = subprocess.run(
        [sys.executable, "-c", PEAK, *words], cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stderr
    return int(run.stderr.split()[-1]) / 1024


def plan_and_release(folder, values, head=""):
    (folder / "policy.toml").write_text(POLICY.format(head, values - 1))
    rng = random.Random(values)
    rows = "".join(f"p{k // 2},{rng.randrange(values)}\n" for k in range(500))
    (folder / "data.csv").write_text("who,i\n" + rows)
    number = "--people" if head == PEOPLE else "--n-records"
    planned = megabytes(folder, "plan", "policy.toml", "ranges i", number, "500", "--out", "plan.json")
    words = ("plan.json", "--data", "data.csv", "--policy", "policy.toml", "--ledger", "l.db", "--new-ledger")
    return max(planned, megabytes(folder, "release", *words, "--anyway", "--json"))


@pytest.mark.parametrize(
    ("values", "head"), [pytest.param(30, "", id="few"), slow(140, "", id="replace"), slow(80, ABSENT, id="add-remove")]
)
def test_all_ranges_of_many_values_take_little_memory(values, head, tmp_path):
    assert plan_and_release(tmp_path, values, head) < 1_000


@pytest.mark.soak
@pytest.mark.parametrize(
    ("values", "head"), [(300, ""), (300, ABSENT), (200, PEOPLE)], ids=["replace", "add-remove", "people"]
)
def test_all_ranges_of_the_most_values_take_little_memory(values, head, tmp_path):
    assert plan_and_release(tmp_path, values, head) < 1_000
