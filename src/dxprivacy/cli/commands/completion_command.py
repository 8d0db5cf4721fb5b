"""`dxp completion`."""

import click

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the shell code that completes commands, options and file names with Tab.

    \b
    Examples: dxp completion bash > ~/.local/share/bash-completion/completions/dxp
              dxp completion zsh > ~/.zfunc/_dxp        with fpath+=~/.zfunc before compinit
              dxp completion fish > ~/.config/fish/completions/dxp.fish
    """
    from click.shell_completion import get_completion_class

    from dxprivacy.cli import dxp

    completer = get_completion_class(shell)
    if completer is None:  # pragma: no cover - click knows these three
        raise click.UsageError(f"no completion for {shell}")
    click.echo(completer(dxp, {}, "dxp", "_DXP_COMPLETE").source())
