"""Only the exact samplers draw entropy for noise; whatever else is random is named here with its reason."""

import re
from pathlib import Path

import dxprivacy

SOURCES = Path(dxprivacy.__file__).parent
DRAWS = re.compile(
    r"\burandom\b|\bgetrandom\b|\bsecrets\.|^import random\b|^from random\b|np\.random\b|default_rng\(", re.MULTILINE
)

NOISE = {
    "mechanisms/noise/block_max.py",
    "mechanisms/noise/consistent.py",
    "mechanisms/noise/discrete_laplace.py",
    "mechanisms/noise/exact_choice.py",
    "mechanisms/noise/weighted_choice.py",
    "mechanisms/noise/system.py",
    "mechanisms/noise/zero_sum_tables.py",
}
OTHERS = {
    "files/writing.py": "names of files in the making, which nobody should guess",
    "wording.py": "the mark of our own style tags, which no foreign text can carry",
    "engines/spill.py": "names of folders",
    "metrics/checking.py": "triples of a metric that is too large to look at all of them",
    "optimise/strategies/best.py": "starts of a search, the same every time",
    "optimise/strategies/spaces.py": "starts of a search, the same every time",
}
ROOMS = (
    "research/",
    "demo/",
    "mechanisms/synthesis/simulated_noise.py",
    "mechanisms/synthesis/tried_out.py",
)  # made-up data and noise, seeded


def test_no_other_file_draws_random_numbers():
    found = {str(p.relative_to(SOURCES)) for p in SOURCES.rglob("*.py") if DRAWS.search(p.read_text(encoding="utf-8"))}
    assert {name for name in found if not name.startswith(ROOMS)} <= NOISE | set(OTHERS)
    assert found >= NOISE, "or this test looks for the wrong words"


def test_no_sampler_takes_a_seed():
    for name in NOISE:
        assert not re.search(r"\bseed\s*[:=]|default_rng|np\.random", (SOURCES / name).read_text(encoding="utf-8"))
