"""What `--data` takes: the name of a file, a pattern, an address.  Shells complete it as a file."""

import click
from click.shell_completion import CompletionItem


class DataName(click.types.StringParamType):
    """Any text; whoever presses Tab most likely means a file."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """The shell itself knows the files."""
        return [CompletionItem(incomplete, type="file")]


DATA = DataName()
