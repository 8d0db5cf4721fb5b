"""The picture itself: frozen, shown in notebooks, saved, and clear about what it needs."""

import base64
import json
import sys

import pytest

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.output.charts import Picture, save_plan_picture

PLAN = dx.plan([[1, 0, 1, 0]], dx.metrics.line(4, 1))
PICTURE = dx.plots.plan(PLAN)


@pytest.fixture
def without_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # what Python does for a package that is not there
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("name", "start"), [("x.png", b"\x89PNG"), ("x.svg", b"<svg"), ("x.html", b"<!DOCTYPE html>"), ("x.JSON", b"{")]
)
def test_a_picture_is_saved_by_the_ending_of_its_name(name, start, tmp_path):
    path = PICTURE.save(tmp_path / name)
    assert path.read_bytes().startswith(start)


def test_the_page_needs_no_network_and_no_script(tmp_path):
    page = PICTURE.save(tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "src=" not in page
    assert "<svg" in page
    assert "this plan" in page


def test_markup_in_a_label_stays_text(tmp_path):
    universe = dx.Universe.listed(["<script>alert(1)</script>", "a&b", "{{x}}", "'"])
    plan = dx.plan("count by element", dx.metrics.constant(universe, 1))
    page = dx.plots.plan(plan).to_html()
    assert "<script" not in page
    assert "&lt;script" in page


def test_a_picture_cannot_be_changed():
    spec = PICTURE.to_dict()
    spec["vconcat"].clear()
    assert PICTURE.to_dict()["vconcat"]
    with pytest.raises(AttributeError):
        PICTURE.text = "{}"
    assert dx.plots.plan(PLAN) == PICTURE
    assert len({PICTURE, dx.plots.plan(PLAN)}) == 1


def test_numbers_that_are_not_finite_never_enter_a_picture():
    with pytest.raises(ValueError, match="JSON"):
        Picture.of({"data": {"values": [float("inf")]}})


def test_notebooks_get_the_specification_and_an_image():
    bundle = PICTURE._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == PICTURE.to_dict()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == repr(PICTURE)


def test_notebooks_get_the_specification_without_the_extra(without_extra):
    assert set(PICTURE._repr_mimebundle_()) == {"application/vnd.vegalite.v5+json", "text/plain"}


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
def test_without_the_extra_the_error_says_what_to_install(ending, without_extra, tmp_path):
    with pytest.raises(UsageError) as refused:
        PICTURE.save(tmp_path / f"x.{ending}")
    assert 'pip install "dxprivacy[plots]"' in str(refused.value)
    assert not list(tmp_path.iterdir())
    assert json.loads(PICTURE.save(tmp_path / "x.json").read_text(encoding="utf-8")) == PICTURE.to_dict()


@pytest.mark.parametrize("path", ["x", "x.gif", "x.png.exe", ""])
def test_other_endings_are_refused(path, tmp_path):
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.html or \.json"):
        PICTURE.save(tmp_path / path if path else "")


@pytest.mark.parametrize("path", [None, 3, ["x.png"]])
def test_what_is_no_name_is_refused(path):
    with pytest.raises(UsageError, match="must be a file name"):
        PICTURE.save(path)


def test_a_folder_that_does_not_exist_is_our_error(tmp_path):
    with pytest.raises(UsageError, match="cannot write"):
        PICTURE.save(tmp_path / "none" / "x.svg")
    with pytest.raises(UsageError, match="cannot be a file name"):
        PICTURE.save(f"{tmp_path}/x\0.json")


@pytest.mark.parametrize("scale", [0, -1, 11, float("nan"), float("inf"), "2", None, True])
def test_scales_out_of_range_are_refused(scale, tmp_path):
    with pytest.raises(UsageError, match="scale"):
        PICTURE.save(tmp_path / "x.png", scale=scale)


def test_a_larger_scale_makes_a_larger_image():
    def width(scale):
        return int.from_bytes(PICTURE.to_png(scale)[16:20], "big")

    assert width(2) == pytest.approx(2 * width(1), abs=2)


def test_a_plan_is_drawn_to_a_file_in_one_call(tmp_path):
    assert save_plan_picture(PLAN, tmp_path / "p.json").read_text(encoding="utf-8") == PICTURE.to_json()


@pytest.mark.parametrize("draw", [dx.plots.plan, dx.plots.trade, dx.plots.gain, dx.plots.release])
@pytest.mark.parametrize("thing", [None, 1, "plan.json", PICTURE])
def test_anything_but_a_plan_or_a_release_is_refused(draw, thing):
    with pytest.raises(UsageError, match="is needed"):
        draw(thing)
