"""One page with everything: for each figure its question, picture, the paper's claim, our figure, and the command.

Pictures are drawn into the page as SVG: no script, nothing to load, and it prints.
"""

import html

from dxprivacy.output.pages.document import document
from dxprivacy.output.pages.page import with_own_names
from dxprivacy.paper.experiment import experiment
from dxprivacy.paper.figure_folder import Folder
from dxprivacy.paper.figures import NAMES
from dxprivacy.paper.us_places import ATTRIBUTION
from dxprivacy.wording import plural

_PAPER = (
    "Kamalaruban, Perrier, Asghar, Kaafar: Not All Attributes are Created Equal: d_X-Private Mechanisms for Linear "
    "Queries, "
    "PoPETs 2020"
)


def report_page(folder: Folder) -> str:
    """The whole page as text, from what is finished."""
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
            f"<p><em>{html.escape(about.question)}</em></p>",
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
