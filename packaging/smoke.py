"""Does an installed package work?  `python packaging/smoke.py dist/dxprivacy-….whl` with any interpreter.

Makes an empty environment of this interpreter, installs what is given and nothing else, and uses it as somebody would:
the demo, a policy of their own, a program.  Needs the standard library alone.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

POLICY = """title = "Survey"
dataset = "survey"
[attributes.sex]
values = ["F", "M"]
epsilon = 1
[attributes.age]
integers = [0, 100]
epsilon = 1
per = 10
"""
PROGRAM = """import dxprivacy as dx
plan = dx.plan([[1, 0, 2], [0, 1, 0]], dx.metrics.euclidean([[0, 0], [3, 4], [60, 80]], epsilon_per_unit=0.01))
assert plan.certificate.ratio <= 1
print("released", dx.laplace(plan, [10, 20, 30]).tolist())
"""


def main(what: str) -> None:
    """Install and use it; whatever fails ends with its message."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        binaries = folder / "env" / "bin"
        (folder / "policy.toml").write_text(POLICY)
        (folder / "people.csv").write_text("sex,age\n" + "F,30\nM,41\n" * 500)

        def run(*command: str) -> None:
            print("$", " ".join(command), flush=True)
            done = subprocess.run(
                [str(binaries / command[0]), *command[1:]], cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode:
                sys.exit(f"{done.stdout}\n{done.stderr}\nended with {done.returncode}")

        run("python", "-m", "pip", "install", "-q", "--disable-pip-version-check", str(Path(what).resolve()))
        run("python", "-W", "error", "-c", PROGRAM)
        run("dxp", "--version")
        run("python", "-m", "dxprivacy", "check", "policy.toml")
        run("dxp", "plan", "policy.toml", "count by sex", "mean age", "--n-records", "1000", "--out", "plan.json")
        release = ("dxp", "release", "plan.json", "--data", "people.csv", "--policy", "policy.toml")
        run(*release, "--ledger", "ledger.db", "--new-ledger")
        (released,) = folder.glob("release-*.json")
        run("dxp", "verify", released.name, "--ledger", "ledger.db")
        run("dxp", "demo")
        run("dxp", "man", "man1")
    print(f"✓ {Path(what).name} works with Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main(sys.argv[1])
