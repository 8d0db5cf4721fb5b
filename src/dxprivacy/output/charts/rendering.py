"""Turning a Vega-Lite specification into an image: the only file that knows vl-convert (extra `plots`).

Nothing is fetched: the data are in the specification, and addresses are refused.
"""

import importlib.util
import struct
import zlib
from typing import Any

from dxprivacy.errors import UsageError

VEGA_LITE = "5.20"  # known to every version of vl-convert that the extra allows
_INSTALL = 'pip install "dxprivacy[plots]"'


def can_render() -> bool:
    """Whether vl-convert is installed."""
    return importlib.util.find_spec("vl_convert") is not None


def require_rendering() -> None:
    """Refuse before anything is spent on what could not be drawn."""
    _converter()


def to_png(spec: dict[str, Any], scale: float) -> bytes:
    """The picture as PNG, `scale` pixels for every unit of length."""
    found: bytes = _converter().vegalite_to_png(spec, vl_version=VEGA_LITE, scale=scale, allowed_base_urls=[])
    return _packed(found)


def to_svg(spec: dict[str, Any]) -> str:
    """The picture as SVG."""
    found: str = _converter().vegalite_to_svg(spec, vl_version=VEGA_LITE, allowed_base_urls=[])
    return found.replace("<svg ", '<svg data-from="dxprivacy" ', 1)  # how we know it again


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
    """The same image in a third of the bytes: vl-convert packs for speed, and pictures are kept and sent."""
    head, chunks, at = png[:8], [], 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        chunks.append((kind, png[at + 8 : at + 8 + length]))
        at += 12 + length
    pixels = zlib.compress(zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT")), 9)
    first, *others = [chunk for chunk in chunks if chunk[0] not in (b"IDAT", b"IEND")]
    ours = (b"tEXt", b"Software\x00dxprivacy")  # how we know it again
    return head + b"".join(_chunk(*chunk) for chunk in (first, ours, *others, (b"IDAT", pixels), (b"IEND", b"")))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
