"""The command line `dxp`: arguments in, exit codes out.  Commands are loaded when they are called; help loads nothing
heavy.

In reading order: `given_files`, `terminal`, `options`, `inspect_remedies`, `manual_pages`, `policy_and_ledger`,
`commands`.
"""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from dxprivacy.errors import UsageError

_COMMANDS = {
    "demo": "A private release of simulated data, beside standard DP: the two-minute tour.",
    "init": "Write a policy to fill in, from the column names and types of a file.",
    "check": "Explain a policy: strictest and loosest pairs, and warnings.",
    "inspect": "Show the curator which entries count as “other”; not private, do not publish.",
    "plan": "How wrong would the answers be? Spends nothing, reads no data.",
    "release": "Reserve the budget, then answer a plan with exact noise.",
    "select": "Most common value, median, quantile, bin edges: chosen by the data, privately.",
    "synth": "Synthetic records that answer your queries nearly as the data does.",
    "ledger": "What was spent and what is left, pair by pair.",
    "verify": "Check a plan or a release again, independently, from the file alone.",
    "reproduce": "Run the paper's experiments again, and draw them: one offline page.",
    "completion": "Print the shell code that completes commands and options with Tab.",
    "man": "Write manual pages into a folder.",
}
_REFUSED = {
    "--epsilon": (
        "ε belongs to the policy file, where it is given per attribute or per distance",
        [("--budget 25%", "uses a part of every pair's ε"), ("within 10", "in a query: stops at good enough")],
    ),
    "--seed": (
        "noise comes from the operating system; a seed would let anyone subtract it",
        [("dxp release …", "the same plan again returns the stored release, at no cost")],
    ),
    "--verbose": ("stands before the command", [("dxp --verbose release …", "reports each step")]),
    "--force": ("nothing can be forced: a refusal protects someone", [("dxp ledger …", "shows what is left")]),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            from dxprivacy.errors import UsageError, did_you_mean

            if ctx.resilient_parsing:
                return None
            hints = did_you_mean(cmd_name, _COMMANDS) or [("dxp --help", "lists the commands")]
            raise UsageError(f"no command “{cmd_name}”", hints=hints)
        import importlib

        command: click.Command = importlib.import_module(f"dxprivacy.cli.commands.{cmd_name}_command").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Begin with: dxp demo. Each command explains itself: dxp plan --help.",
)
@click.version_option(package_name="dxprivacy", prog_name="dxp")
@click.option("--debug", is_flag=True, help="Show tracebacks. They may quote data: never publish them.")
@click.option("-v", "--verbose", is_flag=True, help="Report each step on stderr; never data.")
@click.pass_context
def dxp(ctx: click.Context, debug: bool, verbose: bool) -> None:  # noqa: ARG001
    """Publish statistics under d_X-privacy.

    A policy file states how distinguishable any two records may be; dxp finds the noise that keeps it, shows
    the error before anything is spent, and keeps the ledger.
    """
    if verbose:
        from dxprivacy.log import listen

        listen()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> NoReturn:
    """Run a command, and turn every error into one message and an exit code."""
    from dxprivacy.errors import DxError, Unexpected, UsageError

    arguments = [a for a in sys.argv[1:] if a != "--debug"]  # understood anywhere
    debug, as_json = len(arguments) < len(sys.argv) - 1, "--json" in arguments
    error: DxError
    try:
        dxp.main(args=arguments, prog_name="dxp", standalone_mode=False)
        sys.exit(0)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except (click.Abort, KeyboardInterrupt) as stop:
        click.echo("stopped", err=True)
        for note in getattr(stop.__cause__ or stop, "__notes__", ()):  # what was spent in vain
            click.echo(f"  {note}", err=True)
        sys.exit(130)
    except click.NoSuchOption as wrong:
        if debug:
            raise
        error = _unknown_option(wrong)
    except click.ClickException as wrong:
        if debug:
            raise
        error = _misused(wrong)
    except DxError as wrong:
        if debug:
            raise
        error = wrong
    except BrokenPipeError:
        sys.exit(0)
    except OSError as wrong:
        if debug:
            raise
        error = _unusable(wrong)
    except MemoryError:
        error = UsageError("there is not enough memory for this", hints=["use fewer or coarser attributes"])
    except Exception:
        if debug:
            raise
        # The text of an unknown error may quote data.
        error = Unexpected("something unexpected happened; this is a bug", hints=[("dxp --debug …", "shows where")])
    from dxprivacy.cli.terminal import OutputLost, show_error

    with suppress(OutputLost):  # the exit code says it where no stream can
        show_error(error, as_json=as_json)
    sys.exit(error.exit_code)


def _unusable(wrong: OSError) -> "UsageError":
    """Build the error for a path that the system refuses: too long, not a folder, disk full.  Paths are public."""
    from dxprivacy.errors import UsageError
    from dxprivacy.wording import short

    name = wrong.filename if isinstance(wrong.filename, str) else "a file"
    return UsageError(f"cannot use {short(name, 100)}: {wrong.strerror or 'the system refuses it'}")


def _unknown_option(wrong: click.NoSuchOption) -> "UsageError":
    from dxprivacy.errors import UsageError

    if wrong.option_name in _REFUSED:
        why, hints = _REFUSED[wrong.option_name]
        return UsageError(why, where=wrong.option_name, hints=hints)
    close = [(o, "did you mean this?") for o in wrong.possibilities or ()][:1]
    return UsageError(f"no option {wrong.option_name}", hints=[*close, *_help(wrong)])


def _misused(wrong: click.ClickException) -> "UsageError":
    from dxprivacy.errors import UsageError

    what = wrong.format_message().rstrip(".")
    if isinstance(wrong, click.MissingParameter) and wrong.param is not None:
        option = isinstance(wrong.param, click.Option)
        what = f"{wrong.param.opts[0] if option else wrong.param.make_metavar(wrong.ctx)} is missing"  # type: ignore[arg-type]
    return UsageError(what, hints=_help(wrong))


def _help(wrong: click.ClickException) -> list[tuple[str, str]]:
    context = getattr(wrong, "ctx", None)
    return [(f"{context.command_path if context else 'dxp'} --help", "explains it")]
