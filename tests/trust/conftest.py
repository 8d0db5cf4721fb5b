"""Two users of one machine: where the tests run as root, `dxp` is called as each of them for real."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

FORGE = Path(__file__).with_name("forge.py")


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
