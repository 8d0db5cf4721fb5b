"""docs/benchmarks.md and docs/benchmarks.json: a table for each topic, with its command, its targets and what was met."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.topics import TOPICS, Topic

DOCS = Path(__file__).parents[1] / "docs"
HEAD = """# Benchmarks

`make bench` measures all of it in at most 15 minutes, and writes this page, [benchmarks.json](benchmarks.json) and the
picture; `python -m benchmarks TOPIC` measures one topic and renews it here. Ratios within one run, with the peer beside ours;
processor time, the best of several runs where they are short, unless a note says otherwise. Memory is the peak of a process of
its own. These figures are from a machine with two cores **that others used at the same time**: processor
time grows with that too (shared caches and cores), so that seconds mean little and ratios waver.

`make bench-quick`, the last step of `.ci/run`, measures the most telling ratios at small sizes in less than a minute, and fails where
one is worse than 1.5 times its baseline (`benchmarks/baseline.json`), best of three, twice in a row.
"""
TAIL = """
Set-up and demo in a fresh clone with a warm package cache: about 20 s (`time make demo`); all tests: at most 8
minutes on two cores when nothing else runs (`time make test`); their long forms: at most 25 minutes (`make test-slow`).
"""
Results = Mapping[str, Sequence[Figure]]


def read(folder: Path = DOCS) -> dict[str, list[Figure]]:
    """The figures that were written before, by topic."""
    path = folder / "benchmarks.json"
    if not path.exists():
        return {}
    topics: dict[str, list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))["topics"]
    return {name: [_figure(f) for f in figures] for name, figures in topics.items()}


def write(results: Results, folder: Path = DOCS) -> None:
    """Both files."""
    known = [topic for topic in TOPICS if topic.name in results]
    content = {"topics": {t.name: [_content(f) for f in results[t.name]] for t in known}}
    (folder / "benchmarks.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    parts = [HEAD, _summary(results), *(_topic(t, results[t.name]) for t in known)]
    (folder / "benchmarks.md").write_text("\n".join(parts) + TAIL, encoding="utf-8")


def _summary(results: Results) -> str:
    judged = [f for figures in results.values() for f in figures if f.met is not None]
    missed = [f for f in judged if not f.met]
    text = f"{len(judged) - len(missed)} of {len(judged)} targets were met."
    if missed:
        text += " Missed: " + "; ".join(f"{f.what} ({_ratio(f)} of {f.target})" for f in missed) + "."
    return text + "\n"


def _topic(topic: Topic, figures: Sequence[Figure]) -> str:
    lines = [f"## {topic.title}", "", f"`python -m benchmarks {topic.name}`", ""]
    if topic.notes:
        lines += [topic.notes, ""]
    lines += ["| what | ours | peer or limit | ratio | target | met |", "|---|---|---|---|---|---|"]
    lines += [_line(f) for f in figures]
    return "\n".join(lines) + "\n"


def _line(f: Figure) -> str:
    what = f"{f.what} – {f.note}" if f.note else f.what
    met = {True: "yes", False: "**no**", None: ""}[f.met]
    return f"| {what} | {_value(f.ours, f.unit)} | {_value(f.peer, f.unit)} | {_ratio(f)} | {f.target} | {met} |"


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f} {unit}" if unit == "MB" else f"{value:.3g} {unit}".strip()


def _ratio(f: Figure) -> str:
    if f.ratio is None or math.isinf(f.ratio):
        return "–"
    return f"{f.ratio:.2f}" if f.ratio >= 0.095 else f"{f.ratio:.2g}"


def _content(f: Figure) -> dict[str, Any]:
    """JSON has no infinity: what did not end has no ratio there, and has missed its target."""
    content = f.content()
    return {**content, "ratio": None} if content["ratio"] == math.inf else content


def _figure(content: Mapping[str, Any]) -> Figure:
    fields = {key: value for key, value in content.items() if key != "met"}
    if content["met"] is False and fields["ratio"] is None:
        fields["ratio"] = math.inf
    return Figure(**fields)
