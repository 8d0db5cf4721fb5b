"""A command's help as a page for `man`, in the macros of roff that every system has."""

import re
from importlib.metadata import version

import click


def pages(program: click.Group, name: str) -> dict[str, str]:
    """File name -> page: of the program, and of each of its commands."""
    with click.Context(program, info_name=name) as context:
        made = {f"{name}.1": page(program, context, name)}
        for word in program.list_commands(context):
            command = program.get_command(context, word)
            if command is not None:
                with click.Context(command, info_name=word, parent=context) as inner:
                    made[f"{name}-{word}.1"] = page(command, inner, f"{name}-{word}")
    return made


def page(command: click.Command, context: click.Context, name: str) -> str:
    """One page: name, synopsis, description, options, commands."""
    help_text = command.help or ""
    first = help_text.partition("\n\n")[0]
    lines = [
        '.\\" made by dxprivacy',
        f'.TH "{name.upper()}" "1" "" "dxprivacy {version("dxprivacy")}" "dxprivacy"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(' '.join(first.split()).rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{escaped(context.command_path)}\\fR {escaped(' '.join(command.collect_usage_pieces(context)))}",
        ".SH DESCRIPTION",
        *description(help_text),
    ]
    own = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    options = [record for option in own if (record := option.get_help_record(context))]
    if options:
        lines.append(".SH OPTIONS")
        lines += [line for names, says in options for line in (".TP", f"\\fB{escaped(names)}\\fR", escaped(says))]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for word in command.list_commands(context):
            found = command.get_command(context, word)
            says = found.get_short_help_str(200) if found else ""
            lines += [".TP", f"\\fB{escaped(f'{name}-{word}')}\\fR(1)", escaped(says)]
    return "\n".join(lines) + "\n"


def description(text: str) -> list[str]:
    """Return paragraphs, filled except after the mark of click for keeping lines."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        kept = paragraph.lstrip().startswith("\b")
        body = [line.replace("\b", "").rstrip() for line in paragraph.splitlines()]
        body = [line for line in body if line.strip()]
        filled = [escaped(" ".join(map(str.strip, body)))]
        lines += [".PP", *([".nf", *map(escaped, body), ".fi"] if kept else filled)]
    return lines


def escaped(text: str) -> str:
    """Text that is no macro.

    >>> print(escaped(".so /etc/passwd \\\\ --all"))
    \\&.so /etc/passwd \\e \\-\\-all
    """
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
