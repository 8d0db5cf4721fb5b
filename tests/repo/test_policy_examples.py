"""Every policy in the documentation is one: each attribute of each example is compiled, each query bound."""

import re
from pathlib import Path

import pytest

import dxprivacy as dx

DOCS = Path(__file__).parents[2] / "docs"
PLACES = "code,latitude,longitude,state,elevation\n1,40.7,-74.0,NJ,9\n2,40.8,-74.1,NY,10\n"
ZIPS = "zip,state,population\n10001,NY,21102\n07030,NJ,50005\n"


def examples():
    """(page, number, text) of every example that has attributes, or settings of a whole policy."""
    for page in ("policy.md", "data.md"):
        found = re.findall(r"```toml\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
        yield from ((page, k, text) for k, text in enumerate(found))


def policies(text):
    """A policy for each attribute of an example, with what is said for all: together they may be too many."""
    parts = [part for part in re.split(r"(?=^\[)", text, flags=re.MULTILINE) if part.strip()]
    attributes = [part for part in parts if part.startswith("[attributes.")]
    rest = [part for part in parts if not part.startswith("[")]
    ends = [part for part in parts if part.startswith(("[combine]", "[people", "[file]"))]
    head = "".join(rest) if "title =" in "".join(rest) else 'title = "Example"\ndataset = "example"\n' + "".join(rest)
    if "from =" in text:  # what stands in a table of people stands beside what does not
        attributes = ["".join(attributes) + '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n']
    for attribute in attributes or ['[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n']:
        yield head + attribute + "".join(ends)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cities.csv").write_text(PLACES)
    (tmp_path / "zones.csv").write_text(PLACES)
    (tmp_path / "zips.csv").write_text(ZIPS)
    return tmp_path


@pytest.mark.parametrize(("page", "number", "text"), list(examples()))
def test_an_example_is_a_policy(page, number, text, folder):
    for policy in policies(text):
        (folder / "policy.toml").write_text(policy, encoding="utf-8")
        assert str(dx.Policy.load(folder / "policy.toml").check()), (page, number)


def test_there_are_examples():
    assert len(list(examples())) >= 4


@pytest.mark.parametrize(
    "asked",
    [
        *(
            "count where birth=2000..2009",
            "count where birth=2000-01..2009-12",
            "count by birth/12",
            "count by birth/year",
        ),
        *("count by birth/decade", "count by birth[1950,2000]", "count by weekday", "count by hour/6"),
        *("count where weekday=Saturday|Sunday", "count where hour=8..17", "count by zip.state", "mean zip.population"),
        *(
            "count where smoking=rarely..often",
            "prefixes smoking",
            "count by smoking/2",
            "count by smoking[never,rarely]",
        ),
        *("mean smoking", "mean pickup.latitude", "count by pickup.latitude/1"),
        *("count where pickup.longitude=-74..-73.9", "count where dropoff='40.7, -74.0'"),
    ],
)
def test_the_queries_of_the_page_can_be_asked(asked, folder):
    from dxprivacy.queries.asking import gather

    text = next(text for page, _, text in examples() if page == "policy.md" and "birth" in text)
    keep = [part for part in re.split(r"(?=^\[)", text, flags=re.MULTILINE) if part]
    wanted = [
        part
        for part in keep
        if re.match(r"title|\[attributes\.(birth|weekday|hour|zip|smoking|pickup|dropoff)\]", part)
    ]
    (folder / "policy.toml").write_text("".join(wanted), encoding="utf-8")
    assert gather(asked).on(dx.Policy.load(folder / "policy.toml").universe).answers
    page = (DOCS / "policy.md").read_text(encoding="utf-8")
    assert re.split(" where | by |mean ", asked)[-1] in re.sub(r"\s+", " ", page)
