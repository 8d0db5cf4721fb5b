"""Pages tell the browser what they are made of, so that nothing else runs, whatever got into them."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

import dxprivacy as dx
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.output.pages.document import document

POLICY = """
title = "T<script>alert(1)</script>"
dataset = "t"
[attributes.sex]
values = ["M", "<img src=x onerror=alert(1)>", "</style><script>alert(1)</script>"]
epsilon = 1
[attributes.age]
integers = [0, 20]
epsilon = 0.5
per = 1
[attributes.home]
points = "places.csv"
epsilon = 1
per = "100 km"
"""
PLACES = 'id,name,latitude,longitude\n1,"<svg onload=alert(1)>",40,-74\n2,"style=""x""",41,-73\n3,c,42,-75\n'


class Parts(HTMLParser):
    """Tags with their attributes, and the text of styles."""

    def __init__(self):
        super().__init__()
        self.tags, self.styles, self._inside = [], [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "style"

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.styles.append(data)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """One page of every kind, about hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "places.csv").write_text(PLACES)
    (folder / "data.csv").write_text("sex,age,home\nM,3,1\nM,4,2\n")
    policy = dx.Policy.parse(POLICY, folder=folder)
    with dx.Session(policy, folder / "data.csv", ledger=folder / "l.db", new_ledger=True) as session:
        plan = session.plan("count by sex", "count by home", "mean age", budget="20%", method="optimal")
        release = session.release(plan, anyway=True)
        ledger = dx.plots.ledger_page(session.ledger, policy)
    other = make_plan(["prefixes age"], policy.metric, budget="20%", title=policy.title, dataset=policy.dataset)
    from dxprivacy.paper.experiment import Settings
    from dxprivacy.paper.figure_folder import Folder, report_page

    return {
        "check": dx.plots.check_page(policy),
        "plan": dx.plots.plan_page(plan, policy=policy),
        "other plan": dx.plots.plan_page(other, policy=policy),
        "release": dx.plots.release_page(release, plan, policy=policy),
        "ledger": ledger,
        "picture": dx.plots.policy(policy).to_html(),
        "answers": dx.plots.release(release).to_html(),
        "reproduction": report_page(Folder(folder, Settings())),
    }


KINDS = ["check", "plan", "other plan", "release", "ledger", "picture", "answers", "reproduction"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_allows_its_one_style_and_nothing_else(pages, kind):
    parts = Parts()
    parts.feed(pages[kind])
    (policy,) = [
        a["content"] for tag, a in parts.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    ]
    (style,) = ["".join(parts.styles)]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    names = [tag for tag, _ in parts.tags]
    assert names.count("style") == 1
    assert pages[kind].index("Content-Security-Policy") < pages[kind].index("<style>")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_needs_nothing_that_its_policy_forbids(pages, kind):
    """Else the browser would show it broken: no script, no inline style, nothing to load."""
    parts = Parts()
    parts.feed(pages[kind])
    for tag, attributes in parts.tags:
        assert tag not in (
            "script",
            "link",
            "iframe",
            "object",
            "embed",
            "img",
            "image",
            "form",
            "base",
            "audio",
            "video",
        )
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", (tag, value)
            if name in ("src", "href", "xlink:href", "action", "data"):
                assert (value or "").startswith("#"), (tag, name, value)
            assert not re.search(r"url\((?!#)", value or ""), (tag, name, value)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_stay_text(pages, kind):
    assert "<script" not in pages[kind]
    assert "<img" not in pages[kind]
    assert "<svg onload" not in pages[kind]


def test_a_title_cannot_end_the_head():
    text = document("</title><script>", "p {}", "<p></p>")
    assert "<script>" not in text
