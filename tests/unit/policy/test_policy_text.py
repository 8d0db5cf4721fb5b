"""Policies that cannot be read as text or as TOML: what is wrong, and where."""

import pytest
from wrong_policies import HEAD, refusal

from dxprivacy.errors import PolicyError
from dxprivacy.policy import Policy


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (None, "no such file"),
        ('title = "Zürich"'.encode("latin-1"), "not UTF-8 text"),
        ('title = "T"'.encode("utf-16"), "not UTF-8 text"),
        (b"\x00\x01\x02\xff", "not UTF-8 text"),
    ],
)
def test_a_policy_that_cannot_be_read_says_why(content, what, tmp_path):
    path = tmp_path / "policy.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PolicyError) as caught:
        Policy.load(path)
    assert (caught.value.where, caught.value.what) == (str(path), what)
    assert caught.value.hints


def test_a_directory_and_an_impossible_name_are_no_policies(tmp_path):
    for path in (tmp_path, tmp_path / ("x" * 300), str(tmp_path) + "/a\0b", "/dev/null/policy.toml"):
        with pytest.raises(PolicyError) as caught:
            Policy.load(path)
        assert "\0" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('title = "T"\ntitle = "U"\n', 2, "this key is given twice"),
        (HEAD + "[attributes.a]\n[attributes.a]\n", 4, "this table is given twice"),
        ('title = "T\ndataset = "d"\n', 1, "a text is not closed"),
        ('title = "T', 1, "a text is not closed"),
        ("title = Survey\n", 1, "the value cannot be read; text needs quotes"),
        ('title = "T.1"\nepsilon = .5\n', 2, "a number has digits on both sides of its point: 0.5 for .5"),
        ("epsilon = { yes = 1, no = -.25 } # so\n", 1, "a number has digits on both sides of its point: 0.25 for .25"),
        ("epsilon = 5. # so\n", 1, "a number has digits on both sides of its point: 5.0 for 5."),
        ("title = Wave no .5 # = .5\n", 1, "the value cannot be read; text needs quotes"),
        ("title\n", 1, "“=” is missing after the key"),
        (HEAD + '[attributes.a\nvalues = ["a"]\n', 3, "Expected ']' at the end of a table declaration"),
        (HEAD + '[attributes.a]\nvalues = ["a", "b"\nepsilon = 1\n', 5, "a list is not closed"),
        (HEAD + "[attributes.a]\nepsilon = 1,5\n", 4, "something follows the value on its line"),
        (HEAD + "[attributes.a]\nepsilon = 01\n", 4, "something follows the value on its line"),
        (HEAD + "§\n", 3, "a line is “key = value” or “[table]”"),
    ],
)
def test_syntax_errors_name_their_line_in_plain_words(text, line, what):
    error = refusal(text)
    assert error.where == f"policy.toml:{line}"
    assert error.what.startswith(f"not valid TOML: {what}")
    assert f"{line} │ " in error.details[0]


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 50_000,
        "a = " + "{ a = " * 20_000,
        HEAD + "attributes.a" + ".a" * 2_000 + " = 1",
        HEAD + "[attributes.x]\nvalues = " + "[" * 300 + "]" * 300 + "\nepsilon = 1",
        HEAD + "[attributes.x]\nvalues = [1]\nepsilon = " + "{ a = " * 200 + "1" + " }" * 200,
        "\x00",
        "",
        "\n" * 1000,
        "# only a comment",
        "[" * 1000,
        '"' * 7,
        "=" * 50,
        "é" * 500,
        "a" * 100_000 + " = 1",
        HEAD + f'[attributes."{"a" * 10_000}"]\nvalues = [1, 1]\nepsilon = 1',
    ],
)
def test_the_strangest_texts_get_an_error_of_ours(text):
    assert len(str(refusal(text)).splitlines()[0]) < 12_000


def test_errors_in_inline_tables_and_dotted_keys_still_name_the_attribute():
    error = refusal(HEAD + "attributes.age.integers = [0, 9]\nattributes.age.epsilon = 1\n")
    assert (error.where, error.what) == ("policy.toml, attributes.age", "age has a distance but no unit")
    error = refusal(HEAD + "attributes = { age = { integers = [9, 0], epsilon = 1, per = 1 } }\n")
    assert "age runs from 9 to 0" in error.what


def test_the_line_is_right_after_lists_over_several_lines_and_odd_line_breaks():
    text = HEAD + '# a\u2028b\x85c\n[attributes.x]\nvalues = [\n  "a",\n  "b",\n]\nepsilon = -1\n'
    error = refusal(text)
    assert error.where == "policy.toml:9"
    assert "epsilon = -1" in error.details[0]
