"""Property tests look for new cases on a developer's machine, and repeat the same ones in CI."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # workers share the cores: more threads would wait for one another

from hypothesis import settings

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
