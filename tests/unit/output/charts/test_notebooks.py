"""Values show themselves in notebooks: a table and a picture, nothing from elsewhere, nothing that is private."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

import dxprivacy as dx
from dxprivacy.output.pages.notebook import inlined
from dxprivacy.releases.release_base import Released
from dxprivacy.synthetic.synthesis_report import Report

HOUSEHOLD = Path(__file__).parents[4] / "examples" / "household"
NASTY = '<script>alert("1")</script><img src=x onerror=y> & more'


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    policy = dx.Policy.load(HOUSEHOLD / "policy.toml")
    with dx.Session(policy, HOUSEHOLD / "people.csv", ledger=folder / "ledger.db", new_ledger=True) as session:
        plan = session.plan("count by sex, native within 5", "count by age", "mean age by sex", budget="20%")
        selection = session.plan_selection(dx.median_of("age"), budget="20%")
        made = session.synthesize(session.plan_synthesis("count by sex", budget="20%"))
        yield {
            "policy": policy,
            "plan": plan,
            "release": session.release(plan),
            "selection": selection,
            "chosen": session.select(selection),
            "report": made.report,
            "ledger": session.ledger,
            "session": session,
        }


OURS = {"div", "p", "b", "span", "h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "img", "ol", "ul", "li"}
SHOWN = {
    "policy": ("strictest pair", "age", 1),
    "plan": ("tightest pair", "What would meet the targets", 1),
    "release": ("released</th>", "Guarantee", 1),
    "selection": ("candidates", "short of the best by", 1),
    "chosen": ("chosen", "Guarantee", 0),
    "report": ("synthetic", "count by sex", 1),
    "ledger": ("most used pair", "count by age", 1),
}


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", SHOWN)
def test_a_value_shows_a_table_and_a_picture_that_need_nothing_from_elsewhere(values, name):
    bundle = values[name]._repr_mimebundle_()
    assert bundle["text/plain"] == repr(values[name])
    *words, pictures = SHOWN[name]
    shown = bundle["text/html"]
    assert all(word in shown for word in words)
    tags = _Tags()
    tags.feed(shown)
    names = [tag for tag, _ in tags.found]
    assert names.count("table") >= 1
    assert names.count("img") == pictures
    assert set(names) <= OURS  # no script, no style
    for tag, attributes in tags.found:
        assert set(attributes) <= {"style", "alt", "src"}
        assert attributes.get("src", "data:image/png;base64,").startswith("data:image/png;base64,")
        assert "url(" not in attributes.get("style", ""), tag


@pytest.mark.parametrize("name", SHOWN)
def test_without_the_extra_there_are_tables_alone(values, name, monkeypatch):
    monkeypatch.setattr("dxprivacy.output.pages.notebook.can_render", lambda: False)
    shown = values[name]._repr_mimebundle_()["text/html"]
    assert "<table" in shown
    assert "<img" not in shown


@pytest.mark.parametrize("name", [*SHOWN, "session"])
def test_the_repr_of_a_value_is_one_short_line(values, name):
    text = repr(values[name])
    assert "\n" not in text
    assert text.startswith(type(values[name]).__name__ + "(")
    assert len(text) < 200


def test_text_of_a_policy_stays_text_in_a_notebook():
    values = [NASTY, "b"]
    policy = dx.Policy.parse(
        f"title = '''{NASTY}'''\ndataset = 'd'\n[attributes.sex]\nvalues = {values!r}\nepsilon = 1\n"
    )
    plan = dx.plan("count by sex", policy.metric, title=policy.title)
    for value in (policy, plan):
        shown = value._repr_mimebundle_()["text/html"]
        assert "<script" not in shown
        assert "<img src=x" not in shown
        tags = _Tags()
        tags.feed(shown)
        assert {tag for tag, _ in tags.found} <= OURS


def test_looks_are_given_to_our_own_classes_only():
    assert inlined('<td class="r h5">9</td>').startswith(
        '<td style="text-align:right;white-space:nowrap;background:#06'
    )
    assert inlined('<p class="note">x</p>') == '<p style="color:#5c5c5c">x</p>'


def test_a_report_with_nothing_to_compare_has_no_picture():
    assert "<img" not in Report((), 3)._repr_mimebundle_()["text/html"]


def test_a_long_plan_shows_its_first_answers_and_says_how_many_more():
    plan = dx.plan([[float(j == k) for j in range(60)] for k in range(60)], dx.metrics.line(60, 1))
    shown = plan._repr_mimebundle_()["text/html"]
    assert shown.count("<tr>") == 25
    assert "36 more rows" in shown


def test_a_repr_is_one_line_whatever_a_name_holds():
    steering = "a\nb\u202ec"
    for value in (
        dx.count(sex=steering),
        dx.table("sex") + dx.count(sex=steering),
        dx.Values(name=steering, values=("x",)),
        dx.matrix([[float(j == k) for j in range(40)] for k in range(40)]),
        dx.post.nonnegative([float(k) for k in range(3000)]),
        dx.most_common(steering),
        dx.metrics.line(3, 1),
        dx.plan([[1, 0, 0]], dx.metrics.line(3, 1)),
    ):
        text = repr(value)
        assert not {"\n", "\u202e"} & set(text)
        assert len(text) < 200


def test_a_release_of_another_mechanism_shows_its_line():
    class Elsewhere(Released):
        format = "x/1"

        def content(self):
            return {}

        def in_short(self):
            return "<b>3</b> answers"

    bundle = Elsewhere(name="7f3a", guarantee=(), records=3, facts={}, format="x/1")._repr_mimebundle_()
    assert bundle == {
        "text/plain": "Elsewhere(<b>3</b> answers)",
        "text/html": "<p>Elsewhere(&lt;b&gt;3&lt;/b&gt; answers)</p>",
    }
