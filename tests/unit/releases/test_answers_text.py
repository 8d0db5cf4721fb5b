"""The text of very many answers is the one that their dictionaries would have, byte for byte, and so is its seal."""

import json
import random

import pytest

from dxprivacy.errors import UsageError
from dxprivacy.formats.canonical import canonical, digest_of, is_sealed
from dxprivacy.releases.release import Release, Row, from_json
from dxprivacy.releases.release_base import AnswersText
from dxprivacy.wording import LONG_LIST, json_text

NAMES = ["sex", 'a"b', "é", "\ue000", "\U0001f600", "zip\u2028code", "Z"]
NUMBERS = [0.0, -0.0, 1.0, -17.0, 0.1, 1e-5, -2.5e-7, 1e16, 1.5e22, 123456789012345680.0, 3, -(2**60)]


def rows(count: int, seed: int = 1) -> tuple[Row, ...]:
    rng = random.Random(seed)
    made = []
    for k in range(count):
        groups = tuple(
            (name, rng.choice(["x", "\u202e", "–", "\n", '"'])) for name in rng.sample(NAMES, rng.randrange(4))
        )
        value, low, high = (rng.choice([*NUMBERS, rng.uniform(-1e9, 1e9)]) for _ in range(3))
        label = f"{k}, " + ", ".join(text for _, text in groups)
        made.append(
            Row(label, rng.choice(NAMES), value, low, high, "km", rng.random() < 0.5, rng.random() < 0.5, groups)
        )
    return tuple(made)


def release(answers: tuple[Row, ...]) -> Release:
    facts = {"noisy": [r.value for r in answers], "scales": ["0x1p+0"] * len(answers), "notes": ["ε"], "aside": {}}
    return Release(name="1a2b", answers=answers, guarantee=("ε = 1",), records=7, facts=facts)


@pytest.mark.parametrize("count", [LONG_LIST - 1, LONG_LIST, LONG_LIST + 1, 3 * LONG_LIST + 5])
def test_the_text_of_a_release_is_that_of_its_dictionary_however_many_answers_there_are(count):
    made = release(rows(count))
    assert made.to_json() == json_text(made.to_dict())
    assert is_sealed(made.to_dict())
    assert from_json(made.to_json()).answers == made.answers


def test_the_canonical_form_is_that_of_the_dictionaries():
    answers = rows(2 * LONG_LIST + 1)
    listed = release(answers).content()["answers"]
    assert "".join(AnswersText(answers).canonical_pieces()) == canonical(listed)
    assert digest_of(AnswersText(answers)) == digest_of(listed)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_has_no_text(value):
    answers = (*rows(LONG_LIST), Row("x", "x", value, 0.0, 0.0, "", False))
    with pytest.raises(UsageError, match="no NaN"):
        release(answers).to_json()


def test_few_letters_beyond_latin_1_do_not_double_what_a_long_text_takes():
    names = [f"département {k}" for k in range(100_000)]
    text = json_text({"names": names, "guarantee": "ε ≤ 1, \U0001f600"})
    assert max(text) == "é"
    assert json.loads(text) == {"names": names, "guarantee": "ε ≤ 1, \U0001f600"}
    greek = json_text({"names": ["αβγ"] * 300_000})
    assert "αβγ" in greek
    assert "ε" in json_text({"guarantee": "ε ≤ 1"})


def test_long_lists_have_a_line_for_each_item_whatever_the_items_are():
    mixed = [1, "a, b", 2.5, None, True, {"b": 1, "a": [2, 3]}, [4, 5]] * LONG_LIST
    lines = json_text({"list": mixed}).splitlines()
    assert lines[:3] == ["{", ' "list": [', "  1,"]
    assert lines[2:9] == ["  1,", '  "a, b",', "  2.5,", "  null,", "  true,", '  {"b": 1, "a": [2, 3]},', "  [4, 5],"]
    assert len(lines) == len(mixed) + 4
