"""Links of pages to files of the repository that are no pages: on the site they are names, in the repository links."""

import re
from pathlib import Path

from sphinx.application import Sphinx

_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def as_names(app: Sphinx, docname: str, source: list[str]) -> None:
    """`[text](../examples/places)` becomes its text, with the place behind it where the text does not say it."""
    page = Path(app.srcdir, f"{docname}.md")
    if not page.exists():
        return
    top = Path(app.srcdir).parent

    def named(match: re.Match[str]) -> str:
        text, target, _ = match.groups()
        found = (page.parent / target).resolve()
        if "://" in target or not found.exists():
            return match.group()  # elsewhere; or broken, which the build then says
        if found == Path(app.srcdir) / "adr":
            return f"[{text}]({'../' * docname.count('/')}decisions.md)"
        if found.suffix in (".md", ".rst") and found.is_relative_to(app.srcdir):
            return match.group()
        place = found.relative_to(top).as_posix()
        return f"`{place}`" if place in text else f"{text} (`{place}`)"

    source[0] = _LINK.sub(named, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("source-read", as_names)
    return {"parallel_read_safe": True}
