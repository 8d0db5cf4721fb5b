"""The golden file: models, and the numbers that they had when it was written."""

import json
import math
import platform
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

NUMBERS = Path(__file__).with_name("numbers.jsonl")
_CLOSE = 1e-9
_EXACT = ("size", "distances", "workload_ratio", "refused")
_DRAWN = ("released", "left")
_NOT_SEARCHED = ("same-scale", "equal-split", "psa")


@cache
def _lines() -> list[str]:
    return NUMBERS.read_text().splitlines()


def stored() -> list[dict[str, Any]]:
    """The models of the file, each with its numbers."""
    return [json.loads(line) for line in _lines()[1:]]


PINNED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
"""The environment of a process that draws golden numbers: the same instructions on every processor with AVX2."""


def this_machine() -> dict[str, Any]:
    """What the last digit of a float depends on."""
    import numpy as np
    import scipy
    from numpy._core._multiarray_umath import __cpu_dispatch__ as known
    from numpy._core._multiarray_umath import __cpu_features__ as features

    used = sorted(name for name in known if features[name])
    return {"machine": platform.machine(), "numpy": np.__version__, "scipy": scipy.__version__, "cpu": used}


@cache
def _same_machine() -> bool:
    return json.loads(_lines()[0]) == this_machine()


def differences(line: dict[str, Any]) -> str:
    """Say which numbers of a model are others now; empty if none.

    On the kind of machine that wrote the file, with its numpy and scipy, every digit counts.  On any other, a search
    may end elsewhere: then exact numbers are compared, and floats of plans that need no search, but for last digits.
    """
    from golden.adapter import numbers_of

    with tempfile.TemporaryDirectory() as folder:
        now = json.loads(json.dumps(numbers_of(line["model"], Path(folder))))
    then = line["numbers"]
    compared = sorted(now.keys() | then.keys())
    close = False
    if not _same_machine():
        searched = line["model"].get("method") not in _NOT_SEARCHED
        compared = [key for key in compared if key in _EXACT or not (searched or key in _DRAWN)]
        close = True
    wrong = [key for key in compared if not _agree(now.get(key), then.get(key), close=close and key not in _EXACT)]
    return "".join(f"model {line['model']['seed']}: {key} was {then.get(key)}, is {now.get(key)}\n" for key in wrong)


def _agree(now: Any, then: Any, *, close: bool) -> bool:
    return _are_close(now, then) if close else bool(now == then)


def _are_close(one: Any, two: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_are_close(one[k], two[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(_are_close, one, two))
    if isinstance(one, str) and isinstance(two, str):
        return math.isclose(_number(one), _number(two), rel_tol=_CLOSE, abs_tol=_CLOSE)
    return bool(one == two)


def _number(text: str) -> float:
    if "x" in text or text in ("inf", "nan"):
        return float.fromhex(text)
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)
