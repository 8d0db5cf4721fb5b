"""The directive `shell`: commands that run when the site is built, shown with what they printed.

    ```{shell}
    dxp check policy.toml
    ```

All blocks of a page run one after the other in one empty folder of that page's own.  A command that fails, fails the
build, unless the block says `:fails:` (an error that we show on purpose); then it has to fail.  `:quiet:` shows the
commands alone, `:lines: 12` the first lines of what they printed.  `{shell-file} x.toml` writes a file and shows it.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

PATIENCE = 120  # seconds, for a single command
COLUMNS = "96"
_FOLDERS: dict[str, Path] = {}


def folder_of(page: str) -> Path:
    """The page's own folder, empty at first."""
    if page not in _FOLDERS:
        _FOLDERS[page] = Path(tempfile.mkdtemp(prefix="site-"))
    return _FOLDERS[page]


def commands_of(lines: list[str]) -> list[str]:
    """The commands of a block: one a line; a line that ends in a backslash goes on in the next."""
    found: list[str] = []
    whole = ""
    for line in lines:
        whole += line
        if line.endswith("\\"):
            whole += "\n"
        elif whole.strip():
            found.append(whole)
            whole = ""
    return found


def run(command: str, folder: Path) -> tuple[int, str]:
    """Exit code and all that was printed."""
    env = os.environ | {"NO_COLOR": "1", "COLUMNS": COLUMNS, "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout.replace(str(folder), "~")


class Shell(SphinxDirective):
    """Runs its commands and shows them."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "fails": directives.flag,
        "quiet": directives.flag,
        "lines": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        """A block as a terminal would show it."""
        shown = []
        for command in commands_of(list(self.content)):
            code, said = run(command, folder_of(self.env.docname))
            if (code != 0) != ("fails" in self.options):
                raise ExtensionError(f"{self.env.docname}: `{command}` ended with {code}:\n{said}")
            shown.append(f"$ {command}")
            lines = said.rstrip().splitlines()
            most = self.options.get("lines", len(lines))
            if "quiet" not in self.options:
                shown += lines[:most] + (["…"] if len(lines) > most else [])
        block = nodes.literal_block("\n".join(shown), "\n".join(shown), language="console")
        self.add_name(block)
        return [block]


class ShellFile(SphinxDirective):
    """Writes its content to a file of the page's folder, and shows it."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The file's name, and its text."""
        name, text = self.arguments[0], "\n".join(self.content) + "\n"
        (folder_of(self.env.docname) / name).write_text(text, encoding="utf-8")
        language = {".toml": "toml", ".py": "python", ".sql": "sql"}.get(Path(name).suffix, "text")
        block = nodes.literal_block(text, text, language=language)
        caption = nodes.caption("", "", nodes.literal(name, name))
        return [nodes.container("", caption, block, literal_block=True, classes=["literal-block-wrapper"])]


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.add_directive("shell", Shell)
    app.add_directive("shell-file", ShellFile)
    return {"parallel_read_safe": True}
