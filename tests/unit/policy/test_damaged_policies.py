"""Policies and files of places, damaged by chance: nothing but errors of ours."""

import random
import re

from wrong_policies import PLACES, attribute

from dxprivacy.errors import DxError, PolicyError
from dxprivacy.policy import Policy, check

VALID = """# A policy with one of everything.
title = "Survey"
dataset = "survey-1"
version = 2
neighbors = "replace"

[attributes.sex]
values = ["M", "F"]
epsilon = 1.0

[attributes.status]
column = "STATUS"
values = ["asylum", "citizen", "resident"]
epsilon = { asylum = 0.1, citizen = 2.0, resident = 2.0 }
other = { epsilon = 5 }

[attributes.age]
integers = [0, 120]
unit = "years"
epsilon = 0.5
per = 10
other = { epsilon = 5, value = 40 }

[attributes.home]
points = "cities.csv"
id = "id"
epsilon = 1.0
per = "100 km"
metric = "great-circle"
units = { elevation = "m" }

[combine]
how = "sum"
"""


_PIECES = [
    "[",
    "]",
    "{",
    "}",
    '"',
    "'",
    "=",
    ",",
    ".",
    "#",
    "\n",
    " ",
    "-",
    "e",
    "0",
    "9",
    "inf",
    "nan",
    "ε",
    "\\",
    "\t",
]
_PIECES += ["1e400", "0x", "true", "\x00", "\ufeff", "[[a]]", "other", "=[]", "={}", "2026-01-01", "__", "%", "\r"]


def mutated(text, chance):
    lines = text.splitlines(keepends=True)
    for _ in range(chance.choice([1, 1, 2, 3, 8])):
        at = chance.randrange(len(lines))
        match chance.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                other = chance.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                new = chance.choice(["-1", "1e308", "nan", '"x"', "[]", "0"])
                lines[at] = re.sub(r"[0-9.]+", lambda _, new=new: new, lines[at])
            case 4:
                new = chance.choice(["5", '""', "true", '["a"]', '"\\u0007"'])
                lines[at] = re.sub(r'"[^"]*"', lambda _, new=new: new, lines[at])
            case _:
                line = lines[at]
                cut = chance.randrange(len(line) + 1)
                piece = chance.choice([*_PIECES, line[:cut], line[cut:], ""])
                lines[at] = line[:cut] + piece + line[cut + chance.choice([0, 1, 1, 5]) :]
        lines = lines or ["\n"]
    return "".join(lines)


def complaint(text, folder):
    """What a policy is refused with, if it is; anything but an error of ours would fail the test here."""
    try:
        str(check(Policy.parse(text, folder=folder)))
    except DxError as error:
        return error
    return None


def test_three_hundred_damaged_policies_raise_nothing_but_errors_of_ours(folder):
    chance = random.Random(20260101)
    texts = [mutated(VALID, chance) for _ in range(300)]
    errors = [complaint(text, folder) for text in texts]
    for text, error in zip(texts, errors, strict=True):
        if error is not None:
            assert type(error) is PolicyError, text
            assert error.what.strip(), text
            assert error.where.startswith("policy.toml"), text
    assert 100 < len([e for e in errors if e]) < 290  # some damage does no harm


def test_three_hundred_damaged_points_files_raise_nothing_but_errors_of_ours(tmp_path):
    chance = random.Random(20260102)
    body = attribute('points = "cities.csv"\nepsilon = 1\nper = "100 km"')
    errors = []
    for _ in range(300):
        (tmp_path / "cities.csv").write_text(mutated(PLACES, chance), encoding="utf-8", newline="")
        errors.append(complaint(body, tmp_path))
    refused = [error for error in errors if error]
    assert all(type(error) is PolicyError and error.what.strip() for error in refused)
    assert 50 < len(refused) < 290
