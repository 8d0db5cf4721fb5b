"""Long lists are written and hashed a piece at a time: the same text and the same digest as at once."""

import hashlib
import json
import math
import random

import pytest

from dxprivacy.formats import canonical as module
from dxprivacy.formats.canonical import canonical, digest_of
from dxprivacy.verify import reading
from dxprivacy.wording import json_text


def random_json(rng, depth=0):
    draw = rng.random()
    if depth < 3 and draw < 0.25:
        return {
            rng.choice(["a", "é", "Z", "𝄞", "b1"]) + str(k): random_json(rng, depth + 1)
            for k in range(rng.randint(0, 4))
        }
    if depth < 3 and draw < 0.5:
        return [random_json(rng, depth + 1) for _ in range(rng.randint(0, 6))]
    floats = [0.0, -0.0, 1e-7, 1e-6, 1.5, 123456789.125, 1e15, 1e16, 1e20, 1e21, 1e22, -2.5e-9, 2.0**60, math.pi]
    return rng.choice(
        [None, True, False, rng.randint(-(10**20), 10**20), "x\ny", "é–", rng.choice(floats), rng.random()]
    )


@pytest.mark.parametrize("seed", range(100))
def test_the_planner_and_the_verifier_write_the_same_canonical_text(seed, monkeypatch):
    monkeypatch.setattr(module, "_LONG", 2)
    data = random_json(random.Random(seed))
    text = canonical(data)
    assert text == reading.canonical(data)
    assert digest_of(data) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("number", [0, 1, 5, 2_000, 2_001, 5_000])
def test_long_lists_stand_item_by_item_and_say_the_same(number):
    data = {
        "name": "é",
        "answers": [{"label": f"row {k}\u202e", "value": k / 3} for k in range(number)],
        "end": {"a": [1]},
    }
    text = json_text(data)
    assert json.loads(text) == data
    assert "\u202e" not in text
    if number <= 2_000:
        assert json.loads(text) == json.loads(json.dumps(data))
        assert text.count("\n") > number
