"""The API reference: a page for every public name, and a page for each group of them, written when the site is built.

Which names are public is the package's business (`__all__`); here they are put in groups.  A name without a group, or
without a runnable example, fails the build.
"""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

FOLDER = "reference/api"

GROUPS: dict[str, tuple[str, str]] = {
    "Curators: policy, session, ledger": (
        "What a curator holds.",
        "Policy Session Ledger Plan Release Selection SelectionRelease SynthesisPlan Records Histogram",
    ),
    "Queries": (
        "Unbound and frozen; `query.on(universe)` binds one.  [Queries](../../queries.md) has them in words.",
        "count table marginals sum_of mean_of proportion_of ratio_of median_of quantile_of variance_of sd_of "
        "covariance_of "
        "correlation_of density_of prefixes ranges count_people matrix load_queries",
    ),
    "Conditions": ("What stands behind `where`.", "above at_least below at_most any_of none_of"),
    "Selections": ("One of several candidates, chosen by the data.", "most_common closest bin_edges plan_selection"),
    "Researchers: arrays in, arrays out": (
        "No policy file, no ledger: each call spends again.",
        "plan laplace sensitivity max_ratio group_loss exponential mwem smalldb plan_smalldb direct plan_synthesis "
        "fit_histogram statistical whole_counts",
    ),
    "Results": (
        "What these return.",
        "Bound Certificate GroupLoss Chosen SmallDb SmallDbPlan Synthetic Statistical",
    ),
    "Universe and attributes": (
        "All possible records; a file per kind of column.",
        "Universe Attribute Values Ordered Integers Numbers Dates Points Nearest Grid Series Property Spelling",
    ),
}
MODULES: dict[str, tuple[str, str]] = {
    "metrics": ("Metrics", "How distinguishable any two records may be; [metrics](../../metrics.md) compares them."),
    "plots": ("Pictures and pages", "Drawn from public things alone; the [gallery](../../gallery.md) shows them."),
    "baselines": ("Baselines", "What others do with budgets of one's own; [how they compare](../../reproduction.md)."),
    "post": ("After a release", "Post-processing: costs nothing."),
    "errors": ("Errors", "What is wrong, where, and what next; never anything about a record."),
}


def public() -> dict[str, Any]:
    """Every public name, with what it stands for: `plan`, `metrics.line`, …"""
    package = importlib.import_module("dxprivacy")
    found = {name: getattr(package, name) for name in package.__all__}
    modules = {name: value for name, value in found.items() if isinstance(value, ModuleType)}
    if set(modules) != set(MODULES):
        raise ExtensionError(f"modules without a page: {sorted(set(modules) ^ set(MODULES))}")
    inside = {f"{m}.{name}": getattr(value, name) for m, value in modules.items() for name in value.__all__}
    return {name: value for name, value in found.items() if name not in modules} | inside


def groups(names: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """Title -> (introduction, names)."""
    listed = {title: (intro, some.split()) for title, (intro, some) in GROUPS.items()}
    for module, (title, intro) in MODULES.items():
        listed[title] = (intro, [name for name in names if name.startswith(f"{module}.")])
    told = [name for _, some in listed.values() for name in some]
    if sorted(told) != sorted(names):
        raise ExtensionError(f"names in no group, or in no package: {sorted(set(told) ^ set(names))}")
    return listed


def first_line(value: Any) -> str:
    """The first paragraph of its docstring, on one line."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def page_of(name: str, value: Any) -> str:
    """The page of one name."""
    if ">>>" not in (inspect.getdoc(value) or ""):
        raise ExtensionError(f"dx.{name} has no example")
    title = f"dx.{name}"
    if inspect.isclass(value):
        body = f".. autoclass:: dxprivacy.{name}\n   :members:\n   :inherited-members: Exception, ABC, object\n"
    elif callable(value):
        body = f".. autofunction:: dxprivacy.{name}\n"
    else:
        raise ExtensionError(f"dx.{name} is neither a class nor a function")
    return f"{title}\n{'=' * len(title)}\n\n{body}"


def slug(title: str) -> str:
    """The file name of a group."""
    return "".join(c if c.isalnum() else "-" for c in title.lower()).replace("--", "-").strip("-")


def index_of(title: str, intro: str, names: list[str], found: dict[str, Any]) -> str:
    """The page of a group: a table of its names, and where their pages are."""
    rows = [f"| [`dx.{name}`]({name}.rst) | {first_line(found[name]).replace('|', chr(92) + '|')} |" for name in names]
    tree = "\n".join(names)
    return (
        f"# {title}\n\n{intro}\n\n| name | what it is |\n|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )


def write_pages(app: Sphinx) -> None:
    """All pages; those of names that are gone are removed, and others touched only where they change."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    found = public()
    wanted = {f"{name}.rst": page_of(name, value) for name, value in found.items()}
    titles = groups(found)
    for title, (intro, names) in titles.items():
        wanted[f"{slug(title)}.md"] = index_of(title, intro, names, found)
    tree = "\n".join(slug(title) for title in titles)
    wanted["index.md"] = (
        f"# API reference\n\n`import dxprivacy as dx`. {len(found)} names, each with an example that tests run.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{tree}\n```\n"
    )
    for old in folder.iterdir():
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def with_bars(_app: Sphinx, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """|x| in a docstring is an absolute value, not a substitution of reStructuredText."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[k] = re.sub(r"`[^`]*`|\|", lambda m: r"\|" if m.group() == "|" else m.group(), line)


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", with_bars)
    return {"parallel_read_safe": True}
