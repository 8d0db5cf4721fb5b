"""`dxp --help` against importing numpy: nobody should wait for help."""

import subprocess
import sys
from pathlib import Path

from benchmarks.figures import Figure, seconds


def run() -> list[Figure]:
    ours = _start(str(Path(sys.executable).with_name("dxp")), "--help")
    peer = _start(sys.executable, "-c", "import numpy")
    return [Figure("`dxp --help`, against `import numpy`", ours, peer, ours / peer, "≤ 1")]


def _start(*command: str) -> float:
    return seconds(lambda: subprocess.run(command, capture_output=True, check=True), 15)


if __name__ == "__main__":
    for figure in run():
        print(figure)
