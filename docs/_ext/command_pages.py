"""The reference of the command line: a page for each command of `dxp`, written from the commands themselves."""

from pathlib import Path

import click
from sphinx.application import Sphinx

from dxprivacy.cli import dxp

FOLDER = "reference/commands"


def command_page(name: str, command: click.Command) -> str:
    """Its help as it is shown in a terminal: texts, options and examples in one place."""
    with click.Context(command, info_name=f"dxp {name}", max_content_width=96, terminal_width=96) as context:
        return f"# dxp {name}\n\n```text\n{command.get_help(context)}\n```\n"


def write_pages(app: Sphinx) -> None:
    """All pages, and their list."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    with click.Context(dxp, info_name="dxp", max_content_width=96, terminal_width=96) as context:
        names = dxp.list_commands(context)
        pages = {f"{name}.md": command_page(name, dxp.get_command(context, name)) for name in names}
        tree = "\n".join(names)
        whole = dxp.get_help(context)
    listed = f"```{{toctree}}\n:maxdepth: 1\n\n{tree}\n```\n"
    pages["index.md"] = f"# The command line\n\n```text\n{whole}\n```\n\nEach command in full:\n\n{listed}"
    for name, text in pages.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
