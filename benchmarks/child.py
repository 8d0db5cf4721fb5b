"""One measurement in a process of its own: `python -m benchmarks.child module.function '[arguments]'`."""

import importlib
import json
import os
import sys

from benchmarks.figures import peak_megabytes


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    name, arguments = sys.argv[1], json.loads(sys.argv[2])
    module, function = name.rsplit(".", 1)
    told = getattr(importlib.import_module(f"benchmarks.{module}"), function)(*arguments)
    print()
    print(json.dumps({"told": told, "megabytes": peak_megabytes()}))


if __name__ == "__main__":
    main()
