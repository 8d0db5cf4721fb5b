"""Numbers of 2,000 models stay what they were: distances, ratios, scales, errors, worst cases and releases."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.long_forms import slow

FEW = "60"


@pytest.mark.parametrize("first", ["6", slow(FEW), pytest.param("2000", marks=pytest.mark.soak)])
def test_numbers_of_models_stay_what_they_were(first):
    command = [sys.executable, "-m", "golden", "compare", first]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "no number differs\n"), done.stdout[:3000] + done.stderr[-3000:]
