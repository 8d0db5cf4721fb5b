"""`dxp --help` against importing numpy: nobody should wait for help."""

import subprocess
import sys
import time
from pathlib import Path


def _seconds(command: list[str], times: int = 15) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        best = min(best, time.perf_counter() - start)
    return best


def run() -> list[dict[str, object]]:
    ours = _seconds([str(Path(sys.executable).with_name("dxp")), "--help"])
    peer = _seconds([sys.executable, "-c", "import numpy"])
    return [
        {
            "what": "`dxp --help` / `import numpy`",
            "ours_s": ours,
            "peer_s": peer,
            "ratio": ours / peer,
            "target": "≤ 1",
        }
    ]
