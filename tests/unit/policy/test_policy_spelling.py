"""`trim`, `fold_case` and `aliases` in a policy file: what they mean, and errors at their line."""

import pytest

from dxprivacy.errors import PolicyError
from dxprivacy.policy import Policy

HEAD = 'title = "T"\ndataset = "t"\n[attributes.state]\n'


def policy(body: str) -> Policy:
    return Policy.parse(HEAD + body)


def test_a_policy_says_what_else_counts_as_a_value():
    state = policy(
        'values = ["NJ", "NY", 7]\nepsilon = 1\ntrim = true\nfold_case = true\n'
        'aliases = { NJ = ["New Jersey", "N.J."], 7 = 8 }\n'
    ).universe.attributes[0]
    assert state.codec.places == {"nj": 0, "ny": 1, "7": 2, "new jersey": 0, "n.j.": 0, "8": 2}
    assert [state.label(k) for k in range(4)] == ["NJ", "NY", "7", "other"]


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        ('values = ["M"]\nepsilon = 1\ntrim = "yes"\n', 6, "trim is true or false"),
        ('values = ["M"]\nepsilon = 1\nfold_case = 1\n', 6, "fold_case is true or false"),
        ('values = ["M"]\nepsilon = 1\naliases = ["m"]\n', 6, "aliases is a table"),
        ('values = ["M"]\nepsilon = 1\naliases = { N = ["m"] }\n', 6, "state has no value 'N'"),
        ('values = ["M"]\nepsilon = 1\naliases = { M = [["m"]] }\n', 6, "an alias of 'M' is a text or a number"),
        ('values = ["M"]\nepsilon = 1\naliases = { M = ["m", "m"] }\n', 6, "alias 'm' is given twice"),
        ('values = ["M"]\nepsilon = 1\naliases = { M = "other" }\n', 6, "'other' cannot be an alias of 'M'"),
        ('values = ["M", "F"]\nepsilon = 1\naliases = { M = ["F"] }\n', 6, "alias 'F' of 'M' is listed itself"),
        (
            'values = ["M", "F"]\nepsilon = 1\ntrim = true\nfold_case = true\naliases = { M = "x", F = " X" }\n',
            8,
            "alias ' X' of 'F' is taken for 'M' already",
        ),
        ('values = ["M", "m"]\nepsilon = 1\nfold_case = true\n', 6, "which are the same under fold_case"),
        ('values = [" M"]\ntrim = true\nepsilon = 1\n', 5, "trim leaves out the blanks"),
        ("integers = [0, 9]\nepsilon = 1\nper = 1\ntrim = true\n", 7, "blanks around them already"),
        ('dates = ["2026-01-01", "2026-02-01"]\nepsilon = 1\nper = "1 day"\naliases = {}\n', 7, "no other spelling"),
    ],
)
def test_errors_name_their_line(body, line, words):
    with pytest.raises(PolicyError) as error:
        policy(body)
    assert error.value.where == f"policy.toml:{line}"
    assert words in str(error.value)
    assert error.value.hints or "no value" in words


def test_a_changed_spelling_is_another_policy_and_the_comparison_shows_it():
    before = policy('values = ["NJ", "NY"]\nepsilon = 1\n')
    after = policy('values = ["NJ", "NY"]\nepsilon = 1\ntrim = true\naliases = { NJ = "x" }\n')
    assert before.digest != after.digest
    page = before.diff(after)
    assert not page.identical
    assert [(s.what, s.before, s.after) for s in page.settings] == [("state: spelling", "", "trim, aliases NJ = x")]
