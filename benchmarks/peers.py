"""Peers in environments of their own, under build/peers: what they need is no business of ours.

Installed by name with uv, or pip where there is no uv, once; skipped with the reason where that is not possible.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "build" / "peers"
INSTALLING = 240  # seconds
OPENDP = ("opendp", ("opendp[polars]==0.16.0", "numpy", "pyarrow"))
DIFFPRIVLIB = ("diffprivlib", ("diffprivlib==0.6.6", "scikit-learn<1.6"))
TUMULT = ("tumult", ("tmlt.analytics==0.21.0",))
Peer = tuple[str, tuple[str, ...]]


class Unavailable(Exception):
    """A peer that cannot be had or run here; says why."""


def told(peer: Peer, program: str, *arguments: Any, patience: float = 300) -> Any:
    """What a program prints last, as JSON, in the peer's environment."""
    command = [str(_python(peer)), "-c", program, json.dumps(arguments)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    environment["PYTHONPATH"] = str(FOLDER.parents[1])  # for clocks and surveys of benchmarks, which need numpy alone
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, env=environment)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"took more than {patience:.0f} s") from None
    if done.returncode:
        raise Unavailable(_last(done.stderr))
    return json.loads(done.stdout.strip().splitlines()[-1])


def _python(peer: Peer) -> Path:
    name, needs = peer
    folder = FOLDER / name
    python = folder / "bin" / "python"
    ready = folder / "installed.txt"
    if ready.exists() and ready.read_text() == "\n".join(needs):
        return python
    shutil.rmtree(folder, ignore_errors=True)
    uv = Path(sys.executable).with_name("uv")
    install = [str(uv), "pip", "install", "-q", "--python", str(python)]
    if not uv.exists():
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", str(folder)], [*install, *needs]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLING)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"cannot be installed: {type(error).__name__}") from None
        if done.returncode:
            raise Unavailable(f"cannot be installed: {_last(done.stderr)}")
    ready.write_text("\n".join(needs))
    return python


def _last(text: str) -> str:
    """The last line of an error, short, without folders of this machine."""
    line = (text.strip().splitlines() or ["no reason given"])[-1].strip()
    return " ".join(word for word in line.split() if "/" not in word)[:140]
