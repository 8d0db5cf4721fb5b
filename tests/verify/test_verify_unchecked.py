"""What nothing in a file can confirm is named, never silently verified; and whoever releases reads as strictly."""

import json
import random
import sys

import pytest

import dxprivacy as dx
from dxprivacy.cli import main
from dxprivacy.errors import NotVerified, UsageError
from dxprivacy.session import read_json
from dxprivacy.verify import not_checked, reading, verify, verify_data
from verify.edits import at, changed, places, put, resealed
from verify.test_verify_refuses import FREE, refusal


def named(data, *, ledger=False):
    return {unchecked.member for unchecked in not_checked(data, ledger=ledger)}


CHECKED_ALL_THE_SAME = {("certificate", "witness")}  # any pair that attains the ratio is right


@pytest.mark.parametrize("kind", ["plan", "release"])
@pytest.mark.parametrize("survey", ["files", "clinic"])
def test_every_single_edit_that_goes_through_is_of_a_member_that_was_named(kind, survey, request):
    data = request.getfixturevalue(survey).read(kind)
    told = named(data)
    rng = random.Random(f"{kind} {survey}")
    free = 0
    for path in list(places(data))[1:]:
        general = tuple("*" if isinstance(key, int) else key for key in path)
        if isinstance(at(data, path), (dict, list)) or not any(general[: len(f)] == f for f in FREE):
            continue  # all other edits are refused: test_verify_refuses
        edited = resealed(put(data, path, changed(rng, at(data, path))))
        if refusal(edited) is None and general[:2] not in CHECKED_ALL_THE_SAME:
            dotted = ".".join(key for key in general if key != "*")
            assert any(f"{dotted}.".startswith(f"{member}.") for member in told), path
            free += 1
    assert free >= 3


def test_titles_software_method_words_and_gains_are_named(files):
    plan = files.read("plan")
    assert {"policy.title", "method", "about", "gains", "answers.standard_at_strictest_95"} <= named(plan)
    release = files.read("release")
    assert {"policy.title", "software", "noisy", "ledger.entry"} <= named(release)
    assert "ledger.entry" not in named(release, ledger=True)


def test_an_edited_title_is_listed_on_the_screen_and_for_machines(files, tmp_path, monkeypatch, capsys):
    data = files.read("plan")
    data["policy"]["title"], data["method"], data["about"] = "Trusted by everybody", "magic", "is optimal"
    data["gains"][0]["gain"] = 1e6
    (tmp_path / "plan.json").write_text(json.dumps(resealed(data)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for more in ((), ("--json",)):
        monkeypatch.setattr(sys, "argv", ["dxp", "verify", "plan.json", *more])
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        out = capsys.readouterr().out
        if more:
            listed = {u["member"]: u["why"] for u in json.loads(out)["not_checked"]}
            assert {"policy.title", "method", "about", "gains"} <= set(listed)
        else:
            assert "! not checked  policy.title" in out
            assert "everything else in it follows" in out


def test_impossible_gains_are_refused(files):
    for name, value in (
        ("gain", 0.5),
        ("gain", "much"),
        ("standard_epsilon", 0),
        ("standard_epsilon", -1.0),
        ("query", "x"),
    ):
        data = put(files.read("plan"), ("gains", 0, name), value)
        assert isinstance(refusal(resealed(data)), NotVerified), (name, value)
    data = files.read("plan")
    assert isinstance(refusal(resealed(data | {"gains": data["gains"][1:]})), NotVerified)


# -- one strict reader -------------------------------------------------------------------------------------------------


TWICE = [('{"format": ', '{"format": "other", "format": '), ('"budget": ', '"budget": "1", "budget": ')]
NUMBERS = [("NaN", "NaN"), ("Infinity", "Infinity"), ("-Infinity", "-Infinity"), ("1e999", "1e999")]


@pytest.mark.parametrize(("old", "new"), TWICE)
def test_a_plan_that_says_a_thing_twice_is_refused_by_both(files, tmp_path, old, new):
    text = files.plan.read_text(encoding="utf-8")
    assert old in text or json.dumps(json.loads(text)).count(old)
    text = json.dumps(json.loads(text), ensure_ascii=False)
    (tmp_path / "plan.json").write_text(text.replace(old, new, 1), encoding="utf-8")
    refused_by_both(files, tmp_path / "plan.json", "twice")


@pytest.mark.parametrize("number", [name for name, _ in NUMBERS])
def test_numbers_that_json_does_not_have_are_refused_by_both(files, tmp_path, number):
    data = files.read("plan")
    data["answers"][0]["rmse"] = 12345.678
    text = json.dumps(data, ensure_ascii=False).replace("12345.678", number)
    (tmp_path / "plan.json").write_text(text, encoding="utf-8")
    refused_by_both(files, tmp_path / "plan.json", "no ")


def refused_by_both(files, path, word):
    with pytest.raises(NotVerified, match=word):
        list(verify(path))
    with pytest.raises(UsageError, match=word):
        read_json(path)
    with dx.Session(
        files.folder / "policy.toml", files.folder / "people.csv", ledger=files.ledger, new_ledger=True
    ) as session:
        before = len(session.ledger.entries())
        with pytest.raises(UsageError, match=word):
            session.load_plan(path)
        assert len(session.ledger.entries()) == before


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b'{"a": "\\ud800"}', b"[" * 5000, b"", b"{"])
def test_what_is_no_json_is_refused_by_both(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(NotVerified):
        list(verify(tmp_path / "x.json"))
    with pytest.raises(UsageError):
        read_json(tmp_path / "x.json")


def test_an_honest_plan_with_a_ratio_of_very_many_digits_is_verified(tmp_path):
    """Hundreds of scales with unlike denominators: their sum has thousands of digits, and is stated all the same."""
    from fractions import Fraction

    rng = random.Random(7)
    rows = [[rng.randint(0, 9) for _ in range(12)] for _ in range(120)]
    table = [[0] * 12 for _ in range(12)]
    for i in range(12):
        for j in range(i):
            table[i][j] = table[j][i] = Fraction(rng.randint(10**6, 2 * 10**6), 10**6 + 7)
    plan = dx.plan(rows, dx.metrics.from_matrix(table), method="optimal", n_records=100)
    assert len(set(plan.scales)) > 60
    data = json.loads(json.dumps(plan.to_dict()))
    assert list(verify_data(data))
    long = Fraction(10**4000 + 1, 3**8000)
    assert reading.fraction(str(long), "ratio") == long
    with pytest.raises(NotVerified):
        reading.fraction("1" + "0" * 4300, "ratio")
