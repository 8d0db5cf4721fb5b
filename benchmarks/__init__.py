"""Speed and noise, as ratios within one run, with the peer or the brute force beside ours."""

import os

# Before numpy is loaded: on a busy machine threads of linear algebra wait for one another, and waiting counts as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
