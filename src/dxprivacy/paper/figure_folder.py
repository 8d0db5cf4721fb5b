"""The folder that figures are written to: finished figures are kept, and other files are never replaced.

A manifest lists the parameters, and for each finished figure its files with their digests.  A run with the same
parameters continues from there.  A folder with other contents is refused without `--overwrite`; even with it, only
files with our names are replaced.
"""

import hashlib
import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.formats.file_access import PAGE, PICTURES, FileKind, write_file
from dxprivacy.output.pages.document import document
from dxprivacy.output.pages.page import with_own_names
from dxprivacy.paper.experiment import ExperimentOutcome, Settings, experiment
from dxprivacy.paper.figures import NAMES
from dxprivacy.paper.us_places import ATTRIBUTION
from dxprivacy.wording import plural

FORMAT = "dxprivacy reproduction 1"
MANIFEST, REPORT = "manifest.json", "report.html"
ENDINGS = (".csv", ".vl.json", ".svg", ".png")
_PIXELS = 2.0


@dataclass(frozen=True)
class Finished:
    """A figure that is written: its finding in words, its main numbers, and the digests of its files."""

    found: str
    facts: Mapping[str, float]
    digests: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the entry for the manifest."""
        return {"found": self.found, "facts": dict(self.facts), "files": dict(self.digests)}


@dataclass
class Folder:
    """A folder to which figures are added as they are finished (mutable)."""

    path: Path
    settings: Settings
    finished: dict[str, Finished] = field(default_factory=dict)
    ours: set[str] = field(default_factory=set)  # names that the manifest of an earlier run lists

    @classmethod
    def open(cls, path: Path, settings: Settings, *, overwrite: bool = False, again: tuple[str, ...] = ()) -> "Folder":
        """Open a new or empty folder, or one with our manifest and the same parameters; any folder with `overwrite`.

        With `overwrite` the figures `again` are measured again.
        """
        path = Path(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            occupied = any(path.iterdir())
        except (OSError, ValueError) as error:
            raise _unwritable(path, error) from None
        if not os.access(path, os.W_OK | os.X_OK):
            raise _unwritable(path, PermissionError(13, "Permission denied"))
        made = cls(path, settings)
        if not occupied:
            return made
        known = _manifest(path)
        for entry in known["figures"].values() if known else ():
            made.ours |= set(entry["files"]) & _own_names()
        if known is None and not overwrite:
            raise UsageError(
                f"{path} is not empty",
                hints=[("--out NEW", "a folder of its own"), ("--overwrite", "writes into it; other files stay")],
            )
        if known is not None and known["parameters"] != parameters(settings):
            if not overwrite:
                raise UsageError(
                    f"{path} holds a run with other parameters",
                    details=[f"there: {_said(known['parameters'])}; now: {_said(parameters(settings))}"],
                    hints=[("--out NEW", "a folder of its own"), ("--overwrite", "replaces that run")],
                )
            made._remove(known["figures"])
            known = None
        if known is not None:
            made.finished = made._sound(known["figures"], leave=again if overwrite else ())
        return made

    def _remove(self, figures: Mapping[str, Any]) -> None:
        """Remove the files of another run that are unchanged since that run wrote them."""
        for entry in figures.values():
            for name, digest in entry["files"].items():
                target = self.path / name
                if name in _own_names() and target.is_file() and _digest(target) == digest:
                    _tried(target.unlink, target)

    def _sound(self, figures: Mapping[str, Any], leave: tuple[str, ...]) -> dict[str, Finished]:
        """Return the figures whose files all exist unchanged."""
        out = {}
        for name in NAMES:
            entry = figures.get(name)
            if name in leave or entry is None or set(entry["files"]) != {f"{name}{e}" for e in ENDINGS}:
                continue
            if all(_digest(self.path / file) == digest for file, digest in entry["files"].items()):
                out[name] = Finished(entry["found"], entry["facts"], entry["files"])
        return out

    def add(self, name: str, outcome: ExperimentOutcome) -> None:
        """Write a figure and enter it into the manifest after all its files are written."""
        contents: dict[str, bytes] = {
            f"{name}.csv": outcome.table.to_csv().encode(),
            f"{name}.vl.json": outcome.picture.to_json().encode(),
            f"{name}.svg": outcome.picture.to_svg().encode(),
            f"{name}.png": outcome.picture.to_png(_PIXELS),
        }
        for file, content in contents.items():
            self.write(file, content)
        digests = {file: hashlib.sha256(content).hexdigest() for file, content in contents.items()}
        self.finished[name] = Finished(outcome.found, outcome.facts, digests)
        figures = {n: self.finished[n].to_dict() for n in NAMES if n in self.finished}
        text = json.dumps(
            {"format": FORMAT, "parameters": parameters(self.settings), "figures": figures},
            indent=1,
            ensure_ascii=False,
        )
        self.write(MANIFEST, text.encode())

    def write(self, name: str, content: bytes) -> Path:
        """Write a file atomically; an existing file is replaced only if one of our runs wrote it."""
        if name in self.ours:
            kind = FileKind("figure", lambda _: True)
        elif name in _KINDS:
            kind = _KINDS[name]
        else:  # an interrupted run may have left the same content without a manifest entry
            same = FileKind.listed("figure", [hashlib.sha256(content).hexdigest()])
            kind = PICTURES.get(Path(name).suffix, same).or_else(same)
        return write_file(self.path / name, content, kind)


_KINDS = {
    MANIFEST: FileKind.beginning("manifest", rb'\{\s*"format":\s*"dxprivacy reproduction '),
    REPORT: PAGE.or_else(
        FileKind.beginning("report", rb"<!DOCTYPE html>.{0,400}<title>The paper's experiments, run again</title>")
    ),
}


def parameters(settings: Settings) -> dict[str, Any]:
    """Return all parameters that the numbers depend on."""
    from importlib.metadata import version

    return {**settings.to_dict(), "software": f"dxprivacy {version('dxprivacy')}"}


def _own_names() -> set[str]:
    return {f"{name}{ending}" for name in NAMES for ending in ENDINGS}


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _manifest(path: Path) -> dict[str, Any] | None:
    """Return our manifest; None if there is none or it cannot be read."""
    try:
        data = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        fine = data["format"] == FORMAT and isinstance(data["parameters"], dict)
        for entry in data["figures"].values():
            fine = fine and isinstance(entry["files"], dict) and isinstance(entry["found"], str)
            fine = fine and isinstance(entry["facts"], dict)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return data if fine else None


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _tried(action: Any, target: Path) -> None:
    try:
        action()
    except OSError as error:
        raise _unwritable(target, error) from None


def _unwritable(path: Path, error: Exception) -> UsageError:
    why = getattr(error, "strerror", None) or error
    return UsageError(f"cannot write {path}: {why}", hints=[("--out NEW", "a folder that can be written")])


# -- The report: for each figure its question, picture, the paper's claim, our finding, and the command ----------------
# Pictures are inline SVG: no script, no external resources.


_PAPER = (
    "Kamalaruban, Perrier, Asghar, Kaafar: Not All Attributes are Created Equal: d_X-Private Mechanisms for Linear "
    "Queries, "
    "PoPETs 2020"
)


def report_page(folder: Folder) -> str:
    """Return the page on all finished figures as HTML text."""
    settings = folder.settings
    options = f"--universes {settings.universes} --seed {settings.seed}" + (" --quick" if settings.quick else "")
    done = [name for name in NAMES if name in folder.finished]
    parts = [
        "<h1>The paper's experiments, run again</h1>",
        f"<p>{html.escape(_PAPER)}. {plural(len(done), 'figure')}, {plural(settings.universes, 'universe')} at most, "
        f"seed {settings.seed}{', quick' if settings.quick else ''}. Universes and queries are random; no private "
        "data is involved. "
        f"Improvement factor: the noise of standard DP divided by ours. {html.escape(ATTRIBUTION)}</p>",
        "<ul>" + "".join(f'<li><a href="#{n}">{html.escape(experiment(n).title)}</a></li>' for n in done) + "</ul>",
    ]
    for name in done:
        about = experiment(name)
        svg = (folder.path / f"{name}.svg").read_text(encoding="utf-8")
        parts += [
            f'<section id="{name}"><h2>{html.escape(about.title)}</h2>',
            f"<p><em>{html.escape(about.query)}</em></p>",
            with_own_names(svg[svg.index("<svg") :], name),
            "<dl>",
            f"<dt>The paper</dt><dd>{html.escape(about.claim or 'says nothing about this; it is new.')}</dd>",
            f"<dt>Ours</dt><dd>{html.escape(folder.finished[name].found)}</dd>",
            f"<dt>Command</dt><dd><code>dxp reproduce {name} {options}</code></dd>",
            f"<dt>Files</dt><dd>{', '.join(f'{name}{e}' for e in ('.csv', '.vl.json', '.svg', '.png'))}</dd>",
            "</dl></section>",
        ]
    return document("The paper's experiments, run again", _STYLE, "\n".join(parts))


_STYLE = """
body { font: 15px/1.45 "Liberation Sans", Helvetica, Arial, sans-serif; color: #222222;
  max-width: 58em; margin: 2em auto; padding: 0 1em; }
section { margin-top: 2.5em; border-top: 1px solid #ececec; }
svg { max-width: 100%; height: auto; }
dt { color: #767676; float: left; clear: left; width: 6em; }
dd { margin: 0 0 0.5em 6.5em; }
section, svg { break-inside: avoid; }
"""
