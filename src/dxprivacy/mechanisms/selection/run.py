"""The d_X-private selection: exponential mechanism and permute-and-flip (Definition 9 and Theorem 3 of the paper).

The scores are integers that change by at most `D(i, j) = max_k |A_ki - A_kj|` if record i is replaced by j. Weights
`exp(u / (2c))` and their sum then change by at most `exp(D / (2c))` each. So every probability changes by at most
`exp(D / c) = exp(L(i, j))`, and the certificate proves L <= budget * d. Permute-and-flip has the same bound: it is the
noisy maximum with exponential noise of scale 2c.

Nothing is rounded after the data enters, and neither scores nor gaps leave this module.
"""

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.answer_grid import LARGEST_SCORE, MOST_EXPONENT
from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.mechanisms.selection.selection_facts import SelectionFacts


def chosen(selection: SelectionFacts, histogram: Histogram, noise: Noise) -> int:
    """Return the index of the selected candidate, after the certificate was checked."""
    # Thm 3: needs max_k |A_ki - A_kj| <= c d(i, j) for all i, j.
    selection.certificate.require(at_most=selection.budget)
    if histogram.universe != selection.metric.universe:
        raise UsageError("the histogram is over another universe than the selection")
    selection.require_room(histogram.public_records)
    scores = selection.candidates.scores(selection.workload.answer(histogram))
    return pick(scores, selection.scale, noise, flip=selection.flip)


def pick(scores: Ints, scale: float, noise: Noise, *, flip: bool) -> int:
    """Select at one scale; at scale 0, take the first of the best.

    Clipping does not increase the sensitivity of a score. So if there are more records than declared, under a private
    number of records, no error reveals it.
    """
    if scale == 0:
        return int(scores.argmax())
    most = int(min(LARGEST_SCORE, MOST_EXPONENT * 2 * scale))
    return noise.select(np.clip(scores, -most, most), np.full(len(scores), scale), flip=flip)
