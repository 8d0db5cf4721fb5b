"""`dxp release --html`: one page that needs nothing else, written only after what it needs was found."""

import re
import sys
from html.parser import HTMLParser

from contracts.curator import CURATOR


class Reader(HTMLParser):
    """Tags that are open, and the text outside of them."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words = [], set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert not reader.open
    return reader


def test_the_page_holds_guarantee_answers_and_pictures_and_loads_nothing(town, dxp, planned, known_noise):
    plan = planned("count by state", "count by sex")
    called = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--html").fine()
    name = plan.stem.removeprefix("plan-")
    page = town / f"release-{name}.html"
    assert f"✓ written   release-{name}.json · release-{name}.csv · {page.name}" in called.lines
    reader = read(page)
    assert {"svg", "table", "ol"} <= reader.tags
    assert not reader.tags & {"script", "link", "img", "iframe"}
    text = " ".join(reader.words)
    assert "If any one record i is replaced by another record j" in text
    assert "1,177" in text
    assert "this plan" in text
    assert "A small town" in text
    assert not re.search(r"(?:href|src)=", page.read_text(encoding="utf-8"))


def test_the_page_shows_no_true_answer_and_no_record(town, dxp, planned, known_noise):
    with (town / "people.csv").open(
        "a", encoding="utf-8"
    ) as people:  # then 203 are M and 207 are F: no ticks of an axis
        people.write("M,1,1,Planted-Person\n" * 3 + "F,1,1,Planted-Person\n" * 7)
    plan = planned("count by sex")
    dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--html").fine()
    text = " ".join(read(next(town.glob("release-*.html"))).words)
    assert "1,180" in text
    assert "Planted-Person" not in text
    assert not re.search(r"\b20[37]\b", text)


def test_the_page_can_be_had_later_at_no_cost(town, dxp, planned):
    plan = planned("count by sex")
    dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    assert not list(town.glob("*.html"))
    again = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--html").fine()
    assert "nothing spent" in again.out
    assert len(list(town.glob("*.html"))) == 1


def test_without_the_extra_nothing_is_spent(town, dxp, planned, monkeypatch):
    plan = planned("count by sex")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    refused = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--html")
    assert refused.code == 2
    assert 'pip install "dxprivacy[plots]"' in refused.err
    assert not (town / "ledger.db").exists()


def test_a_page_for_machines_needs_a_folder(town, dxp, planned):
    plan = planned("count by sex")
    refused = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--html", "--json")
    assert refused.code == 2
    assert "--out FOLDER" in refused.out + refused.err
    assert not (town / "ledger.db").exists()
    dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--html", "--json", "--out", "public").fine()
    assert len(list((town / "public").glob("*.html"))) == 1
