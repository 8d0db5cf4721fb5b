"""The verifier reads spellings and files by its own code: what says nothing, or two things, is refused."""

import numpy as np
import pytest

from dxprivacy.errors import NotVerified
from dxprivacy.formats.canonical import digest_of
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.file_format import FileFormat
from dxprivacy.universe.reading.spelling import Spelling
from dxprivacy.universe.universe import Universe
from dxprivacy.verify.attributes import attribute
from dxprivacy.verify.universe import Universe as Verified

SPELT = Spelling(trim=True, fold_case=True, aliases=(("M", "male"), ("M", "1"), ("F", "female")))
SEX = Values(name="sex", values=("M", "F"), spelling=SPELT)
HOME = Points(name="home", ids=("M", "F"), coordinates=np.eye(2), spelling=SPELT)


@pytest.mark.parametrize("made", [SEX, HOME], ids=lambda a: a.kind)
def test_a_spelling_is_read_and_changes_no_label(made):
    read = attribute(made.spec(), "here")
    assert [read.show(k) for k in range(3)] == ["M", "F", "other"]
    assert read.place("male") is None


@pytest.mark.parametrize("made", [SEX, HOME], ids=lambda a: a.kind)
@pytest.mark.parametrize(
    "change",
    [
        {"trim": False},
        {"trim": 1},
        {"fold_case": "yes"},
        {"aliases": []},
        {"aliases": {}},
        {"aliases": [["M"]]},
        {"aliases": [["X", ["x"]]]},
        {"aliases": [["M", []]]},
        {"aliases": [["M", ["x", "x"]]]},
        {"aliases": [["M", ["x"]], ["F", ["x"]]]},
        {"aliases": [["M", ["x"]], ["M", ["y"]]]},
        {"aliases": [["M", ["F"]]]},
        {"aliases": [["M", ["other"]]]},
        {"aliases": [["M", [3]]]},
        {"spelling": True},
    ],
    ids=str,
)
def test_a_spelling_that_says_nothing_or_two_things_is_refused(made, change):
    with pytest.raises(NotVerified):
        attribute(made.spec() | change, "here")


def verified(spec):
    return Verified({"digest": digest_of(spec), "attributes": spec, "units": {}})


@pytest.mark.parametrize("most", [None, 50])
def test_a_declared_file_is_no_attribute(most):
    file = FileFormat(";", "latin-1", ("sex", "age"), quoted_line_breaks=True, row_security_role="anna")
    spec = Universe([SEX], file=file, max_records=most).spec()
    read = verified(spec)
    assert (read.names, read.cells, read.max_records) == (["sex"], 3, most)
    assert spec == Universe([SEX], file=file, max_records=most).spec()  # and was not changed


@pytest.mark.parametrize(
    "file",
    [
        {},
        {"delimiter": ""},
        {"delimiter": "||"},
        {"delimiter": 3},
        {"encoding": ""},
        {"columns": []},
        {"columns": ["a", "a"]},
        {"columns": "ab"},
        {"quoted_line_breaks": False},
        {"row_security_role": ""},
        {"row_security_role": True},
        {"header": False},
    ],
    ids=str,
)
def test_a_file_that_says_nothing_or_two_things_is_refused(file):
    with pytest.raises(NotVerified):
        verified([SEX.spec(), {"kind": "file"} | file])


def test_only_the_last_place_is_for_a_file():
    file = FileFormat(";").spec()
    for spec in ([*file, SEX.spec()], file, [SEX.spec(), *file, *file]):
        with pytest.raises(NotVerified):
            verified(spec)
