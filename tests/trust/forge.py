"""Runs `dxp` as any user, also where the software lies in a folder that only root may read.

Everything is loaded as root by doing it once; then each call is a fork that becomes the user for good before it looks
at its arguments.  Calls come as JSON lines on stdin, results go as JSON lines to stdout.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

from dxprivacy.cli import main

POLICY = 'title = "T"\ndataset = "t"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'


def run(arguments: list[str]) -> dict:
    """One call in this process."""
    sys.argv = ["dxp", *arguments]
    out, err = io.StringIO(), io.StringIO()
    code = 1
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
    return {"returncode": code, "stdout": out.getvalue(), "stderr": err.getvalue()}


def warm_up() -> None:
    """Whatever is loaded late is loaded now."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("policy.toml").write_text(POLICY)
        Path("people.csv").write_text("sex\n" + "M\nF\n" * 50)
        for call in (
            ["plan", "policy.toml", "count by sex", "--budget", "20%", "--out", "plan.json"],
            ["release", "plan.json", "--data", "people.csv", "--policy", "policy.toml", "--new-ledger"],
            ["select", "policy.toml", "most common sex", "--budget", "20%", "--data", "people.csv"],
            ["synth", "policy.toml", "count by sex", "--budget", "20%", "--data", "people.csv"],
            ["verify", "plan.json"],
            ["ledger", "ledger.db"],
            ["ledger", "ledger.db", "--between", "sex=M", "sex=F"],
            ["ledger", "none.db"],
        ):
            run(call)
        for release in Path().glob("release-*.json"):
            run(["verify", str(release), "--ledger", "ledger.db"])
        os.chdir("/")


def as_user(call: dict) -> dict:
    """One call in a fork that is another user."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        with os.fdopen(read) as results:
            text = results.read()
        os.waitpid(child, 0)
        return json.loads(text)
    os.close(read)
    try:
        os.setgroups([])
        os.setgid(call["uid"])
        os.setuid(call["uid"])
        os.umask(0o022)
        os.chdir(call["cwd"])
        result = run(call["arguments"])
    except BaseException as error:
        result = {"returncode": -1, "stdout": "", "stderr": repr(error)}
    with os.fdopen(write, "w") as results:
        results.write(json.dumps(result))
    os._exit(0)


if __name__ == "__main__":
    warm_up()
    for line in sys.stdin:
        print(json.dumps(as_user(json.loads(line))), flush=True)
