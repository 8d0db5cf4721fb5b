"""Property tests look for new cases on a developer's machine, and repeat the same ones in CI."""

import gc
import os
import signal

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


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Where tests run in the background, Ctrl-C is ignored, also by the processes that they start: as on a terminal."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
