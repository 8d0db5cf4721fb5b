"""Files that a policy names: regular, of a sensible size, and quoted only where they are what they should be."""

import os

import pytest

from dxprivacy.errors import PolicyError
from dxprivacy.formats import file_access as files
from dxprivacy.policy import Policy

POLICY = """
title = "Points"
dataset = "points"
[attributes.home]
{what} = {file!r}
epsilon = 1.0
{more}
"""
SECRET = "root:$6$hunter2:19000:0:99999:7:::"


def refusal(tmp_path, content, what="points", more="per = 1"):
    (tmp_path / "secret").write_text(content)
    (tmp_path / "policy.toml").write_text(POLICY.format(what=what, file="secret", more=more))
    with pytest.raises(PolicyError) as caught:
        Policy.load(tmp_path / "policy.toml")
    return str(caught.value)


@pytest.mark.parametrize("what", ["points", "graph"])
@pytest.mark.parametrize(
    "content",
    [
        f"{SECRET}\ndaemon:*:1\n",
        f"id,{SECRET}\nhunter2,\n",
        f"id,{SECRET},b,c\nhunter2,1,2,3\n",
        f"{SECRET}\n",
        f"{SECRET},{SECRET}\n1,hunter2\n",
        f"a,b,c\nx,y,{SECRET}\n",
        f"a,b,{SECRET}\nx,y\n",
        f'"{SECRET}',
    ],
)
def test_what_stands_in_a_file_that_is_none_of_points_or_edges_is_not_quoted(what, content, tmp_path):
    told = refusal(tmp_path, content, what=what, more="per = 1" if what == "points" else "")
    assert "hunter2" not in told
    assert "19000" not in told


def test_a_column_of_a_points_file_that_is_missing_is_named_beside_those_that_are_there(tmp_path):
    told = refusal(tmp_path, "code,x,y\na,1,2\n", more='per = 1\nid = "cod"')
    assert "there are: code, x, y" in told


def test_points_are_not_read_from_devices_and_pipes(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for file in ("/dev/zero", "pipe"):
        (tmp_path / "policy.toml").write_text(POLICY.format(what="points", file=file, more="per = 1"))
        with pytest.raises(PolicyError, match="not a regular file"):
            Policy.load(tmp_path / "policy.toml")


def test_a_file_of_any_size_is_not_read_into_memory(tmp_path, monkeypatch):
    with (tmp_path / "policy.toml").open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    with pytest.raises(PolicyError, match="more than 512 MB"):
        Policy.load(tmp_path / "policy.toml")
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    with pytest.raises(PolicyError, match="more than"):
        Policy.load("/proc/self/status")  # says that it has no bytes
