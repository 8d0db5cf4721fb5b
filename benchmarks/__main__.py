"""`python -m benchmarks [TOPIC …]`: measure all topics, or some, and renew docs/benchmarks.md and .json."""

import importlib
import sys
import time

from benchmarks import page
from benchmarks.figures import Figure
from benchmarks.topics import TOPICS

LAST_START = 12 * 60  # seconds after which no further topic begins, so that all ends within a quarter of an hour


def main(names: list[str]) -> int:
    unknown = set(names) - {t.name for t in TOPICS}
    if unknown:
        print(f"no topic {', '.join(sorted(unknown))}; there are {', '.join(t.name for t in TOPICS)}", file=sys.stderr)
        return 2
    began = time.monotonic()
    results = page.read()
    for topic in TOPICS:
        if (names and topic.name not in names) or (not names and topic.by_name_only):
            continue
        if time.monotonic() - began > LAST_START:
            print(f"{topic.name}: not begun, its figures stay as they were: a quarter of an hour is enough")
            continue
        start = time.monotonic()
        results[topic.name] = [Figure.of(row) for row in importlib.import_module(f"benchmarks.{topic.name}").run()]
        page.write(results)
        print(f"{topic.name}: {len(results[topic.name])} figures in {time.monotonic() - start:.0f} s", flush=True)
    print(f"{time.monotonic() - began:.0f} s; docs/benchmarks.md was written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
