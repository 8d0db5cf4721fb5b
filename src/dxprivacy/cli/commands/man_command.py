"""`dxp man`: manual pages, from the help of the commands."""

from pathlib import Path

import click


@click.command("man")
@click.argument("folder", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Write manual pages into a folder: one for dxp, and one for each command.

    \b
    Examples: dxp man ~/.local/share/man/man1     then: man dxp, man dxp-plan
              dxp man pages && man pages/dxp-plan.1
    """
    from dxprivacy.cli import dxp
    from dxprivacy.cli.given_files import require_folder
    from dxprivacy.cli.manual_pages import pages
    from dxprivacy.cli.terminal import show
    from dxprivacy.formats.file_access import MANUAL, write_file
    from dxprivacy.wording import plural, tag

    require_folder(folder, "FOLDER", "manual pages")
    made = pages(dxp, "dxp")
    for name, text in made.items():
        write_file(folder / name, text, MANUAL)
    show([f"{tag('good', '✓')} written  {plural(len(made), 'manual page')} in {folder}"])
