"""The terminal: one accent, dim asides, and marks that carry the meaning without colour."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import click

from dxprivacy.errors import DxError
from dxprivacy.wording import plain, tag

_ANSI = {"dim": "2", "bold": "1", "accent": "1;34", "good": "32", "warn": "33", "bad": "1;31"}
_ASCII = str.maketrans(
    {"✓": "+", "✗": "x", "→": ">", "–": "-", "×": "x", "ε": "e", "∞": "inf", "±": "+-", "·": "-", "│": "|"}
    | {"“": '"', "”": '"', "’": "'", "…": "...", "━": "#", "╌": ".", "●": "*", "○": "o", "−": "-"}
)


def paint(text: str, stream: TextIO) -> str:
    """Tags become colours where the stream shows them, and vanish elsewhere; ASCII where it knows nothing better."""
    colour = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    if colour:
        text = re.sub(r"⟦([a-z]+)⟧", lambda m: f"\x1b[{_ANSI[m.group(1)]}m", text).replace("⟦/⟧", "\x1b[0m")
    else:
        text = plain(text)
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        text = text.translate(_ASCII).encode("ascii", "replace").decode()
    return text


def show(lines: Iterable[str]) -> None:
    """Print a page."""
    for line in lines:
        click.echo(paint(line, sys.stdout), color=True)


def show_json(data: Any) -> None:
    """Print the same fields for machines."""
    click.echo(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False))


def show_error(error: DxError, *, as_json: bool) -> None:
    """One clear message on stderr, or JSON on stdout."""
    if as_json:
        click.echo(json.dumps(error.to_dict(), indent=1, ensure_ascii=False))
        return
    head, _, what = error.headline.partition(" · ")
    first = f"{tag('bad', '✗ ' + head)}" + (f" · {what}" if what else "")
    lines = [first, *(f"  {line}" for line in error.message().split("\n  ")[1:])]
    for line in lines:
        click.echo(paint(line, sys.stderr), err=True, color=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life on stderr for work over a second; silent without a terminal, and never about data."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        yield
