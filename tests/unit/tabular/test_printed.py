"""Tables for Markdown and LaTeX: rounded as on the screen, and labels that mean nothing to either."""

import html
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy.errors import UsageError, one_line
from dxprivacy.mechanisms.linear.release_answers import build_release
from dxprivacy.output.text.release_text import release_lines
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.tabular.latex import Printed, PrintedTable
from dxprivacy.tabular.latex import escaped as in_latex
from dxprivacy.tabular.markdown import escaped as in_markdown
from dxprivacy.tabular.markdown import markdown

HOSTILE = [
    "a|b", "a\\|b", "\\", "\\\\", "`code`", "**bold**", "_it_", "<script>alert(1)</script>", "<!-- x", "&lt;", "&#35;",
    "[a](http://b)", "![x](y)", "http://evil.example", "www.evil.example", "$x^2$", "~~gone~~", "# head", "@someone",
    "a\nb", "a\r\n| c | d |", "\u202eabc", "=1+1", "\\input{/etc/passwd}", "\\write18{id}", "100%", "a & b", "{", "}",
    "a_b^c~d", "[1]", "*", '"o', "--- ,, ''", "5\\\\[2cm]", "%", "\t", "é ß Ł 漢", ":smile:", "8:15",
]  # fmt: skip


def rendered(text):
    """What a reader sees: the text of the cells of the first column, and nothing but tables around it."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)


@pytest.mark.parametrize("label", HOSTILE)
def test_a_label_is_shown_as_it_is_in_a_table_of_markdown(label):

    text = markdown(
        Printed((PrintedTable(label, ("x", label), "lr", [[label, "1"], ["b", label]]),), (label,), (label,))
    )
    page = rendered(text)
    told = one_line(label).strip()
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert cells == [told, "1", "b", told]
    assert html.unescape(re.search(r"<strong>(.*?)</strong>", page).group(1)) == told
    assert page.count("<table>") == page.count("<strong>") == 1
    assert not re.search(r"<(a|img|em|code|script|del|h\d)\b", page)


@given(st.text(max_size=12))
def test_no_text_at_all_leaves_its_cell_of_markdown(label):
    page = rendered(f"| x | y |\n| :-- | :-- |\n| {in_markdown(label)} | end |\n")
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert cells[-1] == "end"
    assert len(cells) == 2


COMMAND = r"\\[a-z]+\{\}|\\symbol\{34\}|\\[{}$&#%_]|\$[^$]*\$|\{[\[\]*]?\}"


@given(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20)))
def test_no_text_at_all_means_anything_to_tex(label):
    made = in_latex(label)
    left = re.sub(COMMAND, "", made)
    assert not re.search(r"[\\{}$&#%_^<>|\"*\[\]`\x00-\x1f]", left.replace("``", "")), made
    assert "--" not in made or re.search("[–—]", label)  # which is a dash, where the text has one
    assert "\n" not in made


def test_braces_of_tex_are_balanced():
    for label in HOSTILE:
        made = re.sub(r"\\[{}]", "", in_latex(label))
        assert made.count("{") == made.count("}"), label


@pytest.fixture
def release():
    policy = dx.Policy.parse(
        'title = "T"\ndataset = "t"\n[attributes.kind]\nvalues = ["a|b", "50% & $x$"]\nepsilon = 1\n'
        "[attributes.age]\nintegers = [0, 99]\nepsilon = 1\nper = 1\n"
    )
    plan = standard_plan(
        ["count by kind", "mean age", 'count where kind="a|b"', "count by age"], policy.metric, n_records=100
    )
    noisy = np.full(plan.workload.rows, 1234, dtype=np.int64)
    return build_release(plan, noisy, 100, LedgerReference("ledger.db", 1, "2026-01-01", "x", 1.0))


def test_numbers_are_rounded_as_on_the_screen(release):
    screen = "\n".join(release_lines(release, everything=True))
    text = release.to_markdown()
    assert "1,234" in text
    for row in re.findall(r"^\| .*\|$", text, re.MULTILINE):
        *_, value, interval = (cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1])
        if not value.startswith("-"):
            assert value.replace("\\", "") in screen
            assert interval.startswith(":") or interval in screen


def test_a_table_for_each_query_and_one_for_queries_for_one_number(release):
    assert re.findall(r"^\*\*(.*)\*\*$", release.to_markdown(), re.MULTILINE) == ["count by kind", "count by age"]
    tex = release.to_latex()
    assert tex.count("\\begin{table}") == tex.count("\\end{table}") == 2  # the third is long
    assert tex.count("\\begin{longtable}") == 1
    assert tex.count("\\toprule") == tex.count("\\bottomrule") == 3
    for row in re.findall(r"^.*\\\\$", tex, re.MULTILINE)[:3]:
        assert len(re.findall(r"(?<!\\)&", row)) == 2
    assert "a\\textbar{}b" in tex
    assert "50\\% \\& \\$x\\$" in tex


def test_the_guarantee_goes_with_it_unless_it_is_left_out(release):
    for made in (release.to_markdown, release.to_latex):
        assert "standard differential-privacy terms" in made()
        assert "standard differential-privacy terms" not in made(guarantee=False)
        assert "not sampling error" in made(guarantee=False)


def test_files_of_both_kinds_replace_their_own_kind_only(release, tmp_path):
    for name in ("out.md", "out.tex"):
        path = tmp_path / name
        assert release.save(path) == release.save(path)
        path.write_text("mine")
        with pytest.raises(UsageError, match="that dxp wrote"):
            release.save(path)
    with pytest.raises(UsageError, match=r"\.json, \.csv, \.md, \.tex, \.geojson"):
        release.save(tmp_path / "out.docx")
