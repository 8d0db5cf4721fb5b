"""Terminal output: one accent color, dim remarks, and marks that carry the meaning without color."""

import errno
import json
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import click

from dxprivacy.errors import DxError, Undecided, UsageError, one_line
from dxprivacy.wording import STYLES, TAG, digits, json_text, numbered, plain, quoted, tag, wrap

_ANSI = dict(zip(STYLES, ("2", "1", "1;34", "32", "33", "1;31"), strict=True))
_ASCII = str.maketrans(
    {"✓": "+", "✗": "x", "→": ">", "–": "-", "×": "x", "ε": "e", "∞": "inf", "±": "+-", "·": "-", "│": "|"}
    | {"“": '"', "”": '"', "’": "'", "…": "...", "━": "#", "╌": ".", "●": "*", "○": "o", "−": "-"}
    | {"░": ".", "▒": ":", "▓": "%", "█": "#"}
)


def paint(text: str, stream: TextIO) -> str:
    """Render one line: tags become colors if the stream shows them, else vanish; ASCII if the stream needs it.

    Names and values come from files: characters that could control a terminal or start a line are made visible.
    """
    text = one_line(text)
    color = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    text = TAG.sub(lambda m: f"\x1b[{_ANSI.get(m.group(1), '0')}m", text) if color else plain(text)
    if not _can_show(text, stream):
        text = text.translate(_ASCII).encode("ascii", "replace").decode()
    return text


def _can_show(text: str, stream: TextIO) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class OutputLost(UsageError):
    """Standard output could not be written; the error itself is shown on standard error, also under `--json`."""


def show(lines: Iterable[str], *, err: bool = False, done: Sequence[str] = ()) -> None:
    """Print lines; to stderr if stdout is for machines.

    `done` states what was written and spent before, for users who do not see the lines because stdout fails.
    """
    if err:
        with suppress(OSError):  # nothing else depends on whether standard error can be written
            _print(lines, sys.stderr)
        return
    with _standard_output(done):
        _print(lines, sys.stdout)


def _print(lines: Iterable[str], stream: TextIO) -> None:
    for line in lines:
        click.echo(paint(line, stream), file=stream, color=True)


@contextmanager
def _standard_output(done: Sequence[str]) -> Iterator[None]:
    """Turn errors of standard output into OutputLost; a reader that stopped reading is one if something was done."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        yield
    except OSError as error:
        if sys.stdout is not None:  # or Python writes what is left in the buffer when it ends, and fails again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError) and not done:
            raise
        raise OutputLost(f"cannot write to standard output: {error.strerror}", details=done) from None


def done_lines(written: Sequence[Path], entries: Sequence[int], book: Path, *, replayed: bool) -> list[str]:
    """Return what a command has written and spent when it shows its lines."""
    files = f"Files are written: {' · '.join(map(str, written))}." if written else "No file was written."
    where = f"{numbered(entries)} in {book}" if entries else ""
    spent = "Nothing was spent." if replayed or not entries else f"The cost is spent: {where}."
    again = ["The same command again returns the same answers, at no cost."] if entries else []
    return [files, spent, *again]


def next_step(command: str, *words: str | Path) -> str:
    """Return the last line: the next command, ready to be pasted.

    `command` is ours; every other word is quoted.
    """
    return f"{tag('dim', 'Next:')} {' '.join([command, *map(quoted, words)])}"


def show_json(data: Any, *, done: Sequence[str] = ()) -> None:
    """Print the same fields as JSON; `done` as in `show`."""
    text = json_text(data, allow_nan=False)
    with _standard_output(done):
        if not _can_show(text, sys.stdout):
            text = re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found.group())[1:-1], text)
        click.echo(text)


def show_error(error: DxError, *, as_json: bool) -> None:
    """Print one message on stderr, or JSON on stdout; on stderr, too, if stdout fails."""
    if as_json and not isinstance(error, OutputLost):
        with suppress(OutputLost):
            show_json(error.to_dict())
            return
    head, _, what = error.headline.partition(" · ")
    mark = tag("warn", f"? {head}") if isinstance(error, Undecided) else tag("bad", f"✗ {head}")
    lines = [mark + (f" · {what}" if what else "")]
    if isinstance(error, Undecided):
        lines.append("  undecided here: nothing was found to be wrong, and what stands above holds")
    for line in error.details:
        quotes = "│" in line  # a line of a file, shown as it is
        lines += [f"  {part}" for part in ([line] if quotes or len(line) <= 98 else wrap(line, 96, "  "))]
    width = max((len(command) for command, _ in error.hints), default=0)
    for command, why in error.hints:
        line = f"→ {command.ljust(width)}   {why}".rstrip()
        if len(line) <= 98:
            lines.append(f"  {line}")
        elif len(command) <= 40:  # few words to do, and many why
            lines += [f"  {part}" for part in wrap(line, 96, "  ")]
        else:  # a command stays in one line, ready to be pasted
            lines += [f"  → {command}", *(f"      {part}" for part in wrap(why, 92))]
    show(lines, err=True)


@contextmanager
def _told_once(what: str, after: float | None, done: threading.Event) -> Iterator[None]:
    """Print one plain line if work takes longer than `in_files` seconds; never without such a limit."""

    def tell() -> None:
        if not done.wait(after):
            click.echo(f"{what} …", err=True)

    thread = threading.Thread(target=tell, daemon=True)
    if after is not None:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if after is not None:
            thread.join()


@contextmanager
def working(what: str, *, after: float = 1.0, in_files: float | None = None) -> Iterator[Callable[[float | str], None]]:
    """Show progress on stderr for work over a second, never about data.

    Without a terminal it is silent, or, for work that sees no data, prints one line after `in_files` seconds.  Yields a
    function that shows news: text, or the gap (upper bound on the excess of a plan's error over the best).
    """
    shown = [what]

    def tell(news: float | str) -> None:
        if isinstance(news, str):
            shown[0] = f"{what} · {news}"
        elif math.isfinite(news):
            shown[0] = f"{what} · error at most {digits(100 * news)} % above the best plan"

    done = threading.Event()
    if not sys.stderr.isatty():
        with _told_once(what, in_files, done):
            yield tell
        return

    def turn() -> None:
        if done.wait(after):
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(shown[0], total=None)
            while not done.wait(0.2):
                progress.update(task, description=shown[0])

    thread = threading.Thread(target=turn, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        done.set()
        thread.join()
