"""`python -m benchmarks.coming_from [PEER …]`: run the programs of docs/coming-from.md, and renew what it quotes.

The page is written by hand, but for the block behind each of two kinds of comments: `quotes FILE` is followed by that
file of examples/coming_from, `printed by FILE` by what the program printed.  Programs of peers run in environments of
their own (benchmarks/peers.py), ours in this one, each in a folder with the data and nothing else.  What a peer that
cannot be had or run printed before stays as it was, and that is said here.
"""

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from benchmarks import peers

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "coming-from.md"
FOLDER = ROOT / "examples" / "coming_from"
PEERS = {"opendp": peers.OPENDP, "tumult": peers.TUMULT, "diffprivlib": peers.DIFFPRIVLIB}
PACKAGES = {"opendp": ("opendp", "polars"), "tumult": ("tmlt.analytics", "pyspark"), "diffprivlib": ("diffprivlib",)}
LANGUAGES = {".py": "python", ".toml": "toml", ".csv": "text"}
BLOCK = re.compile(r"<!-- (quotes|printed by) (\S+) -->\n(`{3,})\w*\n(.*?)\n?\3\n", re.DOTALL)
RAN = re.compile(r"<!-- ran with (\w+) -->\n(.*)\n")

# Spark's workers have to be of the same environment as the program.
_CHILD = """
import contextlib, io, json, os, runpy, sys
from importlib.metadata import version
file, folder, packages = json.loads(sys.argv[1])
os.environ["PYSPARK_PYTHON"] = sys.executable
os.chdir(folder)
said = io.StringIO()
with contextlib.redirect_stdout(said):
    runpy.run_path(file, run_name="__main__")
print(json.dumps([said.getvalue(), [version(name) for name in packages]]))
"""


def main(names: list[str]) -> int:
    unknown = set(names) - {*PEERS, "ours"}
    if unknown:
        print(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(PEERS)} and ours", file=sys.stderr)
        return 2
    printed: dict[str, str] = {}
    ran: dict[str, str] = {}
    missed = False
    for peer in names or [*PEERS, "ours"]:
        for file in programs(peer):
            try:
                printed[file], ran[peer] = output(file)
            except peers.Unavailable as error:
                print(f"{file}: {error}; what the page shows stays as it was")
                missed = True
            else:
                print(f"{file}: ran", flush=True)
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), printed, ran), encoding="utf-8")
    return int(missed)


def programs(peer: str) -> list[str]:
    """The programs of one peer, or ours, by their names on the page."""
    return sorted(f"{peer}/{path.name}" for path in (FOLDER / peer).glob("*.py"))


def output(file: str) -> tuple[str, str]:
    """What a program printed, and what it ran with."""
    peer = file.split("/")[0]
    with tempfile.TemporaryDirectory() as folder:
        for path in FOLDER.iterdir():
            if path.suffix in (".csv", ".toml"):
                shutil.copy(path, folder)
        if peer == "ours":
            return our_output(file, folder), f"dxprivacy {version('dxprivacy')}"
        packages = PACKAGES[peer]
        said, versions = peers.told(PEERS[peer], _CHILD, str(FOLDER / file), folder, packages)
    parts = [f"{name} {number}" for name, number in zip(packages, versions, strict=True)]
    return said, f"{', '.join(parts)}, Python {platform.python_version()}"


def our_output(file: str, folder: str) -> str:
    """What a program printed that needs no other environment than ours."""
    done = subprocess.run([sys.executable, FOLDER / file], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{file}:\n{done.stderr}")
    return done.stdout


def renewed(page: str, printed: Mapping[str, str], ran: Mapping[str, str]) -> str:
    """The page, with files as they are now and outputs where there are new ones."""

    def block(match: re.Match[str]) -> str:
        kind, name, fence, old = match.groups()
        text = quoted(name) if kind == "quotes" else shown(printed[name]) if name in printed else old
        language = LANGUAGES[Path(name).suffix] if kind == "quotes" else "text"
        return f"<!-- {kind} {name} -->\n{fence}{language}\n{text}\n{fence}\n"

    def line(match: re.Match[str]) -> str:
        return f"<!-- ran with {match[1]} -->\n{ran.get(match[1], match[2])}\n"

    return RAN.sub(line, BLOCK.sub(block, page))


def blocks(page: str, kind: str) -> dict[str, str]:
    """What the page has behind comments of a kind, by file."""
    return {name: text for found, name, _, text in BLOCK.findall(page) if found == kind}


def quoted(name: str) -> str:
    """A file, as the page has it."""
    return (FOLDER / name).read_text(encoding="utf-8").rstrip("\n")


def shown(said: str) -> str:
    """An output, as the page has it."""
    return "\n".join(line.rstrip() for line in said.strip("\n").splitlines())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
