"""`Picture`: a Vega-Lite specification that notebooks display and that can be saved as PNG, SVG, HTML or JSON.

It is stored as JSON text, so that it cannot be changed afterwards, and holds finite numbers only.
"""

import importlib.util
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.formats.file_access import PICTURES, write_file
from dxprivacy.output.pages.document import document
from dxprivacy.wording import json_text, repr_of_half_built

# -- Render a Vega-Lite specification: the only module that uses vl-convert (extra `plots`) ----------------------------
# Nothing is fetched: the data are in the specification, and URLs are refused.


VEGA_LITE = "5.20"  # known to every version of vl-convert that the extra allows
_INSTALL = 'pip install "dxprivacy[plots]"'


def can_render() -> bool:
    """Return whether vl-convert is installed."""
    return importlib.util.find_spec("vl_convert") is not None


def require_rendering() -> None:
    """Raise a UsageError if pictures cannot be rendered; called before anything is spent."""
    _converter()


def to_png(spec: dict[str, Any], scale: float) -> bytes:
    """Render a specification as PNG with `scale` pixels per unit of length."""
    found: bytes = _converter().vegalite_to_png(spec, vl_version=VEGA_LITE, scale=scale, allowed_base_urls=[])
    return _packed(found)


def to_svg(spec: dict[str, Any]) -> str:
    """Render a specification as SVG."""
    found: str = _converter().vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
    return found.replace("<svg ", '<svg data-from="dxprivacy" ', 1)  # marks our own files


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise UsageError(
            "pictures need vl-convert, which is not installed",
            hints=[(_INSTALL, "draws PNG, SVG and HTML, offline"), ('picture.save("x.json")', "works without it")],
        ) from None
    return vl_convert


def _packed(png: bytes) -> bytes:
    """Compress a PNG again, to about a third of its size: vl-convert optimizes for speed."""
    head, chunks, at = png[:8], [], 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        chunks.append((kind, png[at + 8 : at + 8 + length]))
        at += 12 + length
    pixels = zlib.compress(zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT")), 9)
    first, *others = [chunk for chunk in chunks if chunk[0] not in (b"IDAT", b"IEND")]
    ours = (b"tEXt", b"Software\x00dxprivacy")  # marks our own files
    return head + b"".join(_chunk(*chunk) for chunk in (first, ours, *others, (b"IDAT", pixels), (b"IEND", b"")))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# -- A picture ---------------------------------------------------------------------------------------------------------


MIME = "application/vnd.vegalite.v5+json"
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
SCALE = 2.0
_ENDINGS = (".png", ".svg", ".html", ".json")


@repr_of_half_built
@dataclass(frozen=True)
class Picture:
    """A frozen Vega-Lite specification.

    >>> picture = Picture.of({"title": {"text": ["Two answers", "reach their target"]}, "mark": "point"})
    >>> picture
    Picture('Two answers reach their target')
    >>> picture.to_dict()["mark"]
    'point'
    """

    text: str

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Picture":
        """Return a picture of a specification; raises ValueError for a number that is not finite."""
        ours = {"$schema": SCHEMA, "usermeta": {"from": "dxprivacy"}}
        return cls(json.dumps({**ours, **spec}, ensure_ascii=False, allow_nan=False))

    def to_dict(self) -> dict[str, Any]:
        """Return a new copy of the specification."""
        spec: dict[str, Any] = json.loads(self.text)
        return spec

    @property
    def title(self) -> str:
        """The title: the finding of the picture."""
        return _joined(self.to_dict().get("title", {}), "text")

    @property
    def subtitle(self) -> str:
        """The subtitle: how to read the picture."""
        return _joined(self.to_dict().get("title", {}), "subtitle")

    def to_png(self, scale: float = SCALE) -> bytes:
        """Render as PNG with `scale` pixels per unit of length (needs the extra `plots`)."""
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0.1 <= scale <= 10:
            raise UsageError(f"scale is {scale!r}; a number from 0.1 to 10 is needed", hints=[("scale=2", "")])
        return to_png(self.to_dict(), float(scale))

    def to_svg(self) -> str:
        """Render as SVG (needs the extra `plots`)."""
        return to_svg(self.to_dict())

    def to_html(self) -> str:
        """Return an HTML page with the picture as SVG; no script, no external resources (needs the extra `plots`)."""
        return document(self.title, _STYLE, self.to_svg())

    def to_json(self) -> str:
        """Return the specification as JSON text."""
        return json_text(self.to_dict())

    def save(self, path: str | Path, *, scale: float = SCALE) -> Path:
        """Write to a .png, .svg, .html or .json file; `scale` is for PNG.

        An existing file is replaced only if it is a picture of the same format that this package wrote.
        """
        target = _path(path)
        content: str | bytes
        match target.suffix.lower():
            case ".png":
                content = self.to_png(scale)
            case ".svg":
                content = self.to_svg()
            case ".html":
                content = self.to_html()
            case ".json":
                content = self.to_json()
            case _:
                raise UsageError(
                    f"cannot write a picture as {target.name!r}", hints=[f"use a name that ends in {_listed()}"]
                )
        return write_file(target, content, PICTURES[target.suffix.lower()])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:  # noqa: ARG002
        """Return the specification for notebooks, and an image for those that do not render Vega-Lite."""
        bundle: dict[str, Any] = {MIME: self.to_dict(), "text/plain": repr(self)}
        if can_render():
            import base64

            bundle["image/png"] = base64.b64encode(self.to_png()).decode("ascii")
        return bundle

    def __repr__(self) -> str:
        return f"Picture({self.title!r})"


def require(value: object, kind: type | tuple[type, ...], needed: str, hints: Sequence[str] = ()) -> None:
    """Raise a UsageError unless a value is of the kind that a picture or a page is made of."""
    if not isinstance(value, kind):
        raise UsageError(f"{needed} is needed, not a {type(value).__name__}", hints=hints)


def _joined(title: Any, part: str) -> str:
    words = title.get(part, "") if isinstance(title, dict) else title if part == "text" else ""
    return " ".join(words) if isinstance(words, list) else str(words)


def _path(path: object) -> Path:
    try:
        return Path(path)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(
            f"path must be a file name, not a {type(path).__name__}", hints=['picture.save("x.png")']
        ) from None


def _listed() -> str:
    return f"{', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}"


_STYLE = "body { margin: 1.5em; } svg { max-width: 100%; height: auto; }"
