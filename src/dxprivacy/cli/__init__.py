"""The command line `dxp`.  Commands are loaded when they are called; help loads nothing heavy."""

import sys
from typing import NoReturn

import click

_COMMANDS = {
    "demo": "A private release of simulated data, beside plain DP: the two-minute tour.",
    "check": "Explain a policy: who is protected from what, and what to look at twice.",
    "plan": "How wrong would the answers be? Spends nothing, reads no data.",
    "release": "Reserve the budget, then answer a plan with exact noise.",
    "ledger": "What was spent and what is left, pair by pair.",
}
_REFUSED = {
    "--epsilon": "ε belongs to the policy file, where it is given per attribute or per distance",
    "--seed": "noise comes from the operating system; a seed would let anyone subtract it",
    "--force": "nothing can be forced: a refusal protects someone",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        import importlib

        command: click.Command = importlib.import_module(f"dxprivacy.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with: dxp demo",
)
@click.version_option(package_name="dxprivacy", prog_name="dxp")
@click.option("--debug", is_flag=True, help="Show tracebacks. They may quote data: never publish them.")
def dxp(debug: bool) -> None:
    """Publish statistics under d_X-privacy.

    You say in a policy file how far any two records may be told apart; dxp finds the noise that keeps it,
    shows the error before anything is spent, and keeps the ledger.
    """


def main() -> NoReturn:
    """Run, and turn every error into one clear message and the right exit code."""
    from dxprivacy.errors import DxError, UsageError

    arguments = sys.argv[1:]
    debug, as_json = "--debug" in arguments, "--json" in arguments
    error: DxError
    try:
        dxp.main(args=arguments, prog_name="dxp", standalone_mode=False)
        sys.exit(0)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        sys.exit(130)
    except click.NoSuchOption as wrong:
        if debug:
            raise
        why = _REFUSED.get(wrong.option_name)
        hints = [] if why else [(o, "did you mean this?") for o in wrong.possibilities or ()][:1]
        error = UsageError(why or f"no option {wrong.option_name}", where=wrong.option_name if why else "", hints=hints)
    except click.ClickException as wrong:
        if debug:
            raise
        context = getattr(wrong, "ctx", None)
        error = UsageError(
            wrong.format_message(), hints=[(f"{context.command_path} --help", "")] if context else [("dxp --help", "")]
        )
    except DxError as wrong:
        if debug:
            raise
        error = wrong
    except BrokenPipeError:
        sys.exit(0)
    except Exception:
        if debug:
            raise
        # Whatever it was, its text may quote data.
        error = DxError("something unexpected happened; this is a bug", hints=[("dxp --debug …", "shows where")])
    from dxprivacy.cli.screen import show_error

    show_error(error, as_json=as_json)
    sys.exit(error.exit_code)
