"""Property tests look for new cases on a developer's machine, and repeat the same ones in CI."""

import gc
import os
import signal
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers share the cores: more threads would wait for one another

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected lives until the end: looking through it for what does not took 3 % of all time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()  # what is never given back is reported as lost by some libraries


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Note which tests have a form that is not slow, before any is deselected: tests/mutants asks."""
    from contracts.long_forms import SHORT

    config.stash[SHORT] = forms = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        forms[test] = forms.get(test, False) or item.get_closest_marker("slow") is None


def pytest_addoption(parser):
    parser.addoption("--durations-to", metavar="FILE", help="write how long tests took, the slowest first")


def pytest_terminal_summary(terminalreporter, config):
    """Write the durations of all steps of at least 0.3 s, in the form of `--durations`."""
    path = config.getoption("--durations-to")
    if not path:
        return
    reports = [r for found in terminalreporter.stats.values() for r in found if getattr(r, "duration", 0) >= 0.3]
    lines = [f"{r.duration:.2f}s {r.when:<8} {r.nodeid}\n" for r in sorted(reports, key=lambda r: -r.duration)]
    Path(path).write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Where tests run in the background, Ctrl-C is ignored, also by the processes that they start: as on a terminal."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
