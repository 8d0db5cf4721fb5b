"""Only the exact samplers draw entropy for noise; whatever else is random is named here with its reason."""

import re
from pathlib import Path

import dxprivacy

SOURCES = Path(dxprivacy.__file__).parent
DRAWS = re.compile(
    r"\burandom\b|\bgetrandom\b|\bsecrets\.|^import random\b|^from random\b|np\.random\b|default_rng\(", re.MULTILINE
)

NOISE = {
    "mechanisms/sampling/block_max_noise.py",
    "mechanisms/sampling/tree_noise.py",
    "mechanisms/sampling/discrete_laplace.py",
    "mechanisms/sampling/exact_selection.py",
    "mechanisms/sampling/system_noise.py",
    "mechanisms/sampling/zero_sum_tables.py",
}
OTHERS = {
    "formats/file_access.py": "names of files in the making, which nobody should guess",
    "wording.py": "the mark of our own style tags, which no foreign text can carry",
    "engines/spill.py": "names of folders",
    "metrics/stored_metrics.py": "triples of a metric that is too large to look at all of them",
    "optimize/strategies/best_strategy.py": "starts of a search, the same every time",
    "optimize/strategies/bases.py": "starts of a search, the same every time",
}
ROOMS = (
    "paper/",
    "demo/",
    "mechanisms/synthesis/tried_out.py",
    "mechanisms/synthesis/tried_out.py",
)  # made-up data and noise, seeded


def test_no_other_file_draws_random_numbers():
    found = {str(p.relative_to(SOURCES)) for p in SOURCES.rglob("*.py") if DRAWS.search(p.read_text(encoding="utf-8"))}
    assert {name for name in found if not name.startswith(ROOMS)} <= NOISE | set(OTHERS)
    assert found >= NOISE, "or this test looks for the wrong words"


def test_no_sampler_takes_a_seed():
    for name in NOISE:
        assert not re.search(r"\bseed\s*[:=]|default_rng|np\.random", (SOURCES / name).read_text(encoding="utf-8"))
