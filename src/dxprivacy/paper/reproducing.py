"""Run experiments: measure pieces on all cores, write figures as they are finished, and the report at the end.

Results do not depend on the number of processes: every piece has its own random generator, and numpy uses one thread in
each process.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import Unexpected
from dxprivacy.output.charts.picture import require_rendering
from dxprivacy.paper.experiment import Settings, experiment, measure
from dxprivacy.paper.figure_folder import REPORT, Finished, Folder, report_page
from dxprivacy.paper.figures import chosen

Progress = Callable[[str, int, int], None]
"""Called with the name of the figure, the number of measured pieces and the number of all pieces."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Reproduced:
    """The result of a run: the requested figures, and which of them existed already."""

    folder: Path
    settings: Settings
    figures: dict[str, Finished]
    kept: tuple[str, ...]

    @property
    def report(self) -> Path:
        """The path of the report."""
        return self.folder / REPORT

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        return {
            "folder": str(self.folder),
            "report": str(self.report),
            **self.settings.to_dict(),
            "kept": list(self.kept),
            "figures": {name: figure.to_dict() for name, figure in self.figures.items()},
        }


def reproduce(
    names: Sequence[str] = (),
    *,
    out: str | Path,
    settings: Settings | None = None,
    overwrite: bool = False,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Reproduced:
    """Measure, draw and write figures (by default all); finished ones in the folder are kept."""
    settings = settings or Settings()
    wanted = chosen(tuple(names))
    require_rendering()
    folder = Folder.open(Path(out), settings, overwrite=overwrite, again=wanted)
    kept = tuple(name for name in wanted if name in folder.finished)
    missing = [name for name in wanted if name not in kept]
    if missing:
        _run(missing, folder, settings, processes or _cores(), progress or (lambda *_: None))
    folder.write(REPORT, report_page(folder).encode())
    return Reproduced(folder.path, settings, {name: folder.finished[name] for name in wanted}, kept)


def _run(names: Sequence[str], folder: Folder, settings: Settings, processes: int, progress: Progress) -> None:
    pieces = {name: list(experiment(name).pieces(settings)) for name in names}
    total, done = sum(map(len, pieces.values())), 0
    left = {name: len(some) for name, some in pieces.items()}
    results: dict[str, list[Any]] = {name: [None] * len(some) for name, some in pieces.items()}
    with _workers(processes) as pool:
        at: dict[Future[Any], tuple[str, int]] = {}
        for name, some in pieces.items():
            for k, piece in enumerate(some):
                at[pool.submit(measure, name, settings, piece)] = (name, k)
        for future in as_completed(at):
            name, k = at.pop(future)
            results[name][k] = future.result()
            done, left[name] = done + 1, left[name] - 1
            progress(name, done, total)
            if not left[name]:
                folder.add(name, experiment(name).conclude(settings, results.pop(name)))


@contextmanager
def _workers(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of new processes with one numpy thread each; on errors, waiting pieces are cancelled."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_ignore_interrupts)
    try:
        yield pool
    except BrokenProcessPool:
        raise Unexpected(
            "a process was ended from outside; finished figures are kept",
            hints=[("dxp reproduce …", "continues from there")],
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _ignore_interrupts() -> None:
    # The parent process handles Ctrl-C and stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cores() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
